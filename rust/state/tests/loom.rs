// SPDX-License-Identifier: GPL-2.0

//! The lock-free machines under every interleaving, and every reordering that the memory model allows.
//!
//! `RUSTFLAGS='--cfg loom' cargo test --release --test loom --target-dir target/loom`
//!
//! "Visible" is tested with relaxed accesses to a plain flag: only the machine orders them.

#![cfg(loom)]

use loom::sync::atomic::{
    AtomicU32,
    Ordering::{Relaxed, SeqCst},
};
use loom::sync::{Arc, Mutex};
use loom::thread;
use ndk_state::arm::{Arm, ArmAction, ArmType, Fault, Placed};
use ndk_state::lifetime::{Answer, CloseEffect, CloseEvent, CloseStage, Closed, Kind, Last, Life};
use ndk_state::queue::{Request, Retired, Ring};
use ndk_state::status::Status;
use ndk_state::token::{Event, Mr, State};

/// Runs a model with a bound on preemptions, which is what keeps three threads within seconds.
fn model(preemptions: usize, body: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(body);
}

/// An object with something that happens under its references.
struct Object {
    life: Life,
    used: AtomicU32,
    told: AtomicU32,
}

impl Object {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            life: Life::new(),
            used: AtomicU32::new(0),
            told: AtomicU32::new(0),
        })
    }

    fn put(&self, kind: Kind, expected: u32) {
        if self.life.put(kind) == Last::Yes {
            self.quiet(expected);
        }
    }

    fn close(&self, expected: u32) {
        if self.life.close() == Ok(Closed::AlreadyQuiet) {
            self.quiet(expected);
        }
    }

    /// Somebody is told. What happened under the references must be visible.
    fn quiet(&self, at_least: u32) {
        assert_eq!(self.told.fetch_add(1, Relaxed), 0, "two were told");
        assert!(self.used.load(Relaxed) >= at_least, "not visible");
    }
}

#[test]
fn close_against_put_against_get() {
    model(3, || {
        let object = Object::new();
        object.life.try_get(Kind::Request).unwrap();
        let completer = thread::spawn({
            let object = object.clone();
            move || {
                object.used.fetch_add(1, Relaxed);
                object.put(Kind::Request, 1);
            }
        });
        let starter = thread::spawn({
            let object = object.clone();
            move || {
                // Either it starts, and is waited for, or it does not.
                if object.life.try_get(Kind::Callback).is_ok() {
                    assert_eq!(object.told.load(Relaxed), 0, "started after the end");
                    object.put(Kind::Callback, 0);
                }
            }
        });
        object.close(1);
        completer.join().unwrap();
        starter.join().unwrap();
        assert_eq!(object.told.load(Relaxed), 1, "nobody was told");
    });
}

#[test]
fn close_inside_a_callback_against_a_completion() {
    model(3, || {
        let object = Object::new();
        object.life.try_get(Kind::Request).unwrap();
        object.life.try_get(Kind::Callback).unwrap();
        let completer = thread::spawn({
            let object = object.clone();
            move || {
                object.used.fetch_add(1, Relaxed);
                object.put(Kind::Request, 1);
            }
        });
        // The callback: it closes, goes on, and returns.
        assert_eq!(object.life.close(), Ok(Closed::Pending));
        object.used.fetch_add(1, Relaxed);
        object.put(Kind::Callback, 2);
        completer.join().unwrap();
        assert_eq!(object.told.load(Relaxed), 1);
    });
}

#[test]
fn two_closers_one_close() {
    model(3, || {
        let object = Object::new();
        let other = thread::spawn({
            let object = object.clone();
            move || {
                object
                    .life
                    .close()
                    .map(|closed| closed == Closed::AlreadyQuiet)
            }
        });
        let mine = object
            .life
            .close()
            .map(|closed| closed == Closed::AlreadyQuiet);
        let theirs = other.join().unwrap();
        let refused = Err(Status::InvalidDeviceState);
        assert!((mine, theirs) == (Ok(true), refused) || (mine, theirs) == (refused, Ok(true)));
    });
}

/// Runs the stages of a close from teardown to the end; `call` is the CloseCompletion.
fn finish(stage: CloseStage, call: impl FnOnce(), put_antecedents: impl FnOnce()) {
    let (stage, effect) = stage.step(CloseEvent::TornDown(Answer::Pending)).unwrap();
    assert_eq!(effect, CloseEffect::CallCompletion);
    call();
    let (stage, effect) = stage.step(CloseEvent::Returned).unwrap();
    assert_eq!(effect, CloseEffect::PutAntecedents);
    put_antecedents();
    let (_, effect) = stage.step(CloseEvent::Released).unwrap();
    assert_eq!(effect, CloseEffect::Done);
}

#[test]
fn an_antecedent_ends_after_the_close_callback_of_its_successor_has_returned() {
    model(3, || {
        // A queue pair on a completion queue; a connector's callback is still running on the pair.
        let cq = Object::new();
        let qp = Object::new();
        let returned = Arc::new(AtomicU32::new(0));
        cq.life.try_get(Kind::Successor).unwrap();
        qp.life.try_get(Kind::Callback).unwrap();

        let cq_quiet = {
            let (cq, returned) = (cq.clone(), returned.clone());
            move || {
                cq.quiet(0);
                assert_eq!(returned.load(Relaxed), 1, "the callback had not returned");
            }
        };
        let qp_quiet = {
            let (cq, returned, cq_quiet) = (cq.clone(), returned.clone(), cq_quiet.clone());
            move || {
                finish(
                    CloseStage::Teardown,
                    || returned.store(1, Relaxed),
                    || {
                        if cq.life.put(Kind::Successor) == Last::Yes {
                            cq_quiet();
                        }
                    },
                );
            }
        };

        let callback = thread::spawn({
            let (qp, qp_quiet) = (qp.clone(), qp_quiet.clone());
            move || {
                if qp.life.put(Kind::Callback) == Last::Yes {
                    qp_quiet();
                }
            }
        });
        let closer = thread::spawn({
            let qp = qp.clone();
            move || {
                if qp.life.close() == Ok(Closed::AlreadyQuiet) {
                    qp_quiet();
                }
            }
        });
        // The antecedent is closed first, or last.
        if cq.life.close() == Ok(Closed::AlreadyQuiet) {
            cq_quiet();
        }
        callback.join().unwrap();
        closer.join().unwrap();
        assert_eq!(cq.told.load(Relaxed), 1);
    });
}

/// A device's queue: entries, some of them the provider's own, and the lower arm.
#[derive(Default)]
struct Lower {
    entries: u32,
    own: u32,
    armed: bool,
}

/// A completion queue with its consumer, who polls everything and perhaps arms again in the callback.
struct Cq {
    arm: Arm,
    lower: Mutex<Lower>,
    running: AtomicU32,
    calls: AtomicU32,
    polled: AtomicU32,
    arms_again: bool,
}

impl Cq {
    fn new(arms_again: bool) -> Arc<Self> {
        Arc::new(Self {
            arm: Arm::new(),
            lower: Mutex::new(Lower::default()),
            running: AtomicU32::new(0),
            calls: AtomicU32::new(0),
            polled: AtomicU32::new(0),
            arms_again,
        })
    }

    /// The device places an entry and, if it was armed, calls the completion handler.
    fn place(&self, own: bool) {
        let fires = {
            let mut lower = self.lower.lock().unwrap();
            if own {
                lower.own += 1;
            } else {
                lower.entries += 1;
            }
            std::mem::take(&mut lower.armed)
        };
        if fires && self.arm.completion(Placed::Solicited) {
            self.bottom_half();
        }
    }

    /// Arms the device's queue. Returns whether to kick.
    fn arm_lower(&self) -> bool {
        let missed = {
            let mut lower = self.lower.lock().unwrap();
            lower.armed = true;
            lower.entries + lower.own > 0
        };
        missed && self.arm.completion(Placed::Solicited)
    }

    /// The consumer arms. Returns whether to kick.
    fn arm(&self) -> bool {
        match self.arm.arm(ArmType::Any) {
            ArmAction::ArmLower(_) => self.arm_lower(),
            ArmAction::FireNow => true,
            ArmAction::Nothing => false,
        }
    }

    /// Takes the provider's own entries out. Returns whether there were no others.
    fn only_own(&self) -> bool {
        let mut lower = self.lower.lock().unwrap();
        lower.own = 0;
        lower.entries == 0
    }

    fn bottom_half(&self) {
        loop {
            if self.only_own() && self.arm.withdraw().is_some() {
                if self.arm_lower() {
                    continue;
                }
                return;
            }
            if self.arm.begin_callback().is_none() {
                return;
            }
            assert_eq!(self.running.fetch_add(1, SeqCst), 0, "callbacks overlap");
            self.calls.fetch_add(1, Relaxed);
            let taken = std::mem::take(&mut self.lower.lock().unwrap().entries);
            self.polled.fetch_add(taken, Relaxed);
            if self.arms_again {
                assert!(!self.arm(), "a running callback is never kicked");
            }
            self.running.fetch_sub(1, SeqCst);
            if !self.arm.end_callback() {
                return;
            }
        }
    }
}

#[test]
fn no_notification_is_lost_between_poll_and_arm() {
    model(2, || {
        let cq = Cq::new(true);
        let device = thread::spawn({
            let cq = cq.clone();
            move || {
                cq.place(false);
                cq.place(false);
            }
        });
        if cq.arm() {
            cq.bottom_half();
        }
        device.join().unwrap();
        assert_eq!(cq.polled.load(Relaxed), 2, "an entry nobody was told of");
    });
}

#[test]
fn one_arm_gives_one_callback() {
    model(3, || {
        let cq = Cq::new(false);
        let devices: Vec<_> = (0..2)
            .map(|_| {
                let cq = cq.clone();
                thread::spawn(move || cq.place(false))
            })
            .collect();
        if cq.arm() {
            cq.bottom_half();
        }
        for device in devices {
            device.join().unwrap();
        }
        assert_eq!(cq.calls.load(Relaxed), 1);
    });
}

#[test]
fn entries_of_the_provider_make_no_callback_and_hide_none() {
    model(3, || {
        let cq = Cq::new(false);
        let device = thread::spawn({
            let cq = cq.clone();
            move || {
                cq.place(true);
                cq.place(false);
            }
        });
        if cq.arm() {
            cq.bottom_half();
        }
        device.join().unwrap();
        assert_eq!(cq.calls.load(Relaxed), 1);
        assert_eq!(cq.polled.load(Relaxed), 1);
    });
}

#[test]
fn a_fault_is_reported_once_whenever_it_comes() {
    model(3, || {
        let arm = Arc::new(Arm::new());
        let reports = Arc::new(Mutex::new(Vec::new()));
        let run = {
            let (arm, reports) = (arm.clone(), reports.clone());
            move || {
                while let Some(status) = arm.begin_callback() {
                    reports.lock().unwrap().push(status);
                    if !arm.end_callback() {
                        break;
                    }
                }
            }
        };
        let faults: Vec<_> = [Fault::Overrun, Fault::Overrun]
            .map(|fault| {
                let (arm, run) = (arm.clone(), run.clone());
                thread::spawn(move || {
                    if arm.fault(fault) {
                        run();
                    }
                })
            })
            .into();
        if arm.arm(ArmType::Errors) == ArmAction::FireNow {
            run();
        }
        for fault in faults {
            fault.join().unwrap();
        }
        assert_eq!(*reports.lock().unwrap(), [Status::BufferOverflow]);
    });
}

#[test]
fn no_callback_starts_after_close() {
    model(3, || {
        let arm = Arc::new(Arm::new());
        let closed = Arc::new(AtomicU32::new(0));
        assert!(matches!(arm.arm(ArmType::Any), ArmAction::ArmLower(_)));
        let device = thread::spawn({
            let (arm, closed) = (arm.clone(), closed.clone());
            move || {
                let kicked = arm.completion(Placed::Plain);
                let was_closed = closed.load(SeqCst) == 1;
                let called = arm.begin_callback().is_some();
                assert!(!called || (kicked && !was_closed));
                called && !arm.end_callback()
            }
        });
        let running = arm.close();
        closed.store(1, SeqCst);
        assert_eq!(arm.begin_callback(), None);
        let called = device.join().unwrap();
        assert!(called || !running);
    });
}

#[test]
fn a_slot_is_filled_before_it_is_seen_and_read_before_it_is_filled_again() {
    model(3, || {
        let ring = Arc::new(Ring::new(1, 0).unwrap());
        let slot = Arc::new(AtomicU32::new(0));
        // What the device hands over orders nothing by itself.
        let completed = Arc::new(AtomicU32::new(0));
        let poster = thread::spawn({
            let (ring, slot, completed) = (ring.clone(), slot.clone(), completed.clone());
            move || {
                let mut posted = 0;
                for value in 1..=2 {
                    let Ok(reservation) = ring.reserve(false) else {
                        break;
                    };
                    // Free again: the poller has read the value before.
                    assert_eq!(slot.load(Relaxed) & 1, 0, "not read yet");
                    slot.store(value * 2 - 1, Relaxed);
                    ring.publish(&reservation);
                    completed.store(value, Relaxed);
                    posted = value;
                }
                posted
            }
        });
        let mut polled = 0;
        // The indices of a ring follow each other.
        let first = Ring::new(1, 0).unwrap().reserve(false).unwrap().index;
        for value in 1..=2u32 {
            let index = first.wrapping_add(value - 1);
            if completed.load(Relaxed) < value || !ring.is_posted(index) {
                break;
            }
            let seen = slot.load(Relaxed);
            assert_eq!(seen, value * 2 - 1, "read before it was filled");
            slot.store(value * 2, Relaxed);
            let request = Request::Last { silent: false };
            assert_eq!(ring.retire(index, true, request), Retired::Report);
            polled = value;
        }
        let posted = poster.join().unwrap();
        assert!(polled <= posted && posted <= polled + 1);
        assert_eq!(ring.in_flight(), posted - polled);
    });
}

#[test]
fn a_region_is_registered_by_one_of_two_posts() {
    model(3, || {
        let region = Arc::new(Mr::new(true));
        region.apply(Event::Initialize).unwrap();
        region
            .apply(Event::InitializeDone { success: true })
            .unwrap();
        let other = thread::spawn({
            let region = region.clone();
            move || region.apply(Event::FastRegister).is_ok()
        });
        let mine = region.apply(Event::FastRegister).is_ok();
        assert!(mine != other.join().unwrap());
        assert_eq!(region.state(), State::Valid);
    });
}
