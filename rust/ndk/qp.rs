// SPDX-License-Identifier: GPL-2.0

//! Queue pairs: their creation, and who uses them. Requests are in `qp/post.rs`, the way to the end in `qp/drain.rs`.

use crate::{
    adapter::Port,
    callback::CreateCompletion,
    cq::Cq,
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
    state::{
        limits::{
            self,
            check_limit, //
        },
        status::Status, //
    },
    status::Result,
    sync::sleep_work,
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
        work::WorkQueue, //
    }, //
};
use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Acquire,
            Atomic,
            Full,
            Relaxed, //
        },
        new_mutex,
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

pub(crate) use self::drain::flush;

/// Work item that flushes.
const FLUSH: u64 = 2;

/// Work item that takes silent completions out.
const RECLAIM: u64 = 3;

/// What the consumer wants of a QP.
pub(crate) struct Config {
    /// Comes back in each result.
    pub(crate) context: usize,
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
    receive: Arc<WorkQueue>,
    /// Requests of `send` that wait for their doorbell.
    chain: Arc<Chain>,
    /// Requests of `send` that the device never took.
    orphans: Atomic<u32>,
    line: Arc<FaultLine>,
    inline: Inline,
    gate: Atomic<u32>,
    max_initiator_sge: usize,
    max_read_sge: usize,
    max_receive_sge: usize,
    max_transfer: u64,
    inline_size: u64,
    /// Whether one work request reads and invalidates.
    read_invalidates: bool,
    /// Held by the one who brings the end about: posting the sentinel takes the place of the consumer.
    #[pin]
    end: Mutex<End>,
    usage: Atomic<u32>,
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
        if this.port().registry().remove(&**this) {
            Self::destroy_closed(this, ctx);
        } else {
            this.destroy_in_use(ctx);
        }
        this.detach();
    }
}

impl Lower for Qp {
    fn rank(&self) -> Rank {
        Rank::Qp
    }

    fn revoke(self: Arc<Self>, ctx: &MaySleep) {
        self.destroy_in_use(ctx);
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
        let line = Arc::pin_init(FaultLine::new(pd.invalidations().clone()), GFP_KERNEL)?;
        let send = WorkQueue::new(config.initiator_depth, 1, config.context, line.clone())?;
        let receive = WorkQueue::new(config.receive_depth, 0, config.context, line.clone())?;
        let events = Arc::new(
            Events {
                line: line.clone(),
                _send: send.clone(),
                _receive: receive.clone(),
            },
            GFP_KERNEL,
        )?;
        let caps = QpCaps {
            max_send_wr: limits::send_wrs(config.initiator_depth, port.read_invalidates()),
            max_recv_wr: config.receive_depth,
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
        let chain = Chain::new(chain::Sizes {
            room: config.initiator_depth,
            max_sge: caps.max_send_sge,
            max_inline: match inline {
                Inline::Device { .. } => config.inline_size,
                Inline::Slots { .. } => 0,
            },
        })?;
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
                chain,
                orphans: Atomic::new(0),
                line,
                inline,
                gate: Atomic::new(Gate::Receives as u32),
                max_initiator_sge: config.max_initiator_sge as usize,
                max_read_sge: config.max_initiator_sge.min(limits.max_read_request_sge) as usize,
                max_receive_sge: config.max_receive_sge as usize,
                max_transfer: u64::from(limits.max_transfer_length),
                inline_size: u64::from(config.inline_size),
                read_invalidates: port.read_invalidates(),
                end <- new_mutex!(End {
                    failed: false,
                    sentinel: false,
                    given_up: false,
                }),
                usage: Atomic::new(Use::Free as u32),
                receive_cq,
                initiator_cq,
                pd: held,
            }),
            GFP_KERNEL,
        )?;
        let ready = qp.attach().and_then(|()| {
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

    /// The CQs, each once.
    fn cqs(&self) -> impl Iterator<Item = &Arc<Cq>> {
        let (initiator, receive) = (self.initiator_cq.object(), self.receive_cq.object());
        let other = (!Arc::ptr_eq(initiator, receive)).then_some(receive);
        [Some(initiator), other].into_iter().flatten()
    }

    /// Has the CQs tell it when they fail.
    fn attach(&self) -> Result {
        self.cqs().try_for_each(|cq| cq.attach(&self.line))
    }

    /// Has the CQs tell it nothing any more.
    fn detach(&self) {
        self.cqs().for_each(|cq| cq.detach(&self.line));
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
        self.gate.load(Acquire)
    }

    /// The connection that has claimed it got as far as the device: it serves no other.
    pub(crate) fn spend(&self) {
        self.usage.store(Use::Spent as u32, Relaxed);
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
