// SPDX-License-Identifier: GPL-2.0

//! Completion queues.
//!
//! A CQ and its [`Handler`] are one actor. [`Queue`] is the right to act: to poll, to arm, and to reach the handler. It exists at
//! most once for a CQ. A notification brings it; [`Queue::arm`] gives it up to the next notification; dropped without an arm it
//! is free, and [`Cq::queue`] takes it. So everything that the API wants serialized is, without a lock.

use super::{
    ffi,
    notice::{
        dispatch,
        Notice, //
    },
    owned::{
        Hook,
        Owned, //
    },
};
use core::{
    cell::UnsafeCell,
    ffi::c_void,
    mem::{
        ManuallyDrop,
        MaybeUninit, //
    },
    ptr::NonNull,
};
use kernel::{
    error::to_result,
    ffi::c_int,
    prelude::*,
    sync::atomic::{
        Acquire,
        Atomic,
        Release, //
    },
};

/// What a CQ is armed for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Notify {
    /// Faults of the CQ itself.
    Errors,
    /// Any completion.
    Any,
    /// A solicited receive, or a request that failed.
    Solicited,
}

/// What a result answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// A receive.
    Receive,
    /// A receive whose sender had this token invalidated.
    ReceiveAndInvalidate(u32),
    /// A send, with or without remote invalidation.
    Send,
    /// A fast registration.
    FastRegister,
    /// A bind of a window.
    Bind,
    /// An invalidation.
    Invalidate,
    /// A read.
    Read,
    /// A write.
    Write,
    /// Of a kind that this file does not know.
    Unknown(u32),
}

/// The end of one request.
#[repr(transparent)]
pub(crate) struct WorkResult(ffi::ndk_result_ex);

impl WorkResult {
    /// Whether the request succeeded. After an error the connection is lost.
    #[inline]
    pub(crate) fn status(&self) -> Result {
        if self.0.status == 0 {
            return Ok(());
        }
        to_result(self.0.status)
    }

    /// Bytes received. Meaningful for receives only.
    #[inline]
    pub(crate) fn bytes(&self) -> u32 {
        self.0.bytes_transferred
    }

    /// The number given with the request.
    #[inline]
    pub(crate) fn request(&self) -> usize {
        self.0.request_context.addr()
    }

    /// The number given to the QP.
    #[inline]
    pub(crate) fn qp(&self) -> usize {
        self.0.qp_context.addr()
    }

    /// What was asked for.
    #[inline]
    pub(crate) fn operation(&self) -> Operation {
        match self.0.type_ {
            ffi::ndk_operation_type_NDK_OPERATION_RECEIVE => Operation::Receive,
            ffi::ndk_operation_type_NDK_OPERATION_SEND => Operation::Send,
            ffi::ndk_operation_type_NDK_OPERATION_FAST_REGISTER => Operation::FastRegister,
            ffi::ndk_operation_type_NDK_OPERATION_BIND => Operation::Bind,
            ffi::ndk_operation_type_NDK_OPERATION_INVALIDATE => Operation::Invalidate,
            ffi::ndk_operation_type_NDK_OPERATION_READ => Operation::Read,
            ffi::ndk_operation_type_NDK_OPERATION_WRITE => Operation::Write,
            ffi::ndk_operation_type_NDK_OPERATION_RECEIVE_AND_INVALIDATE => {
                // CAST: Tokens have 32 bits.
                Operation::ReceiveAndInvalidate(self.0.type_specific as u32)
            }
            other => Operation::Unknown(other),
        }
    }

    /// The provider's own word on a failure.
    #[inline]
    pub(crate) fn provider_error(&self) -> u32 {
        self.0.provider_error_code
    }
}

/// Room for `N` results.
pub(crate) struct Batch<const N: usize>([MaybeUninit<WorkResult>; N]);

impl<const N: usize> Batch<N> {
    /// Empty room.
    #[inline]
    pub(crate) fn new() -> Self {
        Self([const { MaybeUninit::uninit() }; N])
    }
}

/// The owner of a CQ's results.
pub(crate) trait Handler: Send + Sized + 'static {
    /// The CQ has what it was armed for; it may be empty. Softirq context.
    ///
    /// After an error (`EOVERFLOW`, `EIO`) the CQ and its QPs are dead.
    fn notify(queue: Queue<'_, Self>, status: Result);

    /// The CQ is about to be closed and notifies nobody: let go of its QPs, for which the close would wait.
    fn let_go(&mut self) {}
}

const FREE: u32 = 0;
const TAKEN: u32 = 1;
const ARMED: u32 = 2;

struct Shared<H> {
    cq: UnsafeCell<*mut ffi::ndk_cq>,
    state: Atomic<u32>,
    handler: UnsafeCell<H>,
}

// SAFETY: `cq` is written before anybody else knows of the value, and `handler` reached only by the one that `state` lets.
unsafe impl<H: Send> Send for Shared<H> {}

// SAFETY: As above.
unsafe impl<H: Send> Sync for Shared<H> {}

/// What a CQ needs before there is one.
pub(super) struct Seed<H> {
    hook: Hook,
    shared: NonNull<Shared<H>>,
}

// SAFETY: The hook owns what the pointer is to, which is `Send`.
unsafe impl<H: Send> Send for Seed<H> {}

impl<H: Handler> Seed<H> {
    pub(super) fn new(handler: H) -> Result<Self> {
        let (hook, shared) = Hook::new(Shared {
            cq: UnsafeCell::new(core::ptr::null_mut()),
            state: Atomic::new(FREE),
            handler: UnsafeCell::new(handler),
        })?;
        Ok(Self { hook, shared })
    }

    pub(super) fn context(&self) -> *mut c_void {
        self.shared.as_ptr().cast()
    }

    /// # Safety
    ///
    /// `raw` is open, made with [`notify`] and this seed's context, and becomes the CQ's own.
    pub(super) unsafe fn grow(self, raw: NonNull<ffi::ndk_cq>) -> Cq<H> {
        // SAFETY: No notification comes before an arm, and no arm before this function returns.
        unsafe { *self.shared.as_ref().cq.get() = raw.as_ptr() };
        Cq {
            // SAFETY: By this function's requirements. The hook owns the only context.
            owned: unsafe { Owned::new(raw, Some(self.hook)) },
            // INVARIANT: The hook that `owned` got owns it.
            shared: self.shared,
        }
    }
}

/// A completion queue, to make QPs of.
///
/// A QP that the handler owns keeps the CQ open. So when the handler sees its requests cancelled, it drops the QP; and a consumer
/// closes the connector, which cancels them, before it drops the CQ.
///
/// # Invariants
///
/// The hook of `owned` owns `shared`.
pub(crate) struct Cq<H: Handler> {
    owned: Owned<ffi::ndk_cq>,
    shared: NonNull<Shared<H>>,
}

// SAFETY: `Shared` is `Send` and `Sync`.
unsafe impl<H: Handler> Send for Cq<H> {}

// SAFETY: As above.
unsafe impl<H: Handler> Sync for Cq<H> {}

impl<H: Handler> Cq<H> {
    pub(super) fn as_ptr(&self) -> *mut ffi::ndk_cq {
        self.owned.as_ptr()
    }

    /// Takes the queue, unless it is taken or armed.
    pub(crate) fn queue(&self) -> Option<Queue<'_, H>> {
        // SAFETY: By the type invariant it lives as long as `self`.
        let shared = unsafe { self.shared.as_ref() };
        // INVARIANT: Of those who try, one finds it free.
        match shared.state.cmpxchg(FREE, TAKEN, Acquire) {
            Ok(_) => Some(Queue { shared }),
            Err(_) => None,
        }
    }

    /// Closes the CQ; done when every QP on it is closed.
    pub(crate) fn close<N: Notice<()>>(self, how: N) -> N::Return {
        if let Some(mut queue) = self.queue() {
            queue.handler().let_go();
        }
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is not used, and not dropped, after the read.
        unsafe { core::ptr::read(&this.owned) }.close(how)
    }
}

impl<H: Handler> Drop for Cq<H> {
    fn drop(&mut self) {
        if let Some(mut queue) = self.queue() {
            queue.handler().let_go();
        }
    }
}

/// The right to act for a CQ.
///
/// # Invariants
///
/// There is one at most for a CQ. While there is one, nobody else polls or arms the CQ or touches the handler.
pub(crate) struct Queue<'a, H: Handler> {
    shared: &'a Shared<H>,
}

impl<H: Handler> Queue<'_, H> {
    #[inline]
    fn cq(&self) -> *mut ffi::ndk_cq {
        // SAFETY: Never written once the CQ is there.
        unsafe { *self.shared.cq.get() }
    }

    /// The handler.
    #[inline]
    pub(crate) fn handler(&mut self) -> &mut H {
        // SAFETY: By the type invariant nobody else touches it.
        unsafe { &mut *self.shared.handler.get() }
    }

    /// Takes up to `N` results; fewer than `N` mean that the queue was empty.
    #[inline]
    pub(crate) fn poll<'b, const N: usize>(&mut self, batch: &'b mut Batch<N>) -> &'b [WorkResult] {
        let cq = self.cq();
        // CAST: Batches are small.
        let room = N as u32;
        // SAFETY: The CQ is open as long as `shared` lives, by the type invariant this is the only caller, and there is room.
        let count =
            unsafe { dispatch!(cq, get_results_ex(cq, batch.0.as_mut_ptr().cast(), room) or 0) };
        // SAFETY: So many were just written.
        unsafe { core::slice::from_raw_parts(batch.0.as_ptr().cast(), (count as usize).min(N)) }
    }

    /// Gives the queue up to the next notification.
    #[inline]
    pub(crate) fn arm(self, notify: Notify) {
        let this = ManuallyDrop::new(self);
        let cq = this.cq();
        let kind = match notify {
            Notify::Errors => ffi::ndk_cq_notify_NDK_CQ_NOTIFY_ERRORS,
            Notify::Any => ffi::ndk_cq_notify_NDK_CQ_NOTIFY_ANY,
            Notify::Solicited => ffi::ndk_cq_notify_NDK_CQ_NOTIFY_SOLICITED,
        };
        this.shared.state.store(ARMED, Release);
        // SAFETY: The CQ is open. By the type invariant nobody polls or arms it, and the notification that may run from here on
        // comes only through this arm.
        unsafe { dispatch!(cq, arm(cq, kind) or ()) };
    }
}

impl<H: Handler> Drop for Queue<'_, H> {
    #[inline]
    fn drop(&mut self) {
        self.shared.state.store(FREE, Release);
    }
}

/// # Safety
///
/// `context` is that of a [`Seed`] whose CQ is open, and calls do not overlap.
pub(super) unsafe extern "C" fn notify<H: Handler>(context: *mut c_void, status: c_int) {
    // SAFETY: By this function's requirements; the hook lives until the close has completed.
    let shared = unsafe { &*context.cast::<Shared<H>>() };
    // A notification that nobody asked for must not take the queue from its holder.
    if shared.state.load(Acquire) != ARMED {
        return;
    }
    // INVARIANT: Who armed has given the queue up, and as long as the state is ARMED nobody takes it.
    H::notify(Queue { shared }, to_result(status));
}
