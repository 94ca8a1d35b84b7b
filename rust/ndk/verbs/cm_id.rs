// SPDX-License-Identifier: GPL-2.0

//! Identifiers of the RDMA connection manager: one for each listener and each connection.
//!
//! An id never owns a QP here; its user moves the QP with what [`Ops::init_qp_attr`] computes. That
//! leaves the user in charge of when a connection is completed, and of what a disconnect does to
//! the QP.
//!
//! Events of an id come one at a time, under the id's *handler lock*. Whoever holds that lock has a
//! [`Locked`]: the handler itself, and others through [`CmId::lock_handler`]. A handler blocks all
//! connections of its CPU, so it records and kicks.
//!
//! Destruction waits for the handler. [`CmId::destroy`] therefore wants a token that a handler has
//! not got, and dropping an id hands it to a work queue.
//!
//! C header: [`include/rdma/rdma_cm.h`](srctree/include/rdma/rdma_cm.h)

use crate::{
    ctx::{
        MaySleep,
        NoIo, //
    },
    ffi,
    sync::{
        sleep_work,
        SleepItem,
        SleepQueue, //
    },
    verbs::{
        addr::SocketAddr,
        device::DeviceRef,
        net::NetNs,
        qp::{
            QpAttr,
            QpState, //
        },
    },
};
use core::{
    any::Any,
    cell::Cell,
    marker::PhantomData,
    mem::ManuallyDrop,
    ops::Deref,
    ptr::{
        self,
        NonNull, //
    },
};
use kernel::{
    error::{
        from_err_ptr,
        to_result, //
    },
    ffi::{
        c_int,
        c_ulong, //
    },
    prelude::*,
    sync::{
        Arc,
        ArcBorrow, //
    },
    types::NotThreadSafe,
    workqueue::{
        new_work,
        Work, //
    },
};

/// What happens at an id.
pub(crate) trait CmEvents: Send + Sync + Sized + 'static {
    /// An event of a connection. Process context, under the id's handler lock.
    fn event(this: ArcBorrow<'_, Self>, id: &Locked<'_>, event: &CmEvent<'_>);

    /// A connection comes in for a listener. Process context, under the handler locks of the
    /// listener and of the new id. Dropping `incoming` rejects it.
    fn incoming(_this: ArcBorrow<'_, Self>, _incoming: Incoming<'_>) {}
}

/// What the peer sent along, and what it can take.
#[derive(Clone, Copy)]
pub(crate) struct ConnData<'a> {
    /// Private data. InfiniBand and RoCE fill it up with zeros to the largest length there is. Gone
    /// when the handler returns.
    pub(crate) private_data: &'a [u8],
    /// Reads that the peer wants to have outstanding here.
    pub(crate) responder_resources: u8,
    /// Reads that the peer lets us have outstanding there.
    pub(crate) initiator_depth: u8,
}

/// An event of a connection.
pub(crate) enum CmEvent<'a> {
    /// Address and device are known.
    AddrResolved,
    /// There is no way to the address.
    AddrError(Error),
    /// The path is known.
    RouteResolved,
    /// There is no path.
    RouteError,
    /// Active side, not on iWARP: the peer accepted and waits for [`Locked::accept_rtu`] or a
    /// reject.
    ConnectResponse(ConnData<'a>),
    /// The connection failed on our side.
    ConnectError,
    /// The peer does not answer. Also when the neighbour of an established connection has changed.
    Unreachable,
    /// The peer refused or gave up, with a reason of the transport (`enum ib_cm_rej_reason`, or a
    /// negative errno on iWARP), and the data that its consumer sent.
    Rejected {
        /// The transport's reason.
        reason: i32,
        /// The peer's data, empty unless its consumer rejected.
        private_data: &'a [u8],
    },
    /// The connection is established. Active side: on iWARP only, with the peer's answer.
    Established(ConnData<'a>),
    /// The connection is gone: by the peer's wish, or our own one done (an error: without an
    /// answer).
    Disconnected(Result),
    /// The device goes away.
    DeviceRemoval,
    /// The address has moved to another device.
    AddrChange,
    /// The QP's number can be used again.
    TimewaitExit,
    /// Something else.
    Other,
}

/// Retries without an answer, for both ends. One less than there can be: rxe takes 7 for "for ever",
/// and then a peer that falls silent is never missed.
pub(crate) const RETRIES: u8 = 6;

/// Retries after an RNR NAK, for both ends: for ever. A consumer that is slow to post its receives
/// does not lose the connection.
pub(crate) const RNR_RETRIES: u8 = 7;

/// Parameters of [`CmId::connect`] and [`Locked::accept`].
#[derive(Clone, Copy)]
pub(crate) struct ConnParam<'a> {
    /// Data for the peer's consumer, at most 255 bytes.
    pub(crate) private_data: &'a [u8],
    /// Reads that the peer may have outstanding here.
    pub(crate) responder_resources: u8,
    /// Reads that we may have outstanding at the peer.
    pub(crate) initiator_depth: u8,
    /// Number of the QP.
    pub(crate) qp_num: u32,
}

impl ConnParam<'_> {
    fn to_raw(self) -> Result<ffi::rdma_conn_param> {
        Ok(ffi::rdma_conn_param {
            private_data: if self.private_data.is_empty() {
                ptr::null()
            } else {
                self.private_data.as_ptr().cast()
            },
            private_data_len: u8::try_from(self.private_data.len()).map_err(|_| EINVAL)?,
            responder_resources: self.responder_resources,
            initiator_depth: self.initiator_depth,
            flow_control: 1,
            retry_count: RETRIES,
            rnr_retry_count: RNR_RETRIES,
            qp_num: self.qp_num,
            ..ffi::rdma_conn_param::default()
        })
    }
}

/// Why a connection is rejected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reject {
    /// As though nobody listened.
    NoListener,
    /// The consumer does not want it.
    Consumer,
}

impl Reject {
    fn raw(self) -> u8 {
        // CAST: Both reasons are below 256.
        match self {
            Self::NoListener => ffi::ib_cm_rej_reason_IB_CM_REJ_INVALID_SERVICE_ID as u8,
            Self::Consumer => ffi::ib_cm_rej_reason_IB_CM_REJ_CONSUMER_DEFINED as u8,
        }
    }
}

/// What can be done with an id whether or not its handler lock is held.
///
/// # Invariants
///
/// `raw` is an id that is not destroyed while the value is borrowed.
pub(crate) struct Ops {
    raw: NonNull<ffi::rdma_cm_id>,
}

// SAFETY: rdma_cm's functions on an id may be called from every thread.
unsafe impl Send for Ops {}
// SAFETY: As above.
unsafe impl Sync for Ops {}

impl Ops {
    fn as_raw(&self) -> *mut ffi::rdma_cm_id {
        self.raw.as_ptr()
    }

    /// The peer's address, once resolved or, for an incoming connection, from the start.
    pub(crate) fn peer_addr(&self) -> Option<SocketAddr> {
        // SAFETY: As above.
        SocketAddr::from_storage(unsafe { &(*self.as_raw()).route.addr.dst_addr })
    }

    /// Whether the routing table knows a way from the local address to the peer's. Any context.
    ///
    /// rdma_cm takes a peer without a route for one on the link, and waits for it in vain.
    pub(crate) fn check_route(&self) -> Result {
        // SAFETY: Valid by the type invariant; the addresses and the namespace are there from the
        // start.
        to_result(unsafe { ffi::ndk_helper_rdma_id_route(self.as_raw()) })
    }

    /// Whether the id is bound to this device.
    pub(crate) fn is_on(&self, device: &DeviceRef) -> bool {
        // SAFETY: Valid by the type invariant; the pointer is compared only.
        unsafe { (*self.as_raw()).device == device.as_raw() }
    }

    /// The port of the device to which the id is bound, 0 before.
    pub(crate) fn port_number(&self) -> u32 {
        // SAFETY: Valid by the type invariant.
        unsafe { (*self.as_raw()).port_num }
    }

    /// The attributes for moving a QP of this connection to `state`. `EINVAL` before the connection
    /// is that far.
    pub(crate) fn init_qp_attr(&self, state: QpState) -> Result<QpAttr> {
        let mut attr = QpAttr::new(state);
        // SAFETY: Valid by the type invariant.
        to_result(unsafe { ffi::rdma_init_qp_attr(self.as_raw(), &mut attr.raw, &mut attr.mask) })?;
        // SAFETY: The address that rdma_cm filled in belongs to the id, which is alive.
        unsafe { attr.hold_gid() };
        Ok(attr)
    }

    /// Refuses the connection: a request that came in, or on the active side an answer that was not
    /// confirmed. Data beyond 255 bytes is `EINVAL`.
    pub(crate) fn reject(&self, reason: Reject, private_data: &[u8]) -> Result {
        let len = u8::try_from(private_data.len()).map_err(|_| EINVAL)?;
        // SAFETY: Valid by the type invariant; `private_data` has `len` bytes.
        to_result(unsafe {
            ffi::rdma_reject(
                self.as_raw(),
                private_data.as_ptr().cast(),
                len,
                reason.raw(),
            )
        })
    }

    /// Asks the peer to disconnect, or answers its request. Does nothing to the QP. Sleeps.
    pub(crate) fn disconnect(&self) -> Result {
        // SAFETY: Valid by the type invariant.
        to_result(unsafe { ffi::rdma_disconnect(self.as_raw()) })
    }

    /// Tells that a message has come before the connection was established. Sleeps.
    pub(crate) fn notify_comm_est(&self) -> Result {
        // SAFETY: Valid by the type invariant.
        to_result(unsafe { ffi::rdma_notify(self.as_raw(), ffi::ib_event_type_IB_EVENT_COMM_EST) })
    }

    /// Finds the path to the peer; ends in [`CmEvent::RouteResolved`] or [`CmEvent::RouteError`].
    /// Sleeps.
    pub(crate) fn resolve_route(&self, timeout_ms: u32) -> Result {
        // SAFETY: Valid by the type invariant.
        // CAST: Never narrower than 32 bits.
        to_result(unsafe { ffi::rdma_resolve_route(self.as_raw(), timeout_ms as c_ulong) })
    }
}

/// An id whose handler lock is held by the current thread.
///
/// # Invariants
///
/// The lock is held while the value is borrowed.
pub(crate) struct Locked<'a> {
    ops: Ops,
    _held: PhantomData<(&'a (), NotThreadSafe)>,
}

impl Deref for Locked<'_> {
    type Target = Ops;

    fn deref(&self) -> &Ops {
        &self.ops
    }
}

impl Locked<'_> {
    /// Accepts an incoming connection, whose QP is in RTS already. On error the peer is rejected.
    pub(crate) fn accept(&self, param: &ConnParam<'_>) -> Result {
        let mut raw = param.to_raw()?;
        // SAFETY: As above.
        to_result(unsafe { ffi::rdma_accept(self.as_raw(), &mut raw) })
    }

    /// Completes a connection of the active side after [`CmEvent::ConnectResponse`], its QP being
    /// in RTS. No event follows. On error the peer is rejected.
    pub(crate) fn accept_rtu(&self) -> Result {
        // SAFETY: As above; there are no parameters.
        to_result(unsafe { ffi::rdma_accept(self.as_raw(), ptr::null_mut()) })
    }
}

/// The handler lock of an id, held from outside of its handler.
pub(crate) struct HandlerGuard<'a> {
    locked: Locked<'a>,
}

impl<'a> Deref for HandlerGuard<'a> {
    type Target = Locked<'a>;

    fn deref(&self) -> &Locked<'a> {
        &self.locked
    }
}

impl Drop for HandlerGuard<'_> {
    fn drop(&mut self) {
        // SAFETY: `CmId::lock_handler` took the lock, in this thread.
        unsafe { ffi::rdma_unlock_handler(self.locked.as_raw()) };
    }
}

/// What an id needs until it is destroyed, and the work item that destroys it.
///
/// # Invariants
///
/// `ops.raw` is an id that only the owner of this structure's [`CmId`] destroys, once. Its context
/// is `events`.
#[pin_data]
struct State {
    ops: Ops,
    /// Kept for the handler.
    _events: Arc<dyn Any + Send + Sync>,
    queue: Arc<SleepQueue>,
    #[pin]
    work: Work<State>,
    /// Dropped last: the module, which has a reference on the queue as well, waits for the device
    /// before it drops that.
    device: DeviceRef,
}

sleep_work! { impl SleepItem<0> for State { self.work } }

impl SleepItem for State {
    fn run(this: Arc<Self>, _ctx: &MaySleep) {
        // SAFETY: Queued by the drop of the one `CmId`, which did not destroy it.
        unsafe { ffi::rdma_destroy_id(this.ops.as_raw()) };
    }
}

impl State {
    /// # Safety
    ///
    /// `raw` is an id to whose destruction the caller has the sole right, and whose context is
    /// `events`.
    unsafe fn new(
        raw: NonNull<ffi::rdma_cm_id>,
        events: Arc<dyn Any + Send + Sync>,
        device: DeviceRef,
        queue: Arc<SleepQueue>,
    ) -> impl PinInit<Self> {
        pin_init!(Self {
            // INVARIANT: By this function's requirements.
            ops: Ops { raw },
            _events: events,
            queue,
            work <- new_work!("ndk_cm_id"),
            device,
        })
    }
}

/// An owned id.
///
/// Dropping it is possible in any context, its own handler included: a work queue destroys the id
/// then. Destroying an id ends what is going on: it rejects, or disconnects.
pub(crate) struct CmId {
    state: Arc<State>,
}

impl Deref for CmId {
    type Target = Ops;

    fn deref(&self) -> &Ops {
        &self.state.ops
    }
}

impl Drop for CmId {
    fn drop(&mut self) {
        self.state.queue.enqueue::<State, 0>(self.state.clone());
    }
}

impl CmId {
    /// Makes an id for reliable connections in a network namespace. Sleeps.
    ///
    /// The namespace lives at least as long as the id. siw ignores it: it makes its sockets in the
    /// namespace of the calling task, so from a work queue it connects and listens in the initial
    /// namespace only (`EADDRNOTAVAIL` elsewhere). `queue` destroys the id if it is just
    /// dropped.
    pub(crate) fn new<E: CmEvents>(
        ctx: &MaySleep,
        net: &NetNs,
        device: DeviceRef,
        queue: Arc<SleepQueue>,
        events: Arc<E>,
    ) -> Result<Self> {
        ctx.check();
        let context = Arc::as_ptr(&events).cast_mut().cast();
        // SAFETY: The namespace is valid. The handler gets `context`, which `events` keeps alive
        // until the id is destroyed.
        let raw = from_err_ptr(unsafe {
            ffi::ndk_helper_rdma_create_id(net.as_raw(), Some(Callbacks::<E>::handler), context)
        })?;
        let raw = NonNull::new(raw).ok_or(ENOMEM)?;
        // SAFETY: Just created with that context, and nobody else has the pointer.
        let state = unsafe { State::new(raw, events, device, queue) };
        match Arc::pin_init(state, GFP_KERNEL) {
            Ok(state) => Ok(Self { state }),
            Err(e) => {
                // SAFETY: As above. Nothing was started, so no handler can run with the context
                // that is gone.
                unsafe { ffi::rdma_destroy_id(raw.as_ptr()) };
                Err(e)
            }
        }
    }

    /// The device for which the id was made; after binding or resolving check that it
    /// [`Ops::is_on`] it.
    pub(crate) fn device(&self) -> &DeviceRef {
        &self.state.device
    }

    /// Keeps an IPv6 id from taking the IPv4 port too. Before binding.
    pub(crate) fn set_afonly(&self, ctx: &MaySleep, afonly: bool) -> Result {
        ctx.check();
        // SAFETY: Valid by the type invariant.
        to_result(unsafe { ffi::rdma_set_afonly(self.as_raw(), c_int::from(afonly)) })
    }

    /// Binds to a local address. `EADDRINUSE` and `EADDRNOTAVAIL` leave the id as it was, to try
    /// another port.
    pub(crate) fn bind_addr(&self, ctx: &MaySleep, addr: &SocketAddr) -> Result {
        ctx.check();
        let mut addr = addr.to_storage();
        // SAFETY: Valid by the type invariant; `addr` is a socket address.
        to_result(unsafe { ffi::rdma_bind_addr(self.as_raw(), ptr::from_mut(&mut addr).cast()) })
    }

    /// Finds device and neighbour for a peer; ends in [`CmEvent::AddrResolved`] or
    /// [`CmEvent::AddrError`].
    ///
    /// Without `from` the id has to be bound, or takes any address.
    pub(crate) fn resolve_addr(
        &self,
        ctx: &MaySleep,
        from: Option<&SocketAddr>,
        to: &SocketAddr,
        timeout_ms: u32,
    ) -> Result {
        ctx.check();
        let mut from = from.map(|addr| addr.to_storage());
        let to = to.to_storage();
        // SAFETY: Valid by the type invariant; both are socket addresses, or null where that is
        // allowed.
        // CAST: Never narrower than 32 bits.
        to_result(unsafe {
            ffi::rdma_resolve_addr(
                self.as_raw(),
                from.as_mut()
                    .map_or(ptr::null_mut(), |addr| ptr::from_mut(addr).cast()),
                ptr::from_ref(&to).cast(),
                timeout_ms as c_ulong,
            )
        })
    }

    /// Sends the connect request; from [`CmEvent::RouteResolved`] on. Ends in an event.
    pub(crate) fn connect(&self, ctx: &MaySleep, param: &ConnParam<'_>) -> Result {
        ctx.check();
        let mut raw = param.to_raw()?;
        // SAFETY: Valid by the type invariant.
        to_result(unsafe { ffi::rdma_connect(self.as_raw(), &mut raw) })
    }

    /// Starts to listen on the address bound. InfiniBand and RoCE ignore `backlog`.
    pub(crate) fn listen(&self, ctx: &MaySleep, backlog: u32) -> Result {
        ctx.check();
        let backlog = c_int::try_from(backlog).unwrap_or(c_int::MAX);
        // SAFETY: Valid by the type invariant.
        to_result(unsafe { ffi::rdma_listen(self.as_raw(), backlog) })
    }

    /// Takes the handler lock: events wait until the guard is dropped. Not from the id's own
    /// handler, and under no lock that the handler takes.
    pub(crate) fn lock_handler(&self, ctx: &MaySleep) -> HandlerGuard<'_> {
        ctx.check();
        // SAFETY: Valid by the type invariant.
        unsafe { ffi::rdma_lock_handler(self.as_raw()) };
        HandlerGuard {
            // INVARIANT: Locked above, until the guard is dropped.
            locked: Locked {
                ops: Ops { raw: self.raw },
                _held: PhantomData,
            },
        }
    }

    /// Destroys the id. When this returns, no handler runs. Not from the id's own handler.
    pub(crate) fn destroy(self, ctx: &MaySleep) {
        ctx.check();
        let this = ManuallyDrop::new(self);
        // SAFETY: Read once, and `this` is not dropped.
        let state = unsafe { ptr::read(&this.state) };
        // SAFETY: By the type invariant of `State` this is the one right to do so.
        unsafe { ffi::rdma_destroy_id(state.ops.as_raw()) };
    }
}

/// A connection that comes in for a listener. Dropping it rejects the connection.
pub(crate) struct Incoming<'a> {
    ops: Ops,
    data: ConnData<'a>,
    /// What the handler returns: 0 to keep the id.
    verdict: &'a Cell<c_int>,
    _not_send: NotThreadSafe,
}

impl<'a> Incoming<'a> {
    /// What the peer sent along.
    pub(crate) fn data(&self) -> &ConnData<'a> {
        &self.data
    }

    /// The peer's address.
    pub(crate) fn peer_addr(&self) -> Option<SocketAddr> {
        self.ops.peer_addr()
    }

    /// Whether it came in on this device.
    pub(crate) fn is_on(&self, device: &DeviceRef) -> bool {
        self.ops.is_on(device)
    }

    /// The port at which it came in.
    pub(crate) fn port_number(&self) -> u32 {
        self.ops.port_number()
    }

    /// Takes the connection over, to be accepted or rejected at any time; from now on its events go
    /// to `events`.
    ///
    /// `EXDEV`: it is not on `device`. On error it is rejected.
    pub(crate) fn take<E: CmEvents>(
        self,
        device: DeviceRef,
        queue: Arc<SleepQueue>,
        events: Arc<E>,
    ) -> Result<CmId> {
        if !self.is_on(&device) {
            return Err(EXDEV);
        }
        let context = Arc::as_ptr(&events).cast_mut().cast();
        let _noio = NoIo::enter();
        // SAFETY: The handler's verdict will be to keep the id, so the right to destroy it is the
        // caller's; the context is set below, where no handler can run yet.
        let state = unsafe { State::new(self.ops.raw, events, device, queue) };
        let state = Arc::pin_init(state, GFP_KERNEL)?;
        // SAFETY: The id is valid, and its handler lock is held by rdma_cm during the listener's
        // handler.
        unsafe {
            (*self.ops.as_raw()).context = context;
            (*self.ops.as_raw()).event_handler = Some(Callbacks::<E>::handler);
        }
        self.verdict.set(0);
        Ok(CmId { state })
    }

    /// Rejects it as though nobody listened.
    pub(crate) fn refuse(self) {
        // An error means that the peer is not there any more.
        let _ = self.ops.reject(Reject::NoListener, &[]);
    }
}

/// The C callback of an id.
struct Callbacks<E>(PhantomData<E>);

impl<E: CmEvents> Callbacks<E> {
    /// # Safety
    ///
    /// Called by rdma_cm in process context, with the handler lock of an id held whose context is
    /// an `Arc<E>` that is kept until the id is destroyed; for an incoming connection that of the
    /// listener, whose handler lock is held as well.
    unsafe extern "C" fn handler(
        id: *mut ffi::rdma_cm_id,
        event: *mut ffi::rdma_cm_event,
    ) -> c_int {
        let Some(raw) = NonNull::new(id) else {
            return EINVAL.to_errno();
        };
        // SAFETY: By this function's requirements.
        let events = unsafe { ArcBorrow::from_raw((*id).context.cast::<E>().cast_const()) };
        // SAFETY: rdma_cm passes a valid event, which stays during the call.
        let event = unsafe { &*event };
        // INVARIANT: The id stays during the call.
        let ops = Ops { raw };

        if event.event == ffi::rdma_cm_event_type_RDMA_CM_EVENT_CONNECT_REQUEST {
            let verdict = Cell::new(ECONNREFUSED.to_errno());
            let incoming = Incoming {
                ops,
                // SAFETY: This event has connection parameters.
                data: unsafe { ConnData::from_raw(event) },
                verdict: &verdict,
                _not_send: NotThreadSafe,
            };
            E::incoming(events, incoming);
            return verdict.get();
        }

        // INVARIANT: The lock is held during the call.
        let locked = Locked {
            ops,
            _held: PhantomData,
        };
        // SAFETY: The event belongs to this id.
        let event = unsafe { CmEvent::from_raw(id, event) };
        E::event(events, &locked, &event);
        0
    }
}

/// `len` bytes at `data`, which may be null.
///
/// # Safety
///
/// `data` is null or has `len` bytes that stay for `'a`.
unsafe fn bytes<'a>(data: *const kernel::ffi::c_void, len: u8) -> &'a [u8] {
    if data.is_null() || len == 0 {
        return &[];
    }
    // SAFETY: By this function's requirements.
    unsafe { core::slice::from_raw_parts(data.cast(), usize::from(len)) }
}

impl<'a> ConnData<'a> {
    /// # Safety
    ///
    /// The event has connection parameters.
    unsafe fn from_raw(event: &'a ffi::rdma_cm_event) -> Self {
        // SAFETY: By this function's requirements.
        let conn = unsafe { &event.param.conn };
        Self {
            // SAFETY: The data lives as long as the event.
            private_data: unsafe { bytes(conn.private_data, conn.private_data_len) },
            responder_resources: conn.responder_resources,
            initiator_depth: conn.initiator_depth,
        }
    }
}

impl<'a> CmEvent<'a> {
    /// # Safety
    ///
    /// `event` is being delivered to `id`.
    unsafe fn from_raw(id: *mut ffi::rdma_cm_id, event: &'a ffi::rdma_cm_event) -> Self {
        match event.event {
            ffi::rdma_cm_event_type_RDMA_CM_EVENT_ADDR_RESOLVED => Self::AddrResolved,
            ffi::rdma_cm_event_type_RDMA_CM_EVENT_ADDR_ERROR => {
                Self::AddrError(to_result(event.status).err().unwrap_or(EIO))
            }
            ffi::rdma_cm_event_type_RDMA_CM_EVENT_ROUTE_RESOLVED => Self::RouteResolved,
            ffi::rdma_cm_event_type_RDMA_CM_EVENT_ROUTE_ERROR => Self::RouteError,
            ffi::rdma_cm_event_type_RDMA_CM_EVENT_CONNECT_RESPONSE => {
                // SAFETY: This event has connection parameters.
                Self::ConnectResponse(unsafe { ConnData::from_raw(event) })
            }
            ffi::rdma_cm_event_type_RDMA_CM_EVENT_CONNECT_ERROR => Self::ConnectError,
            ffi::rdma_cm_event_type_RDMA_CM_EVENT_UNREACHABLE => Self::Unreachable,
            ffi::rdma_cm_event_type_RDMA_CM_EVENT_REJECTED => {
                let mut len = 0;
                // SAFETY: The event is a reject for this id; the callee looks for the data of a
                // consumer in it.
                let data = unsafe {
                    ffi::rdma_consumer_reject_data(id, ptr::from_ref(event).cast_mut(), &mut len)
                };
                Self::Rejected {
                    reason: event.status,
                    // SAFETY: The data lives as long as the event.
                    private_data: unsafe { bytes(data, len) },
                }
            }
            ffi::rdma_cm_event_type_RDMA_CM_EVENT_ESTABLISHED => {
                // SAFETY: This event has connection parameters, zero where there are none.
                Self::Established(unsafe { ConnData::from_raw(event) })
            }
            ffi::rdma_cm_event_type_RDMA_CM_EVENT_DISCONNECTED => {
                Self::Disconnected(to_result(event.status.min(0)))
            }
            ffi::rdma_cm_event_type_RDMA_CM_EVENT_DEVICE_REMOVAL => Self::DeviceRemoval,
            ffi::rdma_cm_event_type_RDMA_CM_EVENT_ADDR_CHANGE => Self::AddrChange,
            ffi::rdma_cm_event_type_RDMA_CM_EVENT_TIMEWAIT_EXIT => Self::TimewaitExit,
            _ => Self::Other,
        }
    }
}
