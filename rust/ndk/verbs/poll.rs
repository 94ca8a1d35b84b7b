// SPDX-License-Identifier: GPL-2.0

//! Polling of a CQ by two: the consumer, and the provider.
//!
//! The consumer polls the device's CQ directly, without a lock: it serializes polls and arms of one CQ. The provider itself
//! has to take completions out as well, to see that a QP is drained or to get at silent ones, whether the consumer polls or
//! not. It then *diverts* the CQ: the consumer's polls take a lock and look at a *stash* first, into which the provider puts
//! what it finds. When the stash is empty and the provider has finished, polls go directly again. Order is kept: what is in
//! the stash came before what is on the device, and the switch waits for polls that were on their way.

use self::stash::Stash;
use crate::{
    state::atomic::AtomicU32,
    sync::{
        new_irq_spinlock,
        IrqSpinLock, //
    },
    verbs::{
        cq::{
            Arm,
            Cq,
            BATCH, //
        },
        handle::Handle,
        work::{
            self,
            Completed, //
        },
    }, //
};
use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        rcu,
        Arc, //
    },
};

mod collect;
mod lowers;
mod stash;

/// The stash has something, or the provider polls as well.
const STASH: u32 = 1 << 0;

/// There is more than one CQ on the device.
const MANY: u32 = 1 << 1;

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

/// The CQs on the device, as consumer and provider poll them.
///
/// # Invariants
///
/// - Only requests of [`WorkQueue`]s are posted to the QPs of the CQs on the device. Each queue lives at least as long as its QP,
///   and then in the graveyard.
/// - The CQs on the device are polled by the consumer within an RCU section that began before [`STASH`] was set in `mode`, or
///   else under the lock of `stash`.
/// - [`MANY`] is set in `mode` before there is a second one.
#[pin_data]
pub(crate) struct Poller {
    /// Most completions that the consumer may leave in the CQ.
    depth: Atomic<u32>,
    /// The one for new QPs, and mostly the only one.
    lower: Handle<Cq>,
    /// Those that earlier QPs are still on.
    older: Handle<KVec<Arc<Cq>>>,
    /// The one of them that is polled first.
    turn: Atomic<u32>,
    /// What a poll has to see to beside `lower`: [`STASH`], [`MANY`]. Written under the lock of `stash`.
    mode: AtomicU32,
    /// Whether completions can be counted, see [`Self::hold`]. Written under the lock of `stash`.
    counts: Atomic<bool>,
    #[pin]
    stash: IrqSpinLock<Stash>,
}

impl Poller {
    /// A poller without a CQ on the device yet, for `depth` completions. Sleeps.
    pub(crate) fn new(depth: u32) -> impl PinInit<Self, Error> {
        try_pin_init!(Self {
            depth: Atomic::new(depth),
            lower: Handle::new(),
            older: Handle::new(),
            turn: Atomic::new(0),
            // Until the consumer polls for the first time: where it never does, posts take silent requests out.
            mode: AtomicU32::new(STASH),
            counts: Atomic::new(false),
            // For posts, which cannot wait for memory.
            stash <- new_irq_spinlock!(Stash::new(BATCH)?),
        }? Error)
    }

    /// Most completions that the consumer may leave in the CQ.
    pub(crate) fn depth(&self) -> u32 {
        self.depth.load(Relaxed)
    }

    /// The CQ on the device for new QPs.
    pub(crate) fn lower(&self) -> &Handle<Cq> {
        &self.lower
    }

    /// Calls `f` with every CQ on the device.
    fn each_lower(&self, guard: &rcu::Guard, mut f: impl FnMut(&Cq)) {
        if let Ok(lower) = self.lower.access(guard) {
            f(lower);
        }
        if let Ok(older) = self.older.access(guard) {
            older.iter().for_each(|lower| f(lower));
        }
    }

    fn set_mode(&self, _stash: &mut Stash, bit: u32) {
        self.mode.store_release(self.mode.load_relaxed() | bit);
    }

    fn clear_mode(&self, _stash: &mut Stash, bit: u32) {
        self.mode.store_release(self.mode.load_relaxed() & !bit);
    }

    /// Takes results. Any context.
    ///
    /// # Safety
    ///
    /// The caller serializes its polls of the CQ.
    #[inline]
    pub(crate) unsafe fn poll(&self, sink: &mut impl Sink) {
        let guard = rcu::read_lock();
        // Before the mode: who sees a second CQ sees that there are several.
        let lower = self.lower.access(&guard);
        if self.mode.load_acquire() != 0 {
            self.poll_by_mode(sink, &guard);
        } else if let Ok(lower) = lower {
            // SAFETY: The caller serializes polls, and the provider's own divert them and wait for this section.
            unsafe { drain(lower, sink) };
        }
    }

    #[cold]
    fn poll_by_mode(&self, sink: &mut impl Sink, guard: &rcu::Guard) {
        if self.mode.load_acquire() & STASH != 0 {
            self.poll_diverted(sink, guard);
        } else {
            // SAFETY: As in `poll`.
            unsafe { self.drain_all(sink, guard) };
        }
    }

    /// Polls the CQs on the device, each time another one first: none starves.
    ///
    /// # Safety
    ///
    /// As for [`drain`].
    unsafe fn drain_all(&self, sink: &mut impl Sink, guard: &rcu::Guard) {
        let older = self.older.access(guard).map_or(&[][..], |older| &**older);
        let newest = self.lower.access(guard).ok();
        let first = if older.is_empty() {
            0
        } else {
            let turn = self.turn.fetch_add(1, Relaxed) as usize;
            turn % older.len().saturating_add(1)
        };
        for lower in older.iter().skip(first) {
            // SAFETY: By the requirements of this function.
            unsafe { drain(lower, sink) };
        }
        if let Some(lower) = newest {
            // SAFETY: As above.
            unsafe { drain(lower, sink) };
        }
        for lower in older.iter().take(first) {
            // SAFETY: As above.
            unsafe { drain(lower, sink) };
        }
    }

    /// Arms the CQs on the device, and says whether they may have something already, or the stash has. Any context.
    #[inline]
    pub(crate) fn req_notify(&self, arm: Arm) -> bool {
        let guard = rcu::read_lock();
        // In the order of `poll`.
        let missed = self.req_newest(arm, &guard);
        if self.mode.load_acquire() == 0 {
            return missed;
        }
        let stashed = !self.stash.lock().is_empty();
        self.req_older(arm, &guard) || missed || stashed
    }

    /// As [`Self::req_notify`], whatever is in the stash.
    pub(crate) fn req_notify_device(&self, arm: Arm) -> bool {
        let guard = rcu::read_lock();
        let missed = self.req_newest(arm, &guard);
        self.req_older(arm, &guard) || missed
    }

    fn req_newest(&self, arm: Arm, guard: &rcu::Guard) -> bool {
        let newest = self.lower.access(guard);
        newest.is_ok_and(|lower| lower.req_notify(arm))
    }

    fn req_older(&self, arm: Arm, guard: &rcu::Guard) -> bool {
        let mut missed = false;
        if let Ok(older) = self.older.access(guard) {
            for lower in older.iter() {
                missed |= lower.req_notify(arm);
            }
        }
        missed
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
            // SAFETY: The lock of the stash excludes all other polls.
            unsafe { self.drain_all(sink, guard) };
            self.direct_again(&mut stash);
        }
        let delivered = room.saturating_sub(sink.left());
        stash.delivered = stash.delivered.saturating_add(delivered);
    }

    /// Lets polls go directly when nothing is against it.
    fn direct_again(&self, stash: &mut Stash) {
        if stash.collectors == 0 && stash.is_empty() {
            stash.settled = false;
            self.clear_mode(stash, STASH);
        }
    }

    /// Completions that the provider has taken out for the consumer. Any context.
    pub(crate) fn stashed(&self) -> usize {
        self.stash.lock().queued()
    }

    /// Whether there is something in the stash. Any context.
    #[cfg(CONFIG_KUNIT = "y")]
    fn is_stashed(&self) -> bool {
        !self.stash.lock().is_empty()
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
        ctx::MaySleep,
        state::status::Status,
        status::Result,
        verbs::{
            fault::FaultLine,
            work::{
                Tag,
                WorkQueue, //
            },
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
        let diverted = || poller.mode.load_acquire() & STASH != 0;
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
        assert!(poller.mode.load_acquire() & STASH != 0 && !settled());
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
        assert!(poller.mode.load_acquire() & STASH != 0);
        assert!(poller.look(&ctx, |_| (), || true));
        assert!(poller.mode.load_acquire() & STASH != 0);
        assert!(!poller.look(&ctx, |_| (), || false));
        assert!(poller.mode.load_acquire() & STASH == 0);
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
        assert!(poller.mode.load_acquire() & STASH != 0);
        poller.release();
        poller.release();
        assert!(poller.mode.load_acquire() & STASH == 0);
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
