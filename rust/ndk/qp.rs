// SPDX-License-Identifier: GPL-2.0

//! Queue pairs: their creation, and who uses them. Requests are in `qp/post.rs`, the way to the end in `qp/drain.rs`.

use crate::{
    adapter::{
        Adapter,
        Port, //
    },
    callback::CreateCompletion,
    cq::{
        Cq,
        LowerCqs,
        On,
        Seats, //
    },
    ctx::{
        MaySleep,
        Process, //
    },
    ffi,
    object::{
        self,
        object,
        Head,
        Held,
        Object, //
    },
    pd::Pd,
    registry::{
        Lower,
        Rank, //
    },
    srq::Srq,
    state::{
        atomic::AtomicU32,
        limits::{
            self,
            check_limit, //
        },
        stall::Watch,
        status::Status, //
    },
    status::Result,
    sync::{
        new_irq_spinlock,
        sleep_work,
        IrqSpinLock, //
    },
    verbs::{
        chain::{
            self,
            Chain, //
        },
        fault::{
            FaultLine,
            FaultSink, //
        },
        handle::Handle,
        inline::Inline,
        qp::{
            self,
            Access,
            QpCaps,
            QpEvent,
            QpEvents, //
        },
        shared_queue::SharedQueue,
        work::WorkQueue, //
    }, //
};
use kernel::{
    fmt,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Full,
            Relaxed,
            Release, //
        },
        new_mutex,
        rcu,
        Arc,
        ArcBorrow,
        Mutex, //
    },
    workqueue::{
        new_work,
        Work, //
    },
};

mod drain;
mod post;
mod watch;

pub(crate) use self::{
    drain::flush,
    post::Memory, //
};

/// Work item that flushes.
const FLUSH: u64 = 2;

/// Work item that takes silent completions out.
const RECLAIM: u64 = 3;

/// What the consumer wants of a QP.
pub(crate) struct Config {
    /// Comes back in each result.
    pub(crate) context: usize,
    /// Initiator requests outstanding.
    pub(crate) initiator_depth: u32,
    /// Pieces of an initiator request.
    pub(crate) max_initiator_sge: u32,
    /// Bytes of inline data.
    pub(crate) inline_size: u32,
}

/// Where the consumer wants the receives of a QP to come from.
pub(crate) enum Wanted {
    /// A queue of its own.
    Own {
        /// Receives outstanding.
        depth: u32,
        /// Pieces of a receive.
        max_sge: u32,
    },
    /// An SRQ.
    Shared(Arc<Srq>),
}

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
#[repr(u32)]
enum Use {
    /// Nobody yet.
    Free = 0,
    /// A connector.
    Claimed = 1,
    /// A connector got it as far as the device; it serves no other connection.
    Spent = 2,
}

/// Where the receives of a QP come from.
enum Receives {
    /// A queue of its own.
    Own { queue: Arc<WorkQueue>, max_sge: u32 },
    /// An SRQ.
    Shared {
        srq: Held<Srq>,
        /// The device has failed the QP, and takes no receive for it any more.
        ended: Arc<Atomic<bool>>,
    },
}

impl Receives {
    /// Receives of the QP alone that have no completion yet.
    fn in_flight(&self) -> u32 {
        match self {
            Self::Own { queue, .. } => queue.in_flight(),
            Self::Shared { .. } => 0,
        }
    }

    fn srq(&self) -> Option<&Arc<Srq>> {
        match self {
            Self::Own { .. } => None,
            Self::Shared { srq, .. } => Some(srq.object()),
        }
    }
}

/// How far the end of a QP is.
struct End {
    /// The device's QP is in its error state, which it does not leave.
    failed: bool,
    /// The last request is posted.
    sentinel: bool,
    /// The device takes too long to complete what it has, and is not waited for any more.
    given_up: bool,
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
    receives: Receives,
    /// Requests of `send` that wait for their doorbell.
    chain: Arc<Chain>,
    line: Arc<FaultLine>,
    inline: Inline,
    gate: AtomicU32,
    max_initiator_sge: u32,
    max_read_sge: u32,
    max_transfer: u64,
    inline_size: u32,
    /// Whether one work request reads and invalidates.
    read_invalidates: bool,
    /// Whether only a fence keeps a request from completing before a read that was posted earlier.
    completes_past_reads: bool,
    /// Whether the device reads what a registration names after it was posted, as devices in software do.
    reads_late: bool,
    /// Whether the device may send out of the buffers of a request that is done, unless it asked for a completion.
    sends_in_place: bool,
    /// Held by the one who brings the end about: posting the sentinel takes the place of the consumer.
    #[pin]
    end: Mutex<End>,
    usage: Atomic<u32>,
    /// Its places on the CQs, until it is torn down.
    #[pin]
    seats: IrqSpinLock<Option<Seats>>,
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
    /// See [`Receives::Shared`].
    ended: Option<Arc<Atomic<bool>>>,
    _send: Arc<WorkQueue>,
    _receive: Option<Arc<WorkQueue>>,
    _shared: Option<Arc<SharedQueue>>,
}

impl QpEvents for Events {
    fn event(this: ArcBorrow<'_, Self>, event: QpEvent) {
        match event {
            QpEvent::Fatal | QpEvent::RequestError | QpEvent::AccessError => this.line.broken(),
            QpEvent::CommEst => this.line.message_came_first(),
            QpEvent::LastReceive => {
                if let Some(ended) = &this.ended {
                    ended.store(true, Release);
                }
            }
            QpEvent::Other => {}
        }
    }
}

impl Object for Qp {
    type Shell = ffi::ndk_qp;

    fn head(&self) -> &Head<Self> {
        &self.head
    }

    fn root(&self) -> Option<&Adapter> {
        Some(self.pd.adapter())
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let guard = rcu::read_lock();
        match self.lower.access(&guard) {
            Ok(lower) => f.write_fmt(fmt!(" qpn={}", lower.number()))?,
            Err(_) => f.write_str(" qpn=none")?,
        }
        let open = match self.gate() {
            gate if gate == Gate::Receives as u32 => "receives",
            gate if gate == Gate::All as u32 => "all",
            _ => "nothing",
        };
        f.write_fmt(fmt!(
            " posts={open} initiator={}/{} initiator_cq={} receive_cq={}",
            self.send.in_flight(),
            self.send.depth(),
            self.initiator_cq.number(),
            self.receive_cq.number()
        ))?;
        match &self.receives {
            Receives::Own { queue, .. } => {
                f.write_fmt(fmt!(" receive={}/{}", queue.in_flight(), queue.depth()))
            }
            Receives::Shared { srq, .. } => f.write_fmt(fmt!(" srq={}", srq.number())),
        }
    }

    fn teardown(this: &Arc<Self>, ctx: &MaySleep) {
        if this.port().registry().remove(&**this) {
            Self::destroy_closed(this, ctx);
        } else {
            this.destroy_in_use(ctx);
        }
        let seats = this.seats.lock().take();
        if let Some(seats) = seats {
            seats.leave(ctx);
        }
        this.detach(ctx);
    }
}

impl Lower for Qp {
    fn rank(&self) -> Rank {
        Rank::Qp
    }

    fn revoke(self: Arc<Self>, ctx: &MaySleep) {
        self.destroy_in_use(ctx);
    }

    fn look(self: Arc<Self>, watch: Watch, ctx: &MaySleep) -> Option<Watch> {
        self.look_after(watch, ctx)
    }
}

/// Creates a QP; `completion` brings it. Any context.
///
/// # Errors
///
/// `InvalidParameter` over a limit, for a CQ of another adapter or an SRQ of another PD, `InternalError` for an SRQ that has
/// failed, `InsufficientResources`, `DeviceRemoved`.
pub(crate) fn create(
    pd: &Arc<Pd>,
    receive_cq: &Arc<Cq>,
    initiator_cq: &Arc<Cq>,
    receives: Wanted,
    config: Config,
    completion: CreateCompletion,
) -> Result {
    let adapter = pd.adapter();
    let limits = adapter.port().limits();
    if let Wanted::Own { depth, max_sge } = receives {
        check_limit(depth, limits.max_receive_queue_depth)?;
        check_limit(max_sge, limits.max_receive_request_sge)?;
    }
    check_limit(config.initiator_depth, limits.max_initiator_queue_depth)?;
    check_limit(config.max_initiator_sge, limits.max_initiator_request_sge)?;
    check_limit(config.inline_size, limits.max_inline_data_size)?;
    if !Arc::ptr_eq(adapter, receive_cq.adapter()) || !Arc::ptr_eq(adapter, initiator_cq.adapter())
    {
        return Err(Status::InvalidParameter);
    }
    drop(adapter.port().enter()?);
    let cqs = (Held::successor(receive_cq)?, Held::successor(initiator_cq)?);
    let source = match receives {
        Wanted::Own { depth, max_sge } => Source::Own { depth, max_sge },
        Wanted::Shared(srq) if srq.is_faulty() => return Err(Status::InternalError),
        Wanted::Shared(srq) if Arc::ptr_eq(srq.pd(), pd) => Source::Shared(Held::successor(&srq)?),
        Wanted::Shared(_) => return Err(Status::InvalidParameter),
    };
    object::create(pd, completion, move |pd, ctx| {
        Qp::new(pd.object(), cqs, source, config, ctx)
    })
}

/// [`Wanted`], with the SRQ held open.
enum Source {
    Own { depth: u32, max_sge: u32 },
    Shared(Held<Srq>),
}

impl Qp {
    fn new(
        pd: &Arc<Pd>,
        (receive_cq, initiator_cq): (Held<Cq>, Held<Cq>),
        source: Source,
        config: Config,
        ctx: &MaySleep,
    ) -> Result<Arc<Self>> {
        let line = Arc::pin_init(FaultLine::new(pd.registrations().clone()), GFP_KERNEL)?;
        let receives = match &source {
            Source::Own { depth, .. } => *depth,
            // The SRQ may become so deep.
            Source::Shared(_) => pd.adapter().port().limits().max_srq_depth,
        };
        let (seats, lower_cqs) = Seats::take(
            &On {
                cq: initiator_cq.object(),
                promised: config.initiator_depth,
            },
            &On {
                cq: receive_cq.object(),
                promised: receives,
            },
            &line,
            ctx,
        )?;
        let cqs = (receive_cq, initiator_cq);
        let made = Self::on_cqs(pd, cqs, lower_cqs, line, source, config, ctx);
        match &made {
            Ok(qp) => *qp.seats.lock() = Some(seats),
            Err(_) => seats.leave(ctx),
        }
        made
    }

    /// Makes a QP that has its places on the CQs.
    fn on_cqs(
        pd: &Arc<Pd>,
        (receive_cq, initiator_cq): (Held<Cq>, Held<Cq>),
        lower_cqs: LowerCqs,
        line: Arc<FaultLine>,
        source: Source,
        config: Config,
        ctx: &MaySleep,
    ) -> Result<Arc<Self>> {
        let adapter = pd.adapter();
        let port = adapter.port();
        let limits = port.limits();
        let held = Held::successor(pd)?;
        let send = WorkQueue::new(config.initiator_depth, 1, config.context, line.clone())?;
        let mut events = Events {
            line: line.clone(),
            ended: None,
            _send: send.clone(),
            _receive: None,
            _shared: None,
        };
        let (mut receive_depth, mut receive_sge) = (0, 0);
        let receives = match source {
            Source::Own { depth, max_sge } => {
                (receive_depth, receive_sge) = (depth, max_sge);
                let queue = WorkQueue::new(depth, 0, config.context, line.clone())?;
                events._receive = Some(queue.clone());
                Receives::Own { queue, max_sge }
            }
            Source::Shared(srq) => {
                let ended = Arc::new(Atomic::new(false), GFP_KERNEL)?;
                events.ended = Some(ended.clone());
                events._shared = Some(srq.queue().clone());
                Receives::Shared { srq, ended }
            }
        };
        let events = Arc::new(events, GFP_KERNEL)?;
        let device = port.enter()?;
        let caps = QpCaps {
            max_send_wr: limits::send_wrs(config.initiator_depth, device.needs_barriers()),
            max_recv_wr: receive_depth,
            max_send_sge: config.max_initiator_sge.max(1),
            max_recv_sge: receive_sge.max(1),
            max_inline: config.inline_size,
        };
        let make = |caps| {
            let lower_pd = pd.lower(ctx)?;
            let srq = receives.srq().map(|srq| srq.lower(ctx)).transpose()?;
            Ok::<_, Status>(qp::Qp::new(
                ctx,
                lower_pd,
                lower_cqs.initiator.clone(),
                lower_cqs.receive.clone(),
                srq,
                caps,
                events.clone(),
            )?)
        };
        // A device without inline data of kernel QPs may refuse to hear of it.
        let mut lower = match make(caps) {
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
        let sizes = chain::Sizes {
            room: config.initiator_depth,
            max_sge: caps.max_send_sge,
            max_inline: match inline {
                Inline::Device { .. } => config.inline_size,
                Inline::Slots { .. } => 0,
            },
        };
        let chain = Chain::new(sizes, line.clone())?;
        if device.needs_barriers() {
            lower.set_barrier(pd.barrier(ctx).ok_or(Status::DeviceRemoved)?);
        }
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
                receives,
                chain,
                line,
                inline,
                gate: AtomicU32::new(Gate::Receives as u32),
                max_initiator_sge: config.max_initiator_sge,
                max_read_sge: config.max_initiator_sge.min(limits.max_read_request_sge),
                max_transfer: u64::from(limits.max_transfer_length),
                inline_size: config.inline_size,
                read_invalidates: port.read_invalidates(),
                completes_past_reads: device.completes_past_reads(),
                reads_late: device.is_virtual_dma(),
                sends_in_place: device.sends_in_place(),
                end <- new_mutex!(End {
                    failed: false,
                    sentinel: false,
                    given_up: false,
                }),
                usage: Atomic::new(Use::Free as u32),
                seats <- new_irq_spinlock!(None),
                receive_cq,
                initiator_cq,
                pd: held,
            }),
            GFP_KERNEL,
        )?;
        let ready = qp.attach(&lower, config.context, ctx).and_then(|()| {
            drop(qp.lower.set(lower));
            // Last: what is registered can be revoked at once.
            port.registry().add(&qp, GFP_KERNEL)
        });
        if let Err(status) = ready {
            qp.detach(ctx);
            return Err(status);
        }
        port.watch();
        Ok(qp)
    }

    fn port(&self) -> &Arc<Port> {
        self.pd.adapter().port()
    }

    /// The CQs, each once.
    fn cqs(&self) -> impl Iterator<Item = &Arc<Cq>> {
        let (initiator, receive) = (self.initiator_cq.object(), self.receive_cq.object());
        let other = (!Arc::ptr_eq(initiator, receive)).then_some(receive);
        [Some(initiator), other].into_iter().flatten()
    }

    /// Tells who takes completions out, and has the SRQ, if there is one, tell it when it fails and its receives go with
    /// `context`.
    fn attach(&self, lower: &qp::Qp, context: usize, ctx: &MaySleep) -> Result {
        let collector = self.initiator_cq.object().clone();
        self.line.collect_by(Some(collector));
        match self.receives.srq() {
            Some(srq) => srq.attach(lower, context, &self.line, self.receive_cq.object(), ctx),
            None => Ok(()),
        }
    }

    /// Undoes [`Self::attach`].
    fn detach(&self, ctx: &MaySleep) {
        self.line.collect_by(None);
        self.leave_srq(ctx);
    }

    /// Has the SRQ forget it, if that was not done before.
    fn leave_srq(&self, ctx: &MaySleep) {
        if let Some(srq) = self.receives.srq() {
            srq.detach(&self.line, self.receive_cq.object(), ctx);
        }
    }

    /// What traces and debugfs call it.
    pub(crate) fn number(&self) -> u64 {
        self.head.number()
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
    pub(crate) fn lower(&self, ctx: &Process) -> Result<Arc<qp::Qp>> {
        self.lower.get(ctx)
    }

    fn gate(&self) -> u32 {
        self.gate.load_acquire()
    }

    /// The connection that has claimed it got as far as the device: it serves no other.
    pub(crate) fn spend(&self) {
        self.usage.store(Use::Spent as u32, Relaxed);
    }

    /// Lets initiator requests in. Any context.
    pub(crate) fn set_connected(&self) {
        let _ = self
            .gate
            .compare_exchange(Gate::Receives as u32, Gate::All as u32);
    }

    /// Lets nothing in any more: a connection that ended is not used again. Any context.
    pub(crate) fn set_disconnected(&self) {
        self.gate.swap(Gate::Nothing as u32);
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
        qp.usage
            .cmpxchg(Use::Free as u32, Use::Claimed as u32, Full)
            .map_err(|_| Status::ConnectionActive)?;
        qp.line.lead_to(Some(sink));
        Ok(Self { qp: held })
    }

    /// The QP.
    pub(crate) fn qp(&self) -> &Arc<Qp> {
        self.qp.object()
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.qp.line.lead_to(None);
        let _ = self
            .qp
            .usage
            .cmpxchg(Use::Claimed as u32, Use::Free as u32, Full);
    }
}
