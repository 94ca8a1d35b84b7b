// SPDX-License-Identifier: GPL-2.0

//! From a token to what it names.
//!
//! A token is the key of verbs: an index of the device's, and eight bits that change with each use of it. Completions look
//! here by the index, in any context and without a lock.

use crate::{
    ctx::MaySleep,
    status::Result, //
};
use core::marker::PhantomData;
use kernel::{
    bindings,
    error::to_result,
    ffi::c_ulong,
    prelude::*,
    sync::{
        rcu,
        Arc,
        ArcBorrow, //
    },
    types::Opaque, //
};

/// A map by the indices of tokens.
///
/// # Invariants
///
/// Entries are pointers from [`Arc::into_raw`], each with a count, which is given back only after a grace period has passed
/// since the entry was taken out.
#[pin_data(PinnedDrop)]
pub(crate) struct TokenMap<T: Send + Sync> {
    #[pin]
    raw: Opaque<bindings::xarray>,
    _entries: PhantomData<Arc<T>>,
}

// SAFETY: It holds `Arc`s behind a lock of its own.
unsafe impl<T: Send + Sync> Send for TokenMap<T> {}
// SAFETY: As above.
unsafe impl<T: Send + Sync> Sync for TokenMap<T> {}

impl<T: Send + Sync> TokenMap<T> {
    /// An empty map.
    pub(crate) fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            // SAFETY: Initialises the array, which stays where it is.
            raw <- Opaque::ffi_init(|raw| unsafe { bindings::xa_init_flags(raw, 0) }),
            _entries: PhantomData,
        })
    }

    /// Adds what a token names; the device has given the index to nobody else. Sleeps.
    ///
    /// # Errors
    ///
    /// `InsufficientResources`.
    pub(crate) fn insert(&self, token: u32, entry: Arc<T>, ctx: &MaySleep) -> Result {
        ctx.check();
        let raw = Arc::into_raw(entry).cast_mut();
        // SAFETY: Initialised; the pointer is that of an object, and so is aligned.
        let old = unsafe {
            bindings::xa_store(
                self.raw.get(),
                index(token),
                raw.cast(),
                bindings::GFP_KERNEL,
            )
        };
        // SAFETY: What `xa_store` returned.
        let stored = to_result(unsafe { bindings::xa_err(old) });
        // INVARIANT: Where it was not stored its count is not in the map.
        if let Err(error) = stored {
            // SAFETY: Just made by `into_raw`, and not stored.
            drop(unsafe { Arc::from_raw(raw) });
            return Err(error.into());
        }
        kernel::warn_on!(!old.is_null());
        Ok(())
    }

    /// Takes out what a token names. Sleeps. It may be looked at still: it is to be kept until a grace period has passed.
    pub(crate) fn remove(&self, token: u32, ctx: &MaySleep) -> Option<Arc<T>> {
        ctx.check();
        // SAFETY: Initialised.
        let raw = unsafe { bindings::xa_erase(self.raw.get(), index(token)) };
        // SAFETY: By the type invariant it has a count, which only this thread has taken out.
        (!raw.is_null()).then(|| unsafe { Arc::from_raw(raw.cast::<T>()) })
    }

    /// What a token names, as far as its index says. Any context.
    #[inline]
    pub(crate) fn get<'a>(
        &'a self,
        token: u32,
        _guard: &'a rcu::Guard,
    ) -> Option<ArcBorrow<'a, T>> {
        // SAFETY: Initialised; looking needs no lock.
        let raw = unsafe { bindings::xa_load(self.raw.get(), index(token)) };
        // SAFETY: By the type invariant it lives until a grace period has passed, which the guard prevents.
        (!raw.is_null()).then(|| unsafe { ArcBorrow::from_raw(raw.cast::<T>()) })
    }
}

#[pinned_drop]
impl<T: Send + Sync> PinnedDrop for TokenMap<T> {
    fn drop(self: Pin<&mut Self>) {
        // What is in it takes itself out before, and an array without entries has no memory. So the array's lock, which is for
        // process context, is not taken here, where it may be softirq.
        // SAFETY: Initialised, and nobody else has it.
        let head = unsafe { (*self.raw.get()).xa_head };
        kernel::warn_on!(!head.is_null());
    }
}

/// The device's part of a token.
fn index(token: u32) -> c_ulong {
    (token >> 8) as c_ulong
}

#[kernel::macros::kunit_tests(ndk_tokens)]
mod tests {
    use super::*;
    use crate::verbs::handle;

    #[test]
    fn a_token_is_found_by_its_index() -> Result {
        let ctx = MaySleep::of_test();
        let map = KBox::pin_init(TokenMap::<u32>::new(), GFP_KERNEL)?;
        map.insert(0x1234_5600, Arc::new(7, GFP_KERNEL)?, &ctx)?;
        map.insert(0x1234_5700, Arc::new(8, GFP_KERNEL)?, &ctx)?;
        {
            let guard = rcu::read_lock();
            let found = |token| map.get(token, &guard).map(|entry| *entry);
            assert_eq!(found(0x1234_5600), Some(7));
            assert_eq!(found(0x1234_56ff), Some(7));
            assert_eq!(found(0x1234_5701), Some(8));
            assert_eq!(found(0x1234_5800), None);
            assert_eq!(found(0), None);
            assert_eq!(found(u32::MAX), None);
        }
        let first = map.remove(0x1234_5642, &ctx);
        let second = map.remove(0x1234_5700, &ctx);
        assert!(map.remove(0x1234_5600, &ctx).is_none());
        handle::wait_for_readers(&ctx);
        assert_eq!(first.map(|entry| *entry), Some(7));
        assert_eq!(second.map(|entry| *entry), Some(8));
        Ok(())
    }
}
