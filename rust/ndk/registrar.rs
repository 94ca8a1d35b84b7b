// SPDX-License-Identifier: GPL-2.0

//! Registration of kernel memory without a consumer's QP.
//!
//! Verbs make kernel memory accessible to a peer through a work request only, and NDKPI's RegisterMr names no QP. So each PD
//! has a QP of its own, on which nothing but local operations is ever posted: on InfiniBand and RoCE one that is connected to
//! itself, on iWARP one end of a connection of the port to itself ([`stream`]).

use crate::{
    adapter::Port,
    ctx::MaySleep,
    state::status::Status,
    status::Result,
    verbs::{
        cq::{
            Cq,
            CqEvents,
            Wc, //
        },
        mr::FastMr,
        pd::Pd,
        qp::{
            Access,
            Qp,
            QpCaps,
            QpEvent,
            QpEvents, //
        },
        wr::SendWr, //
    },
};
use kernel::{
    prelude::*,
    sync::{
        Arc,
        ArcBorrow, //
    },
    time::{
        delay::fsleep,
        Delta,
        Instant,
        Monotonic, //
    },
};

mod stream;

use self::stream::Stream;

/// How long the device may take for a local operation before the QP counts as broken.
const TIMEOUT: Delta = Delta::from_secs(30);

/// First pause between two looks at the CQ; each is twice as long as the one before, up to [`LAST_PAUSE`].
const FIRST_PAUSE: Delta = Delta::from_micros(20);

/// Longest pause.
const LAST_PAUSE: Delta = Delta::from_millis(1);

/// A QP that executes one local operation at a time. It is polled, so nothing happens at it.
pub(crate) struct Registrar {
    /// What it needs on iWARP; destroyed before it.
    stream: Option<Stream>,
    qp: Qp,
}

struct NoEvents;

impl CqEvents for NoEvents {
    fn completion(_this: ArcBorrow<'_, Self>) {}

    fn failed(_this: ArcBorrow<'_, Self>) {}
}

impl QpEvents for NoEvents {
    fn event(_this: ArcBorrow<'_, Self>, _event: QpEvent) {}
}

impl Registrar {
    /// Makes and connects the QP. Sleeps.
    ///
    /// # Errors
    ///
    /// On iWARP those of a connect, where the port has no address `InvalidAddress`.
    pub(crate) fn new(pd: &Arc<Pd>, port: &Port, ctx: &MaySleep) -> Result<Self> {
        let qp = create_qp(pd, ctx)?;
        let device = pd.device();
        let device_port = device.port(port.number())?;
        qp.to_init(ctx, &device_port, Access::NONE)?;
        let stream = if port.is_iwarp() {
            Some(Stream::new(&qp, create_qp(pd, ctx)?, port, ctx)?)
        } else {
            qp.connect_to_self(ctx, &device_port)?;
            None
        };
        Ok(Self { stream, qp })
    }

    /// Ends it. Sleeps.
    pub(crate) fn destroy(self, ctx: &MaySleep) {
        if let Some(stream) = self.stream {
            stream.destroy(ctx);
        }
    }

    /// Makes what is mapped into `mr` valid. Sleeps.
    pub(crate) fn register(&self, mr: &FastMr, access: Access, ctx: &MaySleep) -> Result {
        self.execute(SendWr::reg_mr(0, mr, mr.rkey(), access), ctx)
    }

    /// Makes it invalid. Sleeps.
    pub(crate) fn invalidate(&self, mr: &FastMr, ctx: &MaySleep) -> Result {
        self.execute(SendWr::local_inv(0, mr.rkey()), ctx)
    }

    fn execute(&self, request: SendWr<'_>, ctx: &MaySleep) -> Result {
        self.qp.post_send(&request.signaled())?;
        wait(ctx, || {
            let mut wc = [Wc::default()];
            (self.qp.send_cq().poll(&mut wc) != 0).then(|| {
                if wc[0].is_success() {
                    Ok(())
                } else {
                    Err(Status::InternalError)
                }
            })
        })?
    }
}

/// A QP for one request at a time.
fn create_qp(pd: &Arc<Pd>, ctx: &MaySleep) -> Result<Qp> {
    let events = Arc::new(NoEvents, GFP_KERNEL)?;
    let cq = Cq::new(ctx, pd.device().clone(), 2, 0, events.clone())?;
    let cq = Arc::new(cq, GFP_KERNEL)?;
    let caps = QpCaps {
        max_send_wr: 2,
        max_recv_wr: 1,
        max_send_sge: 1,
        max_recv_sge: 1,
        max_inline: 0,
    };
    Ok(Qp::new(
        ctx,
        pd.clone(),
        cq.clone(),
        cq,
        None,
        caps,
        events,
    )?)
}

/// Looks again and again until there is something. Sleeps.
///
/// # Errors
///
/// `InternalError` when that takes too long.
fn wait<T>(ctx: &MaySleep, mut look: impl FnMut() -> Option<T>) -> Result<T> {
    let begin = Instant::<Monotonic>::now();
    let mut pause = FIRST_PAUSE;
    loop {
        if let Some(found) = look() {
            return Ok(found);
        }
        if begin.elapsed() > TIMEOUT {
            return Err(Status::InternalError);
        }
        ctx.check();
        fsleep(pause);
        if pause < LAST_PAUSE {
            pause = pause + pause;
        }
    }
}
