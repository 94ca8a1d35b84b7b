// SPDX-License-Identifier: GPL-2.0

//! The work queue ring, against a model of a device and of a consumer.

#![cfg(not(loom))]

use ndk_state::queue::{Request, Retired, Ring};
use ndk_state::status::Status;
use proptest::prelude::*;
use std::collections::VecDeque;

const LOUD: Request = Request::Last { silent: false };
const SILENT: Request = Request::Last { silent: true };

fn post(ring: &Ring, silent: bool) -> (u32, bool) {
    let reservation = ring.reserve(silent).unwrap();
    ring.publish(&reservation);
    (reservation.index, reservation.signalled)
}

/// Proves: 7.1-full
#[test]
fn the_depth_is_exact_and_sentinels_have_their_own_room() {
    for depth in [0, 1, 2, 3, 5, 8, 100] {
        let ring = Ring::new(depth, 2).unwrap();
        assert!(ring.slots().is_power_of_two() && ring.slots() >= depth + 2);
        assert_eq!(ring.mask(), ring.slots() - 1);
        for _ in 0..depth {
            post(&ring, false);
        }
        assert_eq!(ring.in_flight(), depth);
        assert_eq!(ring.reserve(false), Err(Status::NoMoreEntries));
        let mut last = 0;
        for _ in 0..2 {
            let sentinel = ring.reserve_sentinel().unwrap();
            assert!(sentinel.signalled);
            ring.publish(&sentinel);
            last = sentinel.index;
        }
        assert_eq!(ring.reserve_sentinel(), Err(Status::NoMoreEntries));
        assert_eq!(
            ring.retire(last, false, Request::Sentinel),
            Retired::Drained
        );
        assert_eq!(ring.in_flight(), 0);
    }
}

#[test]
fn sizes_are_bounded() {
    assert!(Ring::new(1 << 24, 0).is_ok());
    for (depth, reserved) in [(1 << 24, 1), (u32::MAX, 1), (u32::MAX, u32::MAX)] {
        let refused = Ring::new(depth, reserved).err();
        assert_eq!(refused, Some(Status::InvalidParameter));
    }
}

#[test]
fn every_fourth_part_of_the_silent_ones_is_signalled() {
    for (depth, interval) in [(1, 1), (3, 1), (4, 1), (8, 2), (64, 16), (65, 16)] {
        let ring = Ring::new(depth, 0).unwrap();
        for count in 1..=depth {
            let (_, signalled) = post(&ring, true);
            assert_eq!(signalled, count % interval == 0, "{depth} {count}");
        }
    }
    // One that is signalled anyway begins a new count.
    let ring = Ring::new(16, 0).unwrap();
    let signals: Vec<_> = [true, true, true, false, true, true, true, true]
        .map(|silent| post(&ring, silent).1)
        .into();
    assert_eq!(
        signals,
        [false, false, false, true, false, false, false, true]
    );
}

/// Proves: 6.4-silent
#[test]
fn silent_success_is_swallowed_and_silent_failure_reported() {
    let ring = Ring::new(16, 0).unwrap();
    assert_eq!(ring.next_to_retire(), None);
    let posted: Vec<_> = (0..8).map(|_| post(&ring, true).0).collect();
    assert_eq!(ring.next_to_retire(), Some(posted[0]));
    // The provider's own signal, which retires the ones before.
    assert_eq!(ring.retire(posted[3], true, SILENT), Retired::Swallow);
    assert_eq!(ring.in_flight(), 4);
    assert_eq!(ring.next_to_retire(), Some(posted[4]));
    assert_eq!(ring.retire(posted[2], true, SILENT), Retired::Stale);
    assert_eq!(ring.retire(posted[5], false, SILENT), Retired::Report);
    assert_eq!(ring.retire(posted[6], false, SILENT), Retired::Report);
    assert_eq!(ring.retire(posted[7], false, SILENT), Retired::Report);
    let never = posted[7].wrapping_add(1);
    assert_eq!(ring.retire(never, true, LOUD), Retired::Stale);
    assert_eq!(ring.in_flight(), 0);
}

#[test]
fn a_read_with_local_invalidate_is_one_request() {
    // Both succeed, both signalled: one report.
    let ring = Ring::new(2, 0).unwrap();
    let (index, _) = post(&ring, false);
    assert_eq!(ring.retire(index, true, Request::First), Retired::Swallow);
    assert_eq!(ring.in_flight(), 1, "the invalidate is still to come");
    assert_eq!(ring.retire(index, true, LOUD), Retired::Report);
    // The read fails: reported, and the flushed invalidate is not.
    let (index, _) = post(&ring, true);
    assert_eq!(ring.retire(index, false, Request::First), Retired::Report);
    assert_eq!(ring.retire(index, false, SILENT), Retired::Stale);
    // The invalidate fails.
    let (index, _) = post(&ring, true);
    assert_eq!(ring.retire(index, true, Request::First), Retired::Swallow);
    assert_eq!(ring.retire(index, false, SILENT), Retired::Report);
    assert_eq!(ring.in_flight(), 0);
}

/// Proves: 7.1-refused
// Bug: B66, K15
#[test]
fn a_refused_post_leaves_no_trace() {
    let ring = Ring::new(8, 0).unwrap();
    post(&ring, true);
    let first = ring.reserve(true).unwrap();
    ring.publish(&first);
    let second = ring.reserve(true).unwrap();
    ring.publish(&second);
    ring.retract(&second);
    ring.retract(&first);
    assert_eq!(ring.in_flight(), 1);
    assert!(!ring.is_posted(first.index));
    assert_eq!(ring.reserve(true), Ok(first), "the same again");
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Post { silent: bool, parts: bool },
    Refuse { silent: bool },
    Device { steps: u8 },
    Poll,
    Break,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (any::<bool>(), prop::bool::weighted(0.2))
            .prop_map(|(silent, parts)| Op::Post { silent, parts }),
        1 => any::<bool>().prop_map(|silent| Op::Refuse { silent }),
        4 => (1..6u8).prop_map(|steps| Op::Device { steps }),
        4 => Just(Op::Poll),
        1 => prop::bool::weighted(0.05).prop_map(|b| if b { Op::Break } else { Op::Poll }),
    ]
}

/// A work request in the device's queue.
#[derive(Clone, Copy, Debug)]
struct Entry {
    index: u32,
    request: Request,
    signalled: bool,
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    /// The consumer gets exactly one completion for each request that is not silent, in order; for a
    /// silent one it gets one exactly if it fails. The device frees its entries only at signalled
    /// completions, and its queue never overruns.
    /// Proves: 6.4-silent, 7.1-accepted, 7.2-order
    #[test]
    fn agrees_with_a_model_queue(
        depth in 1..24u32,
        ops in prop::collection::vec(op(), 1..250),
    ) {
        let ring = Ring::new(depth, 1).unwrap();
        let mut device: VecDeque<Entry> = VecDeque::new();
        // Done by the device but not freed: no signalled completion has been polled since.
        let mut unfreed: VecDeque<Entry> = VecDeque::new();
        let mut cq: VecDeque<(Entry, bool)> = VecDeque::new();
        // What the consumer posted and has not heard of: index, silent.
        let mut outstanding: VecDeque<(u32, bool)> = VecDeque::new();
        let mut broken = false;
        for op in ops {
            match op {
                Op::Post { silent, parts } => {
                    let Ok(reservation) = ring.reserve(silent) else {
                        prop_assert_eq!(ring.in_flight(), depth);
                        // Full of silent ones only never happens: some signal is on its way.
                        let coming = device.iter().any(|entry| entry.signalled);
                        prop_assert!(coming || broken || !cq.is_empty());
                        continue;
                    };
                    ring.publish(&reservation);
                    let index = reservation.index;
                    if parts {
                        device.push_back(Entry { index, request: Request::First, signalled: false });
                    }
                    let request = Request::Last { silent };
                    device.push_back(Entry { index, request, signalled: reservation.signalled });
                    prop_assert!(silent || reservation.signalled);
                    outstanding.push_back((index, silent));
                    prop_assert!(device.len() + unfreed.len() <= 2 * depth as usize + 1);
                }
                Op::Refuse { silent } => {
                    if let Ok(reservation) = ring.reserve(silent) {
                        ring.publish(&reservation);
                        ring.retract(&reservation);
                    }
                }
                Op::Device { steps } => {
                    for _ in 0..steps {
                        let Some(entry) = device.pop_front() else { break };
                        unfreed.push_back(entry);
                        if broken || entry.signalled {
                            cq.push_back((entry, !broken));
                        }
                    }
                }
                Op::Break => broken = true,
                Op::Poll => {
                    let Some((entry, success)) = cq.pop_front() else { continue };
                    // The device frees everything up to the completion.
                    while let Some(first) = unfreed.pop_front() {
                        if first.index == entry.index && first.request == entry.request { break }
                    }
                    let retired = ring.retire(entry.index, success, entry.request);
                    match retired {
                        Retired::Report => {
                            // Earlier ones that are skipped were silent and succeeded.
                            loop {
                                let (index, silent) = outstanding.pop_front().expect("reported once");
                                if index == entry.index {
                                    prop_assert!(!silent || !success);
                                    break;
                                }
                                prop_assert!(silent);
                            }
                        }
                        Retired::Swallow => prop_assert!(success),
                        Retired::Stale => prop_assert!(!success, "only flushed second parts"),
                        Retired::Drained => unreachable!(),
                    }
                }
            }
        }
        // The device finishes, the consumer drains: everything loud has been reported.
        let sentinel = ring.reserve_sentinel().unwrap();
        ring.publish(&sentinel);
        device.push_back(Entry {
            index: sentinel.index,
            request: Request::Sentinel,
            signalled: true,
        });
        for entry in device {
            if broken || entry.signalled {
                cq.push_back((entry, !broken));
            }
        }
        let mut drained = false;
        for (entry, success) in cq {
            match ring.retire(entry.index, success, entry.request) {
                Retired::Report => {
                    while let Some((index, silent)) = outstanding.pop_front() {
                        if index == entry.index { break }
                        prop_assert!(silent);
                    }
                }
                Retired::Drained => drained = true,
                Retired::Swallow | Retired::Stale => {}
            }
        }
        prop_assert!(drained);
        prop_assert_eq!(ring.in_flight(), 0);
        prop_assert!(outstanding.iter().all(|(_, silent)| *silent));
    }
}

#[test]
fn indices_run_over_the_end_of_their_range() {
    let ring = Ring::new(3, 0).unwrap();
    let mut places = Vec::new();
    let mut wrapped = false;
    let mut before = 0;
    for _ in 0..100 {
        let (index, _) = post(&ring, false);
        wrapped |= index < before;
        before = index;
        places.push(index & ring.mask());
        assert!(ring.is_posted(index));
        assert_eq!(ring.retire(index, true, LOUD), Retired::Report);
        assert!(!ring.is_posted(index));
    }
    assert!(wrapped, "the wrap is early");
    for pair in places.windows(2) {
        assert_eq!((pair[0] + 1) & ring.mask(), pair[1]);
    }
}
