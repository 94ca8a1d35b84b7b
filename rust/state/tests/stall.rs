// SPDX-License-Identifier: GPL-2.0

//! Stalled queues: what moves is left alone, what does not is found.

#![cfg(not(loom))]

use ndk_state::stall::*;
use proptest::prelude::*;

const SEEN: Seen = Seen {
    oldest: u32::MAX,
    psn: 0x00ff_ffff,
    reads: false,
};

/// Looks that are all the same, up to the one that makes a judgement due.
fn looks_until_due(watch: &mut Watch, seen: Seen) -> u32 {
    (0..).find(|_| watch.look(Some(seen))).unwrap()
}

// Proves: 7.1-accepted
#[test]
fn a_queue_that_does_not_move_is_stalled_in_the_end() {
    let mut watch = Watch::new();
    assert_eq!(looks_until_due(&mut watch, SEEN), LOOKS);
    assert!(watch.judge(Some(SEEN)));
    // It stays so.
    assert!(watch.look(Some(SEEN)));
    assert!(watch.judge(Some(SEEN)));
}

#[test]
fn reads_get_more_time() {
    let reads = Seen {
        reads: true,
        ..SEEN
    };
    let mut watch = Watch::new();
    assert_eq!(looks_until_due(&mut watch, reads), LOOKS_OF_READS);
    assert!(watch.judge(Some(reads)));
}

#[test]
fn whatever_moves_begins_anew() {
    let others = [
        None,
        Some(Seen { oldest: 0, ..SEEN }),
        Some(Seen { psn: 0, ..SEEN }),
        Some(Seen {
            reads: true,
            ..SEEN
        }),
    ];
    for other in others {
        let mut watch = Watch::new();
        looks_until_due(&mut watch, SEEN);
        assert!(!watch.look(other), "{other:?}");
        assert!(!watch.judge(other), "{other:?}");
        assert_eq!(looks_until_due(&mut watch, SEEN), LOOKS, "{other:?}");
    }
}

#[test]
fn completions_that_nobody_polled_for_are_no_stall() {
    for again in [None, Some(Seen { oldest: 7, ..SEEN })] {
        let mut watch = Watch::new();
        looks_until_due(&mut watch, SEEN);
        assert!(!watch.judge(again), "{again:?}");
    }
}

#[test]
fn nobody_is_judged_before_it_is_due() {
    let mut watch = Watch::new();
    assert!(!watch.judge(None));
    assert!(!watch.judge(Some(SEEN)));
    for _ in 0..LOOKS {
        assert!(!watch.look(Some(SEEN)));
        assert!(!watch.judge(Some(SEEN)));
    }
}

#[test]
fn a_queue_in_which_nothing_waits_never_stalls() {
    let mut watch = Watch::default();
    for _ in 0..2 * LOOKS_OF_READS {
        assert!(!watch.look(None));
        assert!(!watch.judge(None));
    }
}

/// A device that gives up on a silent peer says so itself: seven time-outs of half a second.
#[test]
fn the_device_has_given_up_before() {
    const { assert!(LOOK_MS * LOOKS > 3 * 7 * 537) };
    const { assert!(LOOKS_OF_READS > LOOKS) };
}

proptest! {
    /// Of any sequence of looks only as many as needed that are alike make it due.
    #[test]
    fn only_looks_that_are_alike_count(psns in proptest::collection::vec(0u32..3, 0..60)) {
        let mut watch = Watch::new();
        let mut alike = 0;
        let mut last = None;
        for psn in psns {
            let seen = Some(Seen { psn, ..SEEN });
            alike = if seen == last { alike + 1 } else { 0 };
            last = seen;
            prop_assert_eq!(watch.look(seen), alike >= LOOKS);
            prop_assert_eq!(watch.judge(seen), alike >= LOOKS);
        }
    }
}
