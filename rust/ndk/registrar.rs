// SPDX-License-Identifier: GPL-2.0

//! Registration of kernel memory without a consumer's QP.
//!
//! Verbs make kernel memory accessible to a peer through a work request only, and NDKPI's RegisterMr names no QP. So each PD
//! has a QP of its own, on which nothing but local operations is ever posted: on InfiniBand and RoCE one that is connected to
//! itself.

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

/// How long the device may take for a local operation before the QP counts as broken.
const TIMEOUT: Delta = Delta::from_secs(5);

/// First pause between two looks at the CQ; each is twice as long as the one before, up to [`LAST_PAUSE`].
const FIRST_PAUSE: Delta = Delta::from_micros(20);

/// Longest pause.
const LAST_PAUSE: Delta = Delta::from_millis(1);

/// A QP that executes one local operation at a time. It is polled, so nothing happens at it.
pub(crate) struct Registrar {
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
    /// `NotSupported` on iWARP, where a QP executes nothing without a peer.
    pub(crate) fn new(pd: Arc<Pd>, port: &Port, ctx: &MaySleep) -> Result<Self> {
        let device = pd.device().clone();
        let events = Arc::new(NoEvents, GFP_KERNEL)?;
        let cq = Cq::new(ctx, device.clone(), 2, 0, events.clone())?;
        let cq = Arc::new(cq, GFP_KERNEL)?;
        let caps = QpCaps {
            max_send_wr: 2,
            max_recv_wr: 1,
            max_send_sge: 1,
            max_recv_sge: 1,
            max_inline: 0,
        };
        let qp = Qp::new(ctx, pd, cq.clone(), cq, caps, events)?;
        let port = device.port(port.number())?;
        qp.to_init(ctx, &port, Access::NONE)?;
        qp.connect_to_self(ctx, &port)?;
        Ok(Self { qp })
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
        self.qp.post_send(request.signaled())?;
        let begin = Instant::<Monotonic>::now();
        let mut pause = FIRST_PAUSE;
        loop {
            let mut wc = [Wc::default()];
            if self.qp.send_cq().poll(&mut wc) != 0 {
                return if wc[0].is_success() {
                    Ok(())
                } else {
                    Err(Status::InternalError)
                };
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
}
