// SPDX-License-Identifier: GPL-2.0

//! Polls of the provider's own.

use super::{
    stash::Stash,
    Found,
    Poller,
    STASH, //
};
use crate::{
    ctx::MaySleep,
    state::status::Status,
    verbs::{
        cq::{
            Cq,
            BATCH, //
        },
        handle,
        work::{
            self,
            Completed,
            WorkQueue, //
        },
    }, //
};
use kernel::{
    alloc::Flags,
    prelude::*,
    sync::{
        atomic::Relaxed,
        rcu,
        Arc, //
    },
    time::{
        delay::fsleep,
        Delta, //
    },
};

impl Poller {
    /// Takes what the device has for the consumer into the stash, so that it is accounted for, and tells `note` of it, which
    /// records and kicks only. Sleeps.
    pub(crate) fn collect(&self, ctx: &MaySleep, note: impl Fn(Found)) {
        self.collect_and_stay(ctx, note);
        self.direct_again(&mut self.stash.lock());
    }

    /// As [`Self::collect`], and leaves polls diverted until the consumer polls next. Sleeps.
    pub(crate) fn collect_and_stay(&self, ctx: &MaySleep, note: impl Fn(Found)) {
        self.divert();
        // From here on every poll takes the lock.
        handle::wait_for_readers(ctx);
        self.take_diverted(ctx, note);
    }

    /// Has polls that come take the lock, until a [`Self::take_diverted`]. Any context.
    pub(super) fn divert(&self) {
        let mut stash = self.stash.lock();
        stash.collectors = stash.collectors.saturating_add(1);
        self.set_mode(&mut stash, STASH);
    }

    /// Takes what the device has into the stash. Every poll takes the lock, and none of before goes on. Sleeps.
    fn take_diverted(&self, ctx: &MaySleep, note: impl Fn(Found)) {
        self.stash.lock().settled = true;
        self.take_all(ctx, note);
        let mut stash = self.stash.lock();
        stash.collectors = stash.collectors.saturating_sub(1);
    }

    /// As [`Self::collect`], of several at a time, which all wait for polls that are on their way together. Sleeps.
    pub(crate) fn collect_all<'a>(
        pollers: impl Iterator<Item = &'a Self> + Clone,
        ctx: &MaySleep,
        note: impl Fn(usize, Found),
    ) {
        pollers.clone().for_each(Self::divert);
        handle::wait_for_readers(ctx);
        for (number, poller) in pollers.enumerate() {
            poller.take_diverted(ctx, |found| note(number, found));
            poller.direct_again(&mut poller.stash.lock());
        }
    }

    /// As [`Self::collect`], in any context, where polls are diverted already, and none of before goes on. Returns whether all
    /// was taken.
    #[cold]
    pub(crate) fn collect_if_diverted(&self, note: impl Fn(Found)) -> bool {
        let guard = rcu::read_lock();
        let mut stash = self.stash.lock();
        // That they are diverted does not do: whoever diverts them may still be waiting for one that polls directly.
        if !stash.settled || self.lower.access(&guard).is_err() {
            return false;
        }
        let mut all = true;
        // Silent successes, which this is about, take no room.
        self.each_lower(&guard, |lower| {
            all &= self.take_what_fits(lower, usize::MAX, &mut stash, &note);
        });
        all
    }

    /// Moves what a CQ on the device has into the stash, up to `most` and as far as there is room. Returns whether it was all.
    /// Polls are diverted, and exclusive under the lock of the stash.
    fn take_what_fits(
        &self,
        lower: &Cq,
        mut most: usize,
        stash: &mut Stash,
        note: impl Fn(Found),
    ) -> bool {
        loop {
            let want = stash.compact().min(most).min(BATCH);
            if want == 0 {
                return false;
            }
            most = most.saturating_sub(want);
            let found = lower.poll_each(want, |wc| {
                // SAFETY: Polls are exclusive, and the queues live by the type invariant.
                if let Some(completed) = unsafe { work::retire(wc) } {
                    note(self.put(stash, completed));
                }
            });
            if found < want {
                return true;
            }
        }
    }

    /// Moves all that the device has into the stash. Polls are diverted. Sleeps.
    pub(super) fn take_all(&self, ctx: &MaySleep, note: impl Fn(Found)) {
        loop {
            self.make_room(BATCH, ctx);
            let guard = rcu::read_lock();
            let mut stash = self.stash.lock();
            let mut all = true;
            self.each_lower(&guard, |lower| {
                all &= self.take_what_fits(lower, BATCH, &mut stash, &note);
            });
            drop(stash);
            if all {
                return;
            }
        }
    }

    /// Diverts polls until [`Self::look`] is told to stop. Any context, in which the consumer does not poll: so all polls that
    /// come are diverted, and nobody has to be waited for.
    pub(crate) fn watch(&self) {
        let mut stash = self.stash.lock();
        if !stash.watched {
            stash.watched = true;
            stash.collectors = stash.collectors.saturating_add(1);
            stash.settled = true;
            self.set_mode(&mut stash, STASH);
        }
    }

    /// Takes what the device has into the stash while it is watched, and goes on watching where `go_on` says so. Returns
    /// whether it does. Sleeps.
    pub(crate) fn look(
        &self,
        ctx: &MaySleep,
        note: impl Fn(Found),
        go_on: impl FnOnce() -> bool,
    ) -> bool {
        self.take_all(ctx, note);
        let mut stash = self.stash.lock();
        if go_on() {
            return true;
        }
        stash.watched = false;
        stash.collectors = stash.collectors.saturating_sub(1);
        self.direct_again(&mut stash);
        false
    }

    /// Keeps room for `count` completions, so that they can be counted. Any context that `flags` allows.
    ///
    /// # Errors
    ///
    /// `InsufficientResources`.
    pub(crate) fn reserve(&self, count: u32, flags: Flags) -> Result<(), Status> {
        // One more batch, and a count is not ended by a lack of room.
        let wanted = (count as usize).saturating_add(BATCH);
        loop {
            let used = {
                let mut stash = self.stash.lock();
                if stash.reserved >= wanted {
                    return Ok(());
                }
                stash.tidy();
                stash.entries.len()
            };
            let entries = KVVec::with_capacity(used.max(wanted), flags)?;
            let mut stash = self.stash.lock();
            if stash.entries.len() > used {
                continue;
            }
            stash.reserved = wanted;
            let old = stash.move_to(entries);
            drop(stash);
            drop(old);
            return Ok(());
        }
    }

    /// Diverts polls so that completions can be counted, until [`Self::release`]. Context as [`Self::watch`].
    pub(crate) fn hold(&self) {
        let mut stash = self.stash.lock();
        if !stash.held {
            stash.held = true;
            stash.collectors = stash.collectors.saturating_add(1);
            stash.settled = true;
            self.set_mode(&mut stash, STASH);
            self.counts.store(true, Relaxed);
        }
    }

    /// Ends a [`Self::hold`], if there is one. Any context.
    #[inline]
    pub(crate) fn release(&self) {
        if self.counts.load(Relaxed) {
            self.release_held();
        }
    }

    #[cold]
    fn release_held(&self) {
        let mut stash = self.stash.lock();
        if stash.held {
            stash.held = false;
            stash.collectors = stash.collectors.saturating_sub(1);
            self.counts.store(false, Relaxed);
            self.direct_again(&mut stash);
        }
    }

    /// Begins to count with what is in the CQ.
    pub(crate) fn begin_count(&self) {
        self.stash.lock().delivered = 0;
    }

    /// Takes what the device has into the stash, tells `note` of it, and says how many completions of the consumer's the CQ has
    /// got since the count began. `None` where polls are not diverted for it. Any context.
    pub(crate) fn count(&self, note: impl Fn(Found)) -> Option<u32> {
        let guard = rcu::read_lock();
        let mut stash = self.stash.lock();
        if !stash.held {
            return None;
        }
        self.each_lower(&guard, |lower| {
            self.take_what_fits(lower, usize::MAX, &mut stash, &note);
        });
        Some(stash.counted())
    }

    /// Reports what is left in the queue of a QP that the device has destroyed, and keeps the queue until the CQ goes. Sleeps.
    pub(crate) fn abandon(&self, queue: &Arc<WorkQueue>, ctx: &MaySleep, note: impl Fn(Found)) {
        loop {
            let wanted = queue.in_flight() as usize;
            self.make_room(wanted, ctx);
            let mut stash = self.stash.lock();
            if stash.tidy() < wanted || stash.graveyard.len() >= stash.graveyard.capacity() {
                continue;
            }
            queue.abandon(|completed| note(self.put(&mut stash, completed)));
            let _ = stash.graveyard.push_within_capacity(queue.clone());
            if !stash.is_empty() {
                self.set_mode(&mut stash, STASH);
            }
            return;
        }
    }

    /// Puts one completion into the stash, which has room.
    fn put(&self, stash: &mut Stash, completed: Completed) -> Found {
        if stash.queued() >= self.depth() as usize {
            return Found::Overrun;
        }
        let found = match completed.result {
            Ok(()) => Found::Success,
            Err(_) => Found::Failure,
        };
        let _ = stash.entries.push_within_capacity(completed);
        found
    }

    /// Gives the stash room for `more` completions and one dead queue. It cannot fail: completions are not to get lost.
    fn make_room(&self, more: usize, ctx: &MaySleep) {
        loop {
            let (used, wanted, graves) = {
                let mut stash = self.stash.lock();
                let room = stash.tidy();
                if room >= more && stash.graveyard.len() < stash.graveyard.capacity() {
                    return;
                }
                let used = stash.entries.len();
                let wanted = used.saturating_add(more).max(stash.reserved);
                (used, wanted, stash.graveyard.len())
            };
            let entries = KVVec::with_capacity(wanted, GFP_KERNEL);
            let graveyard = KVec::with_capacity(graves.saturating_add(4), GFP_KERNEL);
            let (Ok(entries), Ok(mut graveyard)) = (entries, graveyard) else {
                ctx.check();
                fsleep(Delta::from_millis(1));
                continue;
            };
            let mut stash = self.stash.lock();
            let outdated = stash.entries.len() > used || stash.reserved > wanted;
            if outdated || stash.graveyard.len() > graves {
                continue;
            }
            for queue in stash.graveyard.drain_all() {
                let _ = graveyard.push_within_capacity(queue);
            }
            let old = (
                stash.move_to(entries),
                core::mem::replace(&mut stash.graveyard, graveyard),
            );
            drop(stash);
            drop(old);
            return;
        }
    }
}
