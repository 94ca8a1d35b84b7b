// SPDX-License-Identifier: GPL-2.0

//! Listeners.
//!
//! A listener decides on each connection that comes in whether it becomes a connector (`state/listener.rs`); the connector
//! brings itself to the consumer. Where it does not, the peer sees nobody listening: while the listener is paused, has too many
//! unanswered connections, or is being closed.
//!
//! The id that listens stays until the last connector of the listener is closed, and refuses meanwhile. So the address stays
//! taken in rdma_cm as well (NDKPI: endpoints).
//!
//! `lower` is held by the one who makes or destroys the id, which comes before the id's handler lock. A handler takes `inner`
//! alone.

use crate::{
    adapter::{
        Adapter,
        Port, //
    },
    callback::{
        ConnectEvent,
        RequestCompletion, //
    },
    connector,
    ctx::{
        MaySleep,
        Process, //
    },
    endpoint::Endpoint,
    ffi,
    object::{
        self,
        object,
        Head,
        Held,
        Object, //
    },
    params,
    registry::{
        Lower,
        Rank, //
    },
    state::{
        listener::{
            Call,
            Effect,
            List,
            Listener as Machine,
            Report,
            State,
            Verdict, //
        },
        status::Status,
        tally::Tally, //
    },
    status::Result,
    sync::{
        new_irq_spinlock,
        IrqSpinLock, //
    },
    trace,
    verbs::{
        addr::SocketAddr,
        cm_id::{
            CmEvent,
            CmEvents,
            CmId,
            Incoming,
            Locked, //
        }, //
    },
};
use kernel::{
    fmt,
    prelude::*,
    sync::{
        new_mutex,
        Arc,
        ArcBorrow,
        Mutex, //
    },
};

struct Inner {
    /// What traces call the listener.
    number: u64,
    machine: Machine,
    endpoint: Option<Endpoint>,
    local: Option<SocketAddr>,
}

impl Inner {
    fn apply(&mut self, (next, effects): (Machine, List)) -> List {
        let (from, to) = (self.machine.state(), next.state());
        self.machine = next;
        if from != to {
            trace::listener_state(self.number, from.name(), to.name());
        }
        effects
    }
}

/// What connections come in at.
#[pin_data]
#[repr(C)]
pub(crate) struct Listener {
    #[pin]
    head: Head<Listener>,
    #[pin]
    lower: Mutex<Option<CmId>>,
    #[pin]
    inner: IrqSpinLock<Inner>,
    event: ConnectEvent,
    adapter: Held<Adapter>,
}

object!(Listener);

impl Object for Listener {
    type Shell = ffi::ndk_listener;

    fn head(&self) -> &Head<Self> {
        &self.head
    }

    fn root(&self) -> Option<&Adapter> {
        Some(self.adapter.object())
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = self.inner.lock();
        let machine = &inner.machine;
        f.write_fmt(fmt!(
            " state={} paused={} unanswered={}",
            machine.state().name().to_str().unwrap_or(""),
            u32::from(machine.is_paused()),
            machine.unanswered()
        ))?;
        if let Some(local) = inner.local {
            f.write_fmt(fmt!(" local={local}"))?;
        }
        Ok(())
    }

    fn cancel(this: &Arc<Self>) {
        // NDKPI: from here on connections are refused. A pending Listen ends by itself, since it waits for nobody.
        let mut inner = this.inner.lock();
        if let Ok(step) = inner.machine.call(Call::Close) {
            inner.apply(step);
        }
    }

    fn teardown(this: &Arc<Self>, ctx: &MaySleep) {
        this.report(Report::Quiet, ctx);
        this.port().registry().remove(&**this);
    }
}

impl Lower for Listener {
    fn rank(&self) -> Rank {
        Rank::Connection
    }

    fn revoke(self: Arc<Self>, ctx: &MaySleep) {
        self.report(Report::DeviceRemoved, ctx);
    }
}

/// Creates a listener, which does not listen yet. Any context.
///
/// # Errors
///
/// `InsufficientResources`, `DeviceRemoved`.
pub(crate) fn create(adapter: &Arc<Adapter>, event: ConnectEvent) -> Result<Arc<Listener>> {
    let held = Held::successor(adapter)?;
    let listener = Arc::pin_init(
        pin_init!(Listener {
            head <- Head::new(adapter.version()),
            lower <- new_mutex!(None),
            inner <- new_irq_spinlock!(Inner {
                number: 0,
                machine: Machine::new(params::listen_backlog()),
                endpoint: None,
                local: None,
            }),
            event,
            adapter: held,
        }),
        GFP_ATOMIC,
    )?;
    listener.inner.lock().number = listener.head.number();
    adapter.port().registry().add(&listener, GFP_ATOMIC)?;
    Ok(listener)
}

/// Starts to listen on a local address, where port 0 has one chosen; `completion` tells whether it does. Any context.
///
/// # Errors
///
/// `InvalidDeviceState` for a listener that listens, `SharingViolation`, `InvalidAddress`, `TooManyAddresses`,
/// `InsufficientResources`, `DeviceRemoved`.
pub(crate) fn listen(
    this: &Arc<Listener>,
    address: SocketAddr,
    completion: RequestCompletion,
) -> Result {
    // What is wrong with the listener comes before what is wrong with the address.
    this.inner.lock().machine.call(Call::Listen)?;
    let request = Held::request(this)?;
    let endpoint = this.port().endpoints().listen(address, GFP_ATOMIC)?;

    let mut inner = this.inner.lock();
    let step = inner.machine.call(Call::Listen)?;
    inner.apply(step);
    inner.endpoint = Some(endpoint);
    drop(inner);

    let listener = this.clone();
    let deferred = object::defer(
        move |ctx| listener.start(ctx),
        move |ctx, result| {
            completion.call(ctx, result);
            // A request until its callback has returned.
            drop(request);
        },
    );
    if let Err(status) = deferred {
        let mut inner = this.inner.lock();
        let step = inner.machine.report(Report::Failed(status));
        inner.apply(step);
        let endpoint = inner.endpoint.take();
        drop(inner);
        drop(endpoint);
    }
    deferred
}

impl Listener {
    /// What traces and debugfs call it.
    pub(crate) fn number(&self) -> u64 {
        self.head.number()
    }

    /// The adapter it was made from.
    pub(crate) fn adapter(&self) -> &Arc<Adapter> {
        self.adapter.object()
    }

    fn port(&self) -> &Arc<Port> {
        self.adapter.port()
    }

    /// The address that it listens on. Any context.
    ///
    /// # Errors
    ///
    /// `InvalidDeviceState` when it does not listen, `DeviceRemoved`.
    pub(crate) fn local_address(&self) -> Result<SocketAddr> {
        let inner = self.inner.lock();
        inner.machine.call(Call::QueryLocal)?;
        inner.local.ok_or(Status::InvalidDeviceState)
    }

    /// Pauses connect events, or resumes them. Any context.
    ///
    /// NDKPI: while paused, connections are refused, not kept. One that is on its way to the consumer may still come.
    pub(crate) fn control_connect_events(&self, pause: bool) {
        let mut inner = self.inner.lock();
        if let Ok(step) = inner.machine.call(Call::Pause(pause)) {
            inner.apply(step);
        }
    }

    /// One of its connections has its answer. Any context.
    pub(crate) fn answered(&self) {
        let mut inner = self.inner.lock();
        let step = inner.machine.report(Report::Answered);
        inner.apply(step);
    }

    /// Tells the machine something, and does what it asks for. Returns what completes the Listen, if that is what it leads to.
    fn report(&self, report: Report, ctx: &MaySleep) -> Option<Status> {
        let mut completion = None;
        let mut lower = self.lower.lock();
        let mut inner = self.inner.lock();
        let step = inner.machine.report(report);
        let effects = inner.apply(step);
        drop(inner);
        for effect in effects {
            match effect {
                Effect::DestroyId => {
                    if let Some(id) = lower.take() {
                        id.destroy(ctx);
                    }
                }
                Effect::ReleaseEndpoint => {
                    let endpoint = self.inner.lock().endpoint.take();
                    drop(endpoint);
                }
                Effect::CompleteRequest(status) => completion = Some(status),
                // The first is under way when it is asked for, the second is the return of `cancel`.
                Effect::StartListen | Effect::EndClose => {}
            }
        }
        completion
    }

    /// Makes an id that listens.
    fn start(self: &Arc<Self>, ctx: &MaySleep) -> Result {
        let mut lower = self.lower.lock();
        let mut inner = self.inner.lock();
        let wanted = inner.machine.state() == State::Starting;
        let endpoint = inner.endpoint.take();
        drop(inner);
        let result = match endpoint {
            Some(mut endpoint) if wanted => {
                let made = self.listen_at(&mut endpoint, ctx);
                let mut inner = self.inner.lock();
                inner.local = Some(endpoint.local());
                inner.endpoint = Some(endpoint);
                drop(inner);
                made.map(|id| *lower = Some(id))
            }
            // Closed or revoked before it began.
            other => {
                self.inner.lock().endpoint = other;
                Err(Status::DeviceRemoved)
            }
        };
        drop(lower);
        let report = match result {
            Ok(()) => Report::Started,
            Err(status) => Report::Failed(status),
        };
        match self.report(report, ctx) {
            Some(Status::Success) => Ok(()),
            Some(status) => Err(status),
            // NDKPI: a close ends what is pending.
            None if self.head.is_closing() => Err(Status::Cancelled),
            None => Err(Status::DeviceRemoved),
        }
    }

    fn listen_at(self: &Arc<Self>, endpoint: &mut Endpoint, ctx: &MaySleep) -> Result<CmId> {
        let id = self.port().new_id(self.clone(), ctx)?;
        match self.aim(&id, endpoint, ctx) {
            Ok(()) => Ok(id),
            Err(status) => {
                // Now, since the consumer may come back for the same address.
                id.destroy(ctx);
                Err(status)
            }
        }
    }

    /// The part of [`Self::listen_at`] that has an id.
    fn aim(&self, id: &CmId, endpoint: &mut Endpoint, ctx: &MaySleep) -> Result {
        endpoint.bind(id, self.port(), ctx)?;
        // Known before the first connection can come in.
        self.inner.lock().local = Some(endpoint.local());
        Ok(id.listen(ctx, params::listen_backlog())?)
    }
}

impl CmEvents for Listener {
    fn event(_this: ArcBorrow<'_, Self>, _id: &Locked<'_>, _event: &CmEvent<'_>, _ctx: &Process) {
        // Nothing happens at an id that listens, but the removal of the device, which the registry sees to.
    }

    fn incoming(this: ArcBorrow<'_, Self>, incoming: Incoming<'_>, ctx: &Process) {
        let mut inner = this.inner.lock();
        let (next, verdict) = inner.machine.incoming();
        inner.machine = next;
        let local = inner.local;
        drop(inner);
        // NDKPI: a listener that is paused, full or being closed refuses as though it did not exist.
        let (Verdict::Deliver, Some(local)) = (verdict, local) else {
            this.port().counters().count(Tally::ConnectFailure);
            incoming.refuse();
            return;
        };
        let listener: Arc<Self> = this.into();
        match connector::prepare(&listener, local, this.event, &incoming) {
            Ok(newcomer) => newcomer.deliver(incoming, ctx),
            Err(_) => {
                listener.port().counters().count(Tally::ConnectFailure);
                listener.answered();
                incoming.refuse();
            }
        }
    }
}
