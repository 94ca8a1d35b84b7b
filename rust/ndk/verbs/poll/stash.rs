// SPDX-License-Identifier: GPL-2.0

//! What the provider took out of a CQ for the consumer.

use crate::verbs::work::{
    Completed,
    WorkQueue, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Completions that the provider took out for the consumer, oldest first.
pub(super) struct Stash {
    pub(super) entries: KVVec<Completed>,
    /// Entries that were handed out already.
    pub(super) taken: usize,
    /// How many in the provider need polls diverted.
    pub(super) collectors: u32,
    /// Whether no poll that began before the diversion can be under way any more: only then may others than the consumer poll.
    pub(super) settled: bool,
    /// Whether [`super::Poller::watch`] is one of them.
    pub(super) watched: bool,
    /// Whether [`super::Poller::hold`] is one of them.
    pub(super) held: bool,
    /// Completions that the consumer took since [`super::Poller::begin_count`].
    pub(super) delivered: u32,
    /// Room that is kept for [`super::Poller::count`].
    pub(super) reserved: usize,
    /// Queues of destroyed QPs that the device may still have completions of.
    pub(super) graveyard: KVec<Arc<WorkQueue>>,
}

impl Stash {
    /// An empty one with room for `room`. Sleeps.
    pub(super) fn new(room: usize) -> Result<Self> {
        Ok(Self {
            entries: KVVec::with_capacity(room, GFP_KERNEL)?,
            taken: 0,
            collectors: 0,
            settled: true,
            watched: false,
            held: false,
            delivered: 0,
            reserved: 0,
            graveyard: KVec::new(),
        })
    }

    /// Gives it `entries`, which has room for all that is left in this one. Returns what is to be freed outside of the lock.
    pub(super) fn move_to(&mut self, mut entries: KVVec<Completed>) -> KVVec<Completed> {
        let taken = core::mem::take(&mut self.taken);
        for completed in self.entries.drain_all().skip(taken) {
            let _ = entries.push_within_capacity(completed);
        }
        core::mem::replace(&mut self.entries, entries)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.taken >= self.entries.len()
    }

    pub(super) fn next(&mut self) -> Option<&Completed> {
        let at = self.taken;
        if at >= self.entries.len() {
            return None;
        }
        self.taken = at.saturating_add(1);
        self.entries.get(at)
    }

    /// Makes room, and says how many fit.
    pub(super) fn tidy(&mut self) -> usize {
        if self.is_empty() {
            self.entries.clear();
            self.taken = 0;
        }
        self.entries.capacity().saturating_sub(self.entries.len())
    }

    /// As [`Self::tidy`], and all the room that can be made.
    pub(super) fn compact(&mut self) -> usize {
        if self.tidy() == 0 && self.taken != 0 {
            let left = self.queued();
            for to in 0..left {
                self.entries.swap(to, to.saturating_add(self.taken));
            }
            self.entries.truncate(left);
            self.taken = 0;
        }
        self.tidy()
    }

    /// Completions in it.
    pub(super) fn queued(&self) -> usize {
        self.entries.len().saturating_sub(self.taken)
    }

    /// Completions that the CQ has got since the count began, with those that it held then.
    pub(super) fn counted(&self) -> u32 {
        let queued = u32::try_from(self.queued()).unwrap_or(u32::MAX);
        self.delivered.saturating_add(queued)
    }
}
