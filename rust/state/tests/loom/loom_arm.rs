// SPDX-License-Identifier: GPL-2.0

//! A device that places completions against a consumer that arms, polls and closes.

use crate::model;
use loom::sync::atomic::{
    AtomicU32,
    Ordering::{Relaxed, SeqCst},
};
use loom::sync::{Arc, Mutex};
use loom::thread;
use ndk_state::arm::{Arm, ArmAction, ArmType, Fault, Placed};
use ndk_state::moderation::{Moderation, Setting, INFINITE};
use ndk_state::status::Status;

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

/// Proves: 7.4-new-since
// Bug: B102, K6
#[test]
fn no_notification_is_lost_between_poll_and_arm() {
    model(3, || {
        let cq = Cq::new(true);
        // One entry is there before the arm, one comes at any time.
        cq.place(false);
        let device = thread::spawn({
            let cq = cq.clone();
            move || cq.place(false)
        });
        if cq.arm() {
            cq.bottom_half();
        }
        device.join().unwrap();
        assert_eq!(cq.polled.load(Relaxed), 2, "an entry nobody was told of");
    });
}

/// Proves: 7.4-serial
#[test]
fn callbacks_never_overlap() {
    model(3, || {
        let cq = Cq::new(true);
        cq.place(false);
        let device = thread::spawn({
            let cq = cq.clone();
            move || cq.place(false)
        });
        // A bottom half that was queued once too often.
        let late = thread::spawn({
            let cq = cq.clone();
            move || cq.bottom_half()
        });
        if cq.arm() {
            cq.bottom_half();
        }
        device.join().unwrap();
        late.join().unwrap();
        assert_eq!(cq.polled.load(Relaxed), 2);
    });
}

/// Proves: 7.4-one-shot
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

/// Proves: 7.4-fault-latched
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

/// Proves: 7.4-close
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
fn what_ends_a_wait_is_seen_by_the_bottom_half_or_sees_the_wait() {
    model(3, || {
        let arm = Arc::new(Arm::new());
        let moderation = Arc::new(Moderation::new());
        let setting = Setting::new(INFINITE, 2, 8).unwrap();
        moderation.set(setting);
        let fired = Arc::new(AtomicU32::new(0));
        assert!(matches!(arm.arm(ArmType::Any), ArmAction::ArmLower(_)));
        assert!(arm.completion(Placed::Plain));
        let bottom_half = {
            let (arm, moderation, fired) = (arm.clone(), moderation.clone(), fired.clone());
            move || {
                // Holds first, and then looks at what it waits for.
                if !moderation.get().is_off() && arm.hold() && !moderation.get().is_off() {
                    return;
                }
                if arm.begin_callback().is_some() {
                    fired.fetch_add(1, Relaxed);
                    assert!(!arm.end_callback());
                }
            }
        };
        let consumer = thread::spawn({
            let arm = arm.clone();
            move || {
                moderation.set(Setting::OFF);
                arm.is_held()
            }
        });
        bottom_half();
        if consumer.join().unwrap() {
            bottom_half();
        }
        assert_eq!(
            fired.load(Relaxed),
            1,
            "a notification was held back for good"
        );
    });
}

#[test]
fn a_failure_ends_a_wait() {
    model(3, || {
        let arm = Arc::new(Arm::new());
        let fired = Arc::new(AtomicU32::new(0));
        assert!(matches!(arm.arm(ArmType::Any), ArmAction::ArmLower(_)));
        assert!(arm.completion(Placed::Plain));
        let bottom_half = {
            let (arm, fired) = (arm.clone(), fired.clone());
            move || {
                if !arm.hold() && arm.begin_callback().is_some() {
                    fired.fetch_add(1, Relaxed);
                    assert!(!arm.end_callback());
                }
            }
        };
        let device = thread::spawn({
            let arm = arm.clone();
            move || arm.completion(Placed::Failed)
        });
        bottom_half();
        if device.join().unwrap() {
            bottom_half();
        }
        assert_eq!(fired.load(Relaxed), 1);
    });
}
