// SPDX-License-Identifier: GPL-2.0

//! What a consumer asks of a connector. Each call takes a step of the machine or is refused, in any context; the effects are
//! done later.

use super::{
    data::PrivateData,
    Connector,
    Machine,
    ReadLimits, //
};
use crate::{
    adapter::Adapter,
    callback::{
        DisconnectEvent,
        RequestCompletion, //
    },
    qp::Qp,
    shared_endpoint::{
        self,
        SharedEndpoint, //
    },
    state::{
        connector::Call,
        limits,
        status::Status, //
    },
    status::Result,
    verbs::addr::SocketAddr,
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Where a connection comes from.
pub(crate) enum Source<'a> {
    /// An address of its own; port 0 has one chosen.
    Address(SocketAddr),
    /// The address of a shared endpoint.
    Shared(&'a Arc<SharedEndpoint>),
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
    source: Source<'_>,
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
    let (shared, endpoint) = match source {
        Source::Address(local) => {
            let endpoint = port.endpoints().connect(local, destination, GFP_ATOMIC)?;
            (None, endpoint)
        }
        Source::Shared(shared) => {
            let (held, endpoint) = shared_endpoint::join(shared, port, destination)?;
            (Some(held), endpoint)
        }
    };
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
    inner.shared = shared;
    this.wake(inner);
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
    this.wake(inner);
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
    this.wake(inner);
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
    this.wake(inner);
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
    this.wake(inner);
    drop(event);
    Ok(())
}
