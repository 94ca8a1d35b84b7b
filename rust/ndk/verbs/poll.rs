// SPDX-License-Identifier: GPL-2.0

//! Polling of a CQ by two: the consumer, and the provider.
//!
//! The consumer polls the device's CQ directly, without a lock: it serializes polls and arms of one CQ. The provider itself
//! has to take completions out as well, to see that a QP is drained or to get at silent ones, whether the consumer polls or
//! not. It then *diverts* the CQ: the consumer's polls take a lock and look at a *stash* first, into which the provider puts
//! what it finds. When the stash is empty and the provider has finished, polls go directly again. Order is kept: what is in
//! the stash came before what is on the device, and the switch waits for polls that were on their way.

use crate::{
    ctx::MaySleep,
    state::status::Status,
    sync::{
        new_irq_spinlock,
        IrqSpinLock, //
    },
    verbs::{
        cq::{
            Cq,
            BATCH, //
        },
        handle::{
            self,
            Handle, //
        },
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
        atomic::{
            Acquire,
            Atomic,
            Relaxed,
            Release, //
        },
        rcu,
        Arc, //
    },
    time::{
        delay::fsleep,
        Delta, //
    },
};

/// Where the consumer wants its completions.
pub(crate) trait Sink {
    /// How many more fit.
    fn left(&self) -> u32;

    /// Adds one, where it fits.
    fn put(&mut self, completed: &Completed);
}

/// What came into the stash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// A request that succeeded.
    Success,
    /// One that failed.
    Failure,
    /// One for which the consumer has left no room; it is lost.
    Overrun,
}

/// Completions that the provider took out for the consumer, oldest first.
struct Stash {
    entries: KVVec<Completed>,
    /// Entries that were handed out already.
    taken: usize,
    /// How many in the provider need polls diverted.
    collectors: u32,
    /// Whether no poll that began before the diversion can be under way any more: only then may others than the consumer poll.
    settled: bool,
    /// Whether [`Poller::watch`] is one of them.
    watched: bool,
    /// Whether [`Poller::hold`] is one of them.
    held: bool,
    /// Completions that the consumer took since [`Poller::begin_count`].
    delivered: u32,
    /// Room that is kept for [`Poller::count`].
    reserved: usize,
    /// Queues of destroyed QPs that the device may still have completions of.
    graveyard: KVec<Arc<WorkQueue>>,
}

impl Stash {
    fn is_empty(&self) -> bool {
        self.taken >= self.entries.len()
    }

    fn next(&mut self) -> Option<&Completed> {
        let at = self.taken;
        if at >= self.entries.len() {
            return None;
        }
        self.taken = at.saturating_add(1);
        self.entries.get(at)
    }

    /// Makes room, and says how many fit.
    fn tidy(&mut self) -> usize {
        if self.is_empty() {
            self.entries.clear();
            self.taken = 0;
        }
        self.entries.capacity().saturating_sub(self.entries.len())
    }

    /// As [`Self::tidy`], and all the room that can be made.
    fn compact(&mut self) -> usize {
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
    fn queued(&self) -> usize {
        self.entries.len().saturating_sub(self.taken)
    }

    /// Completions that the CQ has got since the count began, with those that it held then.
    fn counted(&self) -> u32 {
        let queued = u32::try_from(self.queued()).unwrap_or(u32::MAX);
        self.delivered.saturating_add(queued)
    }
}

/// A device's CQ, as consumer and provider poll it.
///
/// # Invariants
///
/// - Only requests of [`WorkQueue`]s are posted to the QPs of `lower`. Each queue lives at least as long as its QP, and then in
///   the graveyard.
/// - `lower` is polled by the consumer within an RCU section that began before `diverted` was set, or else under the lock of
///   `stash`.
#[pin_data]
pub(crate) struct Poller {
    /// Most completions that the consumer may leave in the CQ.
    depth: u32,
    lower: Handle<Cq>,
    /// Whether polls go by the stash.
    diverted: Atomic<bool>,
    /// Whether completions can be counted, see [`Self::hold`]. Written under the lock of `stash`.
    counts: Atomic<bool>,
    #[pin]
    stash: IrqSpinLock<Stash>,
}

impl Poller {
    /// A poller without a CQ on the device yet, for `depth` completions. Sleeps.
    pub(crate) fn new(depth: u32) -> impl PinInit<Self, Error> {
        try_pin_init!(Self {
            depth,
            lower: Handle::new(),
            // Until the consumer polls for the first time: where it never does, posts take silent requests out.
            diverted: Atomic::new(true),
            counts: Atomic::new(false),
            stash <- new_irq_spinlock!(Stash {
                // For posts, which cannot wait for memory.
                entries: KVVec::with_capacity(BATCH, GFP_KERNEL)?,
                taken: 0,
                collectors: 0,
                settled: true,
                watched: false,
                held: false,
                delivered: 0,
                reserved: 0,
                graveyard: KVec::new(),
            }),
        }? Error)
    }

    /// Most completions that the consumer may leave in the CQ.
    pub(crate) fn depth(&self) -> u32 {
        self.depth
    }

    /// The CQ on the device.
    pub(crate) fn lower(&self) -> &Handle<Cq> {
        &self.lower
    }

    /// Takes results. Any context.
    ///
    /// # Safety
    ///
    /// The caller serializes its polls of the CQ.
    #[inline]
    pub(crate) unsafe fn poll(&self, sink: &mut impl Sink) {
        let guard = rcu::read_lock();
        if self.diverted.load(Acquire) {
            self.poll_diverted(sink, &guard);
        } else if let Ok(lower) = self.lower.access(&guard) {
            // SAFETY: The caller serializes polls, and the provider's own divert them and wait for this section.
            unsafe { drain(lower, sink) };
        }
    }

    #[cold]
    fn poll_diverted(&self, sink: &mut impl Sink, guard: &rcu::Guard) {
        let mut stash = self.stash.lock();
        let room = sink.left();
        while sink.left() > 0 {
            match stash.next() {
                Some(completed) => sink.put(completed),
                None => break,
            }
        }
        if stash.is_empty() {
            stash.tidy();
            if let Ok(lower) = self.lower.access(guard) {
                // SAFETY: The lock of the stash excludes all other polls.
                unsafe { drain(lower, sink) };
            }
            self.direct_again(&mut stash);
        }
        let delivered = room.saturating_sub(sink.left());
        stash.delivered = stash.delivered.saturating_add(delivered);
    }

    /// Lets polls go directly when nothing is against it.
    fn direct_again(&self, stash: &mut Stash) {
        if stash.collectors == 0 && stash.is_empty() {
            stash.settled = false;
            self.diverted.store(false, Release);
        }
    }

    /// Completions that the provider has taken out for the consumer. Any context.
    pub(crate) fn stashed(&self) -> usize {
        let stash = self.stash.lock();
        stash.entries.len().saturating_sub(stash.taken)
    }

    /// Whether there is something in the stash. Any context.
    pub(crate) fn is_stashed(&self) -> bool {
        self.diverted.load(Acquire) && !self.stash.lock().is_empty()
    }

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
    fn divert(&self) {
        let mut stash = self.stash.lock();
        stash.collectors = stash.collectors.saturating_add(1);
        self.diverted.store(true, Release);
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
        if !stash.settled {
            return false;
        }
        let Ok(lower) = self.lower.access(&guard) else {
            return false;
        };
        loop {
            // Silent successes, which this is about, take no room.
            let want = stash.tidy().min(BATCH);
            if want == 0 {
                return false;
            }
            let found = lower.poll_each(want, |wc| {
                // SAFETY: Polls are exclusive under this lock while they are diverted, and the queues live by the type
                // invariant.
                if let Some(completed) = unsafe { work::retire(wc) } {
                    note(self.put(&mut stash, completed));
                }
            });
            if found < want {
                return true;
            }
        }
    }

    /// Moves all that the device has into the stash. Polls are diverted. Sleeps.
    fn take_all(&self, ctx: &MaySleep, note: impl Fn(Found)) {
        let lower = self.lower.get(ctx);
        loop {
            self.make_room(BATCH, ctx);
            let mut stash = self.stash.lock();
            if stash.tidy() < BATCH {
                continue;
            }
            let found = lower.as_ref().map_or(0, |lower| {
                lower.poll_each(BATCH, |wc| {
                    // SAFETY: As above.
                    if let Some(completed) = unsafe { work::retire(wc) } {
                        note(self.put(&mut stash, completed));
                    }
                })
            });
            if found < BATCH {
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
            self.diverted.store(true, Release);
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
            let mut entries = KVVec::with_capacity(used.max(wanted), flags)?;
            let mut stash = self.stash.lock();
            if stash.entries.len() > used {
                continue;
            }
            let taken = stash.taken;
            for completed in stash.entries.drain_all().skip(taken) {
                let _ = entries.push_within_capacity(completed);
            }
            stash.taken = 0;
            stash.reserved = wanted;
            let old = core::mem::replace(&mut stash.entries, entries);
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
            self.diverted.store(true, Release);
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
        let Ok(lower) = self.lower.access(&guard) else {
            return Some(stash.counted());
        };
        loop {
            let want = stash.compact().min(BATCH);
            let found = if want == 0 {
                0
            } else {
                lower.poll_each(want, |wc| {
                    // SAFETY: Polls are exclusive under this lock while they are diverted, and the queues live by the type
                    // invariant.
                    if let Some(completed) = unsafe { work::retire(wc) } {
                        note(self.put(&mut stash, completed));
                    }
                })
            };
            if found < BATCH {
                return Some(stash.counted());
            }
        }
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
                self.diverted.store(true, Release);
            }
            return;
        }
    }

    /// Puts one completion into the stash, which has room.
    fn put(&self, stash: &mut Stash, completed: Completed) -> Found {
        if stash.queued() >= self.depth as usize {
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
            let (Ok(mut entries), Ok(mut graveyard)) = (entries, graveyard) else {
                ctx.check();
                fsleep(Delta::from_millis(1));
                continue;
            };
            let mut stash = self.stash.lock();
            let taken = stash.taken;
            let outdated = stash.entries.len() > used || stash.reserved > wanted;
            if outdated || stash.graveyard.len() > graves {
                continue;
            }
            for completed in stash.entries.drain_all().skip(taken) {
                let _ = entries.push_within_capacity(completed);
            }
            stash.taken = 0;
            for queue in stash.graveyard.drain_all() {
                let _ = graveyard.push_within_capacity(queue);
            }
            let old = (
                core::mem::replace(&mut stash.entries, entries),
                core::mem::replace(&mut stash.graveyard, graveyard),
            );
            drop(stash);
            drop(old);
            return;
        }
    }
}

/// Takes completions from the device until there is no room or nothing left.
///
/// # Safety
///
/// `lower` is that of a [`Poller`], and the caller excludes other polls of it.
#[inline]
unsafe fn drain(lower: &Cq, sink: &mut impl Sink) {
    while sink.left() > 0 {
        let want = BATCH.min(sink.left() as usize);
        let found = lower.poll_each(want, |wc| {
            // SAFETY: By the requirements of this function; the queues live by the invariant of `Poller`.
            if let Some(completed) = unsafe { work::retire(wc) } {
                sink.put(&completed);
            }
        });
        if found < want {
            return;
        }
    }
}

#[kernel::macros::kunit_tests(ndk_poll)]
mod tests {
    use super::*;
    use crate::{
        status::Result,
        verbs::{
            fault::FaultLine,
            work::Tag, //
        }, //
    };
    /// Results that are contexts.
    struct Contexts {
        list: [usize; 4],
        room: u32,
        taken: u32,
    }

    impl Sink for Contexts {
        fn left(&self) -> u32 {
            self.room - self.taken
        }

        fn put(&mut self, completed: &Completed) {
            if let Some(slot) = self.list.get_mut(self.taken as usize) {
                *slot = completed.request_context;
            }
            self.taken += 1;
        }
    }

    fn poll(poller: &Poller, room: u32) -> [usize; 4] {
        let mut contexts = Contexts {
            list: [0; 4],
            room,
            taken: 0,
        };
        // SAFETY: Each test is one thread.
        unsafe { poller.poll(&mut contexts) };
        contexts.list
    }

    /// A queue with requests of the contexts 1 to `count` on their way.
    fn queue(count: usize) -> Result<Arc<WorkQueue>> {
        let line = FaultLine::of_test()?;
        let queue = WorkQueue::new(8, 1, 0, line)?;
        for context in 1..=count {
            let reservation = queue.reserve(false)?;
            let context = core::ptr::without_provenance_mut(context);
            queue.fill(&reservation, Tag::new(0, false), context);
            queue.publish(&reservation);
        }
        Ok(queue)
    }

    fn poller(depth: u32) -> Result<Arc<Poller>> {
        Ok(Arc::pin_init(Poller::new(depth), GFP_KERNEL)?)
    }

    #[test]
    fn a_stash_is_polled_in_order() -> Result {
        let ctx = MaySleep::of_test();
        let poller = poller(8)?;
        let failures = Atomic::new(0);
        poller.abandon(&queue(3)?, &ctx, |found| {
            if found == Found::Failure {
                failures.add(1, Relaxed);
            }
        });
        assert_eq!(failures.load(Relaxed), 3);
        assert!(poller.is_stashed());
        assert_eq!(poll(&poller, 2), [1, 2, 0, 0]);
        assert!(poller.is_stashed());
        assert_eq!(poll(&poller, 2), [3, 0, 0, 0]);
        assert!(!poller.is_stashed());
        assert_eq!(poll(&poller, 2), [0; 4]);
        Ok(())
    }

    #[test]
    fn what_does_not_fit_is_an_overrun() -> Result {
        let ctx = MaySleep::of_test();
        let poller = poller(2)?;
        let overruns = Atomic::new(0);
        poller.abandon(&queue(3)?, &ctx, |found| {
            if found == Found::Overrun {
                overruns.add(1, Relaxed);
            }
        });
        assert_eq!(overruns.load(Relaxed), 1);
        assert_eq!(poll(&poller, 4), [1, 2, 0, 0]);
        Ok(())
    }

    #[test]
    fn polls_go_directly_once_all_is_taken() -> Result {
        let ctx = MaySleep::of_test();
        let poller = poller(8)?;
        let diverted = || poller.diverted.load(Acquire);
        assert!(diverted());
        poll(&poller, 1);
        assert!(!diverted());
        // There is no device, so all of these find nothing.
        poller.collect(&ctx, |_| ());
        assert!(!diverted());
        poller.collect_and_stay(&ctx, |_| ());
        assert!(diverted());
        poll(&poller, 1);
        assert!(!diverted());
        poller.abandon(&queue(1)?, &ctx, |_| ());
        poller.collect(&ctx, |_| ());
        assert!(diverted());
        assert_eq!(poll(&poller, 1), [1, 0, 0, 0]);
        assert!(!diverted());
        Ok(())
    }

    #[test]
    fn a_diversion_is_settled_when_no_direct_poll_can_go_on() -> Result {
        let ctx = MaySleep::of_test();
        let poller = poller(8)?;
        let settled = || poller.stash.lock().settled;
        assert!(settled());
        poll(&poller, 1);
        assert!(!settled());
        // This diverts without waiting for polls that are under way.
        poller.abandon(&queue(1)?, &ctx, |_| ());
        assert!(poller.diverted.load(Acquire) && !settled());
        poller.collect_and_stay(&ctx, |_| ());
        assert!(settled());
        Ok(())
    }

    #[test]
    fn a_watch_diverts_until_it_is_told_to_stop() -> Result {
        let ctx = MaySleep::of_test();
        let poller = poller(8)?;
        poller.watch();
        poller.watch();
        poll(&poller, 1);
        assert!(poller.diverted.load(Acquire));
        assert!(poller.look(&ctx, |_| (), || true));
        assert!(poller.diverted.load(Acquire));
        assert!(!poller.look(&ctx, |_| (), || false));
        assert!(!poller.diverted.load(Acquire));
        Ok(())
    }

    #[test]
    fn counted_is_what_is_there_and_what_was_taken_since() -> Result {
        let ctx = MaySleep::of_test();
        let poller = poller(8)?;
        assert!(poller.count(|_| ()).is_none());
        poller.reserve(4, GFP_KERNEL)?;
        poller.reserve(2, GFP_KERNEL)?;
        poller.abandon(&queue(2)?, &ctx, |_| ());
        poller.hold();
        poller.hold();
        assert_eq!(poll(&poller, 1), [1, 0, 0, 0]);
        poller.begin_count();
        assert_eq!(poller.count(|_| ()), Some(1));
        assert_eq!(poll(&poller, 2), [2, 0, 0, 0]);
        poller.abandon(&queue(3)?, &ctx, |_| ());
        assert_eq!(poller.count(|_| ()), Some(4));
        assert_eq!(poll(&poller, 4), [1, 2, 3, 0]);
        assert!(poller.diverted.load(Acquire));
        poller.release();
        poller.release();
        assert!(!poller.diverted.load(Acquire));
        assert!(poller.count(|_| ()).is_none());
        Ok(())
    }

    #[test]
    fn a_stash_is_compacted_in_order() -> Result {
        let ctx = MaySleep::of_test();
        let poller = poller(64)?;
        // The fifth makes it as large as it must be.
        for _ in 0..5 {
            poller.abandon(&queue(3)?, &ctx, |_| ());
        }
        assert_eq!(poll(&poller, 2), [1, 2, 0, 0]);
        {
            let mut stash = poller.stash.lock();
            let room = stash.tidy();
            let compacted = stash.compact();
            assert_eq!(compacted, if room == 0 { 2 } else { room });
        }
        assert_eq!(poll(&poller, 4), [3, 1, 2, 3]);
        Ok(())
    }

    #[test]
    fn without_a_diversion_nothing_is_collected() -> Result {
        let poller = poller(8)?;
        assert!(!poller.collect_if_diverted(|_| ()));
        // Diverted, but without a device.
        poller.watch();
        assert!(!poller.collect_if_diverted(|_| ()));
        assert!(poller.lower().get(&MaySleep::of_test()).err() == Some(Status::DeviceRemoved));
        Ok(())
    }
}
