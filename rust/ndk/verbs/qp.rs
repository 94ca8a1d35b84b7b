// SPDX-License-Identifier: GPL-2.0

//! Reliable connected queue pairs and work requests.
//!
//! Requests are built on the stack or in a caller's array and linked where they are when they are posted. Nothing on this path
//! allocates or locks.

use crate::{
    ctx::{
        self,
        MaySleep, //
    },
    ffi,
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
    mem::{
        align_of,
        offset_of,
        size_of, //
    },
    ops::BitOr,
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
    /// No receive of an SRQ is with this QP any more, after it went into the error state.
    LastWqe,
    /// Something else, by its number in `enum ib_event_type`.
    Other(u32),
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
    /// Receives that may be outstanding; 0 with an SRQ.
    pub(crate) max_recv_wr: u32,
    /// Pieces of a send.
    pub(crate) max_send_sge: u32,
    /// Pieces of a receive.
    pub(crate) max_recv_sge: u32,
    /// Bytes that a send can carry in the request itself.
    pub(crate) max_inline: u32,
}

/// What the peer may do with the QP, or somebody with an MR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access(u32);

impl Access {
    /// Local reading only.
    pub(crate) const NONE: Self = Self(0);
    /// Local writing: receives, and the sink of a read.
    pub(crate) const LOCAL_WRITE: Self = Self(ffi::ib_access_flags_IB_ACCESS_LOCAL_WRITE);
    /// RDMA write by the peer. Needs local writing as well.
    pub(crate) const REMOTE_WRITE: Self = Self(ffi::ib_access_flags_IB_ACCESS_REMOTE_WRITE);
    /// RDMA read by the peer.
    pub(crate) const REMOTE_READ: Self = Self(ffi::ib_access_flags_IB_ACCESS_REMOTE_READ);

    /// The rights as a C bit set.
    pub(crate) fn bits(self) -> u32 {
        self.0
    }
}

impl BitOr for Access {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
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

/// Attributes for a transition: usually what the connection manager computed, with a few of our own.
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
        self.raw.qp_access_flags = access.0 as c_int;
        self.have(ffi::ib_qp_attr_mask_IB_QP_ACCESS_FLAGS);
    }

    /// How long the peer waits after an RNR NAK, if the transition sets it: `enum ib_rnr_timeout`, where 0 is 655 ms and 1
    /// is 10 us.
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

    /// Acknowledge timeout (4.096 us times 2^`timeout`), if the transition sets it.
    pub(crate) fn set_timeout(&mut self, timeout: u8) {
        if self.has(ffi::ib_qp_attr_mask_IB_QP_TIMEOUT) {
            self.raw.timeout = timeout;
        }
    }

    /// Retries without acknowledge (at most 7) and after RNR NAK (7 is for ever), if the transition sets them.
    pub(crate) fn set_retries(&mut self, retries: u8, rnr_retries: u8) {
        if self.has(ffi::ib_qp_attr_mask_IB_QP_RETRY_CNT) {
            self.raw.retry_cnt = retries;
        }
        if self.has(ffi::ib_qp_attr_mask_IB_QP_RNR_RETRY) {
            self.raw.rnr_retry = rnr_retries;
        }
    }
}

/// A reliable connected queue pair. Only requests that ask for it get a completion when they succeed.
///
/// # Invariants
///
/// * `raw` is a QP of `pd`, `send_cq`, `recv_cq` and `srq` that this value alone destroys.
/// * Its context is `events`.
pub(crate) struct Qp {
    raw: NonNull<ffi::ib_qp>,
    caps: QpCaps,
    /// Kept for the callback.
    _events: Arc<dyn Any + Send + Sync>,
    srq: Option<Arc<Srq>>,
    send_cq: Arc<Cq>,
    recv_cq: Arc<Cq>,
    pd: Arc<Pd>,
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
        if !device.is(send_cq.device())
            || !device.is(recv_cq.device())
            || srq.as_ref().is_some_and(|s| !device.is(s.pd().device()))
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
        // SAFETY: PD, CQs and SRQ are valid by their invariants, and of one device. The callback gets `qp_context`, which
        // `events` keeps alive until the QP is destroyed.
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
            srq,
            send_cq,
            recv_cq,
            pd,
        })
    }

    /// The raw QP.
    pub(super) fn as_raw(&self) -> *mut ffi::ib_qp {
        self.raw.as_ptr()
    }

    /// The QP's number.
    pub(crate) fn number(&self) -> u32 {
        // SAFETY: Valid by the type invariant; the number does not change.
        unsafe { self.raw.as_ref().qp_num }
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

    /// Where its receives complete.
    pub(crate) fn recv_cq(&self) -> &Arc<Cq> {
        &self.recv_cq
    }

    /// Where its receives come from, if not posted to itself.
    pub(crate) fn srq(&self) -> Option<&Arc<Srq>> {
        self.srq.as_ref()
    }

    /// Moves the QP to another state. Sleeps.
    pub(crate) fn modify(&self, ctx: &MaySleep, attr: &QpAttr) -> Result {
        ctx.check();
        // The core writes into the attributes (source address, access), so give it a copy.
        let mut raw = attr.raw;
        // SAFETY: Valid by the type invariant.
        to_result(unsafe { ffi::ib_modify_qp(self.raw.as_ptr(), &mut raw, attr.mask) })
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

    /// Moves the QP to the error state: everything posted completes as flushed. From every state. Sleeps.
    pub(crate) fn to_err(&self, ctx: &MaySleep) -> Result {
        self.modify(ctx, &QpAttr::new(QpState::Err))
    }

    /// Connects the QP to itself, from INIT, so that it executes local operations (registration, invalidation). InfiniBand and
    /// RoCE; `EOPNOTSUPP` for iWARP, where a QP needs a stream. Sleeps.
    pub(crate) fn connect_to_self(&self, ctx: &MaySleep, port: &Port<'_>) -> Result {
        let protocol = port.protocol();
        if !matches!(
            protocol,
            Protocol::Infiniband | Protocol::RoceV1 | Protocol::RoceV2
        ) {
            return Err(EOPNOTSUPP);
        }
        let port_attr = port.attr(ctx)?;
        let roce_v2 = protocol == Protocol::RoceV2;
        let gid = (0..port_attr.gids)
            .filter_map(|index| port.gid(index))
            .find(|entry| entry.is_roce_v2() == roce_v2)
            .ok_or(EADDRNOTAVAIL)?;

        let mut rtr = QpAttr::new(QpState::Rtr);
        // SAFETY: Device, port and GID entry are valid; the entry lives in `rtr` as long as the attributes point to it.
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

    /// Posts sends in order. Any context. On error those before [`PostError::index`] are posted.
    #[inline]
    pub(crate) fn post_send(&self, wrs: &mut [SendWr<'_>]) -> Result<(), PostError> {
        post_chain(wrs, |first, bad| {
            // SAFETY: Valid by the type invariant; `post_chain` gives a linked chain that lives during the call.
            unsafe { ffi::ndk_helper_ib_post_send(self.raw.as_ptr(), first, bad) }
        })
    }

    /// Posts receives in order. Any context. On error those before [`PostError::index`] are posted. `EINVAL` with an SRQ.
    #[inline]
    pub(crate) fn post_recv(&self, wrs: &mut [RecvWr<'_>]) -> Result<(), PostError> {
        post_chain(wrs, |first, bad| {
            // SAFETY: Valid by the type invariant; `post_chain` gives a linked chain that lives during the call.
            unsafe { ffi::ndk_helper_ib_post_recv(self.raw.as_ptr(), first, bad) }
        })
    }

    /// Destroys the QP. What is posted may go without a completion. When this returns, no callback runs. Sleeps.
    pub(crate) fn destroy(self, ctx: &MaySleep) {
        ctx.check();
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
            ffi::ib_event_type_IB_EVENT_QP_LAST_WQE_REACHED => QpEvent::LastWqe,
            other => QpEvent::Other(other),
        };
        // SAFETY: The context is what `Qp::new` took from an `Arc<E>`, which the `Qp` keeps until it is destroyed.
        E::event(unsafe { ArcBorrow::from_raw(context.cast::<E>()) }, event);
    }
}

/// A piece of a buffer: DMA address, length, local key.
///
/// The same thing as `struct ib_sge` and as `struct ndk_sge`.
#[repr(transparent)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Sge(ffi::ib_sge);

const _: () = {
    assert!(size_of::<Sge>() == size_of::<ffi::ndk_sge>());
    assert!(align_of::<Sge>() == align_of::<ffi::ndk_sge>());
    assert!(offset_of!(ffi::ib_sge, addr) == offset_of!(ffi::ndk_sge, __bindgen_anon_1));
    assert!(offset_of!(ffi::ib_sge, length) == offset_of!(ffi::ndk_sge, length));
    assert!(offset_of!(ffi::ib_sge, lkey) == offset_of!(ffi::ndk_sge, token));
};

impl Sge {
    /// Makes a piece.
    #[inline]
    pub(crate) fn new(addr: u64, length: u32, lkey: u32) -> Self {
        Self(ffi::ib_sge { addr, length, lkey })
    }

    /// The address.
    #[inline]
    pub(crate) fn addr(&self) -> u64 {
        self.0.addr
    }

    /// The length.
    #[inline]
    pub(crate) fn length(&self) -> u32 {
        self.0.length
    }

    /// The local key.
    #[inline]
    pub(crate) fn lkey(&self) -> u32 {
        self.0.lkey
    }

    /// A consumer's list as it is.
    #[inline]
    pub(crate) fn from_ndk(sgl: &[ffi::ndk_sge]) -> &[Self] {
        // SAFETY: Both have one layout (asserted above) and every bit pattern is valid.
        unsafe { core::slice::from_raw_parts(sgl.as_ptr().cast(), sgl.len()) }
    }
}

/// Why a post failed, and where.
#[derive(Clone, Copy)]
pub(crate) struct PostError {
    /// `ENOMEM` for a full queue, `EINVAL` for a bad request or state.
    pub(crate) error: Error,
    /// The first request that was not posted.
    pub(crate) index: usize,
}

impl From<PostError> for Error {
    fn from(e: PostError) -> Self {
        e.error
    }
}

/// A request that can be linked to the next one.
pub(super) trait Link: Sized {
    /// The C request, at the same address.
    type Raw;

    /// Links `self` to `next`.
    fn link(&mut self, next: *mut Self::Raw);
}

/// Links `wrs` in their order, hands the first to `post`, and finds the request at which it stopped.
#[inline]
pub(super) fn post_chain<W: Link>(
    wrs: &mut [W],
    post: impl FnOnce(*const W::Raw, *mut *const W::Raw) -> c_int,
) -> Result<(), PostError> {
    let base = wrs.as_mut_ptr();
    let len = wrs.len();
    if len == 0 {
        return Ok(());
    }
    for i in 0..len {
        let next = if i + 1 < len {
            // `i + 1` is within the slice.
            base.wrapping_add(i + 1).cast::<W::Raw>()
        } else {
            ptr::null_mut()
        };
        // SAFETY: `i` is within the slice, to which `base` has exclusive access.
        unsafe { (*base.add(i)).link(next) };
    }
    let mut bad: *const W::Raw = base.cast();
    let ret = post(base.cast_const().cast(), &mut bad);
    if ret == 0 {
        return Ok(());
    }
    // Drivers set `bad` to the failed request; one that forgets leaves the first, and nothing was posted then.
    let index = bad.addr().wrapping_sub(base.addr()) / size_of::<W>();
    Err(PostError {
        error: Error::from_errno(ret.min(-1)),
        index: index.min(len - 1),
    })
}

/// A receive request over a borrowed list of buffers.
#[repr(transparent)]
pub(crate) struct RecvWr<'a> {
    raw: ffi::ib_recv_wr,
    _sgl: PhantomData<&'a [Sge]>,
}

impl<'a> RecvWr<'a> {
    /// A receive into `sgl`, which the device may write to until the request completes.
    #[inline]
    pub(crate) fn new(wr_id: u64, sgl: &'a [Sge]) -> Self {
        Self {
            raw: ffi::ib_recv_wr {
                next: ptr::null_mut(),
                __bindgen_anon_1: ffi::ib_recv_wr__bindgen_ty_1 { wr_id },
                sg_list: sgl.as_ptr().cast_mut().cast(),
                num_sge: sge_count(sgl),
            },
            _sgl: PhantomData,
        }
    }
}

impl Link for RecvWr<'_> {
    type Raw = ffi::ib_recv_wr;

    #[inline]
    fn link(&mut self, next: *mut Self::Raw) {
        self.raw.next = next;
    }
}

/// The length of a list as verbs want it. A list beyond `int` becomes one that every device refuses.
#[inline]
fn sge_count(sgl: &[Sge]) -> c_int {
    c_int::try_from(sgl.len()).unwrap_or(c_int::MAX)
}

/// All kinds of send requests: each starts with an `ib_send_wr`.
#[repr(C)]
#[derive(Clone, Copy)]
union RawSend {
    send: ffi::ib_send_wr,
    rdma: ffi::ib_rdma_wr,
    reg: ffi::ib_reg_wr,
}

/// A request for the send queue, over a borrowed list of buffers.
///
/// The list is read while the request is posted; the buffers belong to the device until it completes.
///
/// # Invariants
///
/// `raw` holds the member that its opcode says, and `raw.send` in any case.
#[repr(C)]
pub(crate) struct SendWr<'a> {
    raw: RawSend,
    _sgl: PhantomData<&'a [Sge]>,
}

impl<'a> SendWr<'a> {
    #[inline]
    fn base(wr_id: u64, opcode: ffi::ib_wr_opcode, sgl: &'a [Sge], key: u32) -> ffi::ib_send_wr {
        ffi::ib_send_wr {
            next: ptr::null_mut(),
            __bindgen_anon_1: ffi::ib_send_wr__bindgen_ty_1 { wr_id },
            sg_list: sgl.as_ptr().cast_mut().cast(),
            num_sge: sge_count(sgl),
            opcode,
            send_flags: 0,
            ex: ffi::ib_send_wr__bindgen_ty_2 {
                invalidate_rkey: key,
            },
        }
    }

    #[inline]
    fn rdma(wr: ffi::ib_send_wr, remote_addr: u64, rkey: u32) -> Self {
        // INVARIANT: Callers pass an RDMA opcode.
        Self {
            raw: RawSend {
                rdma: ffi::ib_rdma_wr {
                    wr,
                    remote_addr,
                    rkey,
                },
            },
            _sgl: PhantomData,
        }
    }

    #[inline]
    fn plain(wr: ffi::ib_send_wr) -> Self {
        // INVARIANT: Callers pass an opcode that needs no more.
        Self {
            raw: RawSend { send: wr },
            _sgl: PhantomData,
        }
    }

    /// A message.
    #[inline]
    pub(crate) fn send(wr_id: u64, sgl: &'a [Sge]) -> Self {
        Self::plain(Self::base(wr_id, ffi::ib_wr_opcode_IB_WR_SEND, sgl, 0))
    }

    /// A message that invalidates a key of the peer.
    #[inline]
    pub(crate) fn send_inv(wr_id: u64, sgl: &'a [Sge], rkey: u32) -> Self {
        Self::plain(Self::base(
            wr_id,
            ffi::ib_wr_opcode_IB_WR_SEND_WITH_INV,
            sgl,
            rkey,
        ))
    }

    /// Writes `sgl` to the peer's memory.
    #[inline]
    pub(crate) fn write(wr_id: u64, sgl: &'a [Sge], remote_addr: u64, rkey: u32) -> Self {
        let wr = Self::base(wr_id, ffi::ib_wr_opcode_IB_WR_RDMA_WRITE, sgl, 0);
        Self::rdma(wr, remote_addr, rkey)
    }

    /// Reads the peer's memory into `sgl`.
    #[inline]
    pub(crate) fn read(wr_id: u64, sgl: &'a [Sge], remote_addr: u64, rkey: u32) -> Self {
        let wr = Self::base(wr_id, ffi::ib_wr_opcode_IB_WR_RDMA_READ, sgl, 0);
        Self::rdma(wr, remote_addr, rkey)
    }

    /// Reads the peer's memory into `sgl` and invalidates the local key of it, where [`Port::has_read_inv`].
    #[inline]
    pub(crate) fn read_inv(
        wr_id: u64,
        sgl: &'a [Sge],
        remote_addr: u64,
        rkey: u32,
        lkey: u32,
    ) -> Self {
        let wr = Self::base(wr_id, ffi::ib_wr_opcode_IB_WR_RDMA_READ_WITH_INV, sgl, lkey);
        Self::rdma(wr, remote_addr, rkey)
    }

    /// Invalidates a key of our own.
    #[inline]
    pub(crate) fn local_inv(wr_id: u64, key: u32) -> Self {
        Self::plain(Self::base(
            wr_id,
            ffi::ib_wr_opcode_IB_WR_LOCAL_INV,
            &[],
            key,
        ))
    }

    /// Makes valid what was mapped into `mr`, under `key`, which is one of [`FastMr::rkey`] with any low byte.
    ///
    /// The MR must not be mapped anew or dropped before the request has completed.
    #[inline]
    pub(crate) fn reg_mr(wr_id: u64, mr: &'a FastMr, key: u32, access: Access) -> Self {
        let wr = Self::base(wr_id, ffi::ib_wr_opcode_IB_WR_REG_MR, &[], 0);
        // INVARIANT: The opcode is that of a registration.
        Self {
            raw: RawSend {
                reg: ffi::ib_reg_wr {
                    wr,
                    mr: mr.as_raw(),
                    key,
                    // CAST: A bit set in a C `int`.
                    access: access.0 as c_int,
                },
            },
            _sgl: PhantomData,
        }
    }

    #[inline]
    fn flag(mut self, flag: ffi::ib_send_flags) -> Self {
        // SAFETY: `send` is valid by the type invariant.
        unsafe { self.raw.send.send_flags |= flag as c_int };
        self
    }

    /// Asks for a completion on success. Failures complete in any case.
    #[inline]
    pub(crate) fn signaled(self) -> Self {
        self.flag(ffi::ib_send_flags_IB_SEND_SIGNALED)
    }

    /// Wakes a peer that armed for solicited completions.
    #[inline]
    pub(crate) fn solicited(self) -> Self {
        self.flag(ffi::ib_send_flags_IB_SEND_SOLICITED)
    }

    /// Starts after all reads before it are done.
    #[inline]
    pub(crate) fn fenced(self) -> Self {
        self.flag(ffi::ib_send_flags_IB_SEND_FENCE)
    }

    /// Takes the data from kernel addresses while it is posted; keys are ignored.
    ///
    /// # Safety
    ///
    /// The addresses in the list can be read for their lengths in the context in which the request is posted.
    #[inline]
    pub(crate) unsafe fn inline_data(self) -> Self {
        self.flag(ffi::ib_send_flags_IB_SEND_INLINE)
    }

    /// The number that comes back with the completion.
    #[inline]
    pub(crate) fn wr_id(&self) -> u64 {
        // SAFETY: `send` is valid by the type invariant, and we put numbers in only.
        unsafe { self.raw.send.__bindgen_anon_1.wr_id }
    }
}

impl Link for SendWr<'_> {
    type Raw = ffi::ib_send_wr;

    #[inline]
    fn link(&mut self, next: *mut Self::Raw) {
        self.raw.send.next = next;
    }
}

/// Room for a chain of send requests with their lists, for those that are posted later together. Allocates once.
pub(crate) struct SendChain {
    wrs: KVec<SendWr<'static>>,
    sges: KVec<Sge>,
    max_sge: usize,
}

// SAFETY: The pointers inside go to `sges` and to MRs, which may be used from every thread.
unsafe impl Send for SendChain {}
// SAFETY: Nothing can be done through a shared reference.
unsafe impl Sync for SendChain {}

impl SendChain {
    /// Room for `max_wr` requests of `max_sge` pieces.
    pub(crate) fn new(max_wr: usize, max_sge: usize, flags: kernel::alloc::Flags) -> Result<Self> {
        let sges = max_wr.checked_mul(max_sge).ok_or(EOVERFLOW)?;
        Ok(Self {
            wrs: KVec::with_capacity(max_wr, flags)?,
            sges: KVec::from_elem(Sge::default(), sges, flags)?,
            max_sge,
        })
    }

    /// How many requests are in.
    pub(crate) fn len(&self) -> usize {
        self.wrs.len()
    }

    /// Whether none is in.
    pub(crate) fn is_empty(&self) -> bool {
        self.wrs.is_empty()
    }

    /// Appends a request, with a copy of its list. `ENOMEM`: full. `EINVAL`: too many pieces.
    ///
    /// # Safety
    ///
    /// The MR of a registration lives until the chain is posted or cleared, and so does what a request with inline data points
    /// to.
    pub(crate) unsafe fn push(&mut self, wr: &SendWr<'_>) -> Result {
        let at = self.wrs.len();
        if at == self.wrs.capacity() {
            return Err(ENOMEM);
        }
        let mut raw = wr.raw;
        // SAFETY: `send` is valid by the type invariant of `SendWr`.
        let send = unsafe { &mut raw.send };
        let count = usize::try_from(send.num_sge).map_err(|_| EINVAL)?;
        if count > self.max_sge {
            return Err(EINVAL);
        }
        let start = at.checked_mul(self.max_sge).ok_or(EOVERFLOW)?;
        let room = self
            .sges
            .as_mut_slice()
            .get_mut(start..start + count)
            .ok_or(ENOMEM)?;
        if count > 0 {
            // SAFETY: The request borrows a list of `count` pieces.
            room.copy_from_slice(unsafe {
                core::slice::from_raw_parts(send.sg_list.cast::<Sge>(), count)
            });
        }
        // The list lives in `sges`, which is never reallocated.
        send.sg_list = room.as_mut_ptr().cast();
        // INVARIANT: Copied from a valid request.
        self.wrs
            .push_within_capacity(SendWr {
                raw,
                _sgl: PhantomData,
            })
            .map_err(|_| ENOMEM)
    }

    /// Posts everything and empties the chain. Any context.
    pub(crate) fn post(&mut self, qp: &Qp) -> Result<(), PostError> {
        let result = qp.post_send(self.wrs.as_mut_slice());
        self.wrs.clear();
        result
    }

    /// Empties the chain without posting.
    pub(crate) fn clear(&mut self) {
        self.wrs.clear();
    }
}
