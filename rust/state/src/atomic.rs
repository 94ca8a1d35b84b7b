// SPDX-License-Identifier: GPL-2.0

//! The few atomic operations the machines need, with the ordering in the name.
//!
//! Two backends give the same meaning: loom (`--cfg loom`), and `core`, in the kernel as well. The kernel's own atomics are
//! functions of C there, for a module in Rust: a call for each load and store, which on the data path is more than all the
//! rest. What is here is what those functions consist of: a relaxed access is `READ_ONCE()` or `WRITE_ONCE()`, acquire and
//! release are `smp_load_acquire()` and `smp_store_release()`, and what changes a value is fully ordered like `cmpxchg()`.
//!
//! A failed [`AtomicU32::compare_exchange`] orders nothing, as in the kernel: the loops here only use
//! the value it returns to try again or to give up.

#[cfg(all(loom, not(MODULE)))]
use loom::sync::atomic as backend;

#[cfg(any(not(loom), MODULE))]
use core::sync::atomic as backend;

/// Makes what stands between two of these fully ordered. On x86 an operation with a lock prefix is so by itself.
#[inline]
fn full_barrier() {
    #[cfg(not(any(loom, target_arch = "x86_64")))]
    backend::fence(backend::Ordering::SeqCst);
}

/// Declares one atomic integer.
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
            #[inline]
            pub fn load_relaxed(&self) -> $int {
                self.0.load(backend::Ordering::Relaxed)
            }

            /// Reads; later accesses stay behind it.
            #[inline]
            pub fn load_acquire(&self) -> $int {
                self.0.load(backend::Ordering::Acquire)
            }

            /// Writes without any ordering.
            #[inline]
            pub fn store_relaxed(&self, value: $int) {
                self.0.store(value, backend::Ordering::Relaxed);
            }

            /// Writes; earlier accesses stay before it.
            #[inline]
            pub fn store_release(&self, value: $int) {
                self.0.store(value, backend::Ordering::Release);
            }

            /// Replaces `old` by `new`, fully ordered, and returns `old`; else returns what was there.
            #[inline]
            pub fn compare_exchange(&self, old: $int, new: $int) -> Result<$int, $int> {
                full_barrier();
                let seen = self.0.compare_exchange(
                    old,
                    new,
                    backend::Ordering::AcqRel,
                    backend::Ordering::Relaxed,
                );
                full_barrier();
                seen
            }

            /// Replaces what is there by `new`, fully ordered, and returns it.
            #[inline]
            pub fn swap(&self, new: $int) -> $int {
                full_barrier();
                let old = self.0.swap(new, backend::Ordering::AcqRel);
                full_barrier();
                old
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

atomic!(
    /// An atomic word that holds an address.
    AtomicUsize,
    usize
);
