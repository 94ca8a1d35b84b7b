// SPDX-License-Identifier: GPL-2.0

//! Memory windows.

use super::{
    ffi,
    notice::{
        dispatch,
        Notice, //
    },
    owned::Owned,
};
use core::ptr::NonNull;

/// A window, through which the peer sees a part of a region while it is bound, see [`super::Qp::bind`].
pub(crate) struct Mw(Owned<ffi::ndk_mw>);

impl Mw {
    /// # Safety
    ///
    /// `raw` is open, and becomes this value's own.
    pub(super) unsafe fn new(raw: NonNull<ffi::ndk_mw>) -> Self {
        // SAFETY: By this function's requirements.
        Self(unsafe { Owned::new(raw, None) })
    }

    #[inline]
    pub(super) fn as_ptr(&self) -> *mut ffi::ndk_mw {
        self.0.as_ptr()
    }

    /// The token for the peer, anew with each bind.
    #[inline]
    pub(crate) fn remote_token(&self) -> u32 {
        // SAFETY: The window is open.
        unsafe { dispatch!(self.as_ptr(), get_remote_token(self.as_ptr()) or 0) }
    }

    /// Closes the window; what it shows by then is shown no more.
    pub(crate) fn close<N: Notice<()>>(self, how: N) -> N::Return {
        self.0.close(how)
    }
}
