// SPDX-License-Identifier: GPL-2.0

//! Connectors: establishment, the connected phase, teardown.
//!
//! # Parts
//!
//! What happens is decided by the machine in `state/connector.rs`. Whoever has something to tell it, a call of the consumer,
//! the connection manager, the QP or a timer, does so under a spinlock in whatever context it is, and queues the effects. One
//! work item does them in order, in process context ([`work`]); a handler of the connection manager does itself what is next
//! and waits for nothing. A second work item calls the consumer, in softirq ([`notice`]). What comes from outside is in
//! [`events`] and [`incoming`].
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
        status::Status, //
    },
    status::Result,
    sync::{
        bh_work,
        new_irq_spinlock,
        sleep_work,
        IrqSpinLock, //
    },
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
    prelude::*,
    sync::{
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

mod data;
mod events;
mod incoming;
mod notice;
mod timer;
mod work;

pub(crate) use self::{
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
    machine: Machine,
    /// Effects that wait for the worker, with the attempt that they belong to.
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
}

impl Inner {
    fn new(machine: Machine) -> Self {
        Self {
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
        }
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

    /// Takes a step. Returns whether the worker has something to do.
    fn apply(&mut self, (next, effects): (Machine, List)) -> bool {
        self.machine = next;
        for effect in effects {
            let queued = self.todo.push((next.epoch(), effect));
            kernel::warn_on!(!queued);
        }
        !self.todo.is_empty()
    }

    /// Tells the machine something about the attempt `epoch`. Returns whether the worker has something to do.
    fn report(&mut self, epoch: u32, report: Report) -> bool {
        self.apply(self.machine.report(epoch, report))
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
        this.kick();
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
                inner <- new_irq_spinlock!(Inner::new(machine)),
                listener,
                adapter: held,
            }),
            flags,
        )?;
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

    /// Wakes the worker.
    fn kick(self: &Arc<Self>) {
        queues::sleep().enqueue::<_, RUN>(self.clone());
    }

    /// Tells the machine something about the attempt at hand. Any context.
    fn report(self: &Arc<Self>, report: Report) {
        let mut inner = self.inner.lock();
        let epoch = inner.machine.epoch();
        let work = inner.report(epoch, report);
        drop(inner);
        if work {
            self.kick();
        }
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

/// Creates a connector for the active side. Any context.
///
/// # Errors
///
/// `InsufficientResources`, `DeviceRemoved`.
pub(crate) fn create(adapter: &Arc<Adapter>) -> Result<Arc<Connector>> {
    Connector::new(adapter, None, Machine::new(), GFP_ATOMIC)
}

/// Asks `destination` for a connection; `completion` tells whether it accepts. Any context.
///
/// # Errors
///
/// `InvalidBufferSize`, `InvalidParameter`, `ConnectionActive`, `ConnectionInvalid` for a connector that is used up,
/// `SharingViolation`, `AddressAlreadyExists`, `InvalidAddress`, `TooManyAddresses`, `InsufficientResources`, `DeviceRemoved`.
/// The rest comes in the completion.
pub(crate) fn connect(
    this: &Arc<Connector>,
    qp: &Arc<Qp>,
    source: SocketAddr,
    destination: SocketAddr,
    wanted: ReadLimits,
    private_data: &[u8],
    completion: RequestCompletion,
) -> Result {
    let port = this.port();
    let data = PrivateData::checked(private_data, port.limits().max_caller_data)?;
    if destination.ip().is_multicast() {
        return Err(Status::InvalidParameter);
    }
    // What is wrong with the connector comes before what is wrong with the rest.
    this.inner.lock().admit(Call::Connect)?;
    let request = this.request(completion)?;
    let (claim, held) = this.claim(qp)?;
    let endpoint = port.endpoints().connect(source, destination, GFP_ATOMIC)?;
    let limits = this.capped(wanted);

    let mut inner = this.inner.lock();
    let step = inner.admit(Call::Connect)?;
    inner.apply(step);
    inner.request = Some(request);
    inner.local = Some(endpoint.local());
    inner.peer = Some(destination);
    inner.limits = limits;
    inner.ours = data;
    // A failed attempt leaves none of these.
    inner.claim = Some(claim);
    inner.qp = Some(held);
    inner.endpoint = Some(endpoint);
    drop(inner);
    this.kick();
    Ok(())
}

/// Takes the connection that the peer has accepted; `completion` tells when it stands. Any context.
///
/// # Errors
///
/// `ConnectionInvalid` where there is nothing to complete, `ConnectionAborted`, `IoTimeout`, `DeviceRemoved`.
pub(crate) fn complete_connect(
    this: &Arc<Connector>,
    event: Option<DisconnectEvent>,
    completion: RequestCompletion,
) -> Result {
    let request = this.request(completion)?;
    let mut inner = this.inner.lock();
    let step = inner.admit(Call::CompleteConnect)?;
    inner.apply(step);
    inner.request = Some(request);
    inner.disconnect_event = event;
    drop(inner);
    this.kick();
    Ok(())
}

/// Accepts a connection that came in; `completion` tells when the peer has completed it. Any context, the connect event itself
/// included.
///
/// # Errors
///
/// `InvalidBufferSize`, `InvalidParameter`, `ConnectionActive` for a QP in use, `ConnectionInvalid`, `ConnectionAborted`,
/// `InsufficientResources`, `DeviceRemoved`.
pub(crate) fn accept(
    this: &Arc<Connector>,
    qp: &Arc<Qp>,
    wanted: ReadLimits,
    private_data: &[u8],
    event: Option<DisconnectEvent>,
    completion: RequestCompletion,
) -> Result {
    let port = this.port();
    let data = PrivateData::checked(private_data, port.limits().max_callee_data)?;
    let inner = this.inner.lock();
    inner.admit(Call::Accept)?;
    let (Some(local), Some(peer)) = (inner.local, inner.peer) else {
        return Err(Status::ConnectionInvalid);
    };
    drop(inner);
    let request = this.request(completion)?;
    let (claim, held) = this.claim(qp)?;
    // NDKPI: an accepted connector holds the listener's endpoint.
    let endpoint = match port.endpoints().join(local, peer, GFP_ATOMIC) {
        Ok(endpoint) => Some(endpoint),
        Err(Status::InsufficientResources) => return Err(Status::InsufficientResources),
        // The peer comes again from a port whose last connector here is not closed yet, or the device is going. The listener
        // keeps the address until this connector is closed in any case.
        Err(_) => None,
    };
    let own = this.capped(wanted);

    let mut inner = this.inner.lock();
    let step = inner.admit(Call::Accept)?;
    inner.apply(step);
    inner.request = Some(request);
    // Until now they were the peer's within all that the adapter has.
    inner.limits = limits::ReadLimits {
        inbound: inner.limits.inbound.min(own.inbound),
        outbound: inner.limits.outbound.min(own.outbound),
    };
    inner.ours = data;
    inner.disconnect_event = event;
    inner.claim = Some(claim);
    inner.qp = Some(held);
    inner.endpoint = endpoint;
    drop(inner);
    this.kick();
    Ok(())
}

/// Refuses a connection that came in, or one that the peer has accepted. Any context.
///
/// # Errors
///
/// `InvalidBufferSize`, `ConnectionInvalid`, `ConnectionAborted` when the peer gave up before, `DeviceRemoved`.
pub(crate) fn reject(this: &Arc<Connector>, private_data: &[u8]) -> Result {
    let data = PrivateData::checked(private_data, this.port().limits().max_callee_data)?;
    let mut inner = this.inner.lock();
    let step = inner.admit(Call::Reject)?;
    inner.apply(step);
    inner.farewell = data;
    drop(inner);
    this.kick();
    Ok(())
}

/// Ends a connection in good order; `completion` tells when nothing of it is left. Any context.
///
/// # Errors
///
/// `ConnectionInvalid` when not connected, `DeviceRemoved`. The rest comes in the completion.
pub(crate) fn disconnect(this: &Arc<Connector>, completion: RequestCompletion) -> Result {
    let request = this.request(completion)?;
    let mut inner = this.inner.lock();
    let step = inner.admit(Call::Disconnect)?;
    inner.apply(step);
    inner.request = Some(request);
    // NDKPI: where it can be suppressed, no event follows the consumer's own call.
    let event = inner.disconnected.take();
    drop(inner);
    drop(event);
    this.kick();
    Ok(())
}
