// SPDX-License-Identifier: GPL-2.0

//! Memory regions: every state with every event, and the arguments of registrations.

#![cfg(not(loom))]

use ndk_state::flags::{self, Op};
use ndk_state::status::Status;
use ndk_state::token::*;
use proptest::prelude::*;

const EVENTS: [Event; 17] = [
    Event::Register,
    Event::RegisterDone { success: true },
    Event::RegisterDone { success: false },
    Event::Deregister { bound: true },
    Event::Deregister { bound: false },
    Event::DeregisterDone { success: true },
    Event::DeregisterDone { success: false },
    Event::Initialize,
    Event::InitializeDone { success: true },
    Event::InitializeDone { success: false },
    Event::FastRegister,
    Event::FastRegisterFailed,
    Event::Invalidate,
    Event::InvalidateFailed,
    Event::RemoteInvalidated,
    Event::Bind,
    Event::UseToken,
];

/// The legal transitions of a normal region.
const NORMAL: [(State, usize, State); 8] = [
    (State::Created, 0, State::Registering),
    (State::Registering, 1, State::Registered),
    (State::Registering, 2, State::Created),
    (State::Registered, 4, State::Deregistering),
    (State::Deregistering, 5, State::Created),
    (State::Deregistering, 6, State::Registered),
    (State::Registered, 15, State::Registered),
    (State::Registered, 16, State::Registered),
];

/// The legal transitions of a fast region.
const FAST: [(State, usize, State); 21] = [
    (State::Created, 7, State::Initializing),
    (State::Initialized, 7, State::Initializing),
    (State::Valid, 7, State::Initializing),
    (State::Initializing, 8, State::Initialized),
    (State::Initializing, 9, State::Created),
    (State::Initialized, 10, State::Valid),
    (State::Valid, 11, State::Initialized),
    (State::Valid, 12, State::Initialized),
    (State::Valid, 14, State::Initialized),
    (State::Initialized, 13, State::Valid),
    (State::Initialized, 16, State::Initialized),
    (State::Valid, 16, State::Valid),
    // Late news.
    (State::Created, 11, State::Created),
    (State::Initializing, 11, State::Initializing),
    (State::Initialized, 11, State::Initialized),
    (State::Created, 14, State::Created),
    (State::Initializing, 14, State::Initializing),
    (State::Initialized, 14, State::Initialized),
    (State::Created, 13, State::Created),
    (State::Initializing, 13, State::Initializing),
    (State::Valid, 13, State::Valid),
];

/// Proves: 7.7-mr-kind
#[test]
fn every_state_takes_only_its_own_events() {
    for (fast, table) in [(false, &NORMAL[..]), (true, &FAST[..])] {
        let own = |state: &State| match state {
            State::Created => true,
            State::Registering | State::Registered | State::Deregistering => !fast,
            State::Initializing | State::Initialized | State::Valid => fast,
        };
        for state in State::ALL.into_iter().filter(own) {
            for (number, event) in EVENTS.iter().enumerate() {
                let expected = table
                    .iter()
                    .find(|row| row.0 == state && row.1 == number)
                    .map(|row| row.2);
                let got = step(fast, state, *event);
                assert_eq!(got.ok(), expected, "{fast} {state:?} {event:?}");
            }
        }
    }
}

#[test]
fn refused_calls_have_documented_statuses() {
    for (quote, fast, state, event, status) in [
        (
            "windows are bound",
            false,
            State::Registered,
            Event::Deregister { bound: true },
            Status::DeviceBusy,
        ),
        (
            "RegisterMr of a fast region",
            true,
            State::Created,
            Event::Register,
            Status::InvalidDeviceRequest,
        ),
        (
            "InitializeFastRegisterMr of a normal region",
            false,
            State::Created,
            Event::Initialize,
            Status::InvalidDeviceRequest,
        ),
        (
            "Invalidate of a normal region",
            false,
            State::Registered,
            Event::Invalidate,
            Status::InvalidDeviceRequest,
        ),
        (
            "Invalidate of what is not valid",
            true,
            State::Initialized,
            Event::Invalidate,
            Status::InvalidDeviceRequest,
        ),
        (
            "FastRegister of what is valid",
            true,
            State::Valid,
            Event::FastRegister,
            Status::InvalidDeviceRequest,
        ),
        (
            "Bind to what is not registered",
            false,
            State::Registering,
            Event::Bind,
            Status::InvalidDeviceRequest,
        ),
        (
            "two registrations at once",
            false,
            State::Registering,
            Event::Register,
            Status::InvalidDeviceRequest,
        ),
        (
            "deregistered while it registers",
            false,
            State::Registering,
            Event::Deregister { bound: false },
            Status::InvalidDeviceRequest,
        ),
        (
            "initialized while it initializes",
            true,
            State::Initializing,
            Event::Initialize,
            Status::InvalidDeviceRequest,
        ),
    ] {
        assert_eq!(step(fast, state, event), Err(status), "{quote}");
    }
}

proptest! {
    /// The atomic region is the pure function, whatever happens to it.
    #[test]
    fn the_region_follows_the_function(
        fast in any::<bool>(),
        walk in prop::collection::vec(prop::sample::select(EVENTS.to_vec()), 1..60),
    ) {
        let region = Mr::new(fast);
        prop_assert_eq!(region.is_fast(), fast);
        let mut state = State::Created;
        for event in walk {
            let expected = step(fast, state, event);
            let got = region.apply(event);
            prop_assert_eq!(got, expected.map(|_| state));
            state = expected.unwrap_or(state);
            prop_assert_eq!(region.state(), state);
        }
    }

    /// A window that is accepted lies inside, computed without wrapping.
    /// Proves: 8.6-bind-within
    #[test]
    fn windows_lie_inside(
        region_base in any::<u64>(), region_length in any::<u64>(),
        base in any::<u64>(), length in any::<u64>(), near in any::<bool>(),
    ) {
        let base = if near { region_base.wrapping_add(base % 8) } else { base };
        let length = if near { length % 16 } else { length };
        let inside = u128::from(base) >= u128::from(region_base)
            && u128::from(base) + u128::from(length)
                <= u128::from(region_base) + u128::from(region_length)
            && u128::from(base) + u128::from(length) <= 1 << 64
            && length != 0;
        let got = check_window(region_base, region_length, base, length);
        prop_assert_eq!(got.is_ok(), inside);
    }

    /// The arguments of FastRegister, against arithmetic that cannot wrap.
    /// Proves: 8.6-fast-register
    #[test]
    fn fast_register_arguments(
        pages in 0..20u32, max in 0..20u32,
        first_byte in 0..5000u32,
        length in prop_oneof![0..80_000u64, any::<u64>()],
        base in prop_oneof![any::<u64>(), 0..10_000u64, (u64::MAX - 100_000)..=u64::MAX],
        fit in any::<bool>(),
    ) {
        let base = if fit { (base & !0xfff) | u64::from(first_byte & 0xfff) } else { base };
        let valid = pages >= 1
            && pages <= max
            && first_byte < 4096
            && length >= 1
            && u128::from(length) + u128::from(first_byte) <= u128::from(pages) * 4096
            && base % 4096 == u64::from(first_byte)
            && u128::from(base) + u128::from(length) <= 1 << 64;
        let request = FastRegister { pages, first_byte, length, base };
        prop_assert_eq!(request.check(max, 4096).is_ok(), valid);
    }
}

/// Proves: 7.7-no-zero-based, 8.6-fast-register
#[test]
fn fast_register_edges() {
    let good = FastRegister {
        pages: 2,
        first_byte: 100,
        length: 8192 - 100,
        base: 0x1000 + 100,
    };
    assert_eq!(good.check(2, 4096), Ok(()));
    let refused = Err(Status::InvalidParameter);
    for bad in [
        FastRegister { pages: 3, ..good },
        FastRegister { pages: 0, ..good },
        FastRegister {
            length: good.length + 1,
            ..good
        },
        FastRegister { length: 0, ..good },
        FastRegister {
            first_byte: 4096,
            base: 0x1000,
            ..good
        },
        // "The value 0 only if FBO is 0."
        FastRegister { base: 0, ..good },
        FastRegister { base: 101, ..good },
    ] {
        assert_eq!(bad.check(2, 4096), refused, "{bad:?}");
    }
    let zero = FastRegister {
        first_byte: 0,
        base: 0,
        ..good
    };
    assert_eq!(zero.check(2, 4096), Ok(()));
    // To the very last byte of the address space, and not over it.
    let last = FastRegister {
        pages: 1,
        first_byte: 0,
        length: 4096,
        base: u64::MAX - 4095,
    };
    assert_eq!(last.check(1, 4096), Ok(()));
    assert_eq!(last.check(1, 0), refused, "no page size");
    let over = FastRegister {
        pages: 2,
        length: 4097,
        ..last
    };
    assert_eq!(over.check(2, 4096), refused);
}

/// Proves: 6.6-remote-write, 7.7-access, 8.6-bind-local-write
#[test]
fn rights() {
    let region = |bits| Access::from_mr_flags(bits);
    let window = |bits| Access::from_op_flags(Op::Bind, bits);
    assert_eq!(region(0x4), Err(Status::InvalidParameter));
    assert_eq!(window(flags::INLINE), Err(Status::InvalidParameter));
    let local = region(flags::MR_ALLOW_LOCAL_WRITE).unwrap();
    assert!(local.local_write && !local.remote_write && !local.is_remote());
    let sink = region(flags::MR_RDMA_READ_SINK).unwrap();
    assert!(sink.read_sink && !sink.local_write);
    let write = region(flags::MR_ALLOW_REMOTE_WRITE).unwrap();
    assert!(write.local_write && write.remote_write && write.is_remote());
    let read_only = region(flags::MR_ALLOW_REMOTE_READ).unwrap();
    assert!(read_only.is_remote());

    let writes = window(flags::ALLOW_REMOTE_WRITE).unwrap();
    let reads = window(flags::ALLOW_REMOTE_READ).unwrap();
    let denied = Err(Status::AccessViolation);
    assert_eq!(writes.check_bind(read_only), denied);
    assert_eq!(writes.check_bind(local), Ok(()));
    assert_eq!(reads.check_bind(region(0).unwrap()), Ok(()));

    let fast = |bits| Access::from_op_flags(Op::FastRegister, bits).unwrap();
    let local_only = fast(flags::ALLOW_LOCAL_WRITE);
    assert!(!local_only.remote_write, "no remote write by mistake");
    assert_eq!(local_only.check_fast_register(false), Ok(()));
    for bits in [flags::ALLOW_REMOTE_READ, flags::ALLOW_REMOTE_WRITE] {
        assert_eq!(fast(bits).check_fast_register(false), denied);
        assert_eq!(fast(bits).check_fast_register(true), Ok(()));
    }
}

#[test]
fn the_key_counts_in_its_low_byte() {
    assert_eq!(next_key(0x1234_5600), 0x1234_5601);
    assert_eq!(next_key(0x1234_56fe), 0x1234_56ff);
    assert_eq!(next_key(0x1234_56ff), 0x1234_5600);
    assert_eq!(next_key(u32::MAX), 0xffff_ff00);
    let mut key = 0xabcd_ef42;
    let start = key;
    for _ in 0..256 {
        key = next_key(key);
        assert_eq!(key & !0xff, start & !0xff);
    }
    assert_eq!(key, start);
}
