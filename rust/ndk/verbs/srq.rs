// SPDX-License-Identifier: GPL-2.0

//! Shared receive queues of the device.

use crate::{
    ctx::{
        self,
        MaySleep, //
    },
    ffi,
    verbs::{
        pd::Pd,
        wr::RecvWr, //
    },
};
use core::{
    any::Any,
    marker::PhantomData,
    ptr::{
        self,
        NonNull, //
    },
};
use kernel::{
    error::{
        from_err_ptr,
        to_result, //
    },
    ffi::{
        c_int,
        c_void, //
    },
    prelude::*,
    sync::{
        Arc,
        ArcBorrow, //
    },
};

/// What happens at an SRQ.
pub(crate) trait SrqEvents: Send + Sync + Sized + 'static {
    /// The SRQ holds fewer receives than the limit that was set with [`Srq::set_limit`], which is used up by this.
    ///
    /// Called in **any** context: record it and kick a work item, nothing else.
    fn limit_reached(this: ArcBorrow<'_, Self>);

    /// The SRQ failed; it gives out no receives any more. Any context, as above.
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
    depth: u32,
    /// Kept for the callbacks.
    _events: Arc<dyn Any + Send + Sync>,
    pd: Arc<Pd>,
}

// SAFETY: Post, modify and destroy may be called from every thread; drivers lock.
unsafe impl Send for Srq {}
// SAFETY: As above.
unsafe impl Sync for Srq {}

impl Srq {
    /// Makes an SRQ for at least `depth` receives of at most `max_sge` pieces, without a limit. Sleeps.
    ///
    /// The device may round up; see [`Self::depth`].
    pub(crate) fn new<E: SrqEvents>(
        ctx: &MaySleep,
        pd: Arc<Pd>,
        depth: u32,
        max_sge: u32,
        events: Arc<E>,
    ) -> Result<Self> {
        ctx.check();
        let mut init = ffi::ib_srq_init_attr {
            event_handler: Some(Callbacks::<E>::event),
            srq_context: Arc::as_ptr(&events).cast_mut().cast::<c_void>(),
            attr: ffi::ib_srq_attr {
                max_wr: depth,
                max_sge,
                // Devices differ in what they make of a limit at creation.
                srq_limit: 0,
            },
            srq_type: ffi::ib_srq_type_IB_SRQT_BASIC,
            ..ffi::ib_srq_init_attr::default()
        };
        // SAFETY: The PD is valid by its invariant. The callback gets the context, which `events` keeps alive until the SRQ is
        // destroyed.
        let raw = from_err_ptr(unsafe { ffi::ndk_helper_ib_create_srq(pd.as_raw(), &mut init) })?;
        // INVARIANT: Just created with that context, and nobody else has the pointer.
        Ok(Self {
            raw: NonNull::new(raw).ok_or(ENOMEM)?,
            depth: init.attr.max_wr.max(depth),
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

    /// Receives that it was made for.
    pub(crate) fn depth(&self) -> u32 {
        self.depth
    }

    /// Asks for one [`SrqEvents::limit_reached`] when fewer than `limit` receives are left, in place of what was asked before.
    /// Sleeps. `EINVAL` for more than the device's queue holds, `EOPNOTSUPP` where the device has no limits.
    ///
    /// Devices look when a receive is used: where there are fewer already the event may come with the next one only.
    pub(crate) fn set_limit(&self, ctx: &MaySleep, limit: u32) -> Result {
        self.modify(
            ctx,
            ffi::ib_srq_attr {
                srq_limit: limit,
                ..ffi::ib_srq_attr::default()
            },
            ffi::ib_srq_attr_mask_IB_SRQ_LIMIT,
        )
    }

    /// Makes the device's queue at least this large; its receives and its limit stay. Sleeps.
    pub(crate) fn resize(&self, ctx: &MaySleep, depth: u32) -> Result {
        self.modify(
            ctx,
            ffi::ib_srq_attr {
                max_wr: depth,
                ..ffi::ib_srq_attr::default()
            },
            ffi::ib_srq_attr_mask_IB_SRQ_MAX_WR,
        )
    }

    fn modify(
        &self,
        ctx: &MaySleep,
        mut attr: ffi::ib_srq_attr,
        mask: ffi::ib_srq_attr_mask,
    ) -> Result {
        ctx.check();
        // SAFETY: Valid by the type invariant.
        to_result(unsafe { ffi::ib_modify_srq(self.raw.as_ptr(), &mut attr, mask) })
    }

    /// Posts a receive. Any context. `ENOMEM` for a full queue, `EINVAL` for a bad request.
    #[inline]
    pub(crate) fn post_recv(&self, wr: RecvWr<'_>) -> Result {
        let mut bad = ptr::null();
        // SAFETY: Valid by the type invariant; the request ends its chain, and lives during the call.
        let ret: c_int =
            unsafe { ffi::ndk_helper_ib_post_srq_recv(self.raw.as_ptr(), wr.as_raw(), &mut bad) };
        if ret == 0 {
            Ok(())
        } else {
            Err(Error::from_errno(ret.min(-1)))
        }
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
    /// Called by the driver of an SRQ made by [`Srq::new`] with these events, before it is destroyed.
    unsafe extern "C" fn event(event: *mut ffi::ib_event, context: *mut c_void) {
        // SAFETY: The context is what `Srq::new` took from an `Arc<E>`, which the `Srq` keeps until it is destroyed.
        let events = unsafe { ArcBorrow::from_raw(context.cast::<E>()) };
        // SAFETY: The driver passes a valid event.
        match unsafe { (*event).event } {
            ffi::ib_event_type_IB_EVENT_SRQ_LIMIT_REACHED => E::limit_reached(events),
            ffi::ib_event_type_IB_EVENT_SRQ_ERR => E::failed(events),
            _ => {}
        }
    }
}
