// SPDX-License-Identifier: GPL-2.0

//! Tokens for the context that code runs in.
//!
//! A function that sleeps takes `&Process`, or `&MaySleep` if it must not be called by a handler of
//! the connection manager; a function that calls a consumer takes `&Softirq`.
//! The tokens exist only where the kernel called us in such a context ([`crate::sync`] makes them
//! for work items, [`crate::verbs`] for the callbacks of the RDMA core), cannot be sent elsewhere,
//! and cost nothing.

use crate::ffi;
use core::ops::Deref;
use kernel::types::NotThreadSafe;

/// Proof that the current code runs in process context and may sleep, perhaps in a handler of the
/// connection manager, which holds up others.
///
/// # Invariants
///
/// While a value exists, its thread is in process context with preemption and interrupts enabled.
pub(crate) struct Process(NotThreadSafe);

impl Process {
    /// Makes the token.
    ///
    /// # Safety
    ///
    /// The caller is in process context, holds no spinlock and is outside of RCU and
    /// softirq-disabled sections for as long as the token or a copy of its borrow is in use.
    #[inline]
    pub(crate) unsafe fn assume() -> Self {
        let token = Self(NotThreadSafe);
        token.check();
        // INVARIANT: By the requirements of this function.
        token
    }

    /// Lets a debug kernel check that the token tells the truth.
    #[inline]
    pub(crate) fn check(&self) {
        might_sleep();
    }
}

/// Proof that the current code runs in process context, may sleep, and is in no handler of the
/// connection manager: it may wait for one.
///
/// # Invariants
///
/// While a value exists, its thread holds no handler lock that it did not take through a guard.
pub(crate) struct MaySleep(Process);

impl Deref for MaySleep {
    type Target = Process;

    fn deref(&self) -> &Process {
        &self.0
    }
}

impl MaySleep {
    /// Makes the token.
    ///
    /// # Safety
    ///
    /// As for [`Process::assume`]; and the caller is not called by a handler of the connection
    /// manager.
    #[inline]
    pub(crate) unsafe fn assume() -> Self {
        // SAFETY: By the requirements of this function.
        let process = unsafe { Process::assume() };
        // INVARIANT: By the requirements of this function.
        Self(process)
    }

    /// The token of a test, which has a thread of its own.
    #[cfg(CONFIG_KUNIT = "y")]
    pub(crate) fn of_test() -> Self {
        // SAFETY: KUnit runs tests in threads, and they take no locks around this.
        unsafe { Self::assume() }
    }
}

/// Lets a debug kernel complain when the current context cannot sleep. For `Drop`, which receives
/// no token.
#[inline]
pub(crate) fn might_sleep() {
    // SAFETY: Can be called from every context; in the wrong one it prints a warning.
    unsafe { ffi::ndk_helper_might_sleep() };
}

/// The right to call a consumer: the current code runs in softirq context and holds no lock.
///
/// # Invariants
///
/// While a value exists, its CPU is in softirq context (a thread of its own on PREEMPT_RT).
pub(crate) struct Softirq(NotThreadSafe);

impl Softirq {
    /// Makes the token.
    ///
    /// # Safety
    ///
    /// The caller is in softirq context and holds no lock for as long as the token is in use.
    #[inline]
    pub(crate) unsafe fn assume() -> Self {
        if cfg!(CONFIG_DEBUG_ATOMIC_SLEEP) {
            // SAFETY: Reads the preemption count; can be called from every context.
            let softirq = unsafe { ffi::ndk_helper_in_softirq() };
            kernel::warn_on!(!softirq);
        }
        // INVARIANT: By the requirements of this function.
        Self(NotThreadSafe)
    }
}

/// A scope in which allocations do not start I/O, because storage above us may be what memory
/// reclaim waits for.
pub(crate) struct NoIo {
    flags: kernel::ffi::c_uint,
    _not_send: NotThreadSafe,
}

impl NoIo {
    /// Enters the scope; it ends when the value is dropped. Scopes nest.
    #[inline]
    pub(crate) fn enter() -> Self {
        Self {
            // SAFETY: Changes a flag of the current task only.
            flags: unsafe { ffi::ndk_helper_memalloc_noio_save() },
            _not_send: NotThreadSafe,
        }
    }
}

impl Drop for NoIo {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: The value cannot leave its task, and `flags` is what this task's matching save
        // returned.
        unsafe { ffi::ndk_helper_memalloc_noio_restore(self.flags) };
    }
}
