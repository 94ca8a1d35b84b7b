// SPDX-License-Identifier: GPL-2.0

//! How long a notification that is due waits for more completions.

#![cfg(not(loom))]

#[path = "common/explore.rs"]
mod explore;

use explore::{explore, World, TO_THE_END};
use ndk_state::arm::{Arm, ArmAction, ArmType, Fault, Placed};
use ndk_state::moderation::{Moderation, Setting, Verdict, INFINITE};
use ndk_state::status::Status;

const DEPTH: u32 = 8;

// Proves: CONTROL_CQ_INTERRUPT_MODERATION.bad-argument, 8.4-moderation-none, 8.4-moderation-interval,
// 8.4-moderation-count, 8.4-moderation-mix
#[test]
fn the_corner_values() {
    const MIX: Result<(bool, Option<u32>), Status> = Err(Status::InvalidParameterMix);
    let off = Ok((true, None));
    for (interval, count, meaning) in [
        (0, 0, off),
        (0, 1, off),
        (0, 5, off),
        (0, DEPTH + 1, off),
        (0, INFINITE, off),
        (50, 0, off),
        (50, 1, off),
        (INFINITE, 0, off),
        (INFINITE, 1, off),
        (50, 2, Ok((false, Some(2)))),
        (50, DEPTH, Ok((false, Some(DEPTH)))),
        (50, DEPTH + 1, Ok((false, None))),
        (50, INFINITE, Ok((false, None))),
        (INFINITE - 1, 2, Ok((false, Some(2)))),
        (INFINITE, 2, Ok((false, Some(2)))),
        (INFINITE, DEPTH, Ok((false, Some(DEPTH)))),
        (INFINITE, DEPTH + 1, MIX),
        (INFINITE, INFINITE - 1, MIX),
        (INFINITE, INFINITE, MIX),
    ] {
        let setting = Setting::new(interval, count, DEPTH);
        let seen = setting.map(|setting| (setting.is_off(), setting.count()));
        assert_eq!(seen, meaning, "{interval} µs, {count}");
    }
    // In a queue of one entry no count means anything.
    assert_eq!(Setting::new(7, 2, 1).map(Setting::count), Ok(None));
    assert_eq!(
        Setting::new(INFINITE, 2, 1),
        Err(Status::InvalidParameterMix)
    );
}

fn setting(interval: u32, count: u32) -> Setting {
    Setting::new(interval, count, DEPTH).expect("valid")
}

#[test]
fn what_is_reached_first_ends_the_wait() {
    use Verdict::{Fire, Wait};
    let both = setting(2, 3);
    assert_eq!(both.judge(100, 100, 1, DEPTH), Wait(Some(2100)));
    assert_eq!(both.judge(100, 2099, 2, DEPTH), Wait(Some(2100)));
    assert_eq!(both.judge(100, 2100, 1, DEPTH), Fire);
    assert_eq!(both.judge(100, 100, 3, DEPTH), Fire);
    let count = setting(INFINITE, 3);
    assert_eq!(count.judge(0, u64::MAX, 2, DEPTH), Wait(None));
    assert_eq!(count.judge(0, 0, 3, DEPTH), Fire);
    let interval = setting(2, INFINITE);
    assert_eq!(interval.judge(0, 1999, u32::MAX, DEPTH), Wait(Some(2000)));
    assert_eq!(interval.judge(0, 2000, 0, DEPTH), Fire);
    assert_eq!(Setting::OFF.judge(0, 0, 0, DEPTH), Fire);
    // Made smaller than its count, a queue is full before.
    assert_eq!(count.judge(0, 0, 2, 2), Fire);
    // The longest interval, from the latest time.
    let long = setting(INFINITE - 1, INFINITE);
    assert_eq!(
        long.judge(u64::MAX - 1, u64::MAX - 1, 0, DEPTH),
        Wait(Some(u64::MAX))
    );
}

#[test]
fn the_latest_setting_is_in_force() {
    let moderation = Moderation::default();
    assert_eq!(moderation.get(), Setting::OFF);
    for (interval, count) in [(2, 3), (INFINITE, 4), (5, INFINITE), (0, 9)] {
        moderation.set(setting(interval, count));
        assert_eq!(moderation.get(), setting(interval, count));
    }
}

/// What can happen to a queue.
#[derive(Clone, Copy, Debug)]
enum Op {
    Place(Placed),
    Fault,
    Arm(ArmType),
    Poll,
    Set(u32, u32),
    Time,
}

const OPS: [Op; 12] = [
    Op::Place(Placed::Plain),
    Op::Place(Placed::Solicited),
    Op::Place(Placed::Failed),
    Op::Fault,
    Op::Arm(ArmType::Any),
    Op::Arm(ArmType::Solicited),
    Op::Poll,
    Op::Set(2, INFINITE),
    Op::Set(INFINITE, 2),
    Op::Set(4, 3),
    Op::Set(0, 0),
    Op::Time,
];

/// A queue with its bottom half, which runs at every kick, and what it should do in plain words beside it.
struct Queue {
    arm: Arm,
    moderation: Moderation,
    now: u64,
    timer: Option<u64>,
    since: Option<u64>,
    entries: u32,
    counted: u32,
    calls: u32,
    /// The last callback said that the queue failed.
    failed: bool,

    /// The arms that a callback answers: 0 or 1.
    armed: u32,
    /// When the condition of the arm was met, and what urges since then.
    met: Option<u64>,
    urgent: bool,
}

impl Queue {
    fn new() -> Self {
        Self {
            arm: Arm::new(),
            moderation: Moderation::new(),
            now: 0,
            timer: None,
            since: None,
            entries: 0,
            counted: 0,
            calls: 0,
            failed: false,
            armed: 0,
            met: None,
            urgent: false,
        }
    }

    fn bottom_half(&mut self) {
        let setting = self.moderation.get();
        if !setting.is_off() && self.arm.hold() {
            let since = *self.since.get_or_insert_with(|| {
                self.counted = self.entries;
                self.now
            });
            if let Verdict::Wait(end) = setting.judge(since, self.now, self.counted, DEPTH) {
                self.timer = end;
                return;
            }
        }
        self.since = None;
        self.timer = None;
        if let Some(status) = self.arm.begin_callback() {
            // Neither without an arm nor before its condition is met, and with moderation not before its end.
            assert!(self.armed == 1 && (self.met.is_some() || status != Status::Success));
            if let Some(met) = self.met {
                let early = setting.judge(met, self.now, self.counted.max(self.entries), DEPTH);
                assert!(early == Verdict::Fire || self.urgent || self.arm.is_faulty());
            }
            self.failed = status != Status::Success;
            self.calls += 1;
            self.armed = 0;
            self.met = None;
            self.urgent = false;
            assert!(!self.arm.end_callback());
        }
    }

    fn kick(&mut self, kicked: bool) {
        if kicked {
            self.bottom_half();
        }
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Place(placed) => {
                self.entries += 1;
                self.counted += 1;
                if self
                    .arm
                    .armed()
                    .is_some_and(|kind| kind == ArmType::Any || placed != Placed::Plain)
                {
                    self.met.get_or_insert(self.now);
                }
                self.urgent |= self.met.is_some() && placed == Placed::Failed;
                let kicked = self.arm.completion(placed);
                self.kick(kicked);
            }
            Op::Fault => {
                let kicked = self.arm.fault(Fault::Fatal);
                self.kick(kicked);
            }
            Op::Arm(kind) => {
                if !self.failed {
                    self.armed = 1;
                }
                match self.arm.arm(kind) {
                    ArmAction::ArmLower(_) if self.entries != 0 => {
                        self.met.get_or_insert(self.now);
                        let kicked = self.arm.completion(Placed::Solicited);
                        self.kick(kicked);
                    }
                    ArmAction::FireNow => self.bottom_half(),
                    ArmAction::ArmLower(_) | ArmAction::Nothing => {}
                }
            }
            Op::Poll => self.entries = 0,
            Op::Set(interval, count) => {
                self.moderation.set(setting(interval, count));
                if self.arm.is_held() {
                    self.bottom_half();
                }
            }
            Op::Time => {
                self.now += 1000;
                if self.timer.is_some_and(|end| end <= self.now) {
                    self.timer = None;
                    self.bottom_half();
                }
            }
        }
        self.nothing_is_late();
    }

    /// A callback that is due and for which nothing is left to wait has been called.
    fn nothing_is_late(&self) {
        let Some(met) = self.met else {
            return;
        };
        let verdict = self
            .moderation
            .get()
            .judge(met, self.now, self.counted, DEPTH);
        assert!(verdict != Verdict::Fire && !self.urgent && !self.arm.is_faulty());
        // And somebody will look at the time.
        if let Verdict::Wait(Some(end)) = verdict {
            assert!(self.timer.is_some_and(|timer| timer <= end));
        }
    }
}

impl World for Queue {
    type Input = Op;
    type Key = (String, [Option<u64>; 3], [u32; 3], [bool; 2]);

    fn step(&mut self, op: Op) -> bool {
        self.apply(op);
        true
    }

    fn key(&self) -> Self::Key {
        // How long ago, as far as an interval can tell; how many, as far as a count can.
        let ago = |time: Option<u64>| time.map(|time| (self.now - time).min(5000));
        (
            format!("{:?} {:?}", self.arm, self.moderation),
            [
                self.timer.map(|end| end - self.now),
                ago(self.since),
                ago(self.met),
            ],
            [self.entries.min(DEPTH), self.counted.min(DEPTH), self.armed],
            [self.urgent, self.failed],
        )
    }

    /// Whatever went before, turning moderation off leaves nothing that is held back.
    fn end(mut self) {
        self.apply(Op::Set(0, 0));
        assert_eq!(self.met, None);
        assert!(!self.arm.is_held());
    }
}

// Proves: CONTROL_CQ_INTERRUPT_MODERATION.ok, 7.4-moderation, 8.4-moderation-latest
/// Never too early, never too late, one callback for each arm.
#[test]
fn every_sequence_of_events_is_moderated_as_set() {
    let walked = explore(Queue::new, &OPS, TO_THE_END);
    assert!(walked.all && walked.longest >= 8);
    assert!(walked.worlds > 500, "{}", walked.worlds);
}

/// Long ones at random: whatever went before, turning moderation off leaves nothing that is held back.
#[test]
fn long_random_sequences_end_with_nothing_held_back() {
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let mut calls = 0;
    for _ in 0..20_000 {
        let mut queue = Queue::new();
        for _ in 0..64 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let pick = (random % 1000) as usize;
            // A fault is rare, or most of the walk is deaf.
            let op = match OPS[pick % OPS.len()] {
                Op::Fault if pick > 50 => Op::Arm(ArmType::Any),
                op => op,
            };
            queue.apply(op);
        }
        queue.apply(Op::Set(0, 0));
        assert_eq!(queue.met, None);
        assert!(!queue.arm.is_held());
        calls += queue.calls;
    }
    assert!(
        calls > 100_000,
        "{calls} callbacks: the walk does not go where it should"
    );
}
