// SPDX-License-Identifier: GPL-2.0

//! What the machine asks for, done in process context, one after the other, by the worker of the connector or, where it waits
//! for nothing, by a handler of the connection manager. Nothing here waits for the peer.

use super::{
    data::{
        to_result,
        PrivateData, //
    },
    events::Attempt,
    timer::Alarm,
    Connector,
    Inner,
    NOTIFY,
    RUN,
    TIMER, //
};
use crate::{
    ctx::{
        MaySleep,
        Process, //
    },
    object::Held,
    qp::Qp,
    queues,
    state::{
        connector::{
            self as state,
            Effect,
            RejectAs,
            Report,
            Stage,
            State,
            Work, //
        },
        limits,
        patience::Patience,
        status::Status, //
    },
    status::Result,
    sync::{
        cancel_delayed,
        IrqSaveBackend,
        SleepItem, //
    },
    verbs::{
        cm_id::{
            CmId,
            ConnParam,
            Locked,
            Ops,
            Reject,
            RETRIES,
            RNR_RETRIES, //
        },
        qp::{
            self,
            QpState, //
        },
    },
};
use kernel::{
    error::code,
    prelude::*,
    sync::{
        lock::{
            mutex::MutexBackend,
            Guard, //
        },
        Arc, //
    },
};

/// Time to find a neighbour or a path.
const RESOLVE_MS: u32 = 5_000;

/// How much of it the first look for a neighbour gets.
const FIRST_LOOK_MS: u32 = 100;

/// RNR NAK timer: 0.64 ms. What the connection manager would set, 0, stands for 655 ms.
const MIN_RNR_TIMER: u8 = 12;

/// An effect that is next.
struct ToDo {
    epoch: u32,
    effect: Effect,
    /// For what happens to it.
    qp: Option<Arc<Qp>>,
}

impl SleepItem<RUN> for Connector {
    fn run(this: Arc<Self>, ctx: &MaySleep) {
        this.drive(ctx);
    }
}

impl Connector {
    /// Does all that waits to be done.
    pub(super) fn drive(self: &Arc<Self>, ctx: &MaySleep) {
        let mut lower = self.lower.lock();
        let mut inner = self.inner.lock();
        inner.driven = true;
        while inner.has_work() {
            if let Some(epoch) = inner.look_again.take() {
                drop(inner);
                let looked = lower.as_ref().map(|id| self.look(id, epoch, ctx));
                inner = self.inner.lock();
                if let Some(Err(status)) = looked {
                    inner.report(epoch, Report::AddressError(status));
                }
                continue;
            }
            let arrived = inner.arrived.take();
            let notify = core::mem::take(&mut inner.message_first);
            let next = self.next_effect(&mut inner, |_, _| true);
            drop(inner);
            if arrived.is_some() {
                *lower = arrived;
            }
            if let Some(id) = lower.as_ref().filter(|_| notify) {
                // An error means that the peer's word has come as well.
                let _ = id.notify_comm_est();
            }
            if let Some(todo) = next {
                self.perform(&mut lower, todo, ctx);
            }
            inner = self.inner.lock();
        }
        inner.driven = false;
        let has_id = inner.machine.has_id();
        drop(inner);
        if let Some(id) = lower.take_if(|_| !has_id) {
            // It came in when the device was already being removed.
            id.destroy(ctx);
        }
    }

    /// Takes note of an event of the connection manager, and does what it leads to as far as a handler can.
    pub(super) fn handle(
        self: &Arc<Self>,
        id: &Locked<'_>,
        epoch: u32,
        ctx: &Process,
        note: impl FnOnce(&mut Inner),
    ) {
        // If it cannot be had, whoever works looks once more, or is about to stop.
        let lower = self.lower.try_lock();
        let mut inner = self.inner.lock();
        note(&mut inner);
        self.go_on(lower, inner, id, epoch, ctx);
    }

    /// Does what waits to be done for the attempt `epoch`, as far as the handler of its `id` can, and leaves the rest to the
    /// worker.
    pub(super) fn go_on<'a>(
        self: &'a Arc<Self>,
        lower: Option<Guard<'_, Option<CmId>, MutexBackend>>,
        mut inner: Guard<'a, Inner, IrqSaveBackend>,
        id: &Locked<'_>,
        epoch: u32,
        ctx: &Process,
    ) {
        let Some(mut lower) = lower else {
            self.wake(inner);
            return;
        };
        let iwarp = self.port().is_iwarp();
        inner.driven = true;
        while let Some(todo) = self.next_effect(&mut inner, |of, effect| {
            of == epoch && is_prompt(effect, iwarp)
        }) {
            drop(inner);
            self.perform_promptly(id, todo, ctx);
            inner = self.inner.lock();
        }
        inner.driven = false;
        if let Some(id) = lower.take_if(|_| !inner.machine.has_id()) {
            // Only the worker can destroy it. It may have come in when the device was already being removed.
            inner.arrived = Some(id);
        }
        self.wake(inner);
    }

    /// Takes the next effect, if it is wanted. What can be done under the lock is done on the way.
    fn next_effect(
        self: &Arc<Self>,
        inner: &mut Inner,
        wanted: impl Fn(u32, Effect) -> bool,
    ) -> Option<ToDo> {
        loop {
            let (epoch, effect) = inner
                .todo
                .pop_if(|(epoch, effect)| wanted(*epoch, *effect))?;
            match effect {
                Effect::ArmTimer(timer) => {
                    inner.alarm = Some(Alarm::new(timer, epoch));
                    self.tick(inner);
                    continue;
                }
                Effect::StopTimer(_) => {
                    inner.alarm = None;
                    continue;
                }
                Effect::EndClose => {
                    if core::mem::take(&mut inner.ticking) {
                        cancel_delayed::<Self, TIMER>(self);
                    }
                    continue;
                }
                // Had with the call, where it could fail.
                Effect::HoldEndpoint => continue,
                // The outcome would not matter.
                Effect::Start(work) if !inner.wants(epoch, work) => continue,
                Effect::CompleteRequest(status) => inner.finish(to_result(status)),
                _ => {}
            }
            let qp = match effect {
                Effect::QpToError | Effect::Drain => inner.qp(),
                _ => None,
            };
            return Some(ToDo { epoch, effect, qp });
        }
    }

    /// Does one thing.
    fn perform(
        self: &Arc<Self>,
        lower: &mut Option<CmId>,
        ToDo { epoch, effect, qp }: ToDo,
        ctx: &MaySleep,
    ) {
        match effect {
            Effect::Start(work) => {
                let started = self.start(lower, epoch, work, ctx);
                self.started(epoch, work, started);
            }
            Effect::SendReject(how) => self.send_reject(lower, how),
            Effect::QpToError => {
                if let Some(qp) = qp {
                    qp.set_disconnected();
                    qp.fail(ctx);
                }
            }
            Effect::Drain => {
                if let Some(qp) = qp {
                    qp.quiesce(ctx);
                }
                self.outcome(epoch, Report::Quiet);
            }
            Effect::DestroyId => match lower.take() {
                // NDKPI: a close does not wait for the peer. On iWARP the destruction of an id does, for the answer to a
                // request that is under way, so it is left to a work item of its own.
                Some(id) if self.port().is_iwarp() && self.head.is_closing() => drop(id),
                Some(id) => id.destroy(ctx),
                None => {}
            },
            Effect::ReleaseEndpoint => {
                let mut inner = self.inner.lock();
                let endpoint = inner.endpoint.take();
                // NDKPI: an antecedent is closed after its successors. Only a connect that failed ends the relation before.
                let open = inner.machine.state() != State::Closed;
                let shared = inner.shared.take_if(|_| open);
                drop(inner);
                drop((endpoint, shared));
            }
            Effect::ReleaseQp => {
                let mut inner = self.inner.lock();
                let released = (inner.claim.take(), inner.qp.take());
                drop(inner);
                drop(released);
            }
            Effect::Answered => {
                if let Some(listener) = &self.listener {
                    listener.answered();
                }
            }
            Effect::CompleteRequest(_) | Effect::DisconnectEvent => self.tell(effect, ctx),
            // Done by [`Self::next_effect`].
            Effect::ArmTimer(_)
            | Effect::StopTimer(_)
            | Effect::HoldEndpoint
            | Effect::EndClose => {}
        }
    }

    /// The part of [`Self::perform`] that the handler of `id` may do.
    fn perform_promptly(
        self: &Arc<Self>,
        id: &Locked<'_>,
        ToDo { epoch, effect, .. }: ToDo,
        ctx: &Process,
    ) {
        match effect {
            Effect::Start(work) => {
                let started = self.start_promptly(id, epoch, work, ctx);
                self.started(epoch, work, started);
            }
            _ => self.tell(effect, ctx),
        }
    }

    /// Tells the machine if something did not even begin.
    fn started(&self, epoch: u32, work: Work, result: Result) {
        if let Err(status) = result {
            self.outcome(epoch, Report::Failed(work, status));
        }
    }

    /// Has the consumer called.
    fn tell(self: &Arc<Self>, effect: Effect, ctx: &Process) {
        if effect == Effect::DisconnectEvent && !self.raise() {
            return;
        }
        queues::softirq().enqueue_now::<_, NOTIFY>(self.clone(), ctx);
    }

    /// Tells the machine how something ended. For the one who does the effects, and looks for what that leads to.
    fn outcome(&self, epoch: u32, report: Report) {
        self.inner.lock().report(epoch, report);
    }

    /// Whether the consumer is to be told that the peer is gone: it wants to know, and has not ended the connection itself by
    /// now.
    fn raise(self: &Arc<Self>) -> bool {
        let Ok(held) = Held::callback(self) else {
            return false;
        };
        let mut inner = self.inner.lock();
        if inner.machine.state() != State::PeerGone || inner.disconnect_event.is_none() {
            drop(inner);
            return false;
        }
        inner.disconnected = Some(held);
        true
    }

    fn send_reject(&self, lower: &Option<CmId>, how: RejectAs) {
        let Some(id) = lower else {
            return;
        };
        let data = match how {
            RejectAs::Consumer => self.inner.lock().farewell,
            _ => PrivateData::NONE,
        };
        // An error means that the peer gave up before.
        let _ = id.reject(Reject::Consumer, data.as_bytes());
    }

    /// Starts what takes its time.
    fn start(
        self: &Arc<Self>,
        lower: &mut Option<CmId>,
        epoch: u32,
        work: Work,
        ctx: &MaySleep,
    ) -> Result {
        match (work, lower.as_ref()) {
            (Work::Resolve, _) => *lower = Some(self.resolve(epoch, ctx)?),
            // The driver of siw waits for its own handlers.
            (Work::Disconnect, Some(id)) => disconnect(id)?,
            (_, Some(id)) => self.start_promptly(&id.lock_handler(ctx), epoch, work, ctx)?,
            (_, None) => return Err(Status::ConnectionInvalid),
        }
        Ok(())
    }

    /// The part of [`Self::start`] that a handler may do.
    fn start_promptly(&self, id: &Locked<'_>, epoch: u32, work: Work, ctx: &Process) -> Result {
        match work {
            Work::Resolve => Ok(()),
            Work::Route => id.resolve_route(ctx, RESOLVE_MS).map_err(unreachable),
            Work::Connect => self.send_request(id, ctx),
            Work::Complete | Work::Accept => self.establish(id, epoch, work, ctx),
            Work::Disconnect => disconnect(id),
        }
    }

    /// Makes an id, binds it to the endpoint, and starts to look for the peer.
    fn resolve(self: &Arc<Self>, epoch: u32, ctx: &MaySleep) -> Result<CmId> {
        let attempt = Attempt {
            connector: self.clone(),
            epoch,
        };
        let id = self.port().new_id(Arc::new(attempt, GFP_KERNEL)?, ctx)?;
        match self.aim(&id, epoch, ctx) {
            Ok(()) => Ok(id),
            Err(status) => {
                // Now, since the consumer may come back for the same address.
                id.destroy(ctx);
                Err(status)
            }
        }
    }

    /// The part of [`Self::resolve`] that has an id.
    fn aim(&self, id: &CmId, epoch: u32, ctx: &MaySleep) -> Result {
        let endpoint = self.inner.lock().endpoint.take();
        let mut endpoint = endpoint.ok_or(Status::ConnectionInvalid)?;
        let bound = endpoint.bind(id, self.port(), ctx);
        let mut inner = self.inner.lock();
        inner.local = Some(endpoint.local());
        inner.endpoint = Some(endpoint);
        inner.patience = Patience::new(RESOLVE_MS, FIRST_LOOK_MS);
        drop(inner);
        bound?;
        self.look(id, epoch, ctx)
    }

    /// Looks for the neighbour that leads to the peer, for as long as the next try may take.
    fn look(&self, id: &CmId, epoch: u32, ctx: &MaySleep) -> Result {
        let mut inner = self.inner.lock();
        if !inner.wants(epoch, Work::Resolve) {
            return Err(Status::Cancelled);
        }
        let (peer, time) = (inner.peer, inner.patience.begin());
        drop(inner);
        let (Some(peer), Some(time)) = (peer, time) else {
            return Err(Status::IoTimeout);
        };
        id.resolve_addr(ctx, None, &peer, time).map_err(unreachable)
    }

    fn send_request(&self, id: &Locked<'_>, ctx: &Process) -> Result {
        let (qp, limits, data) = self.inner.lock().message()?;
        let lower = qp.lower(ctx)?;
        let iwarp = self.port().is_iwarp();
        if iwarp {
            // The driver takes the QP on from there when the reply comes.
            lower.modify(ctx, &id.init_qp_attr(QpState::Init)?)?;
        }
        id.connect(ctx, &param(&lower, limits, &data))
            .map_err(unreachable)?;
        if iwarp {
            // The QP has a stream now, and the driver ends both together.
            qp.spend();
        }
        Ok(())
    }

    /// Brings the QP up and tells the peer, with an accept or with the completion of a connect.
    fn establish(&self, id: &Locked<'_>, epoch: u32, work: Work, ctx: &Process) -> Result {
        // No event comes in between: what is completed here was not taken back by the peer.
        let inner = self.inner.lock();
        if !inner.wants(epoch, work) {
            return Err(Status::Cancelled);
        }
        let (qp, limits, data) = inner.message()?;
        drop(inner);
        let lower = qp.lower(ctx)?;
        qp.spend();
        if let Err(error) = self.bring_up(&lower, id, limits, ctx) {
            let _ = id.reject(Reject::Consumer, &[]);
            return Err(broken(error));
        }
        // The first message may be here before its consumer knows that the connection stands, and asks for an answer.
        qp.set_connected();
        // On error either has rejected.
        match work {
            Work::Complete => id.accept_rtu(),
            _ => id.accept(&param(&lower, limits, &data)),
        }
        .map_err(broken)?;
        // Before the lock is let go: a peer that ends the connection at once ends one that stands.
        if work == Work::Complete {
            self.outcome(epoch, Report::Done(work));
        }
        Ok(())
    }

    /// Moves a QP to where it can send; on iWARP the driver does that with the accept.
    fn bring_up(
        &self,
        qp: &qp::Qp,
        id: &Ops,
        limits: limits::ReadLimits,
        ctx: &Process,
    ) -> Result<(), Error> {
        // It has been there since it was made, but the peer's rights are known only now.
        qp.modify(ctx, &id.init_qp_attr(QpState::Init)?)?;
        if self.port().is_iwarp() {
            return Ok(());
        }
        let mut attr = id.init_qp_attr(QpState::Rtr)?;
        attr.set_max_dest_rd_atomic(limits.inbound);
        attr.set_min_rnr_timer(MIN_RNR_TIMER);
        qp.modify(ctx, &attr)?;
        let mut attr = id.init_qp_attr(QpState::Rts)?;
        attr.set_max_rd_atomic(limits.outbound);
        attr.set_retries(RETRIES, RNR_RETRIES);
        qp.modify(ctx, &attr)
    }
}

/// Whether a handler may do it, which waits for nothing. The driver of siw waits for the peer when it connects, and for its
/// handlers.
fn is_prompt(effect: Effect, iwarp: bool) -> bool {
    match effect {
        Effect::Start(Work::Route)
        | Effect::CompleteRequest(_)
        | Effect::DisconnectEvent
        | Effect::ArmTimer(_)
        | Effect::StopTimer(_)
        | Effect::HoldEndpoint => true,
        Effect::Start(Work::Connect | Work::Complete | Work::Accept | Work::Disconnect) => !iwarp,
        _ => false,
    }
}

impl Inner {
    /// Hands the pending request over to its completion.
    fn finish(&mut self, result: Result) {
        if let Some(claim) = self.claim.as_ref().filter(|_| self.machine.is_connected()) {
            claim.qp().spend();
            claim.qp().set_connected();
        }
        self.finished = self.request.take().map(|request| (request, result));
    }

    /// What a message to the peer is made of.
    fn message(&self) -> Result<(Arc<Qp>, limits::ReadLimits, PrivateData)> {
        let qp = self.qp().ok_or(Status::ConnectionInvalid)?;
        Ok((qp, self.limits, self.ours))
    }

    /// Whether the machine still waits for the outcome of this work.
    pub(super) fn wants(&self, epoch: u32, work: Work) -> bool {
        let state = self.machine.state();
        epoch == self.machine.epoch()
            && match work {
                Work::Resolve => state == State::Connecting(Stage::Address),
                Work::Route => state == State::Connecting(Stage::Route),
                Work::Connect => state == State::Connecting(Stage::Reply),
                Work::Complete => state == State::Completing,
                Work::Accept => state == State::Accepting,
                // Whatever comes after it, the peer is to be told.
                Work::Disconnect => true,
            }
    }
}

/// The parameters of a connect request or of an accept.
fn param<'a>(qp: &qp::Qp, limits: limits::ReadLimits, data: &'a PrivateData) -> ConnParam<'a> {
    ConnParam {
        private_data: data.as_bytes(),
        responder_resources: limits.inbound,
        initiator_depth: limits.outbound,
        qp_num: qp.number(),
        srq: qp.has_srq(),
    }
}

/// Tells the peer that the connection ends, or that its word has been heard.
fn disconnect(id: &Ops) -> Result {
    id.disconnect().map_err(|_| Status::ConnectionAborted)
}

/// Why the peer could not be asked. The driver of siw finds out about a peer that refuses while it sends the request.
fn unreachable(error: Error) -> Status {
    if error == code::ECONNREFUSED || error == code::ECONNRESET {
        Status::ConnectionRefused
    } else {
        state::address_error(error.to_errno().saturating_neg())
    }
}

/// Why an establishment failed on our side.
fn broken(error: Error) -> Status {
    match Status::from(error) {
        status @ (Status::InsufficientResources | Status::DeviceRemoved) => status,
        // The connection manager does not know the connection any more.
        _ => Status::ConnectionAborted,
    }
}
