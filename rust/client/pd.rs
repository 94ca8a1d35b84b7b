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
    mw::Mw,
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
    srq::{
        self,
        OnLow,
        Srq,
        SrqParams, //
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

    /// Creates a memory window.
    pub(crate) fn create_mw<N: Notice<Mw>>(&self, how: N) -> N::Return {
        how.create(
            // SAFETY: `self` is open.
            |done, context, out| unsafe {
                dispatch!(self.as_ptr(), create_mw(self.as_ptr(), done, context, out) or MISSING)
            },
            // SAFETY: The object is new and ours.
            |raw| Ok(unsafe { Mw::new(raw?) }),
        )
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

    /// Creates an SRQ, which tells `handler` when it runs low.
    pub(crate) fn create_srq<L: OnLow, N: Notice<Srq>>(
        &self,
        params: SrqParams,
        handler: L,
        how: N,
    ) -> N::Return {
        let seed = match srq::Seed::new(handler) {
            Ok(seed) => seed,
            Err(e) => return how.fail(e),
        };
        let handler = seed.context();
        let affinity = params
            .affinity
            .and_then(|cpu| cpu.try_into().ok())
            .unwrap_or(-1);
        how.create(
            // SAFETY: `self` is open; the handler lives until the SRQ's close has completed.
            |done, context, out| unsafe {
                dispatch!(self.as_ptr(), create_srq(
                    self.as_ptr(),
                    params.depth,
                    params.max_sge,
                    params.threshold,
                    Some(srq::notify::<L>),
                    handler,
                    affinity,
                    done,
                    context,
                    out,
                ) or MISSING)
            },
            // SAFETY: The object is new and ours, and was made with what the seed has.
            move |raw| Ok(unsafe { seed.grow(raw?) }),
        )
    }

    /// Creates a QP whose receives come from `srq`, which is of this PD, and end in `receive_cq`.
    pub(crate) fn create_qp_with_srq<R: Handler, I: Handler, N: Notice<Qp>>(
        &self,
        receive_cq: &Cq<R>,
        initiator_cq: &Cq<I>,
        srq: &Srq,
        params: QpParams,
        how: N,
    ) -> N::Return {
        let context_value = ptr::without_provenance_mut(params.context);
        how.create(
            // SAFETY: `self`, the CQs and the SRQ are open.
            |done, context, out| unsafe {
                dispatch!(self.as_ptr(), create_qp_with_srq(
                    self.as_ptr(),
                    receive_cq.as_ptr(),
                    initiator_cq.as_ptr(),
                    srq.as_ptr(),
                    context_value,
                    params.initiator_depth,
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
