// SPDX-License-Identifier: GPL-2.0

//! How the time for an answer is spent: on short tries first, since an answer can be missed, then on longer ones.

/// The time that is left, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    left: u32,
    next: u32,
}

impl Patience {
    /// `total` milliseconds, of which the first try gets `first` (at least 1), and each one after it twice as much as the one
    /// before.
    pub const fn new(total: u32, first: u32) -> Self {
        Self {
            left: total,
            next: if first == 0 { 1 } else { first },
        }
    }

    /// Begins the next try. Gives its time, all of which then counts as spent, or nothing when none is left.
    pub fn begin(&mut self) -> Option<u32> {
        if self.left == 0 {
            return None;
        }
        let after = self.left.saturating_sub(self.next);
        // What would not be enough for another whole try is not kept for one.
        let time = if after < self.next {
            self.left
        } else {
            self.next
        };
        self.left = self.left.saturating_sub(time);
        self.next = self.next.saturating_mul(2);
        Some(time)
    }

    /// Whether another try can begin.
    pub const fn is_over(&self) -> bool {
        self.left == 0
    }
}
