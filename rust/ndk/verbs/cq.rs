// SPDX-License-Identifier: GPL-2.0

//! Completion queues and work completions.

use crate::{
    ctx::{
        self,
        MaySleep, //
    },
    ffi,
    verbs::device::DeviceRef, //
};
use core::{
    any::Any,
    marker::PhantomData,
    mem::MaybeUninit,
    ptr::NonNull, //
};
use kernel::{
    error::from_err_ptr,
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

/// Completions that [`Cq::poll_each`] takes at a time; as many as the RDMA core takes.
pub(crate) const BATCH: usize = 16;

/// What happens at a CQ.
pub(crate) trait CqEvents: Send + Sync + Sized + 'static {
    /// The CQ was armed, and has what it was armed for.
    ///
    /// Called in **any** context, by rxe with its CQ lock held and interrupts off: record it and
    /// kick a work item, nothing else. In particular no function of [`Cq`] may be called from here.
    fn completion(this: ArcBorrow<'_, Self>);

    /// The CQ overran or failed; it delivers nothing any more. Any context, as above.
    fn failed(this: ArcBorrow<'_, Self>);
}

/// A completion queue that is polled and armed by hand.
///
/// # Invariants
///
/// * `raw` is a CQ of `device` that this value alone destroys.
/// * Its context is `events`.
pub(crate) struct Cq {
    raw: NonNull<ffi::ib_cq>,
    /// Kept for the callbacks.
    _events: Arc<dyn Any + Send + Sync>,
    device: DeviceRef,
}

// SAFETY: Poll, arm and destroy may be called from every thread; drivers lock.
unsafe impl Send for Cq {}
// SAFETY: As above.
unsafe impl Sync for Cq {}

/// What a CQ is armed for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arm {
    /// The next completion.
    Any,
    /// The next solicited receive or error.
    Solicited,
}

impl Cq {
    /// Makes a CQ for at least `depth` completions. Sleeps.
    ///
    /// The device may round up; see [`Self::holds`]. `vector` is taken modulo the device's vectors.
    pub(crate) fn new<E: CqEvents>(
        ctx: &MaySleep,
        device: DeviceRef,
        depth: u32,
        vector: u32,
        events: Arc<E>,
    ) -> Result<Self> {
        ctx.check();
        let attr = ffi::ib_cq_init_attr {
            cqe: depth,
            comp_vector: vector % device.completion_vectors(),
            flags: 0,
        };
        let context = Arc::as_ptr(&events).cast_mut().cast::<c_void>();
        // SAFETY: The device is valid by `DeviceRef`'s invariant. The callbacks get `context`,
        // which `events` keeps alive until the CQ is destroyed.
        let raw = from_err_ptr(unsafe {
            ffi::ndk_helper_ib_create_cq(
                device.as_raw(),
                Some(Callbacks::<E>::completion),
                Some(Callbacks::<E>::event),
                context,
                &attr,
            )
        })?;
        // INVARIANT: Just created with that context, and nobody else has the pointer.
        Ok(Self {
            raw: NonNull::new(raw).ok_or(ENOMEM)?,
            _events: events,
            device,
        })
    }

    /// Completions that it holds.
    pub(crate) fn holds(&self) -> u32 {
        // SAFETY: Valid by the type invariant; the member is constant since the creation.
        let holds = unsafe { (*self.raw.as_ptr()).cqe };
        u32::try_from(holds).unwrap_or(0)
    }

    /// The raw CQ.
    pub(super) fn as_raw(&self) -> *mut ffi::ib_cq {
        self.raw.as_ptr()
    }

    /// The device it is on.
    pub(crate) fn device(&self) -> &DeviceRef {
        &self.device
    }

    /// Takes completions out, oldest first, and returns how many. Any context but the callbacks of
    /// [`CqEvents`].
    #[inline]
    pub(crate) fn poll(&self, wc: &mut [Wc]) -> usize {
        let room = c_int::try_from(wc.len()).unwrap_or(c_int::MAX);
        // SAFETY: Valid by the type invariant; `wc` has room for `room` completions, whose layout
        // is that of `Wc`.
        let got =
            unsafe { ffi::ndk_helper_ib_poll_cq(self.raw.as_ptr(), room, wc.as_mut_ptr().cast()) };
        usize::try_from(got).unwrap_or(0)
    }

    /// Takes up to `max` completions, but no more than [`BATCH`], and calls `each` with every one. Returns how many. Context as
    /// [`Self::poll`].
    #[inline]
    pub(crate) fn poll_each(&self, max: usize, mut each: impl FnMut(&Wc)) -> usize {
        // Not initialised: clearing it would take longer than all else here.
        let mut wc = [const { MaybeUninit::<Wc>::uninit() }; BATCH];
        let room = max.min(BATCH);
        // CAST: At most `BATCH`.
        // SAFETY: Valid by the type invariant; `wc` has room for `room` completions, whose layout is that of `Wc`.
        let got = unsafe {
            ffi::ndk_helper_ib_poll_cq(self.raw.as_ptr(), room as c_int, wc.as_mut_ptr().cast())
        };
        let got = usize::try_from(got).unwrap_or(0);
        for wc in wc.iter().take(got) {
            // SAFETY: The device wrote the first `got` of them.
            each(unsafe { wc.assume_init_ref() });
        }
        got
    }

    /// Arms the CQ for one [`CqEvents::completion`]. Any context but the callbacks of [`CqEvents`].
    ///
    /// `true`: completions may be there already and the callback may not come for them. The caller
    /// then has to look. Where the device does not answer an arm for solicited completions, any answers it.
    #[inline]
    pub(crate) fn req_notify(&self, arm: Arm) -> bool {
        let what = match arm {
            Arm::Solicited if !self.device.ignores_solicited() => {
                ffi::ib_cq_notify_flags_IB_CQ_SOLICITED
            }
            _ => ffi::ib_cq_notify_flags_IB_CQ_NEXT_COMP,
        };
        let flags = what | ffi::ib_cq_notify_flags_IB_CQ_REPORT_MISSED_EVENTS;
        // SAFETY: Valid by the type invariant.
        // CAST: A bit set of three bits.
        unsafe { ffi::ndk_helper_ib_req_notify_cq(self.raw.as_ptr(), flags as c_int) != 0 }
    }
}

impl Drop for Cq {
    fn drop(&mut self) {
        ctx::might_sleep();
        // SAFETY: By the type invariant it is ours, and its QPs, which hold it, are gone.
        let ret = unsafe { ffi::ndk_helper_ib_destroy_cq(self.raw.as_ptr()) };
        kernel::warn_on!(ret != 0);
    }
}

/// The C callbacks of a CQ.
struct Callbacks<E>(PhantomData<E>);

impl<E: CqEvents> Callbacks<E> {
    /// # Safety
    ///
    /// Called by the driver of a CQ made by [`Cq::new`] with these events, before it is destroyed.
    unsafe extern "C" fn completion(_cq: *mut ffi::ib_cq, context: *mut c_void) {
        // SAFETY: The context is what `Cq::new` took from an `Arc<E>`, which the `Cq` keeps until
        // it is destroyed.
        E::completion(unsafe { ArcBorrow::from_raw(context.cast::<E>()) });
    }

    /// # Safety
    ///
    /// As for [`Self::completion`]. The only event of a CQ is an error.
    unsafe extern "C" fn event(_event: *mut ffi::ib_event, context: *mut c_void) {
        // SAFETY: As above.
        E::failed(unsafe { ArcBorrow::from_raw(context.cast::<E>()) });
    }
}

/// A work completion.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct Wc(ffi::ib_wc);

impl Default for Wc {
    #[inline]
    fn default() -> Self {
        Self(ffi::ib_wc::default())
    }
}

/// How a work request ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WcStatus {
    /// It succeeded.
    Success,
    /// The local buffers were too small for what came.
    LocalLength,
    /// The QP could not execute it.
    LocalQpOperation,
    /// A local key, address or access right was wrong.
    LocalProtection,
    /// The QP left the operational states before it ran.
    Flushed,
    /// A bind or registration failed.
    MwBind,
    /// The peer answered nonsense.
    BadResponse,
    /// A local access right was missing while a remote operation ran.
    LocalAccess,
    /// The peer found the request invalid.
    RemoteInvalidRequest,
    /// The peer's key, address or access right was wrong.
    RemoteAccess,
    /// The peer could not execute it.
    RemoteOperation,
    /// The peer does not answer.
    RetryExceeded,
    /// The peer posted no receive in time.
    RnrRetryExceeded,
    /// The peer aborted it.
    RemoteAborted,
    /// Another failure, by its number in `enum ib_wc_status`.
    Other(u32),
}

impl Wc {
    /// The completion that a device would make.
    #[cfg(CONFIG_KUNIT = "y")]
    pub(super) fn of_test(wr_id: u64, status: ffi::ib_wc_status, byte_len: u32) -> Self {
        Self(ffi::ib_wc {
            __bindgen_anon_1: ffi::ib_wc__bindgen_ty_1 { wr_id },
            status,
            byte_len,
            ..ffi::ib_wc::default()
        })
    }

    /// The same, of a message that invalidated a key.
    #[cfg(CONFIG_KUNIT = "y")]
    pub(super) fn invalidating(mut self, rkey: u32) -> Self {
        self.0.wc_flags |= ffi::ib_wc_flags_IB_WC_WITH_INVALIDATE as c_int;
        self.0.ex = ffi::ib_wc__bindgen_ty_2 {
            invalidate_rkey: rkey,
        };
        self
    }

    /// The same, of a QP at this address.
    #[cfg(CONFIG_KUNIT = "y")]
    pub(super) fn on_qp(mut self, qp: usize) -> Self {
        self.0.qp = core::ptr::without_provenance_mut(qp);
        self
    }

    /// The address of the QP, to be compared and not to be followed: the QP may be gone.
    #[inline]
    pub(super) fn qp(&self) -> usize {
        self.0.qp.addr()
    }

    /// The number that was posted with the request.
    #[inline]
    pub(crate) fn wr_id(&self) -> u64 {
        // SAFETY: We post numbers only; as a pointer it would be a number as well.
        unsafe { self.0.__bindgen_anon_1.wr_id }
    }

    /// How it ended.
    #[inline]
    pub(crate) fn status(&self) -> WcStatus {
        match self.0.status {
            ffi::ib_wc_status_IB_WC_SUCCESS => WcStatus::Success,
            ffi::ib_wc_status_IB_WC_LOC_LEN_ERR => WcStatus::LocalLength,
            ffi::ib_wc_status_IB_WC_LOC_QP_OP_ERR => WcStatus::LocalQpOperation,
            ffi::ib_wc_status_IB_WC_LOC_PROT_ERR => WcStatus::LocalProtection,
            ffi::ib_wc_status_IB_WC_WR_FLUSH_ERR => WcStatus::Flushed,
            ffi::ib_wc_status_IB_WC_MW_BIND_ERR => WcStatus::MwBind,
            ffi::ib_wc_status_IB_WC_BAD_RESP_ERR => WcStatus::BadResponse,
            ffi::ib_wc_status_IB_WC_LOC_ACCESS_ERR => WcStatus::LocalAccess,
            ffi::ib_wc_status_IB_WC_REM_INV_REQ_ERR => WcStatus::RemoteInvalidRequest,
            ffi::ib_wc_status_IB_WC_REM_ACCESS_ERR => WcStatus::RemoteAccess,
            ffi::ib_wc_status_IB_WC_REM_OP_ERR => WcStatus::RemoteOperation,
            ffi::ib_wc_status_IB_WC_RETRY_EXC_ERR => WcStatus::RetryExceeded,
            ffi::ib_wc_status_IB_WC_RNR_RETRY_EXC_ERR => WcStatus::RnrRetryExceeded,
            ffi::ib_wc_status_IB_WC_REM_ABORT_ERR => WcStatus::RemoteAborted,
            other => WcStatus::Other(other),
        }
    }

    /// Whether it succeeded.
    #[inline]
    pub(crate) fn is_success(&self) -> bool {
        self.0.status == ffi::ib_wc_status_IB_WC_SUCCESS
    }

    /// Bytes that a successful receive or read brought.
    #[inline]
    pub(crate) fn byte_len(&self) -> u32 {
        self.0.byte_len
    }

    /// The key that the peer invalidated with the message received.
    #[inline]
    pub(crate) fn invalidated_rkey(&self) -> Option<u32> {
        // CAST: A bit set in a C `int`.
        if self.0.wc_flags as u32 & ffi::ib_wc_flags_IB_WC_WITH_INVALIDATE == 0 {
            return None;
        }
        // SAFETY: The flag says that this member was written.
        Some(unsafe { self.0.ex.invalidate_rkey })
    }

    /// The number of a failed status in the low 16 bits, and above it as much as fits of the
    /// vendor's own code.
    pub(crate) fn error_code(&self) -> u32 {
        (self.0.status & 0xffff) | (self.0.vendor_err << 16)
    }
}
