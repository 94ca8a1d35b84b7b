// SPDX-License-Identifier: GPL-2.0

//! The few atomic operations the machines need, with the ordering in the name.
//!
//! Three backends give the same meaning: loom (`--cfg loom`), the kernel's own atomics
//! (`--cfg MODULE`, so that the Linux kernel memory model applies), and `core` otherwise.
//!
//! A failed [`AtomicU32::compare_exchange`] orders nothing, as in the kernel: the loops here only use
//! the value it returns to try again or to give up.

#[cfg(all(loom, not(MODULE)))]
use loom::sync::atomic as backend;

#[cfg(not(any(loom, MODULE)))]
use core::sync::atomic as backend;

/// Declares one atomic integer on top of the C11-style backends.
#[cfg(not(MODULE))]
macro_rules! atomic {
    ($(#[$doc:meta])* $name:ident, $int:ty) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name(backend::$name);

        impl $name {
            /// Makes an atomic that holds `value`.
            pub fn new(value: $int) -> Self {
                Self(backend::$name::new(value))
            }

            /// Reads without any ordering.
            pub fn load_relaxed(&self) -> $int {
                self.0.load(backend::Ordering::Relaxed)
            }

            /// Reads; later accesses stay behind it.
            pub fn load_acquire(&self) -> $int {
                self.0.load(backend::Ordering::Acquire)
            }

            /// Writes without any ordering.
            pub fn store_relaxed(&self, value: $int) {
                self.0.store(value, backend::Ordering::Relaxed);
            }

            /// Writes; earlier accesses stay before it.
            pub fn store_release(&self, value: $int) {
                self.0.store(value, backend::Ordering::Release);
            }

            /// Replaces `old` by `new`, fully ordered, and returns `old`; else returns what was there.
            pub fn compare_exchange(&self, old: $int, new: $int) -> Result<$int, $int> {
                self.0.compare_exchange(
                    old,
                    new,
                    backend::Ordering::AcqRel,
                    backend::Ordering::Relaxed,
                )
            }
        }
    };
}

/// Declares one atomic integer on top of the kernel's atomics.
#[cfg(MODULE)]
macro_rules! atomic {
    ($(#[$doc:meta])* $name:ident, $int:ty) => {
        $(#[$doc])*
        pub struct $name(kernel::sync::atomic::Atomic<$int>);

        impl $name {
            /// Makes an atomic that holds `value`.
            pub fn new(value: $int) -> Self {
                Self(kernel::sync::atomic::Atomic::new(value))
            }

            /// Reads without any ordering.
            #[inline]
            pub fn load_relaxed(&self) -> $int {
                self.0.load(kernel::sync::atomic::Relaxed)
            }

            /// Reads; later accesses stay behind it.
            #[inline]
            pub fn load_acquire(&self) -> $int {
                self.0.load(kernel::sync::atomic::Acquire)
            }

            /// Writes without any ordering.
            #[inline]
            pub fn store_relaxed(&self, value: $int) {
                self.0.store(value, kernel::sync::atomic::Relaxed);
            }

            /// Writes; earlier accesses stay before it.
            #[inline]
            pub fn store_release(&self, value: $int) {
                self.0.store(value, kernel::sync::atomic::Release);
            }

            /// Replaces `old` by `new`, fully ordered, and returns `old`; else returns what was there.
            #[inline]
            pub fn compare_exchange(&self, old: $int, new: $int) -> Result<$int, $int> {
                self.0.cmpxchg(old, new, kernel::sync::atomic::Full)
            }
        }
    };
}

atomic!(
    /// An atomic 32-bit word.
    AtomicU32,
    u32
);

atomic!(
    /// An atomic 64-bit word.
    AtomicU64,
    u64
);
