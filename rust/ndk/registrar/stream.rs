// SPDX-License-Identifier: GPL-2.0

//! A connection of an iWARP port to itself: there a QP executes nothing without a stream.

use super::wait;
use crate::{
    adapter::Port,
    ctx::{
        MaySleep,
        Process, //
    },
    queues,
    state::status::Status,
    status::Result,
    sync::{
        new_irq_spinlock,
        IrqSpinLock, //
    },
    verbs::{
        cm_id::{
            CmEvent,
            CmEvents,
            CmId,
            ConnParam,
            Incoming,
            Locked, //
        },
        device::DeviceRef,
        qp::{
            Access,
            Qp,
            QpState, //
        },
    },
};
use kernel::{
    prelude::*,
    sync::{
        Arc,
        ArcBorrow, //
    },
};

/// Milliseconds for finding ourselves.
const RESOLVE_MS: u32 = 2_000;

/// How far an end is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Begun,
    AddrResolved,
    RouteResolved,
    Established,
    Failed,
}

/// What has happened at an end.
struct Seen {
    stage: Stage,
    /// Connections that came in and have not been looked at.
    incoming: Option<CmId>,
}

/// One end, or the listener, of which the passive end comes.
#[pin_data]
struct End {
    #[pin]
    seen: IrqSpinLock<Seen>,
    device: DeviceRef,
}

impl End {
    fn new(port: &Port) -> Result<Arc<Self>> {
        let device = port.enter()?;
        let end = Arc::pin_init(
            pin_init!(Self {
                seen <- new_irq_spinlock!(Seen {
                    stage: Stage::Begun,
                    incoming: None,
                }),
                device,
            }),
            GFP_KERNEL,
        )?;
        Ok(end)
    }

    /// Waits until the end is that far.
    fn reach(&self, stage: Stage, ctx: &MaySleep) -> Result {
        wait(ctx, || {
            let seen = self.seen.lock().stage;
            if seen == stage {
                Some(Ok(()))
            } else if seen == Stage::Failed {
                Some(Err(Status::InternalError))
            } else {
                None
            }
        })?
    }

    /// Waits until a connection comes in.
    fn accept(&self, ctx: &MaySleep) -> Result<CmId> {
        wait(ctx, || self.seen.lock().incoming.take())
    }
}

impl CmEvents for End {
    fn event(this: ArcBorrow<'_, Self>, _id: &Locked<'_>, event: &CmEvent<'_>, _ctx: &Process) {
        let stage = match event {
            CmEvent::AddrResolved => Stage::AddrResolved,
            CmEvent::RouteResolved => Stage::RouteResolved,
            CmEvent::Established(_) => Stage::Established,
            CmEvent::TimewaitExit | CmEvent::AddrChange | CmEvent::Other => return,
            _ => Stage::Failed,
        };
        this.seen.lock().stage = stage;
    }

    fn incoming(this: ArcBorrow<'_, Self>, incoming: Incoming<'_>, _ctx: &Process) {
        if this.seen.lock().incoming.is_some() {
            return incoming.refuse();
        }
        let end: Arc<Self> = this.into();
        let taken = incoming.take(end.device.clone(), queues::sleep().clone(), end.clone());
        // On error it is rejected.
        if let Ok((id, _)) = taken {
            end.seen.lock().incoming = Some(id);
        }
    }
}

/// A connection of a port to itself.
pub(super) struct Stream {
    active: CmId,
    passive: CmId,
    /// The QP at the other end, on which nothing is ever posted.
    _other: Qp,
}

impl Stream {
    /// Connects `qp`, in INIT, with `other`. Sleeps.
    pub(super) fn new(qp: &Qp, other: Qp, port: &Port, ctx: &MaySleep) -> Result<Self> {
        let address = port.own_address(ctx)?;
        let (near, far) = (End::new(port)?, End::new(port)?);
        let listener = port.new_id(far.clone(), ctx)?;
        let active = port.new_id(near.clone(), ctx);
        let passive = active
            .as_ref()
            .map_err(|status| *status)
            .and_then(|active| {
                listener.bind_addr(ctx, &address)?;
                listener.listen(ctx, 1)?;
                active.bind_addr(ctx, &address)?;
                let to = listener.local_addr().ok_or(Status::InvalidAddress)?;
                active.resolve_addr(ctx, None, &to, RESOLVE_MS)?;
                near.reach(Stage::AddrResolved, ctx)?;
                active.resolve_route(ctx, RESOLVE_MS)?;
                near.reach(Stage::RouteResolved, ctx)?;
                connect(active, qp, ctx)?;
                let passive = accept(&far, active, &other, ctx)?;
                match near.reach(Stage::Established, ctx) {
                    Ok(()) => Ok(passive),
                    Err(status) => {
                        passive.destroy(ctx);
                        Err(status)
                    }
                }
            });
        listener.destroy(ctx);
        // One more may have come in; it holds the end that holds it.
        let late = far.seen.lock().incoming.take();
        drop(late);
        match (active, passive) {
            (Ok(active), Ok(passive)) => Ok(Self {
                active,
                passive,
                _other: other,
            }),
            (Ok(active), Err(status)) => {
                active.destroy(ctx);
                Err(status)
            }
            (Err(status), _) => Err(status),
        }
    }

    /// Ends the connection. The QPs still exist, and go to their error state. Sleeps.
    pub(super) fn destroy(self, ctx: &MaySleep) {
        self.active.destroy(ctx);
        self.passive.destroy(ctx);
    }
}

fn param(qp: &Qp) -> ConnParam<'static> {
    ConnParam {
        private_data: &[],
        responder_resources: 0,
        initiator_depth: 0,
        qp_num: qp.number(),
        srq: qp.has_srq(),
    }
}

/// Gives a QP the rights that a connection brings, which is none: nobody reads or writes over this one.
fn prepare(qp: &Qp, id: &Locked<'_>, ctx: &MaySleep) -> Result {
    let mut attr = id.init_qp_attr(QpState::Init)?;
    attr.set_access(Access::NONE);
    Ok(qp.modify(ctx, &attr)?)
}

fn connect(id: &CmId, qp: &Qp, ctx: &MaySleep) -> Result {
    let id = id.lock_handler(ctx);
    prepare(qp, &id, ctx)?;
    Ok(id.connect(ctx, &param(qp))?)
}

/// Accepts the connection of `active`, and none that a stranger makes to the port meanwhile.
fn accept(far: &End, active: &CmId, qp: &Qp, ctx: &MaySleep) -> Result<CmId> {
    loop {
        let id = far.accept(ctx)?;
        if id.peer_addr() != active.local_addr() {
            id.destroy(ctx);
            continue;
        }
        let locked = id.lock_handler(ctx);
        let accepted = prepare(qp, &locked, ctx).and_then(|()| Ok(locked.accept(&param(qp))?));
        drop(locked);
        match accepted {
            Ok(()) => return Ok(id),
            Err(status) => {
                id.destroy(ctx);
                return Err(status);
            }
        }
    }
}
