// SPDX-License-Identifier: GPL-2.0

//! What the `kernel` crate lacks: an interrupt-safe lock for every context, owned work queues whose
//! items receive a context token, cancelling work, and a gate that a remover closes and waits on.

use crate::{
    ctx::{
        self,
        MaySleep, //
    },
    ffi,
};
use kernel::{
    bindings,
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
    workqueue::{
        HasDelayedWork,
        HasWork,
        Queue,
        Work,
        WorkItem, //
    },
};

mod bh;

pub(crate) use bh::{
    bh_work,
    run_bh,
    Affinity,
    BhItem,
    BhOff,
    BhQueue, //
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

/// Drops the reference that an item owned which was taken out of its queue, if it was `pending`. Returns `pending`.
///
/// # Safety
///
/// `item` was just taken out of its queue if it is said to have been pending.
unsafe fn taken<T>(item: &Arc<T>, pending: bool) -> bool {
    if pending {
        // SAFETY: Enqueuing turned an `Arc` into the raw pointer; taking the item out of the queue
        // hands it to us.
        drop(unsafe { Arc::from_raw(Arc::as_ptr(item)) });
    }
    pending
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
    // SAFETY: The pointer is valid while `item` is borrowed, and the callee says whether it took it.
    unsafe { taken(item, bindings::cancel_work_sync(raw_work::<T, ID>(item))) }
}

/// Takes an item with a delay out of its queue without waiting: it may be running. Any context.
/// Returns true if it was pending and will not run.
pub(crate) fn cancel_delayed<T, const ID: u64>(item: &Arc<T>) -> bool
where
    T: WorkItem<ID, Pointer = Arc<T>> + HasDelayedWork<T, ID>,
{
    // SAFETY: As in `cancel_sync`.
    unsafe {
        taken(
            item,
            bindings::cancel_delayed_work(raw_delayed::<T, ID>(item)),
        )
    }
}

/// As [`cancel_sync`], for an item with a delay.
pub(crate) fn cancel_delayed_sync<T, const ID: u64>(item: &Arc<T>, ctx: &MaySleep) -> bool
where
    T: SleepItem<ID> + WorkItem<ID, Pointer = Arc<T>> + HasDelayedWork<T, ID>,
{
    ctx.check();
    // SAFETY: As in `cancel_sync`.
    unsafe {
        taken(
            item,
            bindings::cancel_delayed_work_sync(raw_delayed::<T, ID>(item)),
        )
    }
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
