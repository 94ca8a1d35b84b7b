// SPDX-License-Identifier: GPL-2.0

//! Creation of a QP: its places on the CQs, its queues, and the QP on the device.

use super::{
    End,
    Events,
    Gate,
    Qp,
    Receives,
    Use, //
};
use crate::{
    callback::CreateCompletion,
    cq::{
        Cq,
        LowerCqs,
        On,
        Seats, //
    },
    ctx::MaySleep,
    object::{
        self,
        Head,
        Held, //
    },
    pd::Pd,
    srq::Srq,
    state::{
        atomic::AtomicU32,
        limits::{
            self,
            check_limit, //
        },
        status::Status, //
    },
    status::Result,
    sync::new_irq_spinlock,
    verbs::{
        chain::{
            self,
            Chain, //
        },
        fault::FaultLine,
        handle::Handle,
        inline::Inline,
        qp::{
            self,
            Access,
            QpCaps, //
        },
        work::WorkQueue, //
    },
};
use kernel::{
    prelude::*,
    sync::{
        atomic::Atomic,
        new_mutex,
        Arc, //
    },
    workqueue::new_work,
};

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
}
