// SPDX-License-Identifier: GPL-2.0

//! Queue pairs.

use super::{
    ffi,
    flags::OpFlags,
    mr::{
        FastMr,
        Region,
        Sge, //
    },
    mw::Mw,
    notice::{
        dispatch,
        Notice,
        MISSING, //
    },
    owned::Owned,
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
    prelude::*, //
};

/// Depths and limits of a QP.
#[derive(Clone, Copy)]
pub(crate) struct QpParams {
    /// Given back by [`super::WorkResult::qp`].
    pub(crate) context: usize,
    /// Outstanding receives; with an SRQ, of no meaning.
    pub(crate) receive_depth: u32,
    /// Outstanding requests of all other kinds.
    pub(crate) initiator_depth: u32,
    /// Pieces of a receive; with an SRQ, of no meaning.
    pub(crate) max_receive_sge: u32,
    /// Pieces of another request.
    pub(crate) max_initiator_sge: u32,
    /// Bytes of an inline request.
    pub(crate) inline_size: u32,
}

impl Default for QpParams {
    fn default() -> Self {
        Self {
            context: 0,
            receive_depth: 16,
            initiator_depth: 16,
            max_receive_sge: 1,
            max_initiator_sge: 1,
            inline_size: 0,
        }
    }
}

/// A queue pair.
///
/// Posts need `&mut`, as they must not overlap. The number given with a post comes back in its result. A post that fails has
/// none.
pub(crate) struct Qp(Owned<ffi::ndk_qp>);

#[inline]
fn context(number: usize) -> *mut c_void {
    ptr::without_provenance_mut(number)
}

/// Success without a function call.
#[inline]
fn posted(status: kernel::ffi::c_int) -> Result {
    if status == 0 {
        return Ok(());
    }
    to_result(status)
}

impl Qp {
    /// # Safety
    ///
    /// `raw` is open and becomes this value's own.
    pub(super) unsafe fn new(raw: NonNull<ffi::ndk_qp>) -> Self {
        // SAFETY: By this function's requirements.
        Self(unsafe { Owned::new(raw, None) })
    }

    #[inline]
    pub(super) fn as_ptr(&self) -> *mut ffi::ndk_qp {
        self.0.as_ptr()
    }

    /// Cancels everything outstanding; the connection does not survive it. May overlap with posts.
    pub(crate) fn flush(&self) {
        // SAFETY: The QP is open.
        unsafe { dispatch!(self.as_ptr(), flush(self.as_ptr()) or ()) };
    }

    /// Closes the QP; done when the connector that uses it is closed.
    pub(crate) fn close<N: Notice<()>>(self, how: N) -> N::Return {
        self.0.close(how)
    }

    /// Posts a receive.
    #[inline]
    pub(crate) fn receive(&mut self, request: usize, sgl: &[Sge]) -> Result {
        let (sge, count) = Sge::list(sgl);
        // SAFETY: The QP is open, `&mut` serializes, and the list is read during the call only.
        posted(unsafe {
            dispatch!(self.as_ptr(), receive(self.as_ptr(), context(request), sge, count) or MISSING)
        })
    }

    /// Sends a message.
    #[inline]
    pub(crate) fn send(&mut self, request: usize, sgl: &[Sge], flags: OpFlags) -> Result {
        let (sge, count) = Sge::list(sgl);
        // SAFETY: As in `receive`.
        posted(unsafe {
            dispatch!(self.as_ptr(), send(
                self.as_ptr(), context(request), sge, count, flags.raw(),
            ) or MISSING)
        })
    }

    /// Sends a message that is read during the call.
    #[inline]
    pub(crate) fn send_inline(&mut self, request: usize, data: &[u8], flags: OpFlags) -> Result {
        let length = u32::try_from(data.len()).map_err(|_| EMSGSIZE)?;
        let sgl = [Sge::new(data.as_ptr().addr() as u64, length, 0)];
        let (sge, count) = Sge::list(&sgl);
        // SAFETY: As in `receive`; the data outlives the call, which alone reads it.
        posted(unsafe {
            dispatch!(self.as_ptr(), send(
                self.as_ptr(), context(request), sge, count, (flags | OpFlags::INLINE).raw(),
            ) or MISSING)
        })
    }

    /// Sends a message and has a token of the peer's invalidated.
    #[inline]
    pub(crate) fn send_and_invalidate(
        &mut self,
        request: usize,
        sgl: &[Sge],
        flags: OpFlags,
        remote_token: u32,
    ) -> Result {
        let (sge, count) = Sge::list(sgl);
        // SAFETY: As in `receive`.
        posted(unsafe {
            dispatch!(self.as_ptr(), send_and_invalidate(
                self.as_ptr(), context(request), sge, count, flags.raw(), remote_token,
            ) or MISSING)
        })
    }

    /// Reads from the peer's memory.
    #[inline]
    pub(crate) fn read(
        &mut self,
        request: usize,
        sgl: &[Sge],
        remote: (u64, u32),
        flags: OpFlags,
    ) -> Result {
        let (sge, count) = Sge::list(sgl);
        // SAFETY: As in `receive`.
        posted(unsafe {
            dispatch!(self.as_ptr(), read(
                self.as_ptr(), context(request), sge, count, remote.0, remote.1, flags.raw(),
            ) or MISSING)
        })
    }

    /// Writes to the peer's memory.
    #[inline]
    pub(crate) fn write(
        &mut self,
        request: usize,
        sgl: &[Sge],
        remote: (u64, u32),
        flags: OpFlags,
    ) -> Result {
        let (sge, count) = Sge::list(sgl);
        // SAFETY: As in `receive`.
        posted(unsafe {
            dispatch!(self.as_ptr(), write(
                self.as_ptr(), context(request), sge, count, remote.0, remote.1, flags.raw(),
            ) or MISSING)
        })
    }

    /// Registers `length` bytes, from offset `fbo` in the first of `pages`, under the name `address`.
    ///
    /// # Safety
    ///
    /// `pages` are those of a [`super::Lam`], which stays until the registration is invalidated or `mr` closed.
    #[expect(clippy::too_many_arguments)]
    #[inline]
    pub(crate) unsafe fn fast_register(
        &mut self,
        request: usize,
        mr: &FastMr,
        pages: &[u64],
        fbo: u32,
        length: u64,
        address: u64,
        flags: OpFlags,
    ) -> Result {
        let count = u32::try_from(pages.len()).map_err(|_| EINVAL)?;
        // SAFETY: As in `receive`; the MR is open, and the pages are the device's by this function's requirements.
        posted(unsafe {
            dispatch!(self.as_ptr(), fast_register(
                self.as_ptr(),
                context(request),
                mr.as_ptr(),
                count,
                pages.as_ptr(),
                fbo,
                length,
                address,
                flags.raw(),
            ) or MISSING)
        })
    }

    /// Ends a fast registration.
    #[inline]
    pub(crate) fn invalidate(&mut self, request: usize, mr: &FastMr, flags: OpFlags) -> Result {
        // SAFETY: As in `receive`; the MR is open.
        posted(unsafe {
            dispatch!(self.as_ptr(), invalidate(
                self.as_ptr(), context(request), &raw mut (*mr.as_ptr()).header, flags.raw(),
            ) or MISSING)
        })
    }

    /// Has a window show `length` bytes of a region from `offset` on, until it is unbound, bound anew or closed. The window's
    /// token is there when this returns. The region is closed after the window.
    #[inline]
    pub(crate) fn bind(
        &mut self,
        request: usize,
        region: &Region,
        mw: &Mw,
        (offset, length): (usize, u64),
        flags: OpFlags,
    ) -> Result {
        // SAFETY: As in `receive`; MR and window are open.
        posted(unsafe {
            dispatch!(self.as_ptr(), bind(
                self.as_ptr(), context(request), region.as_ptr(), mw.as_ptr(), region.address(offset), length, flags.raw(),
            ) or MISSING)
        })
    }

    /// Has a window show nothing any more.
    #[inline]
    pub(crate) fn unbind(&mut self, request: usize, mw: &Mw, flags: OpFlags) -> Result {
        // SAFETY: As in `receive`; the window is open.
        posted(unsafe {
            dispatch!(self.as_ptr(), invalidate(
                self.as_ptr(), context(request), &raw mut (*mw.as_ptr()).header, flags.raw(),
            ) or MISSING)
        })
    }
}
