// SPDX-License-Identifier: GPL-2.0

//! Shared receive queues.

use super::{
    ffi,
    mr::Sge,
    notice::{
        dispatch,
        Notice,
        MISSING, //
    },
    owned::{
        Hook,
        Owned, //
    },
};
use core::{
    ffi::c_void,
    ptr::{
        self,
        NonNull, //
    },
};
use kernel::{
    error::to_result,
    ffi::c_int,
    prelude::*, //
};

/// Depths and limits of an SRQ.
#[derive(Clone, Copy)]
pub(crate) struct SrqParams {
    /// Outstanding receives.
    pub(crate) depth: u32,
    /// Pieces of a receive.
    pub(crate) max_sge: u32,
    /// The handler is told once when fewer receives than this are left, after there were that many; 0 for never.
    pub(crate) threshold: u32,
    /// The CPU to tell it on, if possible.
    pub(crate) affinity: Option<u32>,
}

impl Default for SrqParams {
    fn default() -> Self {
        Self {
            depth: 16,
            max_sge: 1,
            threshold: 0,
            affinity: None,
        }
    }
}

/// Who is told that an SRQ runs low.
pub(crate) trait OnLow: Send + Sync + 'static {
    /// Fewer receives are left than the threshold: post more, and arm with [`Srq::modify`] to hear of it again. Softirq context;
    /// calls do not overlap.
    ///
    /// After an error (`EIO`) the SRQ and its QPs are dead.
    fn low(&self, status: Result);
}

/// What an SRQ needs before there is one.
pub(super) struct Seed<L> {
    hook: Hook,
    handler: NonNull<L>,
}

// SAFETY: The hook owns what the pointer is to, which is `Send` and `Sync`.
unsafe impl<L: OnLow> Send for Seed<L> {}

impl<L: OnLow> Seed<L> {
    pub(super) fn new(handler: L) -> Result<Self> {
        let (hook, handler) = Hook::new(handler)?;
        Ok(Self { hook, handler })
    }

    pub(super) fn context(&self) -> *mut c_void {
        self.handler.as_ptr().cast()
    }

    /// # Safety
    ///
    /// `raw` is open, made with [`notify`] and this seed's context, and becomes the SRQ's own.
    pub(super) unsafe fn grow(self, raw: NonNull<ffi::ndk_srq>) -> Srq {
        // SAFETY: By this function's requirements. The hook owns the only context.
        Srq(unsafe { Owned::new(raw, Some(self.hook)) })
    }
}

/// # Safety
///
/// `context` is that of a [`Seed`] whose SRQ is open.
pub(super) unsafe extern "C" fn notify<L: OnLow>(context: *mut c_void, status: c_int) {
    // SAFETY: By this function's requirements; the hook lives until the close has completed.
    let handler = unsafe { &*context.cast::<L>() };
    handler.low(to_result(status));
}

/// A shared receive queue, to make QPs of.
///
/// Posts need `&mut`, as they must not overlap. The number given with a post comes back in its result, on the CQ of the QP that
/// received. A post that fails has none, and what is still posted when the SRQ is closed has none either.
pub(crate) struct Srq(Owned<ffi::ndk_srq>);

impl Srq {
    #[inline]
    pub(super) fn as_ptr(&self) -> *mut ffi::ndk_srq {
        self.0.as_ptr()
    }

    /// Posts a receive.
    #[inline]
    pub(crate) fn receive(&mut self, request: usize, sgl: &[Sge]) -> Result {
        let (sge, count) = Sge::list(sgl);
        // SAFETY: The SRQ is open, `&mut` serializes, and the list is read during the call only.
        let status = unsafe {
            dispatch!(self.as_ptr(), receive(
                self.as_ptr(), ptr::without_provenance_mut(request), sge, count,
            ) or MISSING)
        };
        // Success without a function call.
        if status == 0 {
            return Ok(());
        }
        to_result(status)
    }

    /// Changes the depth, and arms the notification for a threshold; 0 leaves either as it is.
    pub(crate) fn modify<N: Notice<()>>(&self, depth: u32, threshold: u32, how: N) -> N::Return {
        how.request(
            // SAFETY: The SRQ is open.
            |done, context| unsafe {
                dispatch!(self.as_ptr(), modify(
                    self.as_ptr(), depth, threshold, done, context,
                ) or MISSING)
            },
            |status| status,
        )
    }

    /// Closes the SRQ; done when every QP on it is closed.
    pub(crate) fn close<N: Notice<()>>(self, how: N) -> N::Return {
        self.0.close(how)
    }
}
