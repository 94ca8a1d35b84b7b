// SPDX-License-Identifier: GPL-2.0

//! Queue pairs: creation, posting, flush, and the way to their end.
//!
//! # Posting
//!
//! The consumer serializes posts to one queue, so a post takes no lock: it looks at the device's QP under RCU, takes a place
//! in the [`WorkQueue`], and hands the request on. A post that fails gives the place back and leaves no trace.
//!
//! # End
//!
//! [`Qp::quiesce`] is the flush of a disconnect and of a close: no post gets in any more, the device's QP goes to the error
//! state, a sentinel follows on each queue, and when both came out every request that was accepted has its completion in the
//! CQ. If the consumer does not poll, the provider takes the completions out itself ([`Cq::collect`]).

use crate::{
    adapter::Port,
    callback::CreateCompletion,
    cq::Cq,
    ctx::MaySleep,
    ffi,
    mr::{
        Mr,
        Region, //
    },
    object::{
        self,
        object,
        Head,
        Held,
        Object, //
    },
    pd::Pd,
    queues,
    registry::{
        Lower,
        Rank, //
    },
    state::{
        flags::{
            self,
            Op, //
        },
        limits::check_limit,
        status::Status, //
    },
    status::Result,
    sync::{
        new_irq_spinlock,
        sleep_work,
        IrqSpinLock,
        SleepItem, //
    },
    verbs::{
        handle::{
            self,
            Handle, //
        },
        inline::{
            Inline,
            Scratch, //
        },
        qp::{
            self,
            Access,
            QpCaps,
            QpEvent,
            QpEvents, //
        },
        work::{
            FaultLine,
            FaultSink,
            Tag,
            WorkQueue, //
        },
        wr::{
            RecvWr,
            SendWr,
            Sge, //
        },
    }, //
};
use core::ffi::c_void;
use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Acquire,
            Atomic,
            Full, //
        },
        new_mutex,
        rcu,
        Arc,
        ArcBorrow,
        Mutex, //
    },
    time::{
        delay::fsleep,
        Delta,
        Instant,
        Monotonic, //
    },
    workqueue::{
        new_work,
        Work, //
    },
};

/// Work item that flushes.
const FLUSH: u64 = 2;

/// Work item that takes silent completions out.
const RECLAIM: u64 = 3;

/// How long a consumer that polls gets to take flushed completions out before the provider does.
const CONSUMER_DRAINS: Delta = Delta::from_millis(2);

/// How long the device may take to flush a QP before the QP is destroyed as it is.
const DEVICE_DRAINS: Delta = Delta::from_secs(5);

/// Pause between two looks while a QP drains.
const PAUSE: Delta = Delta::from_micros(100);

/// What the consumer wants of a QP.
pub(crate) struct Config {
    /// Comes back in each result.
    pub(crate) context: *mut c_void,
    /// Receives outstanding.
    pub(crate) receive_depth: u32,
    /// Initiator requests outstanding.
    pub(crate) initiator_depth: u32,
    /// Pieces of a receive.
    pub(crate) max_receive_sge: u32,
    /// Pieces of an initiator request.
    pub(crate) max_initiator_sge: u32,
    /// Bytes of inline data.
    pub(crate) inline_size: u32,
}

// SAFETY: The context is the consumer's; here it is only carried.
unsafe impl Send for Config {}

/// Remote memory.
#[derive(Clone, Copy)]
pub(crate) struct Remote {
    /// Address within the peer's region.
    pub(crate) address: u64,
    /// The peer's token.
    pub(crate) token: u32,
}

/// What may be posted.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum Gate {
    /// Receives: not connected yet.
    Receives = 0,
    /// Everything.
    All = 1,
    /// Nothing any more.
    Nothing = 2,
}

/// Who uses the QP for a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// Nobody yet.
    Free,
    /// A connector.
    Claimed,
    /// A connector got it as far as the device; it serves no other connection.
    Spent,
}

/// A queue pair.
#[pin_data]
#[repr(C)]
pub(crate) struct Qp {
    #[pin]
    head: Head<Qp>,
    #[pin]
    flush_work: Work<Qp, FLUSH>,
    #[pin]
    reclaim_work: Work<Qp, RECLAIM>,
    lower: Handle<qp::Qp>,
    send: Arc<WorkQueue>,
    receive: Arc<WorkQueue>,
    line: Arc<FaultLine>,
    inline: Inline,
    gate: Atomic<u32>,
    max_initiator_sge: usize,
    max_read_sge: usize,
    max_receive_sge: usize,
    max_transfer: u64,
    inline_size: u64,
    read_invalidates: bool,
    /// Whether the QP is quiesced. Held by the one who does it: posting sentinels takes the place of the consumer.
    #[pin]
    quiet: Mutex<bool>,
    #[pin]
    usage: IrqSpinLock<Use>,
    receive_cq: Held<Cq>,
    initiator_cq: Held<Cq>,
    pd: Held<Pd>,
}

object!(Qp);

sleep_work! { impl SleepItem<2> for Qp { self.flush_work } }
sleep_work! { impl SleepItem<3> for Qp { self.reclaim_work } }

/// What the device's QP needs of ours: it keeps the queues as long as it can complete requests in them.
struct Events {
    line: Arc<FaultLine>,
    _send: Arc<WorkQueue>,
    _receive: Arc<WorkQueue>,
}

impl QpEvents for Events {
    fn event(this: ArcBorrow<'_, Self>, event: QpEvent) {
        match event {
            QpEvent::Fatal | QpEvent::RequestError | QpEvent::AccessError => this.line.broken(),
            QpEvent::CommEst => this.line.message_came_first(),
            QpEvent::Other => {}
        }
    }
}

impl Object for Qp {
    type Shell = ffi::ndk_qp;

    fn head(&self) -> &Head<Self> {
        &self.head
    }

    fn teardown(this: &Arc<Self>, ctx: &MaySleep) {
        this.port().registry().remove(&**this);
        this.destroy_lower(ctx);
        this.detach();
    }
}

impl Lower for Qp {
    fn rank(&self) -> Rank {
        Rank::Qp
    }

    fn revoke(self: Arc<Self>, ctx: &MaySleep) {
        self.destroy_lower(ctx);
    }
}

/// Creates a QP; `completion` brings it. Any context.
///
/// # Errors
///
/// `InvalidParameter` over a limit or for a CQ of another adapter, `InsufficientResources`, `DeviceRemoved`.
pub(crate) fn create(
    pd: &Arc<Pd>,
    receive_cq: &Arc<Cq>,
    initiator_cq: &Arc<Cq>,
    config: Config,
    completion: CreateCompletion,
) -> Result {
    let adapter = pd.adapter();
    let limits = adapter.port().limits();
    check_limit(config.receive_depth, limits.max_receive_queue_depth)?;
    check_limit(config.initiator_depth, limits.max_initiator_queue_depth)?;
    check_limit(config.max_receive_sge, limits.max_receive_request_sge)?;
    check_limit(config.max_initiator_sge, limits.max_initiator_request_sge)?;
    check_limit(config.inline_size, limits.max_inline_data_size)?;
    if !Arc::ptr_eq(adapter, receive_cq.adapter()) || !Arc::ptr_eq(adapter, initiator_cq.adapter())
    {
        return Err(Status::InvalidParameter);
    }
    drop(adapter.port().enter()?);
    let cqs = (Held::successor(receive_cq)?, Held::successor(initiator_cq)?);
    object::create(pd, completion, move |pd, ctx| {
        Qp::new(pd.object(), cqs, config, ctx)
    })
}

impl Qp {
    fn new(
        pd: &Arc<Pd>,
        (receive_cq, initiator_cq): (Held<Cq>, Held<Cq>),
        config: Config,
        ctx: &MaySleep,
    ) -> Result<Arc<Self>> {
        let adapter = pd.adapter();
        let port = adapter.port();
        let limits = port.limits();
        let held = Held::successor(pd)?;
        let line = Arc::pin_init(FaultLine::new(), GFP_KERNEL)?;
        let send = WorkQueue::new(config.initiator_depth, config.context, line.clone())?;
        let receive = WorkQueue::new(config.receive_depth, config.context, line.clone())?;
        let events = Arc::new(
            Events {
                line: line.clone(),
                _send: send.clone(),
                _receive: receive.clone(),
            },
            GFP_KERNEL,
        )?;
        // One more on each queue for the sentinel.
        let caps = QpCaps {
            max_send_wr: config.initiator_depth.saturating_add(1),
            max_recv_wr: config.receive_depth.saturating_add(1),
            max_send_sge: config.max_initiator_sge.max(1),
            max_recv_sge: config.max_receive_sge.max(1),
            max_inline: config.inline_size,
        };
        let make = |caps| {
            let lower_pd = pd.lower(ctx)?;
            let (send_cq, recv_cq) = (initiator_cq.lower(ctx)?, receive_cq.lower(ctx)?);
            Ok::<_, Status>(qp::Qp::new(
                ctx,
                lower_pd,
                send_cq,
                recv_cq,
                caps,
                events.clone(),
            )?)
        };
        // A device without inline data of kernel QPs may refuse to hear of it.
        let lower = match make(caps) {
            Err(Status::InvalidParameter | Status::NotSupported) if config.inline_size != 0 => {
                make(QpCaps {
                    max_inline: 0,
                    ..caps
                })
            }
            other => other,
        }?;
        let inline = if lower.caps().max_inline >= config.inline_size {
            Inline::Device {
                max_sge: caps.max_send_sge as usize,
            }
        } else {
            Inline::slots(lower.pd(), send.slots(), config.inline_size, ctx)?
        };
        let device = port.enter()?;
        // NDKPI: receives may be posted before the connection.
        lower.to_init(ctx, &device.port(port.number())?, Access::NONE)?;
        let lower = Arc::new(lower, GFP_KERNEL)?;
        let qp = Arc::pin_init(
            pin_init!(Self {
                head <- Head::new(adapter.version()),
                flush_work <- new_work!("Qp::flush_work"),
                reclaim_work <- new_work!("Qp::reclaim_work"),
                lower: Handle::new(),
                send,
                receive,
                line,
                inline,
                gate: Atomic::new(Gate::Receives as u32),
                max_initiator_sge: config.max_initiator_sge as usize,
                max_read_sge: config.max_initiator_sge.min(limits.max_read_request_sge) as usize,
                max_receive_sge: config.max_receive_sge as usize,
                max_transfer: u64::from(limits.max_transfer_length),
                inline_size: u64::from(config.inline_size),
                read_invalidates: limits.adapter_flags
                    & ffi::NDK_ADAPTER_FLAG_RDMA_READ_LOCAL_INVALIDATE
                    != 0,
                quiet <- new_mutex!(false),
                usage <- new_irq_spinlock!(Use::Free),
                receive_cq,
                initiator_cq,
                pd: held,
            }),
            GFP_KERNEL,
        )?;
        qp.receive_cq.attach(&qp.line)?;
        let ready = qp.initiator_cq.attach(&qp.line).and_then(|()| {
            drop(qp.lower.set(lower));
            // Last: what is registered can be revoked at once.
            port.registry().add(&qp, GFP_KERNEL)
        });
        if let Err(status) = ready {
            qp.detach();
            return Err(status);
        }
        Ok(qp)
    }

    fn port(&self) -> &Arc<Port> {
        self.pd.adapter().port()
    }

    /// Has the CQs tell it nothing any more.
    fn detach(&self) {
        self.receive_cq.detach(&self.line);
        self.initiator_cq.detach(&self.line);
    }

    /// The PD it was made from.
    pub(crate) fn pd(&self) -> &Arc<Pd> {
        self.pd.object()
    }

    /// The QP on the device. Sleeps.
    ///
    /// # Errors
    ///
    /// `DeviceRemoved`.
    pub(crate) fn lower(&self, ctx: &MaySleep) -> Result<Arc<qp::Qp>> {
        self.lower.get(ctx)
    }

    fn gate(&self) -> u32 {
        self.gate.load(Acquire)
    }

    /// Lets initiator requests in. Any context.
    pub(crate) fn set_connected(&self) {
        let _ = self
            .gate
            .cmpxchg(Gate::Receives as u32, Gate::All as u32, Full);
    }

    /// Lets nothing in any more: a connection that ended is not used again. Any context.
    pub(crate) fn set_disconnected(&self) {
        self.gate.xchg(Gate::Nothing as u32, Full);
    }

    /// Whether the device is there and initiator requests are let in.
    #[inline]
    fn ready<'a>(&'a self, guard: &'a rcu::Guard) -> Result<&'a qp::Qp> {
        let lower = self.lower.access(guard)?;
        // NDKPI: initiator requests need a connection.
        if self.gate() == Gate::All as u32 {
            Ok(lower)
        } else {
            Err(Status::ConnectionInvalid)
        }
    }

    /// Checks number and bytes of the pieces of a request.
    #[inline]
    fn check_size(&self, sgl: &[Sge], max_sge: usize) -> Result {
        if sgl.len() > max_sge || total(sgl) > self.max_transfer {
            return Err(Status::DataOverrun);
        }
        Ok(())
    }

    /// Posts one request to the initiator queue; `build` makes it from its work request id and its place in the queue.
    #[inline]
    fn post<'a>(
        self: ArcBorrow<'_, Self>,
        lower: &qp::Qp,
        context: *mut c_void,
        operation: u32,
        flags: u32,
        build: impl FnOnce(u64, usize) -> Result<SendWr<'a>>,
    ) -> Result {
        let silent = flags & flags::SILENT_SUCCESS != 0;
        let reservation = match self.send.reserve(silent) {
            Ok(reservation) => reservation,
            Err(status) => {
                // What fills the queue may be silent requests that are long done, which nobody else would take out.
                if !self.initiator_cq.object().collect_if_diverted() {
                    self.reclaim();
                    return Err(status);
                }
                self.send.reserve(silent)?
            }
        };
        let tag = Tag::new(operation, silent);
        let (wr_id, place) = self.send.fill(reservation.index, tag, context);
        let mut request = build(wr_id, place)?;
        if reservation.signalled {
            request = request.signaled();
        }
        if flags & flags::READ_FENCE != 0 {
            request = request.fenced();
        }
        if flags & flags::SEND_AND_SOLICIT_EVENT != 0 {
            request = request.solicited();
        }
        self.send.publish(&reservation);
        // NDKPI: a deferred request may be started at once.
        if let Err(error) = lower.post_send(request) {
            self.send.retract(&reservation);
            return Err(refused(error));
        }
        if silent && reservation.signalled && self.send.is_crowded() {
            self.reclaim();
        }
        Ok(())
    }

    /// Posts a send or write whose data may be inline.
    #[inline]
    fn post_data(
        self: ArcBorrow<'_, Self>,
        context: *mut c_void,
        operation: u32,
        sgl: &[ffi::ndk_sge],
        flags: u32,
        build: impl for<'a> FnOnce(u64, &'a [Sge]) -> SendWr<'a>,
    ) -> Result {
        let sgl = Sge::from_ndk(sgl);
        let guard = rcu::read_lock();
        let lower = self.ready(&guard)?;
        if flags & flags::INLINE == 0 {
            self.check_size(sgl, self.max_initiator_sge)?;
            return self.post(lower, context, operation, flags, |wr_id, _| {
                Ok(build(wr_id, sgl))
            });
        }
        // NDKPI: with inline data the number of pieces is free, their sum is not.
        if total(sgl) > self.inline_size {
            return Err(Status::DataOverrun);
        }
        let mut scratch = Scratch::new();
        self.post(lower, context, operation, flags, |wr_id, place| {
            // SAFETY: With this flag the consumer gives kernel addresses that can be read during the call. They have at most
            // `inline_size` bytes, and the place was just reserved by the one who posts.
            Ok(unsafe {
                self.inline
                    .build(sgl, place, &mut scratch, |sgl| build(wr_id, sgl))
            }?)
        })
    }

    /// Sends a message, or one that invalidates a token of the peer. Any context.
    pub(crate) fn send(
        self: ArcBorrow<'_, Self>,
        context: *mut c_void,
        sgl: &[ffi::ndk_sge],
        flags: u32,
        invalidate: Option<u32>,
    ) -> Result {
        // NDKPI: to its sender, a send that invalidates is a send.
        let operation = ffi::ndk_operation_type_NDK_OPERATION_SEND;
        match invalidate {
            None => {
                Op::Send.check(flags)?;
                self.post_data(context, operation, sgl, flags, |wr_id, sgl| {
                    SendWr::send(wr_id, sgl)
                })
            }
            Some(token) => {
                Op::SendAndInvalidate.check(flags)?;
                self.post_data(context, operation, sgl, flags, |wr_id, sgl| {
                    SendWr::send_inv(wr_id, sgl, token)
                })
            }
        }
    }

    /// Writes to the peer's memory. Any context.
    pub(crate) fn write(
        self: ArcBorrow<'_, Self>,
        context: *mut c_void,
        sgl: &[ffi::ndk_sge],
        remote: Remote,
        flags: u32,
    ) -> Result {
        Op::Write.check(flags)?;
        let operation = ffi::ndk_operation_type_NDK_OPERATION_WRITE;
        self.post_data(context, operation, sgl, flags, |wr_id, sgl| {
            SendWr::write(wr_id, sgl, remote.address, remote.token)
        })
    }

    /// Reads the peer's memory. Any context.
    pub(crate) fn read(
        self: ArcBorrow<'_, Self>,
        context: *mut c_void,
        sgl: &[ffi::ndk_sge],
        remote: Remote,
        flags: u32,
    ) -> Result {
        Op::Read.check(flags)?;
        let flags = flags::read_flags(flags, self.read_invalidates);
        let sgl = Sge::from_ndk(sgl);
        let guard = rcu::read_lock();
        let lower = self.ready(&guard)?;
        self.check_size(sgl, self.max_read_sge)?;
        let operation = ffi::ndk_operation_type_NDK_OPERATION_READ;
        self.post(lower, context, operation, flags, |wr_id, _| {
            // NDKPI: with local invalidation, success ends the token of the first piece.
            let first = sgl
                .first()
                .filter(|_| flags & flags::RDMA_READ_LOCAL_INVALIDATE != 0);
            Ok(match first {
                Some(first) => {
                    SendWr::read_inv(wr_id, sgl, remote.address, remote.token, first.lkey())
                }
                None => SendWr::read(wr_id, sgl, remote.address, remote.token),
            })
        })
    }

    /// Registers the pages of a LAM. Any context.
    pub(crate) fn fast_register(
        self: ArcBorrow<'_, Self>,
        context: *mut c_void,
        mr: &Mr,
        region: Region<'_>,
        flags: u32,
    ) -> Result {
        Op::FastRegister.check(flags)?;
        let guard = rcu::read_lock();
        let lower = self.ready(&guard)?;
        if !mr.is_of(self.pd.object()) {
            return Err(Status::InvalidParameter);
        }
        let operation = ffi::ndk_operation_type_NDK_OPERATION_FAST_REGISTER;
        mr.fast_register(&region, flags, &guard, |mr, access| {
            self.post(lower, context, operation, flags, |wr_id, _| {
                Ok(SendWr::reg_mr(wr_id, mr, mr.rkey(), access))
            })
        })
    }

    /// Ends a fast registration. Any context.
    pub(crate) fn invalidate(
        self: ArcBorrow<'_, Self>,
        context: *mut c_void,
        mr: &Mr,
        flags: u32,
    ) -> Result {
        Op::Invalidate.check(flags)?;
        let guard = rcu::read_lock();
        let lower = self.ready(&guard)?;
        if !mr.is_of(self.pd.object()) {
            return Err(Status::InvalidParameter);
        }
        let operation = ffi::ndk_operation_type_NDK_OPERATION_INVALIDATE;
        mr.invalidate(&guard, |token| {
            self.post(lower, context, operation, flags, |wr_id, _| {
                Ok(SendWr::local_inv(wr_id, token))
            })
        })
    }

    /// Posts a receive. Any context.
    pub(crate) fn receive(&self, context: *mut c_void, sgl: &[ffi::ndk_sge]) -> Result {
        let sgl = Sge::from_ndk(sgl);
        let guard = rcu::read_lock();
        let lower = self.lower.access(&guard)?;
        // NDKPI: a receive needs no connection, but one that was disconnected takes none any more.
        if self.gate() == Gate::Nothing as u32 {
            return Err(Status::ConnectionInvalid);
        }
        self.check_size(sgl, self.max_receive_sge)?;
        let reservation = self.receive.reserve(false)?;
        let tag = Tag::new(ffi::ndk_operation_type_NDK_OPERATION_RECEIVE, false);
        let (wr_id, _) = self.receive.fill(reservation.index, tag, context);
        self.receive.publish(&reservation);
        if let Err(error) = lower.post_recv(RecvWr::new(wr_id, sgl)) {
            self.receive.retract(&reservation);
            return Err(refused(error));
        }
        Ok(())
    }

    #[cold]
    fn reclaim(self: ArcBorrow<'_, Self>) {
        queues::sleep().enqueue::<Qp, RECLAIM>(self.into());
    }

    /// Whether every request has its completion in the hands of the consumer or in the stash.
    fn is_drained(&self) -> bool {
        self.send.in_flight() == 0 && self.receive.in_flight() == 0
    }

    /// Ends all posting and waits until the device has stopped with the QP: every accepted request then has its completion
    /// where the consumer will find it. Sleeps; may be called several times.
    pub(crate) fn quiesce(&self, ctx: &MaySleep) {
        let Ok(lower) = self.lower.get(ctx) else {
            return;
        };
        let mut quiet = self.quiet.lock();
        if *quiet {
            return;
        }
        *quiet = true;
        self.set_disconnected();
        self.line.flush_is_ours();
        let _ = lower.to_err(ctx);
        // After this nobody is inside of a post, and the queues are ours.
        handle::wait_for_readers(ctx);
        if self.is_drained() {
            return;
        }
        self.post_sentinels(&lower);
        let begin = Instant::<Monotonic>::now();
        while !self.is_drained() {
            let waited = begin.elapsed();
            if waited > DEVICE_DRAINS {
                break;
            }
            if waited > CONSUMER_DRAINS {
                self.collect(ctx);
            }
            fsleep(PAUSE);
        }
    }

    /// Posts the last request of each queue. One that the device refuses is done without: the others are still flushed.
    fn post_sentinels(&self, lower: &qp::Qp) {
        if let Ok(reservation) = self.send.reserve_sentinel() {
            let (wr_id, _) =
                self.send
                    .fill(reservation.index, Tag::sentinel(), core::ptr::null_mut());
            self.send.publish(&reservation);
            if lower
                .post_send(SendWr::send(wr_id, &[]).signaled())
                .is_err()
            {
                self.send.retract(&reservation);
            }
        }
        if let Ok(reservation) = self.receive.reserve_sentinel() {
            let (wr_id, _) =
                self.receive
                    .fill(reservation.index, Tag::sentinel(), core::ptr::null_mut());
            self.receive.publish(&reservation);
            if lower.post_recv(RecvWr::new(wr_id, &[])).is_err() {
                self.receive.retract(&reservation);
            }
        }
    }

    fn collect(&self, ctx: &MaySleep) {
        self.initiator_cq.object().collect(ctx);
        if !Arc::ptr_eq(self.initiator_cq.object(), self.receive_cq.object()) {
            self.receive_cq.object().collect(ctx);
        }
    }

    /// Drains and destroys the device's QP. What the device did not complete is reported as cancelled.
    fn destroy_lower(&self, ctx: &MaySleep) {
        self.quiesce(ctx);
        drop(self.lower.take(ctx));
        if !self.is_drained() {
            self.collect(ctx);
            self.initiator_cq.object().abandon(&self.send, ctx);
            self.receive_cq.object().abandon(&self.receive, ctx);
        }
    }
}

/// Cancels everything that is outstanding on a QP. Any context.
pub(crate) fn flush(qp: &Arc<Qp>) {
    qp.line.flush_is_ours();
    queues::sleep().enqueue::<Qp, FLUSH>(qp.clone());
}

impl SleepItem<FLUSH> for Qp {
    fn run(this: Arc<Self>, ctx: &MaySleep) {
        if let Ok(lower) = this.lower.get(ctx) {
            let _ = lower.to_err(ctx);
        }
    }
}

impl SleepItem<RECLAIM> for Qp {
    fn run(this: Arc<Self>, ctx: &MaySleep) {
        // The consumer seems not to poll. As long as that is so, posts may take silent requests out themselves.
        this.initiator_cq.object().collect_and_stay(ctx);
    }
}

/// The right of a connector to use a QP, which stays open meanwhile.
pub(crate) struct Claim {
    qp: Held<Qp>,
}

impl Claim {
    /// Claims a QP for a connection, faults of which go to `sink`. Any context.
    ///
    /// # Errors
    ///
    /// `ConnectionActive` for a QP that a connection uses or has used.
    pub(crate) fn new(qp: &Arc<Qp>, sink: Arc<dyn FaultSink>) -> Result<Self> {
        let held = Held::successor(qp)?;
        let mut usage = qp.usage.lock();
        if *usage != Use::Free {
            return Err(Status::ConnectionActive);
        }
        *usage = Use::Claimed;
        drop(usage);
        qp.line.lead_to(Some(sink));
        Ok(Self { qp: held })
    }

    /// The QP.
    pub(crate) fn qp(&self) -> &Arc<Qp> {
        self.qp.object()
    }

    /// The connection got as far as the device: the QP serves no other.
    pub(crate) fn spend(&self) {
        *self.qp.usage.lock() = Use::Spent;
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.qp.line.lead_to(None);
        let mut usage = self.qp.usage.lock();
        if *usage == Use::Claimed {
            *usage = Use::Free;
        }
    }
}

/// Bytes of all pieces.
#[inline]
fn total(sgl: &[Sge]) -> u64 {
    // A slice has less than 2^60 elements of 16 bytes, each of less than 2^32 bytes; what counts is far below.
    sgl.iter().fold(0u64, |sum, piece| {
        sum.saturating_add(u64::from(piece.length()))
    })
}

/// Why the device refused a request that passed our own checks.
#[cold]
fn refused(error: Error) -> Status {
    if error == ENOMEM {
        // The device's queue is full, or has not seen yet that it is not.
        Status::NoMoreEntries
    } else if error == EINVAL {
        // The QP left the state in which it takes requests.
        Status::ConnectionInvalid
    } else {
        error.into()
    }
}
