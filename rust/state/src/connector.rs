// SPDX-License-Identifier: GPL-2.0

//! A connector: establishment, the connected phase, teardown.
//!
//! # Vocabulary
//!
//! - *Call*: what the consumer asks. Refused calls change nothing and give a status.
//! - *Report*: what the connection manager, a work item, a timer or the device tells. A report that
//!   comes too late for its state, or from an earlier attempt (another *epoch*), changes nothing.
//! - *Request*: a call that is answered later through its completion callback. There is at most one.
//! - *Work*: an effect that sleeps. Its outcome comes back as [`Report::Done`] or [`Report::Failed`].
//! - *Quiet*: no DMA on the queue pair any more, silent requests included.
//! - *Live* queue pair: it has left its initial state for this connection.
//!
//! # States
//!
//! ```text
//!  active                                              passive
//!  Idle ◄──── retryable failure ────┐                  Incoming ──Reject──► Rejected
//!   │ Connect                       │                   │ Accept
//!   ▼                               │                   ▼
//!  Connecting(Address → Route → Reply)                 Accepting ──failure──► Failed
//!   │ peer accepted                                     │ peer completed
//!   ▼                                                   │
//!  Accepted ──Reject──► Rejected                        │
//!   │ CompleteConnect    (peer gave up, hold timer: Failed)
//!   ▼                                                   │
//!  Completing ──failure──► Failed                       │
//!   │ done                                              │
//!   └────────────────────► Connected ◄──────────────────┘
//!                            │ peer's notification or abort: the disconnect event
//!                            ├───────────────► PeerGone
//!                 Disconnect │                    │ Disconnect
//!                            ▼                    ▼
//!                          Disconnecting ──answer and quiet──► Disconnected
//!
//!  Close, in any state: (Closing, until quiet) ► Closed
//! ```
//!
//! On IB and RoCE the peer's reply is held back until CompleteConnect: the queue pair is not live in
//! `Accepted`. On iWARP there is no third message: `Established` comes instead of the reply, the queue
//! pair is live, CompleteConnect is local and Reject can only disconnect.
//!
//! # Rules (sections 5.3, 5.4, 5.5, 5.10)
//!
//! - Every request is completed exactly once, also by Close (cancelled) and by removal of the device.
//! - The disconnect event is given at most once, only in `Connected`: so never before the establishment
//!   has been reported (a peer that goes away earlier fails the request instead) and never after the
//!   consumer's own Disconnect or Close.
//! - A peer that cannot know of an abort is told, without waiting for the consumer.
//! - The peer's going away does not flush. Disconnect completes when the peer has answered, or will not,
//!   *and* the queue pair is quiet.
//! - What a Close finds in flight it ends itself; [`Effect::EndClose`] is the last effect of all.

use super::effects::Effects;
use super::status::Status;
use core::ffi::CStr;

mod table;

/// How far an active establishment has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// The address is being resolved.
    Address,
    /// The route is being resolved.
    Route,
    /// The request is being sent, and the peer's reply awaited.
    Reply,
}

/// State of a connector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// New, or again as new after a retryable failure.
    Idle,
    /// Connect is pending.
    Connecting(Stage),
    /// The peer accepted; the consumer decides between CompleteConnect, Reject and Close.
    Accepted,
    /// CompleteConnect is pending.
    Completing,
    /// Connected.
    Connected,
    /// Was connected; the peer is gone and the consumer has been told.
    PeerGone,
    /// Disconnect is pending.
    Disconnecting,
    /// Disconnected, not reusable.
    Disconnected,
    /// A peer's request; the consumer decides between Accept, Reject and Close.
    Incoming,
    /// Accept is pending.
    Accepting,
    /// The consumer rejected.
    Rejected,
    /// The establishment failed. The cause is kept while no request has carried it to the consumer.
    Failed(Option<Status>),
    /// Close waits for the queue pair to become quiet.
    Closing,
    /// Close has done its part.
    Closed,
}

impl State {
    /// The name that traces and debugfs give it.
    pub const fn name(self) -> &'static CStr {
        match self {
            State::Idle => c"idle",
            State::Connecting(Stage::Address) => c"connecting:address",
            State::Connecting(Stage::Route) => c"connecting:route",
            State::Connecting(Stage::Reply) => c"connecting:reply",
            State::Accepted => c"accepted",
            State::Completing => c"completing",
            State::Connected => c"connected",
            State::PeerGone => c"peer_gone",
            State::Disconnecting => c"disconnecting",
            State::Disconnected => c"disconnected",
            State::Incoming => c"incoming",
            State::Accepting => c"accepting",
            State::Rejected => c"rejected",
            State::Failed(_) => c"failed",
            State::Closing => c"closing",
            State::Closed => c"closed",
        }
    }
}

/// What the consumer calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// Connect, or Connect with a shared endpoint. The endpoint has been reserved.
    Connect,
    /// CompleteConnect.
    CompleteConnect,
    /// Accept.
    Accept,
    /// Reject.
    Reject,
    /// Disconnect.
    Disconnect,
    /// Close.
    Close,
    /// GetConnectionData.
    QueryData,
    /// GetLocalAddress.
    QueryLocal,
    /// GetPeerAddress.
    QueryPeer,
}

impl Call {
    /// Whether it is answered through the completion callback when it is not refused.
    pub const fn is_request(self) -> bool {
        matches!(
            self,
            Call::Connect | Call::CompleteConnect | Call::Accept | Call::Disconnect
        )
    }
}

/// Work that sleeps and has an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Work {
    /// Make a fresh id, bind it, start to resolve the address.
    Resolve,
    /// Start to resolve the route.
    Route,
    /// Send the connect request.
    Connect,
    /// Move the queue pair up to sending and tell the peer that it may begin.
    Complete,
    /// Move the queue pair up to sending and send the reply.
    Accept,
    /// Send the graceful notification, or the answer to the peer's.
    Disconnect,
}

/// A timer of the provider's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Timer {
    /// Bounds Connect.
    Connect,
    /// Bounds the time an accepted connection is held back: shorter than the peer's patience, since
    /// the peer's connection manager does not tell when it gives up.
    Hold,
    /// Bounds the peer's time to complete an accepted connection.
    Establish,
    /// Bounds the peer's time to answer a disconnect.
    Disconnect,
}

/// Why the peer's connection manager rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// The peer's consumer did, perhaps with private data.
    Consumer,
    /// Nobody listens, or is paused, closing or full.
    NoListener,
    /// Any other reason: stale, timed out, out of resources.
    Other,
}

/// How to reject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RejectAs {
    /// The consumer did, with the private data it gave.
    Consumer,
    /// The consumer took too long, or closed.
    Timeout,
}

/// What the outside tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Report {
    /// The address is resolved.
    AddressResolved,
    /// It cannot be, with the status from [`address_error`].
    AddressError(Status),
    /// The route is resolved.
    RouteResolved,
    /// It cannot be.
    RouteError,
    /// The peer accepted, and its reply is held back.
    ConnectResponse,
    /// The connection is up on both sides.
    Established,
    /// The peer rejected, or gave up with a reject.
    Rejected(Refusal),
    /// The peer does not answer.
    Unreachable,
    /// The connection manager failed.
    ConnectError,
    /// The peer's graceful notification, or its answer to ours.
    Disconnected,
    /// The peer did not answer our notification.
    DisconnectTimedOut,
    /// The connection broke: fatal queue pair error, retries exhausted.
    Aborted,
    /// The device is gone, and with it all DMA.
    DeviceRemoved,
    /// This work succeeded.
    Done(Work),
    /// This work failed.
    Failed(Work, Status),
    /// This timer expired.
    Expired(Timer),
    /// The queue pair is quiet, or the bounded wait for it is over.
    Quiet,
}

/// What the caller has to do, in the order of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Do this work; report [`Report::Done`] or [`Report::Failed`].
    Start(Work),
    /// Reject the peer's request, or its held reply.
    SendReject(RejectAs),
    /// Move the queue pair to its error state.
    QpToError,
    /// Wait, without blocking a worker, until all requests are flushed; report [`Report::Quiet`].
    Drain,
    /// Complete the pending request.
    CompleteRequest(Status),
    /// Call the disconnect event callback.
    DisconnectEvent,
    /// Destroy the connection manager's id. Its later events belong to no epoch.
    DestroyId,
    /// Start this timer.
    ArmTimer(Timer),
    /// Stop this timer. It has not expired as far as the machine knows; a late expiry is ignored, so
    /// there is no need to wait for it.
    StopTimer(Timer),
    /// Count this connector on the listener's endpoint.
    HoldEndpoint,
    /// Put the connector's reference on its endpoint.
    ReleaseEndpoint,
    /// Give the queue pair back: the attempt is over and has not touched it, so that another connector
    /// may use it. One that was touched stays with its connector, and is of no use to any other.
    ReleaseQp,
    /// Tell the listener that this connector does not wait for an answer any more.
    Answered,
    /// The connector holds nothing any more: put the handle reference.
    EndClose,
}

/// Most effects of one step.
pub const MAX_EFFECTS: usize = 8;

/// Most effects that wait at a time, however late the worker that does them: a request is refused
/// while the completion of the one before waits.
pub const MAX_WAITING: usize = 16;

/// The effects of one step of a connector.
pub type List = Effects<Effect, MAX_EFFECTS>;

/// What this connection has done to the queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Qp {
    /// Nothing.
    Untouched,
    /// It is live.
    Live,
    /// It is in its error state.
    Error,
    /// It is in its error state and [`Report::Quiet`] is awaited.
    Draining,
    /// It is quiet.
    Quiet,
}

/// The state machine of one connector. It is kept under the connector's lock; the effects are done
/// outside of it, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Connector {
    state: State,
    /// Distinguishes the attempts to connect.
    epoch: u32,
    /// Whether a request is pending.
    pending: bool,
    qp: Qp,
    /// The timer that runs.
    timer: Option<Timer>,
    /// How the peer's part of the connection ended, once it did.
    ended: Option<Status>,
    /// Whether there is, or will be, an id to destroy.
    id: bool,
    /// Whether a reference on the endpoint is held.
    endpoint: bool,
    /// Whether the peer has sent connection data.
    data: bool,
    /// Whether the device is gone.
    removed: bool,
}

impl Default for Connector {
    fn default() -> Self {
        Self::new()
    }
}

impl Connector {
    /// A connector that the consumer created.
    pub const fn new() -> Self {
        Self {
            state: State::Idle,
            epoch: 0,
            pending: false,
            qp: Qp::Untouched,
            timer: None,
            ended: None,
            id: false,
            endpoint: false,
            data: false,
            removed: false,
        }
    }

    /// A connector that a listener delivers.
    pub const fn incoming() -> Self {
        Self {
            state: State::Incoming,
            id: true,
            data: true,
            ..Self::new()
        }
    }

    /// The state.
    pub const fn state(&self) -> State {
        self.state
    }

    /// The attempt that the effects of the last step belong to.
    pub const fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Whether a request is pending.
    pub const fn is_pending(&self) -> bool {
        self.pending
    }

    /// Whether there is, or will be, an id that [`Effect::DestroyId`] has not asked for yet.
    pub const fn has_id(&self) -> bool {
        self.id
    }

    /// Whether initiator requests may be posted: the queue pair of this connector is connected.
    pub const fn is_connected(&self) -> bool {
        matches!(self.state, State::Connected | State::PeerGone)
    }

    /// Whether a connection that stood has ended other than by a disconnect.
    pub const fn is_broken(&self) -> bool {
        !matches!(self.ended, None | Some(Status::Success))
    }

    /// The consumer calls.
    ///
    /// On success a request ([`Call::is_request`]) is pending, any other call is done. On failure
    /// nothing has changed.
    pub fn call(&self, call: Call) -> Result<(Connector, List), Status> {
        let mut next = *self;
        let mut todo = List::none();
        next.on_call(call, &mut todo)?;
        Ok((next, todo))
    }

    /// The outside tells something about the attempt `epoch`.
    pub fn report(&self, epoch: u32, report: Report) -> (Connector, List) {
        let mut next = *self;
        let mut todo = List::none();
        // The device goes away for all attempts.
        if epoch == self.epoch || report == Report::DeviceRemoved {
            next.on_report(report, &mut todo);
        }
        (next, todo)
    }
}

/// The status for an address that cannot be resolved, from the positive error number (section 5.3).
pub const fn address_error(errno: i32) -> Status {
    match Status::from_errno(errno) {
        Some(
            status @ (Status::NetworkUnreachable
            | Status::HostUnreachable
            | Status::IoTimeout
            | Status::InvalidAddress
            | Status::SharingViolation
            | Status::InsufficientResources),
        ) => status,
        _ => Status::HostUnreachable,
    }
}
