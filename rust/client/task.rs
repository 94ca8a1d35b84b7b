// SPDX-License-Identifier: GPL-2.0

//! What a consumer needs beside its objects: events to wait for, and process context to wait in.

use super::{
    ffi,
    notice::{
        Done,
        Then, //
    },
};
use core::ptr::NonNull;
use kernel::{
    bindings,
    new_spinlock_irq,
    prelude::*,
    str::CStr,
    sync::{
        Arc,
        SpinLockIrq, //
    },
    time::{
        msecs_to_jiffies,
        Msecs, //
    },
    types::Opaque,
    workqueue::Queue, //
};

/// Whether this is softirq context.
pub(crate) fn in_softirq() -> bool {
    // SAFETY: Reads the preemption count.
    unsafe { ffi::ndk_client_in_softirq() }
}

/// An event that happens once: a completion that can be waited for with a limit.
#[pin_data]
pub(crate) struct Event {
    #[pin]
    inner: Opaque<bindings::completion>,
}

// SAFETY: Completions are for any number of tasks and contexts.
unsafe impl Send for Event {}

// SAFETY: As above.
unsafe impl Sync for Event {}

impl Event {
    /// An event that has not happened.
    pub(crate) fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            // SAFETY: The slot is for a completion, and pinned.
            inner <- Opaque::ffi_init(|slot| unsafe { bindings::init_completion(slot) }),
        })
    }

    /// It happens. Any context.
    pub(crate) fn set(&self) {
        // SAFETY: Initialized by `new`.
        unsafe { bindings::complete_all(self.inner.get()) };
    }

    /// Waits until it happens.
    pub(crate) fn wait(&self) {
        // SAFETY: Initialized by `new`.
        unsafe { bindings::wait_for_completion(self.inner.get()) };
    }

    /// Waits until it happens, or the time has passed. Tells whether it happened.
    pub(crate) fn wait_for(&self, limit: Msecs) -> bool {
        // SAFETY: Initialized by `new`.
        unsafe {
            bindings::wait_for_completion_timeout(self.inner.get(), msecs_to_jiffies(limit)) != 0
        }
    }
}

/// The result of a request that goes on while its owner does something else.
#[pin_data]
pub(crate) struct Promise<T> {
    #[pin]
    done: Event,
    #[pin]
    result: SpinLockIrq<Option<Result<T>>>,
}

/// Keeps a [`Promise`].
pub(crate) struct Keeper<T>(Arc<Promise<T>>);

impl<T: Send + Unpin + 'static> Promise<T> {
    /// A promise, and the notice for the request that keeps it.
    pub(crate) fn new() -> Result<(Arc<Self>, Then<Keeper<T>>)> {
        let promise = Arc::pin_init(
            pin_init!(Self {
                done <- Event::new(),
                result <- new_spinlock_irq!(None),
            }),
            GFP_ATOMIC,
        )?;
        let keeper = Keeper(promise.clone());
        Ok((promise, Then(keeper)))
    }

    /// Keeps the promise. Any context.
    pub(crate) fn keep(&self, result: Result<T>) {
        *self.result.lock() = Some(result);
        self.done.set();
    }

    /// Waits for the result, which can be taken once, up to `limit` ms.
    pub(crate) fn wait_for(&self, limit: Msecs) -> Result<T> {
        if !self.done.wait_for(limit) {
            return Err(ETIMEDOUT);
        }
        let result = self.result.lock().take();
        result.unwrap_or(Err(EIO))
    }
}

impl<T: Send + Unpin + 'static> Done<T> for Keeper<T> {
    fn done(self, result: Result<T>) {
        self.0.keep(result);
    }
}

/// A work queue of the module's own. Its drop waits for what was spawned.
pub(crate) struct Tasks(NonNull<bindings::workqueue_struct>);

// SAFETY: Work queues belong to no context.
unsafe impl Send for Tasks {}

// SAFETY: As above.
unsafe impl Sync for Tasks {}

impl Tasks {
    /// Makes a work queue.
    pub(crate) fn new(name: &CStr) -> Result<Self> {
        // SAFETY: The name is copied.
        NonNull::new(unsafe { ffi::ndk_client_alloc_queue(name.as_char_ptr()) })
            .map(Self)
            .ok_or(ENOMEM)
    }

    /// Runs a closure in process context. May be called in any.
    pub(crate) fn spawn(&self, task: impl FnOnce() + Send + 'static) -> Result {
        // SAFETY: The queue lives as long as `self`.
        unsafe { Queue::from_raw(self.0.as_ptr()) }.try_spawn(GFP_ATOMIC, task)?;
        Ok(())
    }
}

impl Tasks {
    /// Waits for what was spawned so far.
    pub(crate) fn flush(&self) {
        // SAFETY: The queue lives as long as `self`.
        unsafe { bindings::__flush_workqueue(self.0.as_ptr()) };
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        // SAFETY: The queue is ours.
        unsafe { bindings::destroy_workqueue(self.0.as_ptr()) };
    }
}
