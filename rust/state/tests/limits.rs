// SPDX-License-Identifier: GPL-2.0

//! Rules about numbers.

#![cfg(not(loom))]

use ndk_state::limits::*;
use ndk_state::status::Status;
use proptest::prelude::*;

/// Proves: 6.1-limits
// Bug: B68, B86
#[test]
fn limits_are_inclusive() {
    assert_eq!(check_limit(0, 0), Ok(()));
    assert_eq!(check_limit(16, 16), Ok(()));
    assert_eq!(check_limit(17, 16), Err(Status::InvalidParameter));
    assert_eq!(check_limit(u32::MAX, 16), Err(Status::InvalidParameter));
}

/// Proves: 5.9-capped, 5.9-zero
// Bug: B26
#[test]
fn read_limits_are_capped_never_refused_and_never_wrap() {
    let limits = ReadLimits::capped(300, 1000, 16, 500);
    assert_eq!((limits.inbound, limits.outbound), (16, 255));
    let limits = ReadLimits::capped(0, 3, 16, 16);
    assert_eq!((limits.inbound, limits.outbound), (0, 3));
}

proptest! {
    /// Both sides come to limits that fit each other (section 5.9).
    /// Proves: 5.9-negotiated
    #[test]
    fn what_one_side_may_send_the_other_takes(
        a in (any::<u32>(), any::<u32>(), any::<u32>(), any::<u32>()),
        b in (any::<u32>(), any::<u32>(), any::<u32>(), any::<u32>()),
    ) {
        let own = ReadLimits::capped(a.0, a.1, a.2, a.3);
        let peer = ReadLimits::capped(b.0, b.1, b.2, b.3);
        let (here, there) = (own.effective(peer), peer.effective(own));
        prop_assert_eq!(here.inbound, there.outbound);
        prop_assert_eq!(here.outbound, there.inbound);
        prop_assert!(here.inbound <= own.inbound && here.outbound <= own.outbound);
        prop_assert!(u32::from(own.inbound) <= a.0.min(a.2));
    }
}

/// Proves: 5.8-caller, 5.8-callee, 5.8-too-long
#[test]
fn private_data_has_the_room_of_the_adapter() {
    assert_eq!(check_private_data(0, 56), Ok(0));
    assert_eq!(check_private_data(56, 56), Ok(56));
    for (len, max) in [
        (57, 56),
        (256, 56),
        (256, 1000),
        (1024, 56),
        (usize::MAX, 56),
    ] {
        let refused = check_private_data(len, max);
        assert_eq!(refused, Err(Status::InvalidBufferSize), "{len} {max}");
    }
    assert_eq!(check_private_data(255, 1000), Ok(255));
}

fn answer(copy: usize, size: usize, status: Status) -> Answer {
    Answer { copy, size, status }
}

/// Proves: 5.8-size, 5.8-partial, 5.8-null
#[test]
fn section_8_9_the_buffer_table() {
    let invalid = answer(0, 56, Status::InvalidParameter);
    // NULL | 0 | SUCCESS | – | RDS
    assert_eq!(
        connection_data(false, 0, 56),
        answer(0, 56, Status::Success)
    );
    // NULL | >0 | invalid
    assert_eq!(connection_data(false, 1, 56), invalid);
    assert_eq!(connection_data(false, 56, 56), invalid);
    // non-NULL | ≥ RDS | SUCCESS | RDS bytes | RDS
    for len in [56, 57, usize::MAX] {
        let got = connection_data(true, len, 56);
        assert_eq!(got, answer(56, 56, Status::Success), "{len}");
    }
    // non-NULL | < RDS | BUFFER_TOO_SMALL | *len bytes | RDS
    for len in [0, 1, 55] {
        let got = connection_data(true, len, 56);
        assert_eq!(got, answer(len, 56, Status::BufferTooSmall), "{len}");
    }
}

/// Proves: 6.1-prefix
#[test]
fn adapter_info_honours_the_caller_of_version_1() {
    let small = answer(0, 104, Status::BufferTooSmall);
    for (buffer, len, expected) in [
        (false, 0, small),
        (false, 1000, small),
        (true, 0, small),
        (true, 95, small),
        (true, 96, answer(96, 96, Status::Success)),
        (true, 103, answer(96, 96, Status::Success)),
        (true, 104, answer(104, 104, Status::Success)),
        (true, 1000, answer(104, 104, Status::Success)),
    ] {
        assert_eq!(adapter_info(buffer, len, 96, 104), expected, "{len}");
    }
}

#[test]
fn addresses_come_whole_or_not_at_all() {
    assert_eq!(address(27, 28), answer(0, 28, Status::BufferTooSmall));
    assert_eq!(address(0, 28), answer(0, 28, Status::BufferTooSmall));
    assert_eq!(address(28, 28), answer(28, 28, Status::Success));
    assert_eq!(address(128, 28), answer(28, 28, Status::Success));
}

/// Proves: 8.4-moderation-none, 8.4-moderation-interval, 8.4-moderation-count, 8.4-moderation-mix
#[test]
fn section_8_4_moderation() {
    const DEPTH: u32 = 64;
    let mix = Err(Status::InvalidParameterMix);
    for (interval, count, expected) in [
        (INFINITE, INFINITE, mix),
        (INFINITE, DEPTH + 1, mix),
        (INFINITE, DEPTH, Ok(Moderation::Count(DEPTH))),
        (INFINITE, 2, Ok(Moderation::Count(2))),
        // Interval 0: none, whatever the count is.
        (0, INFINITE, Ok(Moderation::Off)),
        (0, 17, Ok(Moderation::Off)),
        (0, 0, Ok(Moderation::Off)),
        // Count 0 or 1: none, whatever the interval is.
        (INFINITE, 0, Ok(Moderation::Off)),
        (INFINITE, 1, Ok(Moderation::Off)),
        (100, 0, Ok(Moderation::Off)),
        (100, 1, Ok(Moderation::Off)),
        // Count without limit: only the interval.
        (100, INFINITE, Ok(Moderation::Interval(100))),
        (100, DEPTH + 1, Ok(Moderation::Interval(100))),
        (
            100,
            DEPTH,
            Ok(Moderation::Both {
                interval: 100,
                count: DEPTH,
            }),
        ),
    ] {
        let got = moderation(interval, count, DEPTH);
        assert_eq!(got, expected, "{interval} {count}");
    }
}

/// Proves: 9.1-major, 9.1-floor, 9.1-too-new
#[test]
fn section_9_1_versions() {
    let version = |major, minor| Version { major, minor };
    let provider = version(2, 1);
    for (requested, expected) in [
        (version(2, 0), Ok(provider)),
        (version(2, 1), Ok(provider)),
        (version(2, 2), Err(Status::BadVersion)),
        (version(1, 1), Err(Status::BadVersion)),
        (version(3, 0), Err(Status::BadVersion)),
    ] {
        assert_eq!(negotiate(requested, provider), expected, "{requested:?}");
    }
    // "Ask 1.0, provider 1.1: 1.1."
    assert_eq!(negotiate(version(1, 0), version(1, 1)), Ok(version(1, 1)));
}

#[test]
fn a_request_of_several_parts_has_room_in_the_queue_of_the_device() {
    for (barriers, parts) in [(false, 2), (true, 3)] {
        for depth in [0, 1, 7, 1 << 20] {
            let wrs = send_wrs(depth, barriers);
            assert_eq!(wrs, parts * depth + 1);
            assert_eq!(max_initiator_depth(wrs, barriers), depth);
            assert!(max_initiator_depth(wrs.saturating_sub(1), barriers) < depth.max(1));
        }
        assert_eq!(max_initiator_depth(0, barriers), 0);
        assert_eq!(send_wrs(u32::MAX, barriers), u32::MAX);
    }
}
