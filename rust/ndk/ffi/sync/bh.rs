// SPDX-License-Identifier: GPL-2.0

//! The queue of work items in softirq context, over `ffi/bh.c`.

use super::raw_work;
use crate::{
    ctx::{
        self,
        Process, //
    },
    ffi,
};
use kernel::{
    ffi::c_int,
    prelude::*,
    sync::Arc,
    types::NotThreadSafe,
    workqueue::{
        HasWork,
        RawWorkItem,
        WorkItem, //
    },
};

/// A work item in softirq context; runs on a [`BhQueue`]. Implement it, then name the field with
/// [`bh_work!`].
///
/// One item never runs twice at a time, so what it calls is serialized.
pub(crate) trait BhItem<const ID: u64 = 0>: Sized {
    /// Runs in softirq context, holding no lock.
    fn run(this: Arc<Self>, ctx: &ctx::Softirq);
}

/// Connects a [`BhItem`] with its `Work` field: `bh_work! { impl BhItem<1> for Cq {
/// self.notify_work } }`.
macro_rules! bh_work {
    (impl $({$($generics:tt)*})? BhItem<$id:literal> for $self:ty { self.$($field:ident).+ }) => {
        $crate::sync::has_work!(($($($generics)*)?) $id, $self, $($field).+);

        impl $(<$($generics)*>)? ::kernel::workqueue::WorkItem<$id> for $self {
            type Pointer = ::kernel::sync::Arc<Self>;

            fn run(this: ::kernel::sync::Arc<Self>) {
                $crate::sync::run_bh::<Self, $id>(this);
            }
        }
    };
}
pub(crate) use bh_work;

/// The queue whose items run in softirq context, the only place from which consumers are called: `ffi/bh.c`.
///
/// Dropping it runs what is queued, and sleeps.
///
/// # Invariants
///
/// There is one value at most, and while there is one the queue of C has been started.
pub(crate) struct BhQueue(());

impl BhQueue {
    /// Starts the queue. Process context.
    ///
    /// # Safety
    ///
    /// No other value exists.
    pub(crate) unsafe fn new() -> Result<Self> {
        // SAFETY: By this function's requirements it is not started.
        kernel::error::to_result(unsafe { ffi::ndk_bh_start() })?;
        // INVARIANT: Just started, and the only one by this function's requirements.
        Ok(Self(()))
    }

    /// Queues an item, in any context. Returns false if it was queued already.
    pub(crate) fn enqueue<T, const ID: u64>(&self, item: Arc<T>) -> bool
    where
        T: BhItem<ID> + WorkItem<ID, Pointer = Arc<T>> + HasWork<T, ID> + Send + Sync + 'static,
    {
        self.enqueue_near(item, Affinity(None))
    }

    /// As [`Self::enqueue`], on the CPU that was wished for where that is possible.
    pub(crate) fn enqueue_near<T, const ID: u64>(&self, item: Arc<T>, near: Affinity) -> bool
    where
        T: BhItem<ID> + WorkItem<ID, Pointer = Arc<T>> + HasWork<T, ID> + Send + Sync + 'static,
    {
        let cpu = near.0.and_then(|cpu| c_int::try_from(cpu).ok());
        // SAFETY: The callee returns false only if the item is queued already. The item is `'static` and `Send`.
        let queued = unsafe {
            RawWorkItem::<ID>::__enqueue(item, |work| {
                // SAFETY: The queue is started by the type invariant, and `work` is valid by the contract of `__enqueue`. Only
                // this function queues it.
                ffi::ndk_bh_queue(work, cpu.unwrap_or(-1))
            })
        };
        queued.is_ok()
    }

    /// As [`Self::enqueue`], from process context without a spinlock: runs what is queued on this CPU before it returns, instead
    /// of waking the thread that runs softirqs.
    pub(crate) fn enqueue_now<T, const ID: u64>(&self, item: Arc<T>, ctx: &Process) -> bool
    where
        T: BhItem<ID> + WorkItem<ID, Pointer = Arc<T>> + HasWork<T, ID> + Send + Sync + 'static,
    {
        let _off = BhOff::new(ctx);
        self.enqueue(item)
    }
}

impl Drop for BhQueue {
    fn drop(&mut self) {
        ctx::might_sleep();
        // SAFETY: By the type invariant it is started, and nobody else queues from here on.
        unsafe { ffi::ndk_bh_stop() };
    }
}

/// Runs an item, for [`bh_work!`].
pub(crate) fn run_bh<T, const ID: u64>(item: Arc<T>)
where
    T: BhItem<ID> + WorkItem<ID, Pointer = Arc<T>> + HasWork<T, ID>,
{
    // SAFETY: Only `BhQueue` enqueues this item; it runs its items in softirq context with no lock held.
    let ctx = unsafe { ctx::Softirq::assume() };
    // It may be due once more, and then somebody has to see to that when it has run.
    let again = item.clone();
    <T as BhItem<ID>>::run(item, &ctx);
    // SAFETY: The queue runs it now, and the pointer is valid while `again` exists.
    unsafe { ffi::ndk_bh_ran(raw_work::<T, ID>(&again)) };
}

/// The CPU on which a consumer wants to be called. A wish: a number that stands for no CPU, or for one that is offline, is that
/// of none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Affinity(Option<u32>);

impl Affinity {
    /// What the consumer gave; negative for no wish.
    pub(crate) fn new(cpu: c_int) -> Self {
        Self(u32::try_from(cpu).ok())
    }

    /// The vector of the device that goes with it: they are spread over the CPUs in order.
    pub(crate) fn vector(self) -> u32 {
        self.0.unwrap_or(0)
    }
}

/// Softirqs are off on this CPU until it is dropped; what is due by then runs at once.
pub(crate) struct BhOff(NotThreadSafe);

impl BhOff {
    /// Turns them off.
    pub(crate) fn new(ctx: &Process) -> Self {
        ctx.check();
        // SAFETY: Undone by the drop, in this thread, which the value does not leave.
        unsafe { ffi::ndk_helper_local_bh_disable() };
        Self(NotThreadSafe)
    }
}

impl Drop for BhOff {
    fn drop(&mut self) {
        // SAFETY: `new` has disabled them. Interrupts are on, by its token.
        unsafe { ffi::ndk_helper_local_bh_enable() };
    }
}

#[kernel::macros::kunit_tests(ndk_bh)]
mod tests {
    use super::*;
    use crate::{
        ctx::MaySleep,
        queues, //
    };
    use kernel::{
        sync::{
            atomic::{
                Atomic,
                Full,
                Relaxed, //
            },
            Completion, //
        },
        workqueue::{
            new_work,
            Work, //
        },
    };

    /// Runs so many times, and counts.
    #[pin_data]
    struct Item {
        #[pin]
        work: Work<Item, 0>,
        times: u32,
        runs: Atomic<u32>,
        inside: Atomic<u32>,
        overlaps: Atomic<u32>,
        #[pin]
        done: Completion,
    }

    bh_work! { impl BhItem<0> for Item { self.work } }

    impl BhItem<0> for Item {
        fn run(this: Arc<Self>, _ctx: &ctx::Softirq) {
            if this.inside.fetch_add(1, Full) != 0 {
                this.overlaps.add(1, Relaxed);
            }
            let last = this.runs.fetch_add(1, Full) + 1 >= this.times;
            if !last {
                // Once, however often that is said.
                queues::softirq().enqueue::<Item, 0>(this.clone());
                queues::softirq().enqueue::<Item, 0>(this.clone());
            }
            this.inside.fetch_sub(1, Full);
            if last {
                this.done.complete_all();
            }
        }
    }

    impl Item {
        fn new(times: u32) -> Result<Arc<Self>> {
            Arc::pin_init(
                pin_init!(Self {
                    work <- new_work!("Item::work"),
                    times,
                    runs: Atomic::new(0),
                    inside: Atomic::new(0),
                    overlaps: Atomic::new(0),
                    done <- Completion::new(),
                }),
                GFP_KERNEL,
            )
        }

        fn ran(&self, times: u32) -> bool {
            self.runs.load(Relaxed) == times && self.overlaps.load(Relaxed) == 0
        }
    }

    #[test]
    fn an_item_that_is_pending_is_not_queued_again() -> Result {
        let ctx = MaySleep::of_test();
        let item = Item::new(1)?;
        let off = BhOff::new(&ctx);
        assert!(queues::softirq().enqueue::<Item, 0>(item.clone()));
        assert!(!queues::softirq().enqueue::<Item, 0>(item.clone()));
        assert!(item.ran(0));
        drop(off);
        item.done.wait_for_completion();
        assert!(item.ran(1));
        Ok(())
    }

    #[test]
    fn an_item_that_is_queued_while_it_runs_runs_once_more() -> Result {
        let item = Item::new(100)?;
        assert!(queues::softirq().enqueue::<Item, 0>(item.clone()));
        item.done.wait_for_completion();
        assert!(item.ran(100));
        Ok(())
    }

    /// On every CPU there may be, and on none that there is.
    #[test]
    fn an_item_runs_where_it_is_wanted_or_anywhere() -> Result {
        for cpu in [-1, 0, 1, c_int::MAX] {
            let item = Item::new(3)?;
            let near = Affinity::new(cpu);
            assert!(queues::softirq().enqueue_near::<Item, 0>(item.clone(), near));
            item.done.wait_for_completion();
            assert!(item.ran(3));
        }
        Ok(())
    }
}
