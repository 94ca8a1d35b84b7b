// SPDX-License-Identifier: GPL-2.0

//! Requests that wait for their doorbell.
//!
//! # Rules (section 7.5)
//!
//! - A request with the defer flag may wait, and may as well be started at once. Here it waits while
//!   there is room.
//! - A request without the flag ends the chain: what waits and the request itself go to the device as
//!   one list, with one doorbell.
//! - When a post fails, for whatever reason, what waits goes to the device all the same.
//! - A request that failed has no completion; one that was accepted has one, also when the device
//!   refuses it later, out of the list. The device takes the first requests of a list and none after the
//!   first that it refuses; what it leaves is *orphaned*: the provider completes it as cancelled, and
//!   the connection is over.
//! - Flush, disconnect and close push what waits, or it would never complete.
//!
//! A request can have several *parts*, the work requests that the device sees.

/// What to do with a request that is about to be posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the request is posted or kept"]
pub enum Step {
    /// Post it alone.
    Post,
    /// Keep it behind those that wait.
    Keep,
    /// Post those that wait, and it behind them.
    Ring,
}

/// What to do with `parts` of a request, where `waiting` parts wait and there is room for `room`.
#[inline]
pub const fn step(waiting: u32, room: u32, parts: u32, defer: bool) -> Step {
    if defer && parts <= room.saturating_sub(waiting) {
        Step::Keep
    } else if waiting == 0 && parts == 1 {
        Step::Post
    } else {
        Step::Ring
    }
}

/// How the post of a list ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "what was left has to be completed"]
pub enum Rung {
    /// The device took all.
    All,
    /// It took all that waited, and nothing of the request behind them, which has failed.
    Refused,
    /// It left parts of requests that had been accepted. Where the request behind them was begun, that
    /// counts as accepted; else it has failed.
    Orphaned {
        /// Parts that waited and were left.
        waiting: u32,
        /// Whether the request behind them was begun.
        begun: bool,
    },
}

/// How a list ended of which the device took the first `taken` parts: `waiting` had waited, `parts` are
/// those of the request behind them, 0 where there is none.
pub const fn rung(waiting: u32, parts: u32, taken: u32) -> Rung {
    if taken >= waiting.saturating_add(parts) {
        return Rung::All;
    }
    match taken.checked_sub(waiting) {
        Some(0) => Rung::Refused,
        behind => Rung::Orphaned {
            waiting: waiting.saturating_sub(taken),
            begun: behind.is_some(),
        },
    }
}
