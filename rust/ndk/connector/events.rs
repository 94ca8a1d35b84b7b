// SPDX-License-Identifier: GPL-2.0

//! What the connection manager and the QP tell a connector.

use super::{
    data::PrivateData,
    Connector,
    Inner, //
};
use crate::{
    ctx::Process,
    state::{
        connector::{
            self as state,
            Refusal,
            Report,
            State,
            Work, //
        },
        status::Status, //
    },
    verbs::{
        cm_id::{
            CmEvent,
            CmEvents,
            Locked, //
        },
        fault::FaultSink, //
    },
};
use kernel::{
    error::code,
    sync::{
        Arc,
        ArcBorrow, //
    },
};

/// Reason of a reject by the peer's consumer on InfiniBand and RoCE (`IB_CM_REJ_CONSUMER_DEFINED`).
const REJ_CONSUMER_DEFINED: i32 = 28;

/// Reason of a reject where nobody listens (`IB_CM_REJ_INVALID_SERVICE_ID`).
const REJ_INVALID_SERVICE_ID: i32 = 8;

/// One attempt to connect, which is what an id of the connection manager belongs to.
pub(super) struct Attempt {
    pub(super) connector: Arc<Connector>,
    pub(super) epoch: u32,
}

impl CmEvents for Attempt {
    fn event(this: ArcBorrow<'_, Self>, id: &Locked<'_>, event: &CmEvent<'_>, ctx: &Process) {
        let Some(report) = report_of(id, event) else {
            return;
        };
        let epoch = this.epoch;
        this.connector.handle(id, epoch, ctx, |inner| {
            if inner.machine.epoch() == epoch {
                inner.note(event);
            }
            if !inner.looks_again(epoch, report) {
                inner.report(epoch, report);
            }
        });
    }
}

impl FaultSink for Connector {
    fn connection_fault(self: Arc<Self>) {
        // Only a QP that has been brought up fails so, and that only the last attempt does.
        self.report(Report::Aborted);
    }

    fn message_before_establishment(self: Arc<Self>) {
        let mut inner = self.inner.lock();
        inner.message_first = inner.machine.state() == State::Accepting;
        self.wake(inner);
    }
}

impl Inner {
    /// Has a silent neighbour looked for again while there is time. The kernel's address resolution misses an answer that comes
    /// before it has queued its request, and sees it only with the next try.
    fn looks_again(&mut self, epoch: u32, report: Report) -> bool {
        let silent = report == Report::AddressError(Status::IoTimeout)
            && self.wants(epoch, Work::Resolve)
            && !self.patience.is_over();
        if silent {
            self.look_again = Some(epoch);
        }
        silent
    }

    /// Keeps what the peer sent, which is gone when the handler returns.
    fn note(&mut self, event: &CmEvent<'_>) {
        if !matches!(self.machine.state(), State::Connecting(_)) {
            return;
        }
        match event {
            CmEvent::ConnectResponse(data) => self.take_data(data),
            CmEvent::Established(data) => {
                // iWARP: not what the peer says, but what the driver has made of it.
                self.theirs = PrivateData::copy(data.private_data);
                self.limits.inbound = self.limits.inbound.min(data.initiator_depth);
                self.limits.outbound = self.limits.outbound.min(data.responder_resources);
            }
            CmEvent::Rejected { private_data, .. } => {
                self.theirs = PrivateData::copy(private_data);
            }
            _ => {}
        }
    }
}

/// What an event means to the machine.
fn report_of(id: &Locked<'_>, event: &CmEvent<'_>) -> Option<Report> {
    Some(match event {
        CmEvent::AddrResolved => Report::AddressResolved,
        CmEvent::AddrError(error) => {
            // NDKPI: a network without a route is unreachable. To rdma_cm it is a silent neighbour.
            let error = match id.check_route() {
                Err(no_route) if *error == code::ETIMEDOUT => no_route,
                _ => *error,
            };
            Report::AddressError(state::address_error(error.to_errno().saturating_neg()))
        }
        CmEvent::RouteResolved => Report::RouteResolved,
        CmEvent::RouteError => Report::RouteError,
        CmEvent::ConnectResponse(_) => Report::ConnectResponse,
        CmEvent::ConnectError => Report::ConnectError,
        // Also for an established connection, when its neighbour has changed.
        CmEvent::Unreachable => Report::Unreachable,
        CmEvent::Rejected {
            reason,
            private_data,
        } => Report::Rejected(match *reason {
            REJ_INVALID_SERVICE_ID => Refusal::NoListener,
            REJ_CONSUMER_DEFINED => Refusal::Consumer,
            // iWARP knows one kind of reject only.
            _ if !private_data.is_empty() => Refusal::Consumer,
            _ => Refusal::Other,
        }),
        CmEvent::Established(_) => Report::Established,
        CmEvent::Disconnected(Ok(())) => Report::Disconnected,
        CmEvent::Disconnected(Err(error)) if *error == code::ETIMEDOUT => {
            Report::DisconnectTimedOut
        }
        CmEvent::Disconnected(Err(_)) => Report::Aborted,
        // Does not come while the registry revokes first; if it does, the id must go.
        CmEvent::DeviceRemoval => Report::DeviceRemoved,
        CmEvent::AddrChange | CmEvent::TimewaitExit | CmEvent::Other => return None,
    })
}
