// SPDX-License-Identifier: GPL-2.0

//! Identifiers of the RDMA connection manager: one for each listener and each connection.
//!
//! An id never owns a QP here; its user moves the QP with what [`Ops::init_qp_attr`] computes. That
//! leaves the user in charge of when a connection is completed, and of what a disconnect does to
//! the QP.
//!
//! Events of an id come one at a time, under the id's *handler lock*. Whoever holds that lock has a
//! [`Locked`]: the handler itself, and others through [`CmId::lock_handler`]. A handler holds up the
//! other connections, so it waits for nothing: neither for the peer nor for another handler.
//!
//! Destruction waits for the handler. [`CmId::destroy`] therefore wants a token that a handler has
//! not got, and dropping an id hands it to a work queue.
//!
//! C header: [`include/rdma/rdma_cm.h`](srctree/include/rdma/rdma_cm.h)

use crate::{
    ctx::{
        MaySleep,
        Process, //
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
    sync::Arc,
    types::NotThreadSafe,
    workqueue::{
        new_work,
        Work, //
    },
};

mod events;

use self::events::Callbacks;
pub(crate) use self::events::{
    CmEvent,
    CmEvents,
    ConnData,
    Incoming, //
};

/// Retries without an answer, for both ends. One less than there can be: rxe takes 7 for "for ever",
/// and then a peer that falls silent is never missed.
pub(crate) const RETRIES: u8 = 6;

/// Retries after an RNR NAK, for both ends: for ever. A consumer that is slow to post its receives
/// does not lose the connection.
pub(crate) const RNR_RETRIES: u8 = 7;

/// Parameters of [`Locked::connect`] and [`Locked::accept`].
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
    /// Whether the QP takes its receives from an SRQ.
    pub(crate) srq: bool,
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
            srq: u8::from(self.srq),
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

    /// Our address, once bound or, for an incoming connection, from the start.
    pub(crate) fn local_addr(&self) -> Option<SocketAddr> {
        // SAFETY: Valid by the type invariant; rdma_cm does not change a bound address.
        SocketAddr::from_storage(unsafe { &(*self.as_raw()).route.addr.src_addr })
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
    pub(crate) fn resolve_route(&self, ctx: &Process, timeout_ms: u32) -> Result {
        ctx.check();
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
    /// Sends the connect request; from [`CmEvent::RouteResolved`] on. Ends in an event.
    pub(crate) fn connect(&self, ctx: &Process, param: &ConnParam<'_>) -> Result {
        ctx.check();
        let mut raw = param.to_raw()?;
        // SAFETY: Valid by the type invariant, and its handler lock is held.
        to_result(unsafe { ffi::rdma_connect_locked(self.as_raw(), &mut raw) })
    }

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

    /// Lets other ids that allow it too have the same local address. Sleeps.
    ///
    /// Before binding; or after it, when no one else is to be met, but others may come. One that
    /// shares its address cannot listen on it.
    pub(crate) fn allow_sharing(&self, ctx: &MaySleep) -> Result {
        ctx.check();
        // SAFETY: Valid by the type invariant.
        to_result(unsafe { ffi::rdma_set_reuseaddr(self.as_raw(), 1) })
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
