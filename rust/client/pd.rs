// SPDX-License-Identifier: GPL-2.0

//! Protection domains.

use super::{
    buffer::Buffer,
    cq::{
        Cq,
        Handler, //
    },
    ffi,
    flags::MrFlags,
    mr::{
        FastMr,
        Mr,
        Region, //
    },
    notice::{
        dispatch,
        Notice,
        Wait,
        MISSING, //
    },
    owned::Owned,
    qp::{
        Qp,
        QpParams, //
    },
};
use core::ptr::{
    self,
    NonNull, //
};
use kernel::prelude::*;

/// A protection domain.
pub(crate) struct Pd(Owned<ffi::ndk_pd>);

impl Pd {
    /// # Safety
    ///
    /// `raw` is open and becomes this value's own.
    pub(super) unsafe fn new(raw: NonNull<ffi::ndk_pd>) -> Self {
        // SAFETY: By this function's requirements.
        Self(unsafe { Owned::new(raw, None) })
    }

    fn as_ptr(&self) -> *mut ffi::ndk_pd {
        self.0.as_ptr()
    }

    /// Closes the PD; done when everything made from it is closed.
    pub(crate) fn close<N: Notice<()>>(self, how: N) -> N::Return {
        self.0.close(how)
    }

    /// Creates an MR for [`Mr::register`].
    pub(crate) fn create_mr<N: Notice<Mr>>(&self, how: N) -> N::Return {
        how.create(
            // SAFETY: `self` is open.
            |done, context, out| unsafe {
                dispatch!(self.as_ptr(), create_mr(self.as_ptr(), false, done, context, out) or MISSING)
            },
            // SAFETY: The object is new and ours.
            |raw| Ok(unsafe { Mr::new(raw?) }),
        )
    }

    /// Registers `buffer`, all of it. Sleeps.
    pub(crate) fn register(&self, buffer: Buffer, flags: MrFlags) -> Result<Region> {
        self.create_mr(Wait)?.register(buffer, flags, Wait)
    }

    /// Creates an MR for fast registrations of up to `pages` pages. Sleeps.
    pub(crate) fn create_fast_mr(&self, pages: u32, remote_access: bool) -> Result<FastMr> {
        let mr = Wait.create(
            // SAFETY: `self` is open.
            |done, context, out| unsafe {
                dispatch!(self.as_ptr(), create_mr(self.as_ptr(), true, done, context, out) or MISSING)
            },
            // SAFETY: The object is new and ours.
            |raw| Ok(unsafe { FastMr::new(raw?) }),
        )?;
        mr.initialize(pages, remote_access)?;
        Ok(mr)
    }

    /// Creates a QP whose receives end in `receive_cq` and all else in `initiator_cq`.
    pub(crate) fn create_qp<R: Handler, I: Handler, N: Notice<Qp>>(
        &self,
        receive_cq: &Cq<R>,
        initiator_cq: &Cq<I>,
        params: QpParams,
        how: N,
    ) -> N::Return {
        let context_value = ptr::without_provenance_mut(params.context);
        how.create(
            // SAFETY: `self` and the CQs are open.
            |done, context, out| unsafe {
                dispatch!(self.as_ptr(), create_qp(
                    self.as_ptr(),
                    receive_cq.as_ptr(),
                    initiator_cq.as_ptr(),
                    context_value,
                    params.receive_depth,
                    params.initiator_depth,
                    params.max_receive_sge,
                    params.max_initiator_sge,
                    params.inline_size,
                    done,
                    context,
                    out,
                ) or MISSING)
            },
            // SAFETY: The object is new and ours.
            |raw| Ok(unsafe { Qp::new(raw?) }),
        )
    }
}
