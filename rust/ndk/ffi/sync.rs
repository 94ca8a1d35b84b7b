// SPDX-License-Identifier: GPL-2.0

//! What the `kernel` crate lacks: an interrupt-safe lock for every context, owned work queues whose
//! items receive a context token, cancelling work, and a gate that a remover closes and waits on.

use crate::{
    ctx::{
        self,
        MaySleep,
        Process, //
    },
    ffi,
};
use kernel::{
    bindings,
    ffi::c_int,
    prelude::*,
    str::CStr,
    sync::{
        atomic::{
            Acquire,
            Atomic,
            Full,
            Relaxed, //
        },
        lock::{
            Backend,
            Lock, //
        },
        Arc,
        Completion, //
    },
    time::Jiffies,
    types::NotThreadSafe,
    workqueue::{
        HasDelayedWork,
        HasWork,
        Queue,
        RawWorkItem,
        Work,
        WorkItem, //
    },
};

/// Backend of [`IrqSpinLock`].
pub(crate) struct IrqSaveBackend;

// SAFETY: The kernel's spinlock ensures mutual exclusion; `relock` is the default, which locks in
// the same way.
unsafe impl Backend for IrqSaveBackend {
    type State = bindings::spinlock_t;
    type GuardState = kernel::ffi::c_ulong;

    #[inline]
    unsafe fn init(
        ptr: *mut Self::State,
        name: *const kernel::ffi::c_char,
        key: *mut bindings::lock_class_key,
    ) {
        // SAFETY: By this function's requirements `ptr` may be written, and `name` and `key` stay
        // valid.
        unsafe { bindings::__spin_lock_init(ptr, name, key) }
    }

    #[inline]
    unsafe fn lock(ptr: *mut Self::State) -> Self::GuardState {
        // SAFETY: By this function's requirements the lock is initialised.
        unsafe { ffi::ndk_helper_spin_lock_irqsave(ptr) }
    }

    #[inline]
    unsafe fn try_lock(ptr: *mut Self::State) -> Option<Self::GuardState> {
        let mut flags = 0;
        // SAFETY: By this function's requirements the lock is initialised.
        unsafe { ffi::ndk_helper_spin_trylock_irqsave(ptr, &mut flags) }.then_some(flags)
    }

    #[inline]
    unsafe fn unlock(ptr: *mut Self::State, flags: &Self::GuardState) {
        // SAFETY: The caller owns the lock, and `flags` came from the matching `lock`.
        unsafe { ffi::ndk_helper_spin_unlock_irqrestore(ptr, *flags) }
    }

    #[inline]
    unsafe fn assert_is_held(ptr: *mut Self::State) {
        // SAFETY: By this function's requirements the lock is initialised.
        unsafe { bindings::spin_assert_is_held(ptr) }
    }
}

/// A spinlock that saves and disables interrupts, for data that verbs callbacks touch: they come in
/// any context, rxe's with interrupts already off. Nested guards must be dropped in reverse order.
pub(crate) type IrqSpinLock<T> = Lock<T, IrqSaveBackend>;

/// Makes an initialiser of an [`IrqSpinLock`] with a lock class of its own.
macro_rules! new_irq_spinlock {
    ($inner:expr $(, $name:literal)? $(,)?) => {
        $crate::sync::IrqSpinLock::new(
            $inner,
            ::kernel::optional_name!($($name)?),
            ::kernel::static_lock_class!(),
        )
    };
}
pub(crate) use new_irq_spinlock;

/// A work item that sleeps; runs on a [`SleepQueue`]. Implement it, then name the field with
/// [`sleep_work!`].
pub(crate) trait SleepItem<const ID: u64 = 0>: Sized {
    /// Runs in process context, within a [`ctx::NoIo`] scope.
    fn run(this: Arc<Self>, ctx: &MaySleep);
}

/// A work item in softirq context; runs on a [`BhQueue`]. Implement it, then name the field with
/// [`bh_work!`].
///
/// One item never runs twice at a time, so what it calls is serialized.
pub(crate) trait BhItem<const ID: u64 = 0>: Sized {
    /// Runs in softirq context, holding no lock.
    fn run(this: Arc<Self>, ctx: &ctx::Softirq);
}

/// Implements `HasWork` as the kernel's macro does, also for a field of a field.
macro_rules! has_work {
    (($($generics:tt)*) $id:literal, $self:ty, $($field:ident).+) => {
        // SAFETY: Compiles only if the field has the right type.
        unsafe impl<$($generics)*> ::kernel::workqueue::HasWork<$self, $id> for $self {
            #[inline]
            unsafe fn raw_get_work(
                ptr: *mut Self,
            ) -> *mut ::kernel::workqueue::Work<$self, $id> {
                // SAFETY: The caller promises that the pointer is not dangling.
                unsafe { &raw mut (*ptr).$($field).+ }
            }

            #[inline]
            unsafe fn work_container_of(
                ptr: *mut ::kernel::workqueue::Work<$self, $id>,
            ) -> *mut Self {
                // SAFETY: The caller promises that the pointer points at that field.
                unsafe { ::kernel::container_of!(ptr, Self, $($field).+) }
            }
        }
    };
}
pub(crate) use has_work;

/// Connects a [`SleepItem`] with its `Work` field, or with its `DelayedWork` field if `delayed` is
/// written first: `sleep_work! { impl SleepItem<0> for Connector { self.work } }`.
macro_rules! sleep_work {
    (impl $({$($generics:tt)*})? SleepItem<$id:literal> for $self:ty { self.$($field:ident).+ }) => {
        $crate::sync::has_work!(($($($generics)*)?) $id, $self, $($field).+);
        $crate::sync::sleep_work!(@run ($($($generics)*)?) $id, $self);
    };
    (delayed impl $({$($generics:tt)*})? SleepItem<$id:literal> for $self:ty { self.$field:ident }) => {
        ::kernel::workqueue::impl_has_delayed_work! {
            impl $({$($generics)*})? HasDelayedWork<$self, $id> for $self { self.$field }
        }
        $crate::sync::sleep_work!(@run ($($($generics)*)?) $id, $self);
    };
    (@run ($($generics:tt)*) $id:literal, $self:ty) => {
        impl<$($generics)*> ::kernel::workqueue::WorkItem<$id> for $self {
            type Pointer = ::kernel::sync::Arc<Self>;

            fn run(this: ::kernel::sync::Arc<Self>) {
                let _noio = $crate::ctx::NoIo::enter();
                // SAFETY: Only `SleepQueue` enqueues this item, and its workers are threads.
                let ctx = unsafe { $crate::ctx::MaySleep::assume() };
                <Self as $crate::sync::SleepItem<$id>>::run(this, &ctx);
            }
        }
    };
}
pub(crate) use sleep_work;

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

/// An owned work queue.
///
/// # Invariants
///
/// `raw` is a work queue that this value alone destroys.
struct OwnedQueue {
    raw: core::ptr::NonNull<bindings::workqueue_struct>,
}

// SAFETY: Work queues may be used from every thread.
unsafe impl Send for OwnedQueue {}
// SAFETY: As above.
unsafe impl Sync for OwnedQueue {}

impl OwnedQueue {
    fn new(name: &'static CStr, flags: kernel::ffi::c_uint) -> Result<Self> {
        // SAFETY: `name` is a valid string, copied by the callee.
        let raw = unsafe { ffi::ndk_helper_alloc_wq(name.as_char_ptr(), flags, 0) };
        // INVARIANT: Just allocated, and nobody else has the pointer.
        Ok(Self {
            raw: core::ptr::NonNull::new(raw).ok_or(ENOMEM)?,
        })
    }

    fn queue(&self) -> &Queue {
        // SAFETY: By the type invariant the queue lives as long as `self`.
        unsafe { Queue::from_raw(self.raw.as_ptr()) }
    }
}

impl Drop for OwnedQueue {
    fn drop(&mut self) {
        ctx::might_sleep();
        // SAFETY: By the type invariant nobody else destroys it. What is queued runs before this
        // returns.
        unsafe { bindings::destroy_workqueue(self.raw.as_ptr()) };
    }
}

/// A work queue for items that sleep: unbound, and with a rescuer, since storage above us takes
/// part in memory reclaim.
///
/// Dropping it runs what is queued and sleeps.
pub(crate) struct SleepQueue(OwnedQueue);

impl SleepQueue {
    /// Makes a queue. Process context.
    pub(crate) fn new(name: &'static CStr) -> Result<Self> {
        // SAFETY: Returns a constant.
        Ok(Self(OwnedQueue::new(name, unsafe {
            ffi::ndk_helper_wq_sleeping_flags()
        })?))
    }

    /// Queues an item, in any context. Returns false if it was queued already.
    pub(crate) fn enqueue<T, const ID: u64>(&self, item: Arc<T>) -> bool
    where
        T: SleepItem<ID> + WorkItem<ID, Pointer = Arc<T>> + HasWork<T, ID> + Send + Sync + 'static,
    {
        self.0.queue().enqueue::<Arc<T>, ID>(item).is_ok()
    }

    /// Queues an item to run after a delay, in any context. Returns false if it was queued already;
    /// its time then stays.
    pub(crate) fn enqueue_delayed<T, const ID: u64>(&self, item: Arc<T>, delay: Jiffies) -> bool
    where
        T: SleepItem<ID>
            + WorkItem<ID, Pointer = Arc<T>>
            + HasDelayedWork<T, ID>
            + Send
            + Sync
            + 'static,
    {
        self.0
            .queue()
            .enqueue_delayed::<Arc<T>, ID>(item, delay)
            .is_ok()
    }
}

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

/// The `work_struct` of an item.
fn raw_work<T, const ID: u64>(item: &Arc<T>) -> *mut bindings::work_struct
where
    T: HasWork<T, ID>,
{
    // SAFETY: A pointer into an `Arc` points at a valid value.
    let work = unsafe { T::raw_get_work(Arc::as_ptr(item).cast_mut()) };
    // SAFETY: `raw_get_work` returns a pointer to a valid `Work`.
    unsafe { Work::raw_get(work) }
}

/// The `delayed_work` of an item.
fn raw_delayed<T, const ID: u64>(item: &Arc<T>) -> *mut bindings::delayed_work
where
    T: HasDelayedWork<T, ID>,
{
    let work = raw_work::<T, ID>(item);
    // SAFETY: By the contract of `HasDelayedWork` this is the `work` member of a `delayed_work`.
    unsafe { kernel::container_of!(work, bindings::delayed_work, work) }
}

/// Drops the reference that a pending item owned.
///
/// # Safety
///
/// `item` was pending, and was just taken out of its queue.
unsafe fn drop_pending<T>(item: &Arc<T>) {
    // SAFETY: Enqueuing turned an `Arc` into the raw pointer; taking the item out of the queue
    // hands it to us.
    drop(unsafe { Arc::from_raw(Arc::as_ptr(item)) });
}

/// Takes an item out of its queue or waits until it has run. Returns true if it was pending and
/// will not run.
///
/// Not from within the item itself, and not for a [`BhItem`].
pub(crate) fn cancel_sync<T, const ID: u64>(item: &Arc<T>, ctx: &MaySleep) -> bool
where
    T: SleepItem<ID> + WorkItem<ID, Pointer = Arc<T>> + HasWork<T, ID>,
{
    ctx.check();
    // SAFETY: The pointer is valid while `item` is borrowed.
    let pending = unsafe { bindings::cancel_work_sync(raw_work::<T, ID>(item)) };
    if pending {
        // SAFETY: It was pending, as the callee said.
        unsafe { drop_pending(item) };
    }
    pending
}

/// Takes an item with a delay out of its queue without waiting: it may be running. Any context.
/// Returns true if it was pending and will not run.
pub(crate) fn cancel_delayed<T, const ID: u64>(item: &Arc<T>) -> bool
where
    T: WorkItem<ID, Pointer = Arc<T>> + HasDelayedWork<T, ID>,
{
    // SAFETY: The pointer is valid while `item` is borrowed.
    let pending = unsafe { bindings::cancel_delayed_work(raw_delayed::<T, ID>(item)) };
    if pending {
        // SAFETY: It was pending, as the callee said.
        unsafe { drop_pending(item) };
    }
    pending
}

/// As [`cancel_sync`], for an item with a delay.
pub(crate) fn cancel_delayed_sync<T, const ID: u64>(item: &Arc<T>, ctx: &MaySleep) -> bool
where
    T: SleepItem<ID> + WorkItem<ID, Pointer = Arc<T>> + HasDelayedWork<T, ID>,
{
    ctx.check();
    // SAFETY: The pointer is valid while `item` is borrowed.
    let pending = unsafe { bindings::cancel_delayed_work_sync(raw_delayed::<T, ID>(item)) };
    if pending {
        // SAFETY: It was pending, as the callee said.
        unsafe { drop_pending(item) };
    }
    pending
}

/// Counts those inside; once closed, lets nobody in and tells when the last has left.
///
/// # Invariants
///
/// `state` is the number of those inside, plus [`Gate::CLOSED`] once closed.
#[pin_data]
pub(crate) struct Gate {
    state: Atomic<i64>,
    #[pin]
    empty: Completion,
}

impl Gate {
    const CLOSED: i64 = 1 << 62;

    /// An open gate with nobody inside.
    pub(crate) fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            state: Atomic::new(0),
            empty <- Completion::new(),
        })
    }

    /// Enters, in any context. `false` once the gate is closed. Every success needs one
    /// [`Gate::leave`].
    #[inline]
    pub(crate) fn try_enter(&self) -> bool {
        let mut state = self.state.load(Relaxed);
        while state & Self::CLOSED == 0 {
            match self.state.cmpxchg(state, state + 1, Acquire) {
                Ok(_) => return true,
                Err(now) => state = now,
            }
        }
        false
    }

    /// Enters once more, open or closed, in any context; only for who is inside.
    #[inline]
    pub(crate) fn enter_again(&self) {
        self.state.add(1, Relaxed);
    }

    /// Leaves, in any context; only after a successful [`Gate::try_enter`].
    #[inline]
    pub(crate) fn leave(&self) {
        if self.state.fetch_sub(1, Full) == Self::CLOSED + 1 {
            self.empty.complete_all();
        }
    }

    /// Whether the gate is closed.
    pub(crate) fn is_closed(&self) -> bool {
        self.state.load(Acquire) & Self::CLOSED != 0
    }

    /// Closes the gate, in any context. Those inside stay.
    pub(crate) fn close(&self) {
        let mut state = self.state.load(Relaxed);
        while state & Self::CLOSED == 0 {
            match self.state.cmpxchg(state, state | Self::CLOSED, Full) {
                Ok(0) => return self.empty.complete_all(),
                Ok(_) => return,
                Err(now) => state = now,
            }
        }
    }

    /// Closes the gate and waits until nobody is inside. May be called several times.
    pub(crate) fn close_and_wait(&self, ctx: &MaySleep) {
        ctx.check();
        self.close();
        self.empty.wait_for_completion();
    }
}

#[kernel::macros::kunit_tests(ndk_bh)]
mod tests {
    use super::*;
    use crate::queues;
    use kernel::workqueue::new_work;

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
