// SPDX-License-Identifier: GPL-2.0

//! Interrupt moderation of a completion queue: how long a notification that is due waits for more completions.
//!
//! # Rules (section 8.4)
//!
//! - An interval of 0, or a count of 0 or 1, is no moderation, whatever the other value is.
//! - An interval of [`INFINITE`] leaves the count alone to decide; a count of [`INFINITE`] or over the depth of the
//!   queue the interval alone. Both of them together are refused.
//! - Else the one that is reached first ends the wait.
//! - The wait begins when the armed condition is met. Its length is judged by the setting in force when it is
//!   looked at: a new one ends what it does not allow, and prolongs nothing beyond what it allows.
//!
//! Counted are the completions that the queue holds when the wait begins, and those that come after. A
//! queue that was made smaller than its count meanwhile is full before the count is reached, so the depth counts then.

use super::atomic::AtomicU64;
use super::status::Status;

/// A value that never ends the wait.
pub const INFINITE: u32 = u32::MAX;

const NANOS_PER_MICRO: u64 = 1000;

/// What a queue is set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Setting {
    /// Microseconds, [`INFINITE`] for no limit. 0: no moderation.
    interval: u32,
    /// Completions, [`INFINITE`] for no limit. 0: no moderation.
    count: u32,
}

/// What to do with a notification that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Call the consumer.
    Fire,
    /// Wait for more completions, and until this time if there is one.
    Wait(Option<u64>),
}

impl Setting {
    /// No moderation, as a queue begins.
    pub const OFF: Setting = Setting {
        interval: 0,
        count: 0,
    };

    /// What the consumer asks for, for a queue of `depth`.
    ///
    /// # Errors
    ///
    /// `InvalidParameterMix` if neither value would ever end the wait.
    pub fn new(interval: u32, count: u32, depth: u32) -> Result<Setting, Status> {
        if interval == 0 || count <= 1 {
            return Ok(Setting::OFF);
        }
        let count = if count > depth { INFINITE } else { count };
        if interval == INFINITE && count == INFINITE {
            return Err(Status::InvalidParameterMix);
        }
        Ok(Setting { interval, count })
    }

    /// Whether notifications are called without a wait.
    pub const fn is_off(self) -> bool {
        self.interval == 0
    }

    /// The number of completions that ends a wait, if one does.
    pub const fn count(self) -> Option<u32> {
        if self.is_off() || self.count == INFINITE {
            None
        } else {
            Some(self.count)
        }
    }

    /// Judges a notification that is due since `since`, of a queue of `depth` now that got `counted` completions.
    /// Times are nanoseconds of one clock.
    pub fn judge(self, since: u64, now: u64, counted: u32, depth: u32) -> Verdict {
        if self.is_off()
            || self
                .count()
                .is_some_and(|count| counted >= count.min(depth))
        {
            return Verdict::Fire;
        }
        if self.interval == INFINITE {
            return Verdict::Wait(None);
        }
        let interval = u64::from(self.interval).saturating_mul(NANOS_PER_MICRO);
        let end = since.saturating_add(interval);
        if now >= end {
            Verdict::Fire
        } else {
            Verdict::Wait(Some(end))
        }
    }
}

/// The setting of a queue, which is replaced as a whole: the latest wins.
#[cfg_attr(not(MODULE), derive(Debug))]
pub struct Moderation {
    word: AtomicU64,
}

impl Default for Moderation {
    fn default() -> Self {
        Self::new()
    }
}

impl Moderation {
    /// Off.
    pub fn new() -> Self {
        Self {
            word: AtomicU64::new(0),
        }
    }

    /// Replaces the setting.
    pub fn set(&self, setting: Setting) {
        let word = (u64::from(setting.interval) << 32) | u64::from(setting.count);
        self.word.store_release(word);
    }

    /// The setting in force.
    pub fn get(&self) -> Setting {
        let word = self.word.load_acquire();
        // CAST: The two halves.
        Setting {
            interval: (word >> 32) as u32,
            count: word as u32,
        }
    }
}
