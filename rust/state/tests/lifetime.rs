// SPDX-License-Identifier: GPL-2.0

//! References and the order of a close.

#![cfg(not(loom))]

use ndk_state::lifetime::{Closed, Counts, Kind, Last, Life};
use ndk_state::status::Status;
use proptest::prelude::*;

const KINDS: [Kind; 3] = [Kind::Callback, Kind::Request, Kind::Successor];

#[test]
fn a_quiet_object_closes_at_once() {
    let life = Life::default();
    assert!(!life.is_closing());
    assert!(!life.is_quiet());
    assert_eq!(life.close(), Ok(Closed::AlreadyQuiet));
    assert!(life.is_closing() && life.is_quiet());
    assert_eq!(life.close(), Err(Status::InvalidDeviceState));
}

/// Proves: 3.5, 3.8
#[test]
fn close_waits_for_each_kind_and_tells_the_last() {
    for kind in KINDS {
        let life = Life::new();
        life.try_get(kind).unwrap();
        assert_eq!(life.close(), Ok(Closed::Pending), "{kind:?}");
        assert_eq!(life.try_get(kind), Err(Status::InvalidDeviceState));
        assert!(!life.is_quiet());
        assert_eq!(life.put(kind), Last::Yes, "{kind:?}");
        assert!(life.is_quiet());
    }
}

/// Proves: 3.9
#[test]
fn the_handle_is_held_while_the_closer_cancels() {
    let life = Life::new();
    life.try_get(Kind::Request).unwrap();
    life.begin_close().unwrap();
    // The cancellation completes the request before the closer is done.
    assert_eq!(life.put(Kind::Request), Last::No);
    assert!(!life.is_quiet());
    assert_eq!(life.end_close(), Closed::AlreadyQuiet);
}

#[test]
fn a_closing_object_can_be_kept_by_who_holds_it() {
    let life = Life::new();
    life.try_get(Kind::Callback).unwrap();
    assert_eq!(life.close(), Ok(Closed::Pending));
    life.get(Kind::Request).unwrap();
    assert_eq!(life.put(Kind::Callback), Last::No);
    assert_eq!(life.put(Kind::Request), Last::Yes);
    // Nobody can hold it any more.
    assert_eq!(life.get(Kind::Request), Err(Status::InvalidDeviceState));
}

/// Proves: 3.4
#[test]
fn close_from_inside_its_own_callback_is_pending() {
    let life = Life::new();
    life.try_get(Kind::Callback).unwrap();
    assert_eq!(life.close(), Ok(Closed::Pending));
    assert_eq!(life.put(Kind::Callback), Last::Yes);
}

#[test]
fn a_full_count_refuses_and_spills_into_no_other() {
    let life = Life::new();
    for _ in 0..0xffff {
        life.try_get(Kind::Callback).unwrap();
    }
    assert_eq!(
        life.try_get(Kind::Callback),
        Err(Status::InsufficientResources)
    );
    life.try_get(Kind::Request).unwrap();
    life.try_get(Kind::Successor).unwrap();
    assert_eq!(
        life.counts(),
        Counts {
            closing: false,
            handle: true,
            callbacks: 0xffff,
            requests: 1,
            successors: 1,
        }
    );
}

#[derive(Clone, Copy, Debug)]
enum Op {
    TryGet(Kind),
    Get(Kind),
    Put(Kind),
    Begin,
    End,
}

fn op() -> impl Strategy<Value = Op> {
    let kind = prop_oneof![
        Just(Kind::Callback),
        Just(Kind::Request),
        Just(Kind::Successor)
    ];
    prop_oneof![
        4 => kind.clone().prop_map(Op::TryGet),
        2 => kind.clone().prop_map(Op::Get),
        6 => kind.prop_map(Op::Put),
        1 => Just(Op::Begin),
        1 => Just(Op::End),
    ]
}

proptest! {
    /// Against three plain counters: the same answers, and "last" exactly once.
    /// Proves: 3.5, 3.8
    #[test]
    fn agrees_with_plain_counters(ops in prop::collection::vec(op(), 1..60)) {
        let life = Life::new();
        let mut counts = [0u32; 3];
        let (mut handle, mut closing, mut told) = (true, false, 0);
        for op in ops {
            let total: u32 = counts.iter().sum();
            match op {
                Op::TryGet(kind) => {
                    prop_assert_eq!(life.try_get(kind).is_ok(), !closing);
                    if !closing { counts[kind as usize] += 1; }
                }
                Op::Get(kind) => {
                    let held = handle || total > 0;
                    prop_assert_eq!(life.get(kind).is_ok(), held);
                    if held { counts[kind as usize] += 1; }
                }
                Op::Put(kind) => {
                    if counts[kind as usize] == 0 { continue; }
                    counts[kind as usize] -= 1;
                    let last = life.put(kind) == Last::Yes;
                    prop_assert_eq!(last, !handle && total == 1);
                    told += u32::from(last);
                }
                Op::Begin => {
                    prop_assert_eq!(life.begin_close().is_ok(), !closing);
                    closing = true;
                }
                Op::End => {
                    if !closing || !handle { continue; }
                    handle = false;
                    let quiet = life.end_close() == Closed::AlreadyQuiet;
                    prop_assert_eq!(quiet, total == 0);
                    told += u32::from(quiet);
                }
            }
            let seen = life.counts();
            prop_assert_eq!([seen.callbacks, seen.requests, seen.successors], counts);
            prop_assert_eq!((seen.handle, seen.closing), (handle, closing));
            let quiet = !handle && counts == [0; 3];
            prop_assert_eq!(told, u32::from(quiet));
        }
    }
}
