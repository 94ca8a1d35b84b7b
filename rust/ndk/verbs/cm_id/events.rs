// SPDX-License-Identifier: GPL-2.0

//! What happens at an id of the connection manager, with the connections that come in.

use super::{
    CmId,
    Locked,
    Ops,
    Reject,
    State, //
};
use crate::{
    ctx::{
        NoIo,
        Process, //
    },
    ffi,
    sync::SleepQueue,
    verbs::{
        addr::SocketAddr,
        device::DeviceRef, //
    }, //
};
use core::{
    cell::Cell,
    marker::PhantomData,
    ptr::{
        self,
        NonNull, //
    }, //
};
use kernel::{
    error::to_result,
    ffi::c_int,
    prelude::*,
    sync::{
        Arc,
        ArcBorrow, //
    },
    types::NotThreadSafe, //
};

/// What happens at an id.
pub(crate) trait CmEvents: Send + Sync + Sized + 'static {
    /// An event of a connection. Under the id's handler lock, within a [`NoIo`] scope.
    fn event(this: ArcBorrow<'_, Self>, id: &Locked<'_>, event: &CmEvent<'_>, ctx: &Process);

    /// A connection comes in for a listener. Under the handler locks of the listener and of the new
    /// id, within a [`NoIo`] scope. Dropping `incoming` rejects it.
    fn incoming(_this: ArcBorrow<'_, Self>, _incoming: Incoming<'_>, _ctx: &Process) {}
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
    /// to `events`. In the handler at hand this can be done at once.
    ///
    /// `EXDEV`: it is not on `device`. On error it is rejected.
    pub(crate) fn take<E: CmEvents>(
        self,
        device: DeviceRef,
        queue: Arc<SleepQueue>,
        events: Arc<E>,
    ) -> Result<(CmId, Locked<'a>)> {
        if !self.is_on(&device) {
            return Err(EXDEV);
        }
        let context = Arc::as_ptr(&events).cast_mut().cast();
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
        // INVARIANT: rdma_cm holds the lock until the handler returns, and so long whoever destroys
        // the id waits for it.
        let locked = Locked {
            ops: self.ops,
            _held: PhantomData,
        };
        Ok((CmId { state }, locked))
    }

    /// Rejects it as though nobody listened.
    pub(crate) fn refuse(self) {
        // An error means that the peer is not there any more.
        let _ = self.ops.reject(Reject::NoListener, &[]);
    }
}

/// The C callback of an id.
pub(super) struct Callbacks<E>(PhantomData<E>);

impl<E: CmEvents> Callbacks<E> {
    /// # Safety
    ///
    /// Called by rdma_cm in process context, with the handler lock of an id held whose context is
    /// an `Arc<E>` that is kept until the id is destroyed; for an incoming connection that of the
    /// listener, whose handler lock is held as well.
    pub(super) unsafe extern "C" fn handler(
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
        let _noio = NoIo::enter();
        // SAFETY: By this function's requirements; what rdma_cm holds are mutexes.
        let ctx = unsafe { Process::assume() };

        if event.event == ffi::rdma_cm_event_type_RDMA_CM_EVENT_CONNECT_REQUEST {
            let verdict = Cell::new(ECONNREFUSED.to_errno());
            let incoming = Incoming {
                ops,
                // SAFETY: This event has connection parameters.
                data: unsafe { ConnData::from_raw(event) },
                verdict: &verdict,
                _not_send: NotThreadSafe,
            };
            E::incoming(events, incoming, &ctx);
            return verdict.get();
        }

        // INVARIANT: The lock is held during the call.
        let locked = Locked {
            ops,
            _held: PhantomData,
        };
        // SAFETY: The event belongs to this id.
        let event = unsafe { CmEvent::from_raw(id, event) };
        E::event(events, &locked, &event, &ctx);
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
                let private_data = if event.status < 0 {
                    // iWARP has one kind of reject, for which drivers have more than one error.
                    // SAFETY: This event has connection parameters.
                    unsafe { ConnData::from_raw(event) }.private_data
                } else {
                    let mut len = 0;
                    // SAFETY: The event is a reject for this id; the callee looks for the data of
                    // a consumer in it.
                    let data = unsafe {
                        ffi::rdma_consumer_reject_data(
                            id,
                            ptr::from_ref(event).cast_mut(),
                            &mut len,
                        )
                    };
                    // SAFETY: The data lives as long as the event.
                    unsafe { bytes(data, len) }
                };
                Self::Rejected {
                    reason: event.status,
                    private_data,
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
