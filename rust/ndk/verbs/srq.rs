// SPDX-License-Identifier: GPL-2.0

//! Shared receive queues.

use crate::{
    ctx::{
        self,
        MaySleep, //
    },
    ffi,
    verbs::{
        pd::Pd,
        wr::{
            self,
            PostError,
            RecvWr, //
        },
    },
};
use core::{
    any::Any,
    marker::PhantomData,
    ptr::NonNull, //
};
use kernel::{
    error::{
        from_err_ptr,
        to_result, //
    },
    ffi::c_void,
    prelude::*,
    sync::{
        Arc,
        ArcBorrow, //
    },
};

/// What happens at an SRQ. Any context: record it and kick a work item.
pub(crate) trait SrqEvents: Send + Sync + Sized + 'static {
    /// Fewer receives are posted than the limit says; the limit is then 0.
    fn limit_reached(this: ArcBorrow<'_, Self>);

    /// The SRQ failed.
    fn failed(this: ArcBorrow<'_, Self>);
}

/// A shared receive queue.
///
/// # Invariants
///
/// * `raw` is an SRQ of `pd` that this value alone destroys.
/// * Its context is `events`.
pub(crate) struct Srq {
    raw: NonNull<ffi::ib_srq>,
    attr: ffi::ib_srq_attr,
    /// Kept for the callbacks.
    _events: Arc<dyn Any + Send + Sync>,
    pd: Arc<Pd>,
}

// SAFETY: An SRQ may be used from every thread; drivers lock.
unsafe impl Send for Srq {}
// SAFETY: As above.
unsafe impl Sync for Srq {}

impl Srq {
    /// Makes an SRQ for at least `max_wr` receives of at least `max_sge` pieces. Sleeps.
    pub(crate) fn new<E: SrqEvents>(
        ctx: &MaySleep,
        pd: Arc<Pd>,
        max_wr: u32,
        max_sge: u32,
        events: Arc<E>,
    ) -> Result<Self> {
        ctx.check();
        let mut init = ffi::ib_srq_init_attr {
            event_handler: Some(Callbacks::<E>::event),
            srq_context: Arc::as_ptr(&events).cast_mut().cast(),
            attr: ffi::ib_srq_attr {
                max_wr,
                max_sge,
                srq_limit: 0,
            },
            srq_type: ffi::ib_srq_type_IB_SRQT_BASIC,
            ..ffi::ib_srq_init_attr::default()
        };
        // SAFETY: The PD is valid by its invariant. The callback gets `srq_context`, which `events`
        // keeps alive until the SRQ is destroyed.
        let raw = from_err_ptr(unsafe { ffi::ndk_helper_ib_create_srq(pd.as_raw(), &mut init) })?;
        // INVARIANT: Just created with that context, and nobody else has the pointer.
        Ok(Self {
            raw: NonNull::new(raw).ok_or(ENOMEM)?,
            attr: init.attr,
            _events: events,
            pd,
        })
    }

    /// The raw SRQ.
    pub(super) fn as_raw(&self) -> *mut ffi::ib_srq {
        self.raw.as_ptr()
    }

    /// The PD it belongs to.
    pub(crate) fn pd(&self) -> &Arc<Pd> {
        &self.pd
    }

    /// How many receives fit.
    pub(crate) fn max_wr(&self) -> u32 {
        self.attr.max_wr
    }

    /// How many pieces a receive may have.
    pub(crate) fn max_sge(&self) -> u32 {
        self.attr.max_sge
    }

    /// Sets the limit for one [`SrqEvents::limit_reached`]; 0 disarms. Sleeps.
    pub(crate) fn set_limit(&self, ctx: &MaySleep, limit: u32) -> Result {
        ctx.check();
        let mut attr = ffi::ib_srq_attr {
            srq_limit: limit,
            ..ffi::ib_srq_attr::default()
        };
        // SAFETY: Valid by the type invariant.
        to_result(unsafe {
            ffi::ib_modify_srq(
                self.raw.as_ptr(),
                &mut attr,
                ffi::ib_srq_attr_mask_IB_SRQ_LIMIT,
            )
        })
    }

    /// Changes how many receives fit, where the device can (`max_wr` below what is posted fails).
    /// Sleeps.
    pub(crate) fn resize(&mut self, ctx: &MaySleep, max_wr: u32) -> Result {
        ctx.check();
        let mut attr = ffi::ib_srq_attr {
            max_wr,
            ..ffi::ib_srq_attr::default()
        };
        // SAFETY: Valid by the type invariant.
        to_result(unsafe {
            ffi::ib_modify_srq(
                self.raw.as_ptr(),
                &mut attr,
                ffi::ib_srq_attr_mask_IB_SRQ_MAX_WR,
            )
        })?;
        self.attr.max_wr = attr.max_wr.max(max_wr);
        Ok(())
    }

    /// Posts receives in order. Any context.
    #[inline]
    pub(crate) fn post_recv(&self, wrs: &mut [RecvWr<'_>]) -> Result<(), PostError> {
        wr::post_chain(wrs, |first, bad| {
            // SAFETY: Valid by the type invariant; `post_chain` gives a linked chain that lives
            // during the call.
            unsafe { ffi::ndk_helper_ib_post_srq_recv(self.raw.as_ptr(), first, bad) }
        })
    }

    /// Destroys the SRQ. When this returns, no callback runs. Sleeps.
    pub(crate) fn destroy(self, ctx: &MaySleep) {
        ctx.check();
    }
}

impl Drop for Srq {
    fn drop(&mut self) {
        ctx::might_sleep();
        // SAFETY: By the type invariant it is ours, and its QPs, which hold it, are gone.
        let ret = unsafe { ffi::ndk_helper_ib_destroy_srq(self.raw.as_ptr()) };
        kernel::warn_on!(ret != 0);
    }
}

/// The C callback of an SRQ.
struct Callbacks<E>(PhantomData<E>);

impl<E: SrqEvents> Callbacks<E> {
    /// # Safety
    ///
    /// Called by the driver of an SRQ made by [`Srq::new`] with these events, before it is
    /// destroyed.
    unsafe extern "C" fn event(event: *mut ffi::ib_event, context: *mut c_void) {
        // SAFETY: The context is what `Srq::new` took from an `Arc<E>`, which the `Srq` keeps until
        // it is destroyed.
        let events = unsafe { ArcBorrow::from_raw(context.cast::<E>()) };
        // SAFETY: The driver passes a valid event.
        match unsafe { (*event).event } {
            ffi::ib_event_type_IB_EVENT_SRQ_LIMIT_REACHED => E::limit_reached(events),
            ffi::ib_event_type_IB_EVENT_SRQ_ERR => E::failed(events),
            _ => {}
        }
    }
}
