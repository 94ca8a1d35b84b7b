// SPDX-License-Identifier: GPL-2.0

//! Memory regions: every state with every event, and the arguments of registrations.

#![cfg(not(loom))]

use ndk_state::flags::{self, Op};
use ndk_state::status::Status;
use ndk_state::token::*;
use proptest::prelude::*;

const EVENTS: [Event; 12] = [
    Event::Register,
    Event::RegisterDone { success: true },
    Event::RegisterDone { success: false },
    Event::Deregister,
    Event::DeregisterDone { success: true },
    Event::DeregisterDone { success: false },
    Event::Initialize,
    Event::InitializeDone { success: true },
    Event::InitializeDone { success: false },
    Event::Request,
    Event::Bind,
    Event::Unbind,
];

const fn registered(windows: u32) -> State {
    State::Registered { windows }
}

const STATES: [State; 9] = [
    State::Created,
    State::Registering,
    registered(0),
    registered(1),
    registered(7),
    registered(MAX_WINDOWS),
    State::Deregistering,
    State::Initializing,
    State::Initialized,
];

/// The legal transitions of a normal region.
const NORMAL: [(State, usize, State); 11] = [
    (State::Created, 0, State::Registering),
    (State::Registering, 1, registered(0)),
    (State::Registering, 2, State::Created),
    (registered(0), 3, State::Deregistering),
    (State::Deregistering, 4, State::Created),
    (State::Deregistering, 5, registered(0)),
    (registered(0), 10, registered(1)),
    (registered(1), 10, registered(2)),
    (registered(7), 10, registered(8)),
    (registered(1), 11, registered(0)),
    (registered(7), 11, registered(6)),
];

/// The legal transitions of a fast region.
const FAST: [(State, usize, State); 5] = [
    (State::Created, 6, State::Initializing),
    (State::Initialized, 6, State::Initializing),
    (State::Initializing, 7, State::Initialized),
    (State::Initializing, 8, State::Created),
    (State::Initialized, 9, State::Initialized),
];

#[test]
fn states_have_names_and_room_for_their_windows() {
    let names = STATES.map(State::name);
    let expected = [
        "created",
        "registering",
        "registered",
        "registered",
        "registered",
        "registered",
        "deregistering",
        "initializing",
        "initialized",
    ];
    assert_eq!(names, expected);
    // As many as stand above the eight bits of the state.
    assert_eq!(MAX_WINDOWS, u32::MAX >> 8);
}

/// Proves: 7.7-mr-kind, 7.7-mr-again, 7.7-mw-busy
#[test]
fn every_state_takes_only_its_own_events() {
    for (fast, table) in [(false, &NORMAL[..]), (true, &FAST[..])] {
        let own = |state: &State| match state {
            State::Created => true,
            State::Registering | State::Registered { .. } | State::Deregistering => !fast,
            State::Initializing | State::Initialized => fast,
        };
        for state in STATES.into_iter().filter(own) {
            for (number, event) in EVENTS.iter().enumerate() {
                // The last window of all leaves as the others do; it has a row of its own below.
                if state == registered(MAX_WINDOWS) && *event == Event::Unbind {
                    continue;
                }
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

/// Proves: REGISTER_MR.wrong-state, DEREGISTER_MR.wrong-state, INITIALIZE_FAST_REGISTER_MR.wrong-state
#[test]
fn refused_calls_have_documented_statuses() {
    let bad = Status::InvalidDeviceRequest;
    for (quote, fast, state, event, status) in [
        (
            "windows are bound",
            false,
            registered(1),
            Event::Deregister,
            Status::DeviceBusy,
        ),
        (
            "windows are bound",
            false,
            registered(MAX_WINDOWS),
            Event::Deregister,
            Status::DeviceBusy,
        ),
        (
            "too many",
            false,
            registered(MAX_WINDOWS),
            Event::Bind,
            Status::InsufficientResources,
        ),
        (
            "RegisterMr of a fast region",
            true,
            State::Created,
            Event::Register,
            bad,
        ),
        (
            "Bind to a fast region",
            true,
            State::Initialized,
            Event::Bind,
            bad,
        ),
        (
            "InitializeFastRegisterMr of a normal one",
            false,
            State::Created,
            Event::Initialize,
            bad,
        ),
        (
            "Invalidate of a normal region",
            false,
            registered(0),
            Event::Request,
            bad,
        ),
        (
            "FastRegister before it is initialized",
            true,
            State::Created,
            Event::Request,
            bad,
        ),
        (
            "Bind to what is not registered",
            false,
            State::Registering,
            Event::Bind,
            bad,
        ),
        (
            "no window is bound",
            false,
            registered(0),
            Event::Unbind,
            bad,
        ),
        (
            "two registrations at once",
            false,
            State::Registering,
            Event::Register,
            bad,
        ),
        (
            "deregistered while it registers",
            false,
            State::Registering,
            Event::Deregister,
            bad,
        ),
        (
            "initialized while it initializes",
            true,
            State::Initializing,
            Event::Initialize,
            bad,
        ),
    ] {
        assert_eq!(step(fast, state, event), Err(status), "{quote}");
    }
    let all = step(false, registered(MAX_WINDOWS), Event::Unbind);
    assert_eq!(all, Ok(registered(MAX_WINDOWS - 1)));
}

const STEPS: [Step; 6] = [
    Step::Make,
    Step::MakeFailed,
    Step::End,
    Step::EndFailed,
    Step::EndDone,
    Step::PeerEnded,
];

/// Every phase with every step, in the order of `STEPS`; `None` is refused.
const REGISTRATION: [(Phase, [Option<Phase>; 6]); 4] = {
    use Phase::*;
    [
        (
            Free,
            [
                Some(Valid),
                Some(Free),
                None,
                Some(Free),
                Some(Free),
                Some(Free),
            ],
        ),
        (
            Valid,
            [
                None,
                Some(Free),
                Some(Ending),
                Some(Valid),
                Some(Valid),
                Some(Free),
            ],
        ),
        (
            Ending,
            [
                None,
                Some(Ended),
                None,
                Some(Valid),
                Some(Free),
                Some(Ended),
            ],
        ),
        (
            Ended,
            [None, Some(Ended), None, Some(Free), Some(Free), Some(Ended)],
        ),
    ]
};

/// Proves: INVALIDATE.wrong-state, FAST_REGISTER.wrong-state, 7.3-invalidated-first
#[test]
fn every_phase_takes_its_own_steps() {
    for (phase, row) in REGISTRATION {
        for (step, expected) in STEPS.into_iter().zip(row) {
            let got = advance(phase, step);
            assert_eq!(
                got,
                expected.ok_or(Status::InvalidDeviceRequest),
                "{phase:?} {step:?}"
            );
        }
    }
}

/// A registration with its two requests at a device, and a peer: every order of what happens, to depth 8.
#[derive(Clone)]
struct World {
    phase: Phase,
    /// Requests with the device, oldest first; true for the one that makes.
    queue: Vec<bool>,
    /// What the device has.
    valid: bool,
    /// Whether requests are flushed.
    broken: bool,
}

impl World {
    /// The consumer posts.
    fn post(&mut self, make: bool) {
        let step = if make { Step::Make } else { Step::End };
        if let Ok(next) = advance(self.phase, step) {
            // What is made anew is mapped anew: nothing of before may be left with the device.
            assert!(!make || !self.valid && !self.queue.contains(&false));
            self.phase = next;
            self.queue.push(make);
        }
    }

    /// The device completes the oldest request; where it is broken, as flushed.
    fn complete(&mut self) {
        if self.queue.is_empty() {
            return;
        }
        let make = self.queue.remove(0);
        let success = !self.broken && self.valid != make;
        let step = match (make, success) {
            // Says nothing: it counted when it was posted.
            (true, true) => None,
            (true, false) => Some(Step::MakeFailed),
            (false, true) => Some(Step::EndDone),
            (false, false) => Some(Step::EndFailed),
        };
        // A failure breaks the connection.
        self.broken |= !success;
        if success {
            self.valid = make;
        }
        if let Some(step) = step {
            self.phase = advance(self.phase, step).unwrap();
        }
    }

    /// The peer invalidates, which only what is valid allows; the receive is taken at once.
    fn peer(&mut self) {
        if self.valid && !self.broken {
            self.valid = false;
            self.phase = advance(self.phase, Step::PeerEnded).unwrap();
        }
    }

    fn check(&self) {
        // What counts as free is not with the device, nor about to be.
        if self.phase == Phase::Free {
            assert!(!self.valid && !self.queue.contains(&false));
        }
        if self.queue.is_empty() {
            assert_eq!(self.valid, self.phase == Phase::Valid, "{:?}", self.phase);
        }
    }
}

fn explore(world: &World, depth: u32) {
    world.check();
    if depth == 0 {
        return;
    }
    let moves: [fn(&mut World); 5] = [
        |world| world.post(true),
        |world| world.post(false),
        World::complete,
        World::peer,
        |world| world.broken = true,
    ];
    for each in moves {
        let mut next = world.clone();
        each(&mut next);
        explore(&next, depth - 1);
    }
}

/// Proves: 7.7-tokens-early, 7.3-invalidated-first
#[test]
fn a_free_registration_is_free_of_the_device() {
    let world = World {
        phase: Phase::Free,
        queue: Vec::new(),
        valid: false,
        broken: false,
    };
    explore(&world, 8);
}

proptest! {
    /// The atomic registration is the pure function, and counts its readers beside it.
    #[test]
    fn the_registration_follows_the_function(
        walk in prop::collection::vec((prop::sample::select(STEPS.to_vec()), any::<bool>()), 1..60),
    ) {
        let registration = Registration::new();
        let (mut phase, mut readers) = (Phase::Free, 0);
        for (step, read) in walk {
            let expected = advance(phase, step);
            if step == Step::Make {
                prop_assert_eq!(registration.make(read), expected.map(|_| ()));
                readers += u32::from(read && expected.is_ok());
            } else {
                let freed = |next| next == Phase::Free && phase != Phase::Free;
                prop_assert_eq!(registration.apply(step), expected.map(freed));
                if read {
                    registration.read();
                    readers = readers.saturating_sub(1);
                }
            }
            phase = expected.unwrap_or(phase);
            prop_assert_eq!(registration.phase(), phase);
            prop_assert_eq!(registration.is_read(), readers != 0);
        }
    }

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
            prop_assert_eq!(region.check(event), expected.map(|_| ()));
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

// Bug: B47
#[test]
fn windows_touch_the_pages_of_their_bytes() {
    let pages = |start, length| {
        let window = window_pages(start, length, 4096);
        (window.pages.start, window.pages.end, window.first_byte)
    };
    assert_eq!(pages(0, 1), (0, 1, 0));
    assert_eq!(pages(0, 4096), (0, 1, 0));
    assert_eq!(pages(0, 4097), (0, 2, 0));
    assert_eq!(pages(4095, 1), (0, 1, 4095));
    assert_eq!(pages(4095, 2), (0, 2, 4095));
    assert_eq!(pages(4096, 1), (1, 2, 0));
    assert_eq!(pages(9000, 5000), (2, 4, 808));
    let last = window_pages(u64::MAX, u64::MAX, 4096);
    assert_eq!(last.first_byte, 4095);
}
