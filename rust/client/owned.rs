// SPDX-License-Identifier: GPL-2.0

//! Owned objects: the close on drop, and memory that lives until the close has completed.

use super::{
    ffi,
    notice::{
        Notice,
        MISSING,
        PENDING, //
    },
};
use core::{
    ffi::c_void,
    mem::ManuallyDrop,
    ptr::{
        self,
        NonNull, //
    },
};
use kernel::{
    ffi::c_int,
    prelude::*, //
};

#[repr(C)]
struct Header {
    release: unsafe fn(NonNull<Header>),
}

/// A value behind a thin pointer that knows how to free it.
#[repr(C)]
struct Cell<T> {
    header: Header,
    value: T,
}

/// Owns a value of any type: what the callbacks of an object use.
///
/// # Invariants
///
/// The pointer is to the header of a boxed [`Cell`], which nothing else will free.
pub(super) struct Hook(NonNull<Header>);

// SAFETY: The value within is `Send`, by `Hook::new`.
unsafe impl Send for Hook {}

impl Hook {
    /// Boxes `value`. The second pointer is to it, and valid as long as the hook is.
    pub(super) fn new<T: Send + 'static>(value: T) -> Result<(Self, NonNull<T>)> {
        let cell = KBox::new(
            Cell {
                header: Header {
                    release: release::<T>,
                },
                value,
            },
            GFP_ATOMIC,
        )?;
        let cell = NonNull::from(KBox::leak(cell));
        // SAFETY: `cell` is valid; no reference is made.
        let value = unsafe { NonNull::new_unchecked(&raw mut (*cell.as_ptr()).value) };
        // INVARIANT: The cell was just given up by its box.
        Ok((Self(cell.cast()), value))
    }

    fn into_raw(hook: Option<Self>) -> *mut c_void {
        hook.map_or(ptr::null_mut(), |hook| {
            ManuallyDrop::new(hook).0.as_ptr().cast()
        })
    }
}

impl Drop for Hook {
    fn drop(&mut self) {
        // SAFETY: By the type invariant the header is valid, and the cell ours to free.
        unsafe { (self.0.as_ref().release)(self.0) };
    }
}

/// # Safety
///
/// `header` is that of a boxed `Cell<T>`, which is given up.
unsafe fn release<T>(header: NonNull<Header>) {
    // SAFETY: By this function's requirements.
    drop(unsafe { KBox::from_raw(header.cast::<Cell<T>>().as_ptr()) });
}

/// A C object with a close.
///
/// # Safety
///
/// `close` closes `this`, and behaves as include/ndk/ndk.h says.
pub(super) unsafe trait Object {
    /// # Safety
    ///
    /// `this` is open, and not used after the call.
    unsafe fn close(
        this: NonNull<Self>,
        done: ffi::ndk_close_completion_fn,
        context: *mut c_void,
    ) -> c_int;
}

macro_rules! impl_object {
    ($($object:ident),* $(,)?) => {$(
        // SAFETY: The `close` slot of the object's table, with the object's header.
        unsafe impl Object for ffi::$object {
            unsafe fn close(
                this: NonNull<Self>,
                done: ffi::ndk_close_completion_fn,
                context: *mut c_void,
            ) -> c_int {
                // SAFETY: By this function's requirements the object and its table are valid.
                unsafe {
                    match (*(*this.as_ptr()).dispatch).close {
                        Some(close) => close(&raw mut (*this.as_ptr()).header, done, context),
                        None => MISSING,
                    }
                }
            }
        }
    )*};
}

impl_object!(
    ndk_pd,
    ndk_cq,
    ndk_qp,
    ndk_mr,
    ndk_mw,
    ndk_connector,
    ndk_listener,
    ndk_shared_endpoint,
    ndk_srq,
);

/// An open object and what its callbacks use.
///
/// # Invariants
///
/// The object is open until the drop.
pub(super) struct Owned<O: Object> {
    raw: NonNull<O>,
    hook: Option<Hook>,
}

// SAFETY: The provider's objects belong to no context.
unsafe impl<O: Object> Send for Owned<O> {}

// SAFETY: `&Owned` gives the pointer only.
unsafe impl<O: Object> Sync for Owned<O> {}

impl<O: Object> Owned<O> {
    /// # Safety
    ///
    /// `raw` is open and becomes this value's own. Its callbacks use nothing but what `hook` owns.
    pub(super) unsafe fn new(raw: NonNull<O>, hook: Option<Hook>) -> Self {
        // INVARIANT: By this function's requirements.
        Self { raw, hook }
    }

    #[inline]
    pub(super) fn as_ptr(&self) -> *mut O {
        self.raw.as_ptr()
    }

    /// Gives the object something more to keep, once.
    pub(super) fn keep(&mut self, hook: Hook) -> Result {
        if self.hook.is_some() {
            return Err(EBADFD);
        }
        self.hook = Some(hook);
        Ok(())
    }

    /// Closes, with word of it.
    pub(super) fn close<N: Notice<()>>(self, how: N) -> N::Return
    where
        O: 'static,
    {
        let mut this = ManuallyDrop::new(self);
        let hook = this.hook.take();
        let raw = this.raw;
        how.close(
            // SAFETY: By the type invariant the object is open, and `this` is gone after the call.
            |done, context| unsafe { O::close(raw, done, context) },
            move || drop(hook),
        )
    }
}

impl<O: Object> Drop for Owned<O> {
    fn drop(&mut self) {
        let hook = Hook::into_raw(self.hook.take());
        // SAFETY: By the type invariant the object is open. `hook` lives until `closed`.
        unsafe {
            if O::close(self.raw, Some(closed), hook) != PENDING {
                closed(hook);
            }
        }
    }
}

/// # Safety
///
/// `hook` comes from `Hook::into_raw`, and is given up.
unsafe extern "C" fn closed(hook: *mut c_void) {
    // INVARIANT: By this function's requirements.
    drop(NonNull::new(hook.cast::<Header>()).map(Hook));
}
