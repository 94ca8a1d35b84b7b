// SPDX-License-Identifier: GPL-2.0

//! Revocable handles on what lies below an object.
//!
//! The data path looks through a handle under RCU, without a lock or a count. Whoever takes the
//! content out waits until nobody looks at it any more, so it can be destroyed.

use crate::{
    ctx::{
        MaySleep,
        Process, //
    },
    ffi,
    state::status::Status,
    status::Result, //
};
use core::{
    marker::PhantomData,
    ptr,
    sync::atomic::{
        AtomicPtr,
        Ordering, //
    }, //
};
use kernel::sync::{
    atomic::{
        Atomic,
        Full, //
    },
    rcu,
    Arc,
    ArcBorrow, //
};

/// A place for an [`Arc`] that can be taken away at any time.
///
/// # Invariants
///
/// The pointer is null, or came from [`Arc::into_raw`] and owns a count. A count that was stored
/// here is given back only after a grace period has passed since the pointer was taken out.
pub(crate) struct Handle<T> {
    // Looked at by every post and poll, so not by a function of C.
    raw: AtomicPtr<T>,
    _content: PhantomData<Arc<T>>,
}

// SAFETY: A handle is an `Arc` in an atomic place.
unsafe impl<T: Send + Sync> Send for Handle<T> {}
// SAFETY: As above.
unsafe impl<T: Send + Sync> Sync for Handle<T> {}

impl<T> Handle<T> {
    /// An empty handle.
    pub(crate) fn new() -> Self {
        // INVARIANT: Null.
        Self {
            raw: AtomicPtr::new(ptr::null_mut()),
            _content: PhantomData,
        }
    }

    /// Fills an empty handle. Process context only because the content goes with the handle where
    /// it is not empty.
    ///
    /// # Errors
    ///
    /// Gives the content back when the handle is not empty.
    pub(crate) fn set(&self, content: Arc<T>) -> core::result::Result<(), Arc<T>> {
        let raw = Arc::into_raw(content).cast_mut();
        match self
            .raw
            .compare_exchange(ptr::null_mut(), raw, Ordering::SeqCst, Ordering::SeqCst)
        {
            // INVARIANT: From `into_raw`, with its count.
            Ok(_) => Ok(()),
            // SAFETY: Just made by `into_raw`, and not stored.
            Err(_) => Err(unsafe { Arc::from_raw(raw) }),
        }
    }

    /// Looks at the content, in any context.
    ///
    /// # Errors
    ///
    /// `DeviceRemoved` when the handle is empty.
    #[inline]
    pub(crate) fn access<'a>(&'a self, _guard: &'a rcu::Guard) -> Result<&'a T> {
        let raw = self.raw.load(Ordering::Acquire);
        // SAFETY: Null, or by the type invariant alive until a grace period has passed, which the
        // guard prevents.
        unsafe { raw.as_ref() }.ok_or(Status::DeviceRemoved)
    }

    /// As [`Self::access`], of what can be given a count of its own.
    ///
    /// # Errors
    ///
    /// `DeviceRemoved` when the handle is empty.
    #[inline]
    pub(crate) fn borrow<'a>(&'a self, guard: &'a rcu::Guard) -> Result<ArcBorrow<'a, T>> {
        let content: *const T = self.access(guard)?;
        // SAFETY: It came from `Arc::into_raw`, and owns a count while the guard exists.
        Ok(unsafe { ArcBorrow::from_raw(content) })
    }

    /// The content with a count of its own, for use that sleeps. Where the last count goes the
    /// content is destroyed, so it is to be dropped in process context.
    ///
    /// # Errors
    ///
    /// `DeviceRemoved` when the handle is empty.
    pub(crate) fn get(&self, _ctx: &Process) -> Result<Arc<T>> {
        let guard = rcu::read_lock();
        Ok(self.borrow(&guard)?.into())
    }

    /// Empties the handle, and waits until nobody looks at the content any more. Sleeps.
    pub(crate) fn take(&self, ctx: &MaySleep) -> Option<Arc<T>> {
        self.swap(None, ctx)
    }

    /// Puts other content into the handle, or none, and waits until nobody looks at what was there. Sleeps.
    pub(crate) fn swap(&self, content: Option<Arc<T>>, ctx: &MaySleep) -> Option<Arc<T>> {
        let new = content.map_or(ptr::null_mut(), |content| Arc::into_raw(content).cast_mut());
        // INVARIANT: Null, or from `into_raw` with its count.
        let old = self.raw.swap(new, Ordering::SeqCst);
        if old.is_null() {
            return None;
        }
        wait_for_readers(ctx);
        // SAFETY: By the type invariant it owns a count, which only this thread has taken out.
        Some(unsafe { Arc::from_raw(old) })
    }

    /// As [`Self::take`], without waiting.
    ///
    /// # Safety
    ///
    /// Nobody looks through the handle, and nobody will.
    pub(crate) unsafe fn take_unseen(&self) -> Option<Arc<T>> {
        let raw = self.raw.swap(ptr::null_mut(), Ordering::SeqCst);
        if raw.is_null() {
            return None;
        }
        // SAFETY: As in `take`; by this function's requirements there is nobody to wait for.
        Some(unsafe { Arc::from_raw(raw) })
    }
}

impl<T> Drop for Handle<T> {
    fn drop(&mut self) {
        let raw = self.raw.swap(ptr::null_mut(), Ordering::SeqCst);
        if !raw.is_null() {
            // SAFETY: As in `take`; nobody looks through a handle that is dropped.
            drop(unsafe { Arc::from_raw(raw) });
        }
    }
}

/// A place for an [`Arc`] that is put in and taken out, and not looked at.
///
/// # Invariants
///
/// The pointer is null, or came from [`Arc::into_raw`] and owns a count.
pub(crate) struct Parking<T> {
    raw: Atomic<*mut T>,
    _content: PhantomData<Arc<T>>,
}

// SAFETY: It is an `Arc` in an atomic place.
unsafe impl<T: Send + Sync> Send for Parking<T> {}
// SAFETY: As above.
unsafe impl<T: Send + Sync> Sync for Parking<T> {}

impl<T> Parking<T> {
    /// An empty place.
    pub(crate) fn new() -> Self {
        // INVARIANT: Null.
        Self {
            raw: Atomic::new(ptr::null_mut()),
            _content: PhantomData,
        }
    }

    /// Puts something in, and gives what was there. Any context.
    pub(crate) fn put(&self, content: Arc<T>) -> Option<Arc<T>> {
        self.replace(Arc::into_raw(content).cast_mut())
    }

    /// Takes out what is there. Any context.
    pub(crate) fn take(&self) -> Option<Arc<T>> {
        self.replace(ptr::null_mut())
    }

    fn replace(&self, raw: *mut T) -> Option<Arc<T>> {
        // INVARIANT: The callers pass null or what `into_raw` made.
        let old = self.raw.xchg(raw, Full);
        // SAFETY: By the type invariant it owns a count, which only this thread has taken out.
        (!old.is_null()).then(|| unsafe { Arc::from_raw(old) })
    }
}

impl<T> Drop for Parking<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

/// Waits until everybody who was looking through a handle has stopped. Sleeps.
///
/// Expedited: the teardown of connections waits for it, and on a large machine a grace period takes
/// as long as many of them.
pub(crate) fn wait_for_readers(ctx: &MaySleep) {
    ctx.check();
    // SAFETY: Process context, outside of an RCU section, by the token.
    unsafe { ffi::ndk_helper_synchronize_rcu_expedited() };
}

#[kernel::macros::kunit_tests(ndk_handle)]
mod tests {
    use super::*;
    use kernel::{
        alloc::flags::GFP_KERNEL,
        sync::atomic::Relaxed, //
    };

    /// Counts its end.
    struct Content {
        number: u32,
        ended: Arc<Atomic<u32>>,
    }

    impl Drop for Content {
        fn drop(&mut self) {
            self.ended.add(1, Relaxed);
        }
    }

    fn counter() -> Result<Arc<Atomic<u32>>> {
        Ok(Arc::new(Atomic::new(0), GFP_KERNEL)?)
    }

    fn content(number: u32, ended: &Arc<Atomic<u32>>) -> Result<Arc<Content>> {
        let ended = ended.clone();
        Ok(Arc::new(Content { number, ended }, GFP_KERNEL)?)
    }

    fn seen(handle: &Handle<Content>) -> Result<u32> {
        let guard = rcu::read_lock();
        Ok(handle.access(&guard)?.number)
    }

    #[test]
    fn an_empty_handle_has_nothing() -> Result {
        let ctx = MaySleep::of_test();
        let handle = Handle::<Content>::new();
        assert!(seen(&handle) == Err(Status::DeviceRemoved));
        assert!(handle.get(&ctx).err() == Some(Status::DeviceRemoved));
        assert!(handle.take(&ctx).is_none());
        Ok(())
    }

    #[test]
    fn the_content_is_seen_until_it_is_taken() -> Result {
        let ctx = MaySleep::of_test();
        let ended = counter()?;
        let handle = Handle::new();
        assert!(handle.set(content(1, &ended)?).is_ok());
        assert!(seen(&handle) == Ok(1));
        let held = handle.get(&ctx)?;
        let taken = handle.take(&ctx);
        assert!(seen(&handle) == Err(Status::DeviceRemoved));
        assert!(handle.take(&ctx).is_none());
        // Both counts are good as long as they are held.
        assert_eq!(taken.map_or(0, |content| content.number), 1);
        assert_eq!(held.number, 1);
        assert_eq!(ended.load(Relaxed), 0);
        drop(held);
        assert_eq!(ended.load(Relaxed), 1);
        Ok(())
    }

    #[test]
    fn a_second_content_comes_back() -> Result {
        let ctx = MaySleep::of_test();
        let ended = counter()?;
        let handle = Handle::new();
        assert!(handle.set(content(1, &ended)?).is_ok());
        let back = handle.set(content(2, &ended)?);
        assert_eq!(back.err().map_or(0, |content| content.number), 2);
        assert_eq!(ended.load(Relaxed), 1);
        assert!(seen(&handle) == Ok(1));
        drop(handle.take(&ctx));
        // An emptied handle can be filled again.
        assert!(handle.set(content(3, &ended)?).is_ok());
        assert!(seen(&handle) == Ok(3));
        Ok(())
    }

    #[test]
    fn content_is_swapped() -> Result {
        let ctx = MaySleep::of_test();
        let ended = counter()?;
        let handle = Handle::new();
        assert!(handle.swap(Some(content(1, &ended)?), &ctx).is_none());
        let old = handle.swap(Some(content(2, &ended)?), &ctx);
        assert_eq!(old.map_or(0, |content| content.number), 1);
        assert!(seen(&handle) == Ok(2));
        assert_eq!(ended.load(Relaxed), 1);
        drop(handle.swap(None, &ctx));
        assert_eq!(ended.load(Relaxed), 2);
        assert!(seen(&handle) == Err(Status::DeviceRemoved));
        Ok(())
    }

    #[test]
    fn the_content_goes_with_the_handle() -> Result {
        let ended = counter()?;
        let handle = Handle::new();
        assert!(handle.set(content(1, &ended)?).is_ok());
        drop(handle);
        assert_eq!(ended.load(Relaxed), 1);
        Ok(())
    }
}
