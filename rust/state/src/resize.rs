// SPDX-License-Identifier: GPL-2.0

//! Resizing a completion queue whose queues on the device cannot be resized.
//!
//! # Vocabulary
//!
//! - A *lower queue* is one on the device. It *holds* a number of entries, fixed when it is made.
//! - The *newest* is the one that queue pairs created from now on use. The *older* ones are those that earlier queue
//!   pairs are still on. Most queues have none.
//! - *Promised* is the sum of the depths of the work queues on a lower queue: more completions of the consumer's than that cannot
//!   be in it.
//!
//! # Rules (section 8.4)
//!
//! - A depth of 0 or over the limit is refused.
//! - No completion is lost. So a lower queue never overruns as long as the consumer keeps to the depth: either all that
//!   is promised fits, or the depth itself does, beside the reserve for entries of the provider's own.
//! - A queue is not made smaller than what is in it.
//! - A queue that cannot be made larger stays as it is.
//!
//! The consumer may attach queue pairs for more than the depth, and see to it that no more completions than that wait. When it
//! then asks for more depth, the lower queue of those queue pairs would have to hold more than it does: that is refused for want
//! of resources. A queue that is made larger before the queue pairs come, as is usual, never meets this.

use super::status::Status;

/// A lower queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lower {
    /// Entries that it holds.
    pub holds: u32,
    /// Entries that may come.
    pub promised: u32,
    /// Queue pairs on it.
    pub users: u32,
}

impl Lower {
    /// One for a queue of `depth`, before anybody uses it.
    pub const fn unused(holds: u32) -> Lower {
        Lower {
            holds,
            promised: 0,
            users: 0,
        }
    }

    /// A queue pair comes, with `promised` entries.
    pub fn sit(&mut self, promised: u32) {
        self.users = self.users.saturating_add(1);
        self.promised = self.promised.saturating_add(promised);
    }

    /// It goes again.
    pub fn leave(&mut self, promised: u32) {
        self.users = self.users.saturating_sub(1);
        self.promised = self.promised.saturating_sub(promised);
    }

    /// Whether it holds what may come while the consumer keeps to `depth`.
    pub fn is_safe(&self, depth: u32, reserve: u32) -> bool {
        self.promised.min(depth).saturating_add(reserve) <= self.holds
    }
}

/// How a queue gets its new depth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// The number changes, and nothing on the device.
    Keep,
    /// A new lower queue takes the place of the newest, which nobody uses.
    Replace,
    /// A new lower queue becomes the newest.
    Add,
}

/// Whether a queue may be so deep.
///
/// # Errors
///
/// `InvalidParameter` if not.
pub const fn check_depth(depth: u32, max: u32) -> Result<(), Status> {
    if depth == 0 || depth > max {
        Err(Status::InvalidParameter)
    } else {
        Ok(())
    }
}

/// Plans the change to a depth of `wanted` of a queue with these lower queues, that keeps `reserve` entries in each for the
/// provider. What is queued is for the caller to look at, when it makes the queue smaller.
///
/// # Errors
///
/// `InsufficientResources` where queue pairs could then have more completions than their lower queue holds.
pub fn plan(
    wanted: u32,
    reserve: u32,
    newest: Lower,
    mut older: impl Iterator<Item = Lower>,
) -> Result<Plan, Status> {
    let unused = newest.users == 0;
    if !older.all(|lower| lower.is_safe(wanted, reserve))
        || !unused && !newest.is_safe(wanted, reserve)
    {
        return Err(Status::InsufficientResources);
    }
    Ok(if unused {
        Plan::Replace
    } else if wanted.saturating_add(reserve) <= newest.holds {
        Plan::Keep
    } else {
        Plan::Add
    })
}
