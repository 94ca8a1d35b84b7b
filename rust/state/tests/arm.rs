// SPDX-License-Identifier: GPL-2.0

//! Arming and notification of a completion queue.

#![cfg(not(loom))]

use ndk_state::arm::{Arm, ArmAction, ArmType, Fault, Lower, Placed};
use ndk_state::status::Status;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::Mutex;
use std::time::{Duration, Instant};

const TYPES: [ArmType; 3] = [ArmType::Errors, ArmType::Any, ArmType::Solicited];

#[test]
fn the_numbers_are_those_of_the_interface() {
    for (number, kind) in (0..).zip(TYPES) {
        assert_eq!(ArmType::from_raw(number), Some(kind));
        assert_eq!(kind.to_raw(), number);
    }
    assert_eq!(ArmType::from_raw(3), None);
}

/// Proves: 7.4-ANY-ANY, 7.4-ANY-ERRORS, 7.4-ANY-SOLICITED, 7.4-ERRORS-ANY, 7.4-ERRORS-ERRORS,
/// 7.4-ERRORS-SOLICITED, 7.4-SOLICITED-ANY, 7.4-SOLICITED-ERRORS, 7.4-SOLICITED-SOLICITED
#[test]
fn a_second_arm_keeps_the_stronger_type() {
    use ArmType::{Any, Errors, Solicited};
    // The nine cells of section 7.4.
    let cells = [
        (Any, Any, Any),
        (Any, Errors, Any),
        (Any, Solicited, Any),
        (Errors, Any, Any),
        (Errors, Errors, Errors),
        (Errors, Solicited, Solicited),
        (Solicited, Any, Any),
        (Solicited, Errors, Solicited),
        (Solicited, Solicited, Solicited),
    ];
    for (first, second, result) in cells {
        let arm = Arm::default();
        let _ = arm.arm(first);
        let action = arm.arm(second);
        assert_eq!(arm.armed(), Some(result), "{first:?} then {second:?}");
        assert_eq!(action, lower(result), "{first:?} then {second:?}");
    }
}

fn lower(kind: ArmType) -> ArmAction {
    match kind {
        ArmType::Errors => ArmAction::Nothing,
        ArmType::Solicited => ArmAction::ArmLower(Lower::Solicited),
        ArmType::Any => ArmAction::ArmLower(Lower::Any),
    }
}

/// Proves: 7.4-match-any, 7.4-match-solicited, 7.4-match-errors
#[test]
fn each_type_is_satisfied_by_its_own_events() {
    for kind in TYPES {
        for (placed, matches) in [
            (Placed::Plain, kind == ArmType::Any),
            (Placed::Solicited, kind != ArmType::Errors),
            (Placed::Failed, kind != ArmType::Errors),
        ] {
            let arm = Arm::new();
            let _ = arm.arm(kind);
            assert_eq!(arm.completion(placed), matches, "{kind:?} {placed:?}");
            let report = matches.then_some(Status::Success);
            assert_eq!(arm.begin_callback(), report, "{kind:?} {placed:?}");
        }
    }
}

/// Proves: 7.4-no-arm
#[test]
fn nothing_is_called_without_an_arm() {
    let arm = Arm::new();
    assert!(!arm.completion(Placed::Plain));
    assert!(!arm.completion(Placed::Solicited));
    assert_eq!(arm.begin_callback(), None);
}

/// Proves: 7.4-one-shot
#[test]
fn one_arm_gives_one_callback_and_is_cleared_before_it() {
    let arm = Arm::new();
    let _ = arm.arm(ArmType::Any);
    assert!(arm.completion(Placed::Plain));
    assert!(!arm.completion(Placed::Plain), "kicked once");
    assert_eq!(arm.begin_callback(), Some(Status::Success));
    assert_eq!(arm.armed(), None);
    assert!(!arm.completion(Placed::Plain));
    assert!(!arm.end_callback());
    assert_eq!(arm.begin_callback(), None);
}

/// Proves: 7.4-serial
#[test]
fn an_arm_inside_the_callback_is_deferred_until_it_returns() {
    let arm = Arm::new();
    let _ = arm.arm(ArmType::Any);
    assert!(arm.completion(Placed::Plain));
    assert!(arm.begin_callback().is_some());
    assert_eq!(arm.arm(ArmType::Any), ArmAction::ArmLower(Lower::Any));
    assert!(!arm.completion(Placed::Plain), "no kick while one runs");
    assert_eq!(arm.begin_callback(), None, "no overlap");
    assert!(arm.end_callback());
    assert_eq!(arm.begin_callback(), Some(Status::Success));
    assert!(!arm.end_callback());
}

#[test]
fn an_arm_while_queued_is_satisfied_by_the_same_callback() {
    let arm = Arm::new();
    let _ = arm.arm(ArmType::Solicited);
    assert!(arm.completion(Placed::Solicited));
    assert_eq!(arm.arm(ArmType::Any), ArmAction::Nothing);
    assert_eq!(arm.begin_callback(), Some(Status::Success));
    assert_eq!(arm.armed(), None);
}

/// Proves: 7.4-fault-latched, 7.4-match-errors
#[test]
fn a_fault_satisfies_every_type_and_is_reported_once() {
    for (fault, status) in [
        (Fault::Overrun, Status::BufferOverflow),
        (Fault::Fatal, Status::InternalError),
    ] {
        for kind in TYPES {
            // Armed when it happens.
            let arm = Arm::new();
            let _ = arm.arm(kind);
            assert!(arm.fault(fault));
            assert!(arm.is_faulty());
            dies_with(&arm, status);
            // Unarmed: latched until the next arm.
            let arm = Arm::new();
            assert!(!arm.fault(fault));
            assert_eq!(arm.begin_callback(), None);
            assert_eq!(arm.arm(kind), ArmAction::FireNow);
            dies_with(&arm, status);
        }
    }
}

fn dies_with(arm: &Arm, status: Status) {
    assert_eq!(arm.begin_callback(), Some(status));
    assert_eq!(arm.arm(ArmType::Any), ArmAction::Nothing);
    assert!(!arm.fault(Fault::Fatal));
    assert!(!arm.completion(Placed::Solicited));
    assert!(!arm.end_callback());
    assert_eq!(arm.arm(ArmType::Any), ArmAction::Nothing);
    assert_eq!(arm.begin_callback(), None);
}

/// Proves: 7.4-fault-latched, 7.4-serial
#[test]
fn a_fault_during_the_callback_waits_for_its_return() {
    let arm = Arm::new();
    let _ = arm.arm(ArmType::Any);
    assert!(arm.completion(Placed::Plain));
    assert_eq!(arm.begin_callback(), Some(Status::Success));
    assert!(!arm.fault(Fault::Overrun));
    assert_eq!(arm.arm(ArmType::Errors), ArmAction::Nothing);
    assert!(arm.end_callback());
    assert_eq!(arm.begin_callback(), Some(Status::BufferOverflow));
}

/// Proves: 7.4-fault-latched
#[test]
fn a_fault_overtakes_a_queued_notification() {
    let arm = Arm::new();
    let _ = arm.arm(ArmType::Any);
    assert!(arm.completion(Placed::Plain));
    assert!(!arm.fault(Fault::Fatal), "kicked already");
    assert!(!arm.fault(Fault::Overrun), "the first fault is kept");
    assert_eq!(arm.begin_callback(), Some(Status::InternalError));
}

/// Proves: 7.4-close
#[test]
fn closing_stops_notifications() {
    let arm = Arm::new();
    let _ = arm.arm(ArmType::Any);
    assert!(arm.completion(Placed::Plain));
    assert!(!arm.close());
    assert_eq!(arm.begin_callback(), None);
    assert_eq!(arm.arm(ArmType::Any), ArmAction::Nothing);
    assert!(!arm.completion(Placed::Plain));
    assert!(!arm.fault(Fault::Fatal));
    assert_eq!(arm.begin_callback(), None);

    let arm = Arm::new();
    let _ = arm.arm(ArmType::Any);
    assert!(arm.completion(Placed::Plain));
    assert!(arm.begin_callback().is_some());
    let _ = arm.arm(ArmType::Any);
    assert!(!arm.completion(Placed::Plain));
    assert!(arm.close(), "one is running");
    assert!(!arm.end_callback());
}

#[test]
fn a_withdrawn_notification_leaves_the_arm() {
    for (kind, level) in [
        (ArmType::Any, Lower::Any),
        (ArmType::Solicited, Lower::Solicited),
    ] {
        let arm = Arm::new();
        let _ = arm.arm(kind);
        assert!(arm.completion(Placed::Solicited));
        assert_eq!(arm.withdraw(), Some(level));
        assert_eq!(arm.begin_callback(), None);
        assert_eq!(arm.armed(), Some(kind));
        assert!(arm.completion(Placed::Solicited));
        assert_eq!(arm.begin_callback(), Some(Status::Success));
    }
    let arm = Arm::new();
    assert_eq!(arm.withdraw(), None);
    let _ = arm.arm(ArmType::Any);
    assert_eq!(arm.withdraw(), None);
    assert!(arm.fault(Fault::Fatal));
    assert_eq!(arm.withdraw(), None, "a fault is always reported");
}

#[test]
fn a_notification_that_is_held_back_hears_of_everything() {
    let held = || {
        let arm = Arm::new();
        let _ = arm.arm(ArmType::Solicited);
        assert!(!arm.hold(), "nothing is due");
        assert!(arm.completion(Placed::Solicited));
        assert!(!arm.is_held());
        assert!(arm.hold() && arm.hold() && arm.is_held());
        arm
    };
    // More of the same, and what alone would not have answered: the bottom half looks again, and may go on.
    for placed in [Placed::Plain, Placed::Solicited] {
        let arm = held();
        assert!(arm.completion(placed));
        assert!(arm.hold());
        assert_eq!(arm.arm(ArmType::Any), ArmAction::Nothing);
        assert_eq!(arm.begin_callback(), Some(Status::Success));
        assert!(!arm.is_held() && !arm.end_callback());
    }
    // A failure is not held back.
    let arm = held();
    assert!(arm.completion(Placed::Failed));
    assert!(!arm.hold());
    assert_eq!(arm.withdraw(), None);
    assert_eq!(arm.begin_callback(), Some(Status::Success));
    // The next one knows nothing of it.
    assert!(!arm.end_callback());
    let _ = arm.arm(ArmType::Any);
    assert!(arm.completion(Placed::Plain) && arm.hold());
    // Nor is a fault.
    let arm = held();
    assert!(arm.fault(Fault::Fatal));
    assert!(!arm.hold());
    assert_eq!(arm.begin_callback(), Some(Status::InternalError));
    // A close ends it.
    let arm = held();
    assert!(!arm.close());
    assert!(!arm.is_held() && !arm.hold());
    assert_eq!(arm.begin_callback(), None);
}

/// What an arm should do, said in the words of section 7.4 with plain variables.
#[derive(Default)]
struct Model {
    armed: Option<ArmType>,
    queued: bool,
    held: bool,
    urgent: bool,
    running: bool,
    fault: Option<Status>,
    dead: bool,
    closing: bool,
}

impl Model {
    fn fire(&mut self) -> bool {
        self.queued = true;
        !self.running
    }

    fn called(&mut self) {
        self.queued = false;
        self.held = false;
        self.urgent = false;
    }

    fn deaf(&self) -> bool {
        self.dead || self.closing
    }
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Arm(ArmType),
    Completion(Placed),
    Fault(Fault),
    Hold,
    Withdraw,
    Begin,
    End,
    Close,
}

const OPS: [Op; 13] = [
    Op::Arm(ArmType::Errors),
    Op::Arm(ArmType::Any),
    Op::Arm(ArmType::Solicited),
    Op::Completion(Placed::Plain),
    Op::Completion(Placed::Solicited),
    Op::Completion(Placed::Failed),
    Op::Fault(Fault::Overrun),
    Op::Fault(Fault::Fatal),
    Op::Hold,
    Op::Withdraw,
    Op::Begin,
    Op::End,
    Op::Close,
];

fn apply(arm: &Arm, model: &mut Model, op: Op) {
    match op {
        Op::Arm(kind) => {
            let action = arm.arm(kind);
            if model.deaf() {
                assert_eq!(action, ArmAction::Nothing);
                return;
            }
            // `Ord` of the type is its strength.
            let merged = model.armed.map_or(kind, |old| old.max(kind));
            model.armed = Some(merged);
            let expected = if model.queued {
                ArmAction::Nothing
            } else if model.fault.is_some() {
                if model.fire() {
                    ArmAction::FireNow
                } else {
                    ArmAction::Nothing
                }
            } else {
                lower(merged)
            };
            assert_eq!(action, expected);
        }
        Op::Completion(placed) => {
            let matches = match placed {
                Placed::Plain => model.armed == Some(ArmType::Any),
                Placed::Solicited | Placed::Failed => {
                    model.armed.is_some_and(|kind| kind != ArmType::Errors)
                }
            };
            let due = matches && !model.deaf() && !model.queued;
            let kick = model.held || due && model.fire();
            assert_eq!(arm.completion(placed), kick);
            model.urgent |= model.queued && placed == Placed::Failed;
        }
        Op::Fault(fault) => {
            let first = model.fault.is_none();
            if first {
                model.fault = Some(match fault {
                    Fault::Overrun => Status::BufferOverflow,
                    Fault::Fatal => Status::InternalError,
                });
            }
            let due = first && model.armed.is_some() && !model.closing && !model.queued;
            let kick = first && model.held || due && model.fire();
            assert_eq!(arm.fault(fault), kick);
        }
        Op::Hold => {
            let waits = model.queued && !model.urgent && model.fault.is_none() && !model.running;
            assert_eq!(arm.hold(), waits);
            model.held |= waits;
        }
        Op::Withdraw => {
            let back = model.queued && !model.urgent && model.fault.is_none() && !model.running;
            let armed = match model.armed {
                Some(ArmType::Any) => Lower::Any,
                _ => Lower::Solicited,
            };
            assert_eq!(arm.withdraw(), back.then_some(armed));
            if back {
                model.called();
            }
        }
        Op::Begin => {
            let report = arm.begin_callback();
            if !model.queued || model.running {
                assert_eq!(report, None);
                return;
            }
            assert!(!model.closing && model.armed.is_some());
            assert_eq!(report, Some(model.fault.unwrap_or(Status::Success)));
            model.dead = model.fault.is_some();
            model.armed = None;
            model.called();
            model.running = true;
        }
        Op::End => {
            if model.running {
                model.running = false;
                assert_eq!(arm.end_callback(), model.queued);
            }
        }
        Op::Close => {
            assert_eq!(arm.close(), model.running);
            model.closing = true;
            model.armed = None;
            model.called();
        }
    }
    assert!(!model.held || model.queued && !model.running);
    assert_eq!(arm.is_held(), model.held);
    assert_eq!(arm.armed(), model.armed);
    assert_eq!(arm.is_faulty(), model.fault.is_some());
}

/// All sequences of five calls against the model.
/// Proves: 7.4-no-arm, 7.4-one-shot, 7.4-serial, 7.4-close
#[test]
fn every_sequence_of_calls_agrees_with_the_model() {
    const DEPTH: u32 = 5;
    let kinds = OPS.len() as u32;
    let count = kinds.pow(DEPTH);
    for number in 0..count {
        let arm = Arm::new();
        let mut model = Model::default();
        let mut rest = number;
        for _ in 0..DEPTH {
            apply(&arm, &mut model, OPS[(rest % kinds) as usize]);
            rest /= kinds;
        }
    }
}

/// Longer ones at random.
/// Proves: 7.4-no-arm, 7.4-one-shot, 7.4-serial, 7.4-close
#[test]
fn long_random_sequences_agree_with_the_model() {
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    for _ in 0..20_000 {
        let arm = Arm::new();
        let mut model = Model::default();
        for _ in 0..64 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            // Close is rare, or most of the walk is deaf.
            let pick = (random % 100) as usize;
            let op = if pick == 99 {
                Op::Close
            } else {
                OPS[pick % 12]
            };
            apply(&arm, &mut model, op);
        }
    }
}

/// A device's queue with its arm.
#[derive(Default)]
struct DeviceQueue {
    entries: u32,
    armed: bool,
}

/// A queue, its device and its bottom half, for two threads.
struct Shared {
    arm: Arm,
    lower: Mutex<DeviceQueue>,
    placed: AtomicU32,
    wanted: AtomicU32,
    calls: AtomicU32,
    /// One of the threads has ended, as it should or not.
    over: AtomicBool,
}

/// Ends the other thread's waits.
struct Ends<'a>(&'a Shared);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::SeqCst);
    }
}

impl Shared {
    fn wait(&self, count: &AtomicU32, value: u32) {
        let mut since = None;
        while count.load(Ordering::SeqCst) < value {
            let waited = since.get_or_insert_with(Instant::now).elapsed();
            let over = self.over.load(Ordering::SeqCst) && count.load(Ordering::SeqCst) < value;
            assert!(!over && waited < Duration::from_secs(5), "nobody comes");
            std::thread::yield_now();
        }
    }

    fn bottom_half(&self) {
        // The callback does nothing, so whoever is kicked ends it before somebody else is.
        if let Some(status) = self.arm.begin_callback() {
            assert_eq!(status, Status::Success);
            self.calls.fetch_add(1, Ordering::SeqCst);
            if self.arm.end_callback() {
                self.bottom_half();
            }
        }
    }

    fn place(&self) {
        let fires = {
            let mut lower = self.lower.lock().unwrap();
            lower.entries += 1;
            std::mem::take(&mut lower.armed)
        };
        if fires && self.arm.completion(Placed::Solicited) {
            self.bottom_half();
        }
        self.placed.fetch_add(1, Ordering::SeqCst);
    }

    fn arm(&self) {
        let ArmAction::ArmLower(_) = self.arm.arm(ArmType::Any) else {
            panic!("nothing is due");
        };
        let missed = {
            let mut lower = self.lower.lock().unwrap();
            lower.armed = true;
            lower.entries != 0
        };
        if missed && self.arm.completion(Placed::Solicited) {
            self.bottom_half();
        }
    }
}

/// A completion between an empty poll and the arm, or at the same time as it, a million times.
// Proves: 7.4-fires, 7.4-new-since, 7.4-one-shot
// Bug: B29, K6
#[test]
fn a_million_rounds_lose_no_notification_and_make_none_too_many() {
    const ROUNDS: u32 = 1_000_000;
    let shared = Shared {
        arm: Arm::new(),
        lower: Mutex::default(),
        placed: AtomicU32::new(0),
        wanted: AtomicU32::new(0),
        calls: AtomicU32::new(0),
        over: AtomicBool::new(false),
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _ends = Ends(&shared);
            for round in 1..=ROUNDS {
                // Every tenth round two threads; the others would only wait for each other.
                if round % 10 == 0 {
                    shared.wait(&shared.wanted, round);
                    shared.place();
                }
            }
        });
        let _ends = Ends(&shared);
        for round in 1..=ROUNDS {
            assert_eq!(shared.lower.lock().unwrap().entries, 0);
            if round % 10 == 0 {
                shared.wanted.store(round, Ordering::SeqCst);
                if round % 20 == 0 {
                    shared.wait(&shared.placed, round);
                }
            } else {
                shared.place();
            }
            shared.arm();
            shared.wait(&shared.calls, round);
            shared.wait(&shared.placed, round);
            shared.lower.lock().unwrap().entries -= 1;
            // The device may be armed still; nobody hears of that.
            assert_eq!(shared.calls.load(Ordering::SeqCst), round);
        }
    });
}
