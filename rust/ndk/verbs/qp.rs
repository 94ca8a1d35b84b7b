// SPDX-License-Identifier: GPL-2.0

//! Reliable connected queue pairs.

use crate::{
    ctx::{
        self,
        MaySleep,
        Process, //
    },
    ffi, trace,
    verbs::{
        cq::Cq,
        device::{
            GidEntry,
            Port,
            Protocol, //
        },
        mr::FastMr,
        pd::Pd,
        srq::Srq, //
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

pub(crate) use super::wr::{
    Access,
    RecvWr,
    SendWr, //
};

/// An asynchronous event of a QP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum QpEvent {
    /// The QP failed.
    Fatal,
    /// The peer sent an invalid request.
    RequestError,
    /// The peer tried to access what it may not.
    AccessError,
    /// A message came before the connection was established.
    CommEst,
    /// The QP has failed, and takes no receive of its SRQ any more.
    LastReceive,
    /// Something else.
    Other,
}

/// What happens at a QP.
pub(crate) trait QpEvents: Send + Sync + Sized + 'static {
    /// Called in any context: record it and kick a work item.
    fn event(this: ArcBorrow<'_, Self>, event: QpEvent);
}

/// Sizes of a QP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct QpCaps {
    /// Sends that may be outstanding.
    pub(crate) max_send_wr: u32,
    /// Receives that may be outstanding.
    pub(crate) max_recv_wr: u32,
    /// Pieces of a send.
    pub(crate) max_send_sge: u32,
    /// Pieces of a receive.
    pub(crate) max_recv_sge: u32,
    /// Bytes that a send can carry in the request itself.
    pub(crate) max_inline: u32,
}

/// States of a QP that we put it in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QpState {
    /// Receives can be posted.
    Init,
    /// Ready to receive.
    Rtr,
    /// Ready to send.
    Rts,
    /// Everything is flushed.
    Err,
}

impl QpState {
    fn raw(self) -> ffi::ib_qp_state {
        match self {
            Self::Init => ffi::ib_qp_state_IB_QPS_INIT,
            Self::Rtr => ffi::ib_qp_state_IB_QPS_RTR,
            Self::Rts => ffi::ib_qp_state_IB_QPS_RTS,
            Self::Err => ffi::ib_qp_state_IB_QPS_ERR,
        }
    }
}

/// Attributes for a transition: usually what the connection manager computed, with a few of our
/// own.
pub(crate) struct QpAttr {
    pub(super) raw: ffi::ib_qp_attr,
    pub(super) mask: c_int,
    /// Keeps the GID entry alive to which `raw` may point.
    _gid: Option<GidEntry>,
}

impl QpAttr {
    /// Attributes with nothing but the state.
    pub(crate) fn new(state: QpState) -> Self {
        let mut raw = ffi::ib_qp_attr::default();
        raw.qp_state = state.raw();
        let mut attr = Self {
            raw,
            mask: 0,
            _gid: None,
        };
        attr.have(ffi::ib_qp_attr_mask_IB_QP_STATE);
        attr
    }

    /// Takes a reference on the GID entry that the address in `raw` points to.
    ///
    /// # Safety
    ///
    /// The entry, if there is one, is valid now.
    pub(super) unsafe fn hold_gid(&mut self) {
        if !self.has(ffi::ib_qp_attr_mask_IB_QP_AV) {
            return;
        }
        // SAFETY: By this function's requirements.
        self._gid = unsafe { GidEntry::from_raw(self.raw.ah_attr.grh.sgid_attr) };
    }

    fn have(&mut self, what: ffi::ib_qp_attr_mask) {
        // CAST: A bit set in a C `int`.
        self.mask |= what as c_int;
    }

    fn has(&self, what: ffi::ib_qp_attr_mask) -> bool {
        // CAST: As above.
        self.mask & what as c_int != 0
    }

    /// What the peer may do. Replaces what was computed.
    pub(crate) fn set_access(&mut self, access: Access) {
        self.raw.qp_access_flags = access.bits() as c_int;
        self.have(ffi::ib_qp_attr_mask_IB_QP_ACCESS_FLAGS);
    }

    /// How long the peer waits after an RNR NAK, if the transition sets it: `enum ib_rnr_timeout`,
    /// where 0 is 655 ms and 1 is 10 us.
    pub(crate) fn set_min_rnr_timer(&mut self, timer: u8) {
        if self.has(ffi::ib_qp_attr_mask_IB_QP_MIN_RNR_TIMER) {
            self.raw.min_rnr_timer = timer;
        }
    }

    /// How many reads the peer may have outstanding here, if the transition sets it.
    pub(crate) fn set_max_dest_rd_atomic(&mut self, n: u8) {
        if self.has(ffi::ib_qp_attr_mask_IB_QP_MAX_DEST_RD_ATOMIC) {
            self.raw.max_dest_rd_atomic = n;
        }
    }

    /// How many reads we may have outstanding at the peer, if the transition sets it.
    pub(crate) fn set_max_rd_atomic(&mut self, n: u8) {
        if self.has(ffi::ib_qp_attr_mask_IB_QP_MAX_QP_RD_ATOMIC) {
            self.raw.max_rd_atomic = n;
        }
    }

    /// Retries without acknowledge (at most 7) and after RNR NAK (7 is for ever), if the transition
    /// sets them.
    pub(crate) fn set_retries(&mut self, retries: u8, rnr_retries: u8) {
        if self.has(ffi::ib_qp_attr_mask_IB_QP_RETRY_CNT) {
            self.raw.retry_cnt = retries;
        }
        if self.has(ffi::ib_qp_attr_mask_IB_QP_RNR_RETRY) {
            self.raw.rnr_retry = rnr_retries;
        }
    }
}

/// A reliable connected queue pair. Only requests that ask for it get a completion when they
/// succeed.
///
/// # Invariants
///
/// * `raw` is a QP of `pd`, `send_cq`, `_recv_cq` and `srq` that this value alone destroys.
/// * Its context is `events`.
pub(crate) struct Qp {
    raw: NonNull<ffi::ib_qp>,
    caps: QpCaps,
    /// Kept for the callback.
    _events: Arc<dyn Any + Send + Sync>,
    send_cq: Arc<Cq>,
    /// Kept for the receives, which complete there.
    _recv_cq: Arc<Cq>,
    /// Where the receives come from, if not from a queue of its own.
    srq: Option<Arc<Srq>>,
    pd: Arc<Pd>,
    /// See [`Self::set_barrier`].
    barrier: Option<Arc<FastMr>>,
}

// SAFETY: Post, modify and destroy may be called from every thread; drivers lock.
unsafe impl Send for Qp {}
// SAFETY: As above.
unsafe impl Sync for Qp {}

impl Qp {
    /// Makes a QP, in the reset state. Sleeps. All parts must be of one device (`EINVAL`).
    ///
    /// The device may give more than asked for; see [`Self::caps`].
    pub(crate) fn new<E: QpEvents>(
        ctx: &MaySleep,
        pd: Arc<Pd>,
        send_cq: Arc<Cq>,
        recv_cq: Arc<Cq>,
        srq: Option<Arc<Srq>>,
        caps: QpCaps,
        events: Arc<E>,
    ) -> Result<Self> {
        ctx.check();
        let device = pd.device();
        let foreign = |srq: &Arc<Srq>| !device.is(srq.pd().device());
        if !device.is(send_cq.device())
            || !device.is(recv_cq.device())
            || srq.as_ref().is_some_and(foreign)
        {
            return Err(EINVAL);
        }
        let mut init = ffi::ib_qp_init_attr {
            event_handler: Some(Callbacks::<E>::event),
            qp_context: Arc::as_ptr(&events).cast_mut().cast(),
            send_cq: send_cq.as_raw(),
            recv_cq: recv_cq.as_raw(),
            srq: srq.as_ref().map_or(ptr::null_mut(), |srq| srq.as_raw()),
            cap: ffi::ib_qp_cap {
                max_send_wr: caps.max_send_wr,
                max_recv_wr: caps.max_recv_wr,
                max_send_sge: caps.max_send_sge,
                max_recv_sge: caps.max_recv_sge,
                max_inline_data: caps.max_inline,
                max_rdma_ctxs: 0,
            },
            sq_sig_type: ffi::ib_sig_type_IB_SIGNAL_REQ_WR,
            qp_type: ffi::ib_qp_type_IB_QPT_RC,
            ..ffi::ib_qp_init_attr::default()
        };
        // SAFETY: PD, CQs and SRQ are valid by their invariants, and of one device. The callback
        // gets `qp_context`, which `events` keeps alive until the QP is destroyed.
        let raw = from_err_ptr(unsafe { ffi::ndk_helper_ib_create_qp(pd.as_raw(), &mut init) })?;
        // INVARIANT: Just created with those parts, and nobody else has the pointer.
        Ok(Self {
            raw: NonNull::new(raw).ok_or(ENOMEM)?,
            caps: QpCaps {
                max_send_wr: init.cap.max_send_wr,
                max_recv_wr: init.cap.max_recv_wr,
                max_send_sge: init.cap.max_send_sge,
                max_recv_sge: init.cap.max_recv_sge,
                max_inline: init.cap.max_inline_data,
            },
            _events: events,
            send_cq,
            _recv_cq: recv_cq,
            srq,
            pd,
            barrier: None,
        })
    }

    /// Gives the QP an MR that is never registered, and whose invalidation is a barrier.
    pub(crate) fn set_barrier(&mut self, mr: Arc<FastMr>) {
        self.barrier = Some(mr);
    }

    /// The key whose invalidation is a barrier, where there is need of one.
    #[inline]
    pub(crate) fn barrier(&self) -> Option<u32> {
        self.barrier.as_ref().map(|mr| mr.lkey())
    }

    /// The QP's number.
    pub(crate) fn number(&self) -> u32 {
        // SAFETY: Valid by the type invariant; the number does not change.
        unsafe { self.raw.as_ref().qp_num }
    }

    /// Its address, by which completions name it. Another QP may have it later.
    pub(crate) fn address(&self) -> usize {
        self.raw.addr().get()
    }

    /// Whether its receives come from an SRQ.
    pub(crate) fn has_srq(&self) -> bool {
        self.srq.is_some()
    }

    /// The sizes that the device gave.
    pub(crate) fn caps(&self) -> &QpCaps {
        &self.caps
    }

    /// The PD it belongs to.
    pub(crate) fn pd(&self) -> &Arc<Pd> {
        &self.pd
    }

    /// Where its sends complete.
    pub(crate) fn send_cq(&self) -> &Arc<Cq> {
        &self.send_cq
    }

    /// Moves the QP to another state. Sleeps.
    pub(crate) fn modify(&self, ctx: &Process, attr: &QpAttr) -> Result {
        ctx.check();
        // The core writes into the attributes (source address, access), so give it a copy.
        let mut raw = attr.raw;
        // SAFETY: Valid by the type invariant.
        to_result(unsafe { ffi::ib_modify_qp(self.raw.as_ptr(), &mut raw, attr.mask) })
    }

    /// The number of the packet that the device sends next. Sleeps.
    pub(crate) fn send_psn(&self, ctx: &Process) -> Result<u32> {
        ctx.check();
        let mut attr = ffi::ib_qp_attr::default();
        let mut init = ffi::ib_qp_init_attr::default();
        // CAST: A bit set in a C `int`.
        let mask = ffi::ib_qp_attr_mask_IB_QP_SQ_PSN as c_int;
        // SAFETY: Valid by the type invariant; the callee fills in what it is given.
        to_result(unsafe { ffi::ib_query_qp(self.raw.as_ptr(), &mut attr, mask, &mut init) })?;
        Ok(attr.sq_psn)
    }

    /// Moves the QP from reset to INIT, after which receives can be posted. Sleeps.
    pub(crate) fn to_init(&self, ctx: &MaySleep, port: &Port<'_>, access: Access) -> Result {
        let mut attr = QpAttr::new(QpState::Init);
        attr.set_access(access);
        if port.protocol() != Protocol::Iwarp {
            attr.raw.port_num = port.number();
            attr.raw.pkey_index = 0;
            attr.have(ffi::ib_qp_attr_mask_IB_QP_PORT | ffi::ib_qp_attr_mask_IB_QP_PKEY_INDEX);
        }
        self.modify(ctx, &attr)
    }

    /// Moves the QP to the error state: everything posted completes as flushed. From every state.
    /// Sleeps.
    pub(crate) fn to_err(&self, ctx: &MaySleep) -> Result {
        self.modify(ctx, &QpAttr::new(QpState::Err))
    }

    /// Connects the QP to itself, from INIT, so that it executes local operations (registration,
    /// invalidation). InfiniBand and RoCE; `EINVAL` for iWARP, where a QP needs a stream. Sleeps.
    pub(crate) fn connect_to_self(&self, ctx: &MaySleep, port: &Port<'_>) -> Result {
        let protocol = port.protocol();
        if !matches!(
            protocol,
            Protocol::Infiniband | Protocol::RoceV1 | Protocol::RoceV2
        ) {
            return Err(EINVAL);
        }
        let port_attr = port.attr(ctx)?;
        let roce_v2 = protocol == Protocol::RoceV2;
        let gid = (0..port_attr.gids)
            .filter_map(|index| port.gid(index))
            .find(|entry| entry.is_roce_v2() == roce_v2)
            .ok_or(EADDRNOTAVAIL)?;

        let mut rtr = QpAttr::new(QpState::Rtr);
        // SAFETY: Device, port and GID entry are valid; the entry lives in `rtr` as long as the
        // attributes point to it.
        to_result(unsafe {
            ffi::ndk_helper_ah_to_self(
                self.pd.device().as_raw(),
                port.number(),
                gid.as_raw(),
                &mut rtr.raw.ah_attr,
            )
        })?;
        rtr._gid = Some(gid);
        rtr.raw.path_mtu = ffi::ib_mtu_IB_MTU_256;
        rtr.raw.dest_qp_num = self.number();
        rtr.raw.rq_psn = 0;
        rtr.raw.max_dest_rd_atomic = 0;
        rtr.raw.min_rnr_timer = 1;
        rtr.have(
            ffi::ib_qp_attr_mask_IB_QP_AV
                | ffi::ib_qp_attr_mask_IB_QP_PATH_MTU
                | ffi::ib_qp_attr_mask_IB_QP_DEST_QPN
                | ffi::ib_qp_attr_mask_IB_QP_RQ_PSN
                | ffi::ib_qp_attr_mask_IB_QP_MAX_DEST_RD_ATOMIC
                | ffi::ib_qp_attr_mask_IB_QP_MIN_RNR_TIMER,
        );
        self.modify(ctx, &rtr)?;

        let mut rts = QpAttr::new(QpState::Rts);
        rts.raw.timeout = 14;
        rts.raw.retry_cnt = 7;
        rts.raw.rnr_retry = 7;
        rts.raw.sq_psn = 0;
        rts.raw.max_rd_atomic = 0;
        rts.have(
            ffi::ib_qp_attr_mask_IB_QP_TIMEOUT
                | ffi::ib_qp_attr_mask_IB_QP_RETRY_CNT
                | ffi::ib_qp_attr_mask_IB_QP_RNR_RETRY
                | ffi::ib_qp_attr_mask_IB_QP_SQ_PSN
                | ffi::ib_qp_attr_mask_IB_QP_MAX_QP_RD_ATOMIC,
        );
        self.modify(ctx, &rts)
    }

    /// Has traces see a request that is about to be posted.
    #[inline]
    pub(crate) fn trace_post(
        &self,
        operation: u32,
        flags: u32,
        context: *mut c_void,
        signalled: bool,
    ) {
        // SAFETY: Valid by the type invariant; its device stays as long.
        unsafe {
            trace::event!(
                ndk_post,
                self.raw.as_ptr(),
                operation,
                flags,
                context.addr() as u64,
                signalled,
            )
        };
    }

    /// Has traces see that `requests` were handed to the device in one call, and what it said.
    #[inline]
    fn trace_doorbell(&self, receive: bool, requests: u32, ret: c_int) {
        // SAFETY: As above.
        unsafe { trace::event!(ndk_doorbell, self.raw.as_ptr(), receive, requests, ret) };
    }

    /// Posts a send. Any context. `ENOMEM` for a full queue, `EINVAL` for a bad request or state.
    #[inline]
    pub(crate) fn post_send(&self, wr: &SendWr<'_>) -> Result {
        let mut bad = ptr::null();
        // SAFETY: Valid by the type invariant; the request ends its chain, and lives during the call.
        let ret = unsafe { ffi::ndk_helper_ib_post_send(self.raw.as_ptr(), wr.as_raw(), &mut bad) };
        self.trace_doorbell(false, 1, ret);
        posted(ret)
    }

    /// Posts a list of `count` sends. As [`Self::post_send`]; with an error comes the request that was refused, the first one
    /// that was not taken.
    ///
    /// # Safety
    ///
    /// `list` is a list of valid requests, which stay during the call.
    pub(super) unsafe fn post_list(
        &self,
        list: *const ffi::ib_send_wr,
        count: u32,
    ) -> (Result, *const ffi::ib_send_wr) {
        let mut bad = ptr::null();
        if list.is_null() {
            return (Ok(()), bad);
        }
        // SAFETY: Valid by the type invariant; the list by this function's requirements.
        let ret = unsafe { ffi::ndk_helper_ib_post_send(self.raw.as_ptr(), list, &mut bad) };
        self.trace_doorbell(false, count, ret);
        (posted(ret), bad)
    }

    /// Posts a receive. As [`Self::post_send`].
    #[inline]
    pub(crate) fn post_recv(&self, wr: RecvWr<'_>) -> Result {
        let mut bad = ptr::null();
        // SAFETY: As above.
        let ret = unsafe { ffi::ndk_helper_ib_post_recv(self.raw.as_ptr(), wr.as_raw(), &mut bad) };
        self.trace_doorbell(true, 1, ret);
        posted(ret)
    }
}

impl Drop for Qp {
    fn drop(&mut self) {
        ctx::might_sleep();
        // SAFETY: By the type invariant it is ours.
        let ret = unsafe { ffi::ndk_helper_ib_destroy_qp(self.raw.as_ptr()) };
        kernel::warn_on!(ret != 0);
    }
}

/// What a driver's post function says. A request counts as posted only where that is 0.
#[inline]
fn posted(ret: c_int) -> Result {
    if ret == 0 {
        Ok(())
    } else {
        Err(Error::from_errno(ret.min(-1)))
    }
}

/// The C callback of a QP.
struct Callbacks<E>(PhantomData<E>);

impl<E: QpEvents> Callbacks<E> {
    /// # Safety
    ///
    /// Called by the driver of a QP made by [`Qp::new`] with these events, before it is destroyed.
    unsafe extern "C" fn event(event: *mut ffi::ib_event, context: *mut c_void) {
        // SAFETY: The driver passes a valid event.
        let event = match unsafe { (*event).event } {
            ffi::ib_event_type_IB_EVENT_QP_FATAL => QpEvent::Fatal,
            ffi::ib_event_type_IB_EVENT_QP_REQ_ERR => QpEvent::RequestError,
            ffi::ib_event_type_IB_EVENT_QP_ACCESS_ERR => QpEvent::AccessError,
            ffi::ib_event_type_IB_EVENT_COMM_EST => QpEvent::CommEst,
            ffi::ib_event_type_IB_EVENT_QP_LAST_WQE_REACHED => QpEvent::LastReceive,
            _ => QpEvent::Other,
        };
        // SAFETY: The context is what `Qp::new` took from an `Arc<E>`, which the `Qp` keeps until
        // it is destroyed.
        E::event(unsafe { ArcBorrow::from_raw(context.cast::<E>()) }, event);
    }
}
