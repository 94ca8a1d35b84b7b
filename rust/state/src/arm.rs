// SPDX-License-Identifier: GPL-2.0

//! Arming of a completion queue and its notification callback.
//!
//! # Vocabulary
//!
//! - *Armed*: the consumer asked for one callback, of one of three types.
//! - *Lower arm*: the request for an event on the device's queue. An arm for errors needs none: faults
//!   come by themselves.
//! - *Queued*: the arm is satisfied and the callback is to be called by the bottom half.
//! - *Running*: the callback has been called and has not returned.
//! - *Fault*: the queue overran, or failed for good.
//! - *Held back*: queued, and the bottom half lets it wait for more (moderation). What comes meanwhile kicks,
//!   so that the bottom half looks again.
//! - *Urgent*: a request failed, which is not held back.
//! - *Kick*: queue the bottom half that runs [`Arm::begin_callback`] and [`Arm::end_callback`].
//!
//! # States
//!
//! ```text
//!            arm()            completion(), fault()          begin_callback()
//!   idle ──────────► armed ───────────────────────► queued ──────────────────► running ─┐
//!    ▲                                                                 end_callback()   │
//!    └──────────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! *Running* is a bit of its own: while it is set, arming and queueing go on, and the next callback
//! waits for `end_callback()`. *Held back* and *urgent* are bits beside *queued*, which the callback clears.
//!
//! # Rules (section 7.4)
//!
//! - No callback without an arm; one arm gives at most one callback: the arm is cleared before the
//!   call.
//! - A second arm before the first fired keeps the stronger type: any over solicited over errors,
//!   which is not the order of their numbers.
//! - Solicited is satisfied by a completion with an error as well. A fault satisfies every type, is
//!   latched while nothing is armed, and is reported once; after that the queue is dead.
//! - Entries that are there when the queue is armed satisfy it. The lower arm reports them as missed,
//!   and the caller passes them to [`Arm::completion`].
//! - Callbacks of one queue never overlap, and none starts after the queue is closing.
//! - Neither a fault nor a failed request is held back.

use super::atomic::AtomicU32;
use super::status::Status;

/// What the consumer waits for, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ArmType {
    /// Faults of the queue only.
    Errors,
    /// A solicited receive, or a completion with an error.
    Solicited,
    /// Any completion.
    Any,
}

impl ArmType {
    /// The type with this number in the interface (section 6.8): errors 0, any 1, solicited 2.
    pub const fn from_raw(number: u32) -> Option<ArmType> {
        match number {
            0 => Some(ArmType::Errors),
            1 => Some(ArmType::Any),
            2 => Some(ArmType::Solicited),
            _ => None,
        }
    }

    /// Its number in the interface.
    pub const fn to_raw(self) -> u32 {
        match self {
            ArmType::Errors => 0,
            ArmType::Any => 1,
            ArmType::Solicited => 2,
        }
    }

    /// Strength in the word; 0 is unarmed.
    const fn strength(self) -> u32 {
        match self {
            ArmType::Errors => 1,
            ArmType::Solicited => 2,
            ArmType::Any => 3,
        }
    }
}

/// What to ask of the device's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lower {
    /// The next solicited completion.
    Solicited,
    /// The next completion.
    Any,
}

/// What the caller of [`Arm::arm`] has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the arm is not complete without its action"]
pub enum ArmAction {
    /// Arm the device's queue; if that reports missed entries, call [`Arm::completion`].
    ArmLower(Lower),
    /// Kick: the arm is satisfied already.
    FireNow,
    /// Nothing.
    Nothing,
}

/// A completion that was placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Placed {
    /// A successful completion that was not solicited.
    Plain,
    /// A solicited receive, or what the device judged to satisfy the lower arm.
    Solicited,
    /// A completion with an error.
    Failed,
}

/// What goes wrong with a whole queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// More completions than the queue holds.
    Overrun,
    /// The queue failed for another reason.
    Fatal,
}

impl Fault {
    const fn bits(self) -> u32 {
        match self {
            Fault::Overrun => OVERRUN,
            Fault::Fatal => FATAL,
        }
    }
}

/// Strength of the arm.
const ARMED: u32 = 0x3;
/// The latched fault: the queue overran.
const OVERRUN: u32 = 1 << 2;
/// The latched fault: the queue failed.
const FATAL: u32 = 1 << 3;
/// The arm is satisfied, the callback is due.
const QUEUED: u32 = 1 << 4;
/// The callback has been called and has not returned.
const RUNNING: u32 = 1 << 5;
/// Close has been called.
const CLOSING: u32 = 1 << 6;
/// The fault has been reported.
const DEAD: u32 = 1 << 7;
/// The callback that is due waits for more completions.
const HELD: u32 = 1 << 8;
/// A request failed since the callback became due.
const URGENT: u32 = 1 << 9;

/// The queue has a fault, reported or not.
const FAULTY: u32 = OVERRUN | FATAL;
/// Nothing is called any more.
const DEAF: u32 = CLOSING | DEAD;
/// A callback that is due neither waits nor goes away again.
const HASTY: u32 = FAULTY | URGENT | RUNNING;
/// What a callback that is due has beside its arm.
const DUE: u32 = QUEUED | HELD | URGENT;

/// The arm state of one completion queue, in one atomic word.
///
/// # Invariants
///
/// - `QUEUED` is set only together with an arm, and neither with `CLOSING` nor with `DEAD`.
/// - `HELD` and `URGENT` are set only together with `QUEUED`, and `HELD` not with `RUNNING`.
/// - `RUNNING` is set by one caller of [`Arm::begin_callback`] and cleared by the same one.
#[cfg_attr(not(MODULE), derive(Debug))]
pub struct Arm {
    word: AtomicU32,
}

impl Default for Arm {
    fn default() -> Self {
        Self::new()
    }
}

impl Arm {
    /// Unarmed, with no fault.
    pub fn new() -> Self {
        // INVARIANT: Nothing is queued or running.
        Self {
            word: AtomicU32::new(0),
        }
    }

    /// Replaces the word by what `change` makes of it, and returns the old one with its answer.
    fn update<R>(&self, change: impl Fn(u32) -> (u32, R)) -> R {
        let mut seen = self.word.load_relaxed();
        loop {
            let (next, answer) = change(seen);
            match self.word.compare_exchange(seen, next) {
                Ok(_) => return answer,
                Err(now) => seen = now,
            }
        }
    }

    /// Arms the queue, or strengthens its arm.
    ///
    /// The consumer serializes this against polling (section 7.3).
    pub fn arm(&self, kind: ArmType) -> ArmAction {
        self.update(|word| {
            if word & DEAF != 0 {
                return (word, ArmAction::Nothing);
            }
            let strength = (word & ARMED).max(kind.strength());
            let armed = word & !ARMED | strength;
            if word & QUEUED != 0 {
                return (armed, ArmAction::Nothing);
            }
            if word & FAULTY != 0 {
                // INVARIANT: Armed, and neither closing nor dead.
                return (armed | QUEUED, kick_action(word));
            }
            let action = if strength == ArmType::Any.strength() {
                ArmAction::ArmLower(Lower::Any)
            } else if strength == ArmType::Solicited.strength() {
                ArmAction::ArmLower(Lower::Solicited)
            } else {
                ArmAction::Nothing
            };
            (armed, action)
        })
    }

    /// A completion was placed. Returns whether to kick.
    ///
    /// The completion handler of the device's queue passes [`Placed::Solicited`]: the device has
    /// already compared the entry with the lower arm.
    pub fn completion(&self, placed: Placed) -> bool {
        let (needed, urgent) = match placed {
            Placed::Plain => (ArmType::Any.strength(), 0),
            Placed::Solicited => (ArmType::Solicited.strength(), 0),
            Placed::Failed => (ArmType::Solicited.strength(), URGENT),
        };
        self.update(|word| {
            if word & QUEUED != 0 {
                return (word | urgent, word & HELD != 0);
            }
            if word & DEAF != 0 || word & ARMED < needed {
                return (word, false);
            }
            // INVARIANT: Armed, and neither closing nor dead.
            (word | QUEUED | urgent, word & RUNNING == 0)
        })
    }

    /// The queue has a fault. Returns whether to kick.
    ///
    /// The first fault is kept.
    pub fn fault(&self, fault: Fault) -> bool {
        self.update(|word| {
            if word & FAULTY != 0 {
                return (word, false);
            }
            let latched = word | fault.bits();
            if word & QUEUED != 0 {
                return (latched, word & HELD != 0);
            }
            if word & CLOSING != 0 || word & ARMED == 0 {
                return (latched, false);
            }
            // INVARIANT: Armed, and neither closing nor dead: a dead queue has a fault.
            (latched | QUEUED, word & RUNNING == 0)
        })
    }

    /// The bottom half would let the callback wait for more completions. Returns whether it may; if it does
    /// not, there is a callback to call at once, or none at all.
    ///
    /// From then on every completion kicks: so the bottom half looks at what there is *after* this call.
    pub fn hold(&self) -> bool {
        self.update(|word| {
            if word & QUEUED == 0 || word & HASTY != 0 {
                return (word, false);
            }
            // INVARIANT: Queued, and nothing runs.
            (word | HELD, true)
        })
    }

    /// Whether a callback is held back, for who changes what it waits for: asked after the change, it makes sure
    /// that either the caller sees the callback or the bottom half the change.
    pub fn is_held(&self) -> bool {
        self.update(|word| (word, word & HELD != 0))
    }

    /// The bottom half is about to call the consumer. Returns the status to call it with, and clears
    /// the arm; or `None` when there is nothing to call.
    pub fn begin_callback(&self) -> Option<Status> {
        self.update(|word| {
            if word & QUEUED == 0 || word & RUNNING != 0 {
                return (word, None);
            }
            // INVARIANT: Nothing runs, so this caller may set `RUNNING`.
            let running = word & !(ARMED | DUE) | RUNNING;
            if word & OVERRUN != 0 {
                (running | DEAD, Some(Status::BufferOverflow))
            } else if word & FATAL != 0 {
                (running | DEAD, Some(Status::InternalError))
            } else {
                (running, Some(Status::Success))
            }
        })
    }

    /// The consumer's callback has returned. Returns whether to kick again.
    pub fn end_callback(&self) -> bool {
        self.update(|word| {
            debug_assert!(word & RUNNING != 0, "no callback is running");
            (word & !RUNNING, word & QUEUED != 0)
        })
    }

    /// The bottom half found that all that was placed are entries of the provider's own, which the
    /// consumer never sees: the arm stays, and no callback is due.
    ///
    /// Returns the lower arm to set again (with its missed entries going to [`Arm::completion`]); `None`
    /// when a callback is due after all, or none was.
    pub fn withdraw(&self) -> Option<Lower> {
        self.update(|word| {
            if word & QUEUED == 0 || word & HASTY != 0 {
                return (word, None);
            }
            let lower = if word & ARMED == ArmType::Any.strength() {
                Lower::Any
            } else {
                Lower::Solicited
            };
            (word & !DUE, Some(lower))
        })
    }

    /// The queue is being closed: no callback starts any more. Returns whether one is running.
    pub fn close(&self) -> bool {
        // INVARIANT: Nothing is queued on a closing queue.
        self.update(|word| (word & !(ARMED | DUE) | CLOSING, word & RUNNING != 0))
    }

    /// Whether a fault has been seen: the queue and its queue pairs are not usable any more.
    pub fn is_faulty(&self) -> bool {
        self.word.load_acquire() & FAULTY != 0
    }

    /// The type that is armed, if any.
    pub fn armed(&self) -> Option<ArmType> {
        match self.word.load_relaxed() & ARMED {
            0 => None,
            1 => Some(ArmType::Errors),
            2 => Some(ArmType::Solicited),
            _ => Some(ArmType::Any),
        }
    }
}

/// How to get a queued callback called: a running one calls it when it returns.
fn kick_action(word: u32) -> ArmAction {
    if word & RUNNING == 0 {
        ArmAction::FireNow
    } else {
        ArmAction::Nothing
    }
}
