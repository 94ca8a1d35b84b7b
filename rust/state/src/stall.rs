// SPDX-License-Identifier: GPL-2.0

//! Whether a device has forgotten the requests of a queue.
//!
//! # Rules
//!
//! - Every request that was accepted has a result (section 7.1). A device that has stopped for good, and does not say so, is
//!   found out by looking at the queue again and again.
//! - A queue *moves* when its oldest request is another one than at the last look, when the device has another packet to send
//!   next, or when no request waits for a completion.
//! - While reads are answered the device sends nothing. So where there are any it gets more time.
//! - Completions that nobody polled for are no fault of the device: they are taken out, and the queue is looked at once more,
//!   before it is judged.

/// Milliseconds between two looks.
pub const LOOK_MS: u32 = 3000;

/// Looks in a row that show no movement before a queue is judged: longer than a device goes on with tries that nobody answers.
pub const LOOKS: u32 = 5;

/// The same where there are reads, which can be of gigabytes.
pub const LOOKS_OF_READS: u32 = 80;

/// What a queue looks like in which requests wait for a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The number of the oldest request.
    pub oldest: u32,
    /// The number of the packet that the device sends next.
    pub psn: u32,
    /// Whether one of the requests that have no completion, up to the first that wants one, is a read.
    pub reads: bool,
}

/// One who looks at a queue from time to time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watch {
    last: Option<Seen>,
    /// Looks that were like the one before them, since the queue has moved.
    same: u32,
}

impl Watch {
    /// One who has not looked yet.
    pub const fn new() -> Self {
        Self {
            last: None,
            same: 0,
        }
    }

    /// Takes a look, at a queue in which something waits, or nothing does. Returns whether it has not moved for too long, so
    /// that [`Self::judge`] is due.
    pub fn look(&mut self, seen: Option<Seen>) -> bool {
        if seen.is_none() || seen != self.last {
            *self = Self {
                last: seen,
                same: 0,
            };
            return false;
        }
        self.same = self.same.saturating_add(1);
        self.is_due()
    }

    /// Whether the queue has stalled, which was looked at once more after its completions were taken out.
    pub fn judge(&self, seen: Option<Seen>) -> bool {
        self.is_due() && seen == self.last
    }

    fn is_due(&self) -> bool {
        self.last.is_some_and(|seen| {
            let looks = if seen.reads { LOOKS_OF_READS } else { LOOKS };
            self.same >= looks
        })
    }
}

impl Default for Watch {
    fn default() -> Self {
        Self::new()
    }
}
