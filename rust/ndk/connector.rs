// SPDX-License-Identifier: GPL-2.0

//! Connectors: establishment, the connected phase, teardown.
//!
//! # Parts
//!
//! What happens is decided by the machine in `state/connector.rs`. Whoever has something to tell it, a call of the consumer
//! ([`calls`]), the connection manager and the QP ([`events`], [`incoming`]) or a timer ([`timer`]), does so under a spinlock
//! in whatever context it is, and queues the effects. They are done in order, in process context ([`work`]): by a work item, or
//! by a handler of the connection manager as long as the next one waits for nothing. A second work item calls the consumer, in
//! softirq ([`notice`]). What the consumer asks for from there is done by who had it called.
//!
//! # Locks
//!
//! `lower`, held by the one who does the effects, comes before the handler lock of the connector's id, and that before `inner`.
//! So a handler of the connection manager only tries to take `lower`, and never waits.
//!
//! # Memory
//!
//! What a request needs is had when it is called, or it fails there. Later only the id has to be made, before the connector
//! has a peer.
//!
//! # References
//!
//! An open connector and what reports to it hold each other: id, QP, registry, pending request. The close cuts all of that
//! (DestroyId and EndClose of the machine, [`Connector::teardown`]), and the antecedents go with the memory.

use crate::{
    adapter::{
        Adapter,
        Port, //
    },
    callback::{
        DisconnectEvent,
        RequestCompletion, //
    },
    ctx::MaySleep,
    endpoint::Endpoint,
    ffi,
    listener::Listener,
    object::{
        object,
        Head,
        Held,
        Object, //
    },
    qp::{
        Claim,
        Qp, //
    },
    queues,
    registry::{
        Lower,
        Rank, //
    },
    shared_endpoint::SharedEndpoint,
    state::{
        connector::{
            Call,
            Connector as Machine,
            Effect,
            List,
            Report,
            State,
            MAX_WAITING, //
        },
        effects::Todo,
        limits,
        patience::Patience,
        status::Status,
        tally, //
    },
    stats::Counters,
    status::Result,
    sync::{
        bh_work,
        new_irq_spinlock,
        sleep_work,
        IrqSaveBackend,
        IrqSpinLock, //
    },
    trace,
    verbs::{
        addr::SocketAddr,
        cm_id::{
            CmId,
            ConnData, //
        },
        fault::FaultSink, //
    },
};
use kernel::{
    alloc::Flags,
    fmt,
    prelude::*,
    sync::{
        lock::Guard,
        new_mutex,
        Arc,
        Mutex, //
    },
    workqueue::{
        new_delayed_work,
        new_work,
        DelayedWork,
        Work, //
    },
};

mod calls;
mod data;
mod events;
mod incoming;
mod notice;
mod timer;
mod work;

pub(crate) use self::{
    calls::{
        accept,
        complete_connect,
        connect,
        create,
        disconnect,
        reject,
        Source, //
    },
    data::ReadLimits,
    incoming::prepare, //
};
use self::{
    data::{
        peer_limits,
        ConnectionData,
        PrivateData, //
    },
    notice::Arrival,
    timer::Alarm, //
};

/// Work item that does the effects.
const RUN: u64 = 2;

/// Work item that calls the consumer.
const NOTIFY: u64 = 3;

/// Work item of the timer.
const TIMER: u64 = 4;

/// A request that pends.
struct Request {
    completion: RequestCompletion,
    connector: Held<Connector>,
}

/// What every context may touch.
struct Inner {
    /// What traces call the connector.
    number: u64,
    counters: Arc<Counters>,
    machine: Machine,
    /// Effects that wait to be done, with the attempt that they belong to.
    todo: Todo<(u32, Effect), MAX_WAITING>,
    /// The request that pends, until the worker completes it.
    request: Option<Request>,
    /// The completed request, until its consumer is called.
    finished: Option<(Request, Result)>,
    /// The consumer's event.
    disconnect_event: Option<DisconnectEvent>,
    /// The event has happened, and the consumer is to be called.
    disconnected: Option<Held<Connector>>,
    /// The connection came in, and the listener's consumer is to be called.
    arrival: Option<Arrival>,
    /// The id of a connection that came in, until the worker takes it over.
    arrived: Option<CmId>,
    /// A message has overtaken the peer's word that the connection stands.
    message_first: bool,
    /// The time for finding the neighbour.
    patience: Patience,
    /// The attempt whose neighbour is to be looked for once more.
    look_again: Option<u32>,
    /// The right to use the QP.
    claim: Option<Claim>,
    /// The QP as an antecedent. It stays, beyond the claim, until the close has returned.
    qp: Option<Held<Qp>>,
    endpoint: Option<Endpoint>,
    /// Whose address that is, as an antecedent. A close leaves it until it has returned.
    shared: Option<Held<SharedEndpoint>>,
    local: Option<SocketAddr>,
    peer: Option<SocketAddr>,
    /// Our read limits as the consumer and the adapter have them, and then with the peer's.
    limits: limits::ReadLimits,
    /// What the next message to the peer carries.
    ours: PrivateData,
    /// What to say with a reject. A close that follows at once does not take it back.
    farewell: PrivateData,
    /// What the peer sent.
    theirs: PrivateData,
    /// The timer that runs, as the machine knows it.
    alarm: Option<Alarm>,
    /// The work item that looks at it is under way.
    ticking: bool,
    /// Someone does the effects, and looks here once more before they stop.
    driven: bool,
}

impl Inner {
    fn new(machine: Machine, counters: Arc<Counters>) -> Self {
        Self {
            number: 0,
            counters,
            machine,
            todo: Todo::new(),
            request: None,
            finished: None,
            disconnect_event: None,
            disconnected: None,
            arrival: None,
            arrived: None,
            message_first: false,
            patience: Patience::new(0, 0),
            look_again: None,
            claim: None,
            qp: None,
            endpoint: None,
            shared: None,
            local: None,
            peer: None,
            limits: limits::ReadLimits {
                inbound: 0,
                outbound: 0,
            },
            ours: PrivateData::NONE,
            farewell: PrivateData::NONE,
            theirs: PrivateData::NONE,
            alarm: None,
            ticking: false,
            driven: false,
        }
    }

    /// Whether there is something to be done.
    fn has_work(&self) -> bool {
        !self.todo.is_empty()
            || self.look_again.is_some()
            || self.arrived.is_some()
            || self.message_first
    }

    /// What `call` leads to, or why it is refused.
    fn admit(&self, call: Call) -> Result<(Machine, List)> {
        // To its consumer a request pends until its completion is called, though the machine is further already.
        let pends = self.request.is_some() || self.finished.is_some();
        match call {
            Call::Connect if pends => Err(Status::ConnectionActive),
            Call::CompleteConnect | Call::Accept | Call::Reject | Call::Disconnect if pends => {
                Err(Status::ConnectionInvalid)
            }
            _ => self.machine.call(call),
        }
    }

    /// Takes a step.
    fn apply(&mut self, (next, effects): (Machine, List)) {
        let (from, to) = (self.machine.state(), next.state());
        self.machine = next;
        if from != to {
            trace::connector_state(self.number, from.name(), to.name());
        }
        if let Some(tally) = tally::of_step(from, &self.machine) {
            self.counters.count(tally);
        }
        for effect in effects {
            let queued = self.todo.push((next.epoch(), effect));
            kernel::warn_on!(!queued);
        }
    }

    /// Tells the machine something about the attempt `epoch`.
    fn report(&mut self, epoch: u32, report: Report) {
        self.apply(self.machine.report(epoch, report));
    }

    /// The QP of the connection.
    fn qp(&self) -> Option<Arc<Qp>> {
        self.claim.as_ref().map(|claim| claim.qp().clone())
    }

    /// Takes what the peer said in an answer to `self.limits`.
    fn take_data(&mut self, data: &ConnData<'_>) {
        self.theirs = PrivateData::copy(data.private_data);
        self.limits = self.limits.effective(peer_limits(data));
    }
}

/// One end of a connection.
#[pin_data]
#[repr(C)]
pub(crate) struct Connector {
    #[pin]
    head: Head<Connector>,
    #[pin]
    run_work: Work<Connector, RUN>,
    #[pin]
    notify_work: Work<Connector, NOTIFY>,
    #[pin]
    timer_work: DelayedWork<Connector, TIMER>,
    /// What there is on the device; held by the one who does the effects.
    #[pin]
    lower: Mutex<Option<CmId>>,
    #[pin]
    inner: IrqSpinLock<Inner>,
    /// The listener that it came in at.
    listener: Option<Held<Listener>>,
    adapter: Held<Adapter>,
}

object!(Connector);

sleep_work! { impl SleepItem<2> for Connector { self.run_work } }
bh_work! { impl BhItem<3> for Connector { self.notify_work } }
sleep_work! { delayed impl SleepItem<4> for Connector { self.timer_work } }

impl Object for Connector {
    type Shell = ffi::ndk_connector;

    fn head(&self) -> &Head<Self> {
        &self.head
    }

    fn root(&self) -> Option<&Adapter> {
        Some(self.adapter.object())
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = self.inner.lock();
        let state = inner.machine.state().name().to_str().unwrap_or("");
        f.write_fmt(fmt!(" state={state}"))?;
        if let Some(listener) = &self.listener {
            f.write_fmt(fmt!(" listener={}", listener.number()))?;
        }
        if let Some(qp) = &inner.qp {
            f.write_fmt(fmt!(" qp={}", qp.number()))?;
        }
        if let Some(local) = inner.local {
            f.write_fmt(fmt!(" local={local}"))?;
        }
        if let Some(peer) = inner.peer {
            f.write_fmt(fmt!(" peer={peer}"))?;
        }
        Ok(())
    }

    fn connection(&self) -> Option<(SocketAddr, SocketAddr)> {
        let inner = self.inner.lock();
        let connected = inner.machine.state() == State::Connected;
        inner.local.zip(inner.peer).filter(|_| connected)
    }

    fn cancel(this: &Arc<Self>) {
        let mut inner = this.inner.lock();
        if let Ok(step) = inner.admit(Call::Close) {
            inner.apply(step);
        }
        // NDKPI: no disconnect event for what the consumer does itself.
        let event = inner.disconnected.take();
        drop(inner);
        drop(event);
    }

    fn work_off(this: &Arc<Self>) {
        this.wake(this.inner.lock());
    }

    fn teardown(this: &Arc<Self>, ctx: &MaySleep) {
        this.drive(ctx);
        let mut inner = this.inner.lock();
        let closed = inner.machine.state() == State::Closed;
        let claim = inner.claim.take();
        drop(inner);
        kernel::warn_on!(!closed);
        drop(claim);
        this.port().registry().remove(&**this);
    }
}

impl Lower for Connector {
    fn rank(&self) -> Rank {
        Rank::Connection
    }

    fn revoke(self: Arc<Self>, ctx: &MaySleep) {
        // To the machine the end of the device is the end of all DMA, so bring that about first.
        let worker = self.lower.lock();
        if let Some(qp) = self.qp() {
            qp.quiesce(ctx);
        }
        drop(worker);
        self.report(Report::DeviceRemoved);
        self.drive(ctx);
    }
}

impl Connector {
    /// Makes a connector. Any context that `flags` allows.
    fn new(
        adapter: &Arc<Adapter>,
        listener: Option<Held<Listener>>,
        machine: Machine,
        flags: Flags,
    ) -> Result<Arc<Self>> {
        let held = Held::successor(adapter)?;
        let connector = Arc::pin_init(
            pin_init!(Self {
                head <- Head::new(adapter.version()),
                run_work <- new_work!("Connector::run_work"),
                notify_work <- new_work!("Connector::notify_work"),
                timer_work <- new_delayed_work!("Connector::timer_work"),
                lower <- new_mutex!(None),
                inner <- new_irq_spinlock!(Inner::new(machine, adapter.port().counters().clone())),
                listener,
                adapter: held,
            }),
            flags,
        )?;
        connector.inner.lock().number = connector.head.number();
        adapter.port().registry().add(&connector, flags)?;
        Ok(connector)
    }

    fn port(&self) -> &Arc<Port> {
        self.adapter.port()
    }

    /// The QP of the connection.
    fn qp(&self) -> Option<Arc<Qp>> {
        self.inner.lock().qp()
    }

    /// Lets `inner` go, and wakes the worker if there is something to be done that nobody will look for. Any context.
    fn wake(self: &Arc<Self>, inner: Guard<'_, Inner, IrqSaveBackend>) {
        let unseen = inner.has_work() && !inner.driven;
        drop(inner);
        // The teardown does what is left.
        if unseen && !self.head.is_quiet() {
            queues::sleep().enqueue::<_, RUN>(self.clone());
        }
    }

    /// Tells the machine something about the attempt at hand. Any context.
    fn report(self: &Arc<Self>, report: Report) {
        let mut inner = self.inner.lock();
        let epoch = inner.machine.epoch();
        inner.report(epoch, report);
        self.wake(inner);
    }

    fn request(self: &Arc<Self>, completion: RequestCompletion) -> Result<Request> {
        Ok(Request {
            completion,
            connector: Held::request(self)?,
        })
    }

    /// Claims a QP, and makes it an antecedent.
    fn claim(self: &Arc<Self>, qp: &Arc<Qp>) -> Result<(Claim, Held<Qp>)> {
        if !Arc::ptr_eq(qp.pd().adapter().port(), self.port()) {
            return Err(Status::InvalidParameter);
        }
        let sink: Arc<dyn FaultSink> = self.clone();
        Ok((Claim::new(qp, sink)?, Held::successor(qp)?))
    }

    /// What the consumer wants, within what the adapter has.
    fn capped(&self, wanted: ReadLimits) -> limits::ReadLimits {
        let max = self.port().limits();
        limits::ReadLimits::capped(
            wanted.inbound,
            wanted.outbound,
            max.max_inbound_read_limit,
            max.max_outbound_read_limit,
        )
    }

    /// What the peer sent, and the limits in force. Any context.
    ///
    /// # Errors
    ///
    /// `ConnectionInvalid` where there is nothing, `DeviceRemoved`.
    pub(crate) fn connection_data(&self) -> Result<ConnectionData> {
        let inner = self.inner.lock();
        inner.admit(Call::QueryData)?;
        Ok(ConnectionData::new(inner.limits, inner.theirs))
    }

    /// Our address. Any context.
    ///
    /// # Errors
    ///
    /// `ConnectionInvalid` while there is none, `DeviceRemoved`.
    pub(crate) fn local_address(&self) -> Result<SocketAddr> {
        let inner = self.inner.lock();
        inner.admit(Call::QueryLocal)?;
        inner.local.ok_or(Status::ConnectionInvalid)
    }

    /// The peer's address. Any context.
    ///
    /// # Errors
    ///
    /// As for [`Self::local_address`].
    pub(crate) fn peer_address(&self) -> Result<SocketAddr> {
        let inner = self.inner.lock();
        inner.admit(Call::QueryPeer)?;
        inner.peer.ok_or(Status::ConnectionInvalid)
    }
}
