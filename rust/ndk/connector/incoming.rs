// SPDX-License-Identifier: GPL-2.0

//! Connections that come in at a listener.

use super::{
    data::ReadLimits,
    events::Attempt,
    notice::Arrival,
    Connector,
    NOTIFY, //
};
use crate::{
    callback::ConnectEvent,
    ctx::Process,
    listener::Listener,
    object::{
        self,
        Held, //
    },
    queues,
    state::{
        connector::Connector as Machine,
        status::Status, //
    },
    status::Result,
    verbs::{
        addr::SocketAddr,
        cm_id::Incoming, //
    },
};
use kernel::{
    prelude::*,
    sync::{
        Arc,
        UniqueArc, //
    },
};

/// A connector for a connection that comes in, before the listener's consumer has it.
pub(crate) struct Newcomer {
    connector: Arc<Connector>,
    arrival: Arrival,
    attempt: Arc<Attempt>,
}

/// Makes the connector for a connection that comes in. Sleeps.
///
/// # Errors
///
/// `InvalidAddress` for a connection that is not the adapter's, `InsufficientResources`, `DeviceRemoved`; or the listener is
/// being closed.
pub(crate) fn prepare(
    listener: &Arc<Listener>,
    local: SocketAddr,
    event: ConnectEvent,
    incoming: &Incoming<'_>,
) -> Result<Newcomer> {
    let adapter = listener.adapter();
    let port = adapter.port();
    let device = port.enter()?;
    if !incoming.is_on(&device) || incoming.port_number() != port.number() {
        return Err(Status::InvalidAddress);
    }
    let mut peer = incoming.peer_addr().ok_or(Status::InvalidAddress)?;
    if peer.ip().is_link_local() && peer.scope() == 0 {
        peer = SocketAddr::new(peer.ip(), peer.port(), local.scope());
    }
    let machine = Machine::incoming();
    let held = Held::successor(listener)?;
    let arrival = Arrival {
        listener: Held::callback(listener)?,
        event,
    };
    let attempt = UniqueArc::new_uninit(GFP_KERNEL)?;
    // The last that can fail: from here on only a close gets rid of the connector.
    let connector = object::listed(GFP_KERNEL, || {
        Connector::new(adapter, Some(held), machine, GFP_KERNEL)
    })?;
    let attempt = attempt.write(Attempt {
        connector: connector.clone(),
        epoch: machine.epoch(),
    });
    let all = ReadLimits {
        inbound: u32::MAX,
        outbound: u32::MAX,
    };
    let limits = connector.capped(all);
    let mut inner = connector.inner.lock();
    // NDKPI: the listener's address is that of its connectors.
    inner.local = Some(local);
    inner.peer = Some(peer);
    inner.limits = limits;
    inner.take_data(incoming.data());
    drop(inner);
    Ok(Newcomer {
        connector,
        arrival,
        attempt: attempt.into(),
    })
}

impl Newcomer {
    /// Takes the connection over and has it delivered. Where it cannot be taken it is refused, and nothing delivered. In the
    /// handler of the listener's id.
    pub(crate) fn deliver(self, incoming: Incoming<'_>, ctx: &Process) {
        let Self {
            connector,
            arrival,
            attempt,
        } = self;
        let taken = connector
            .port()
            .enter()
            .and_then(|device| Ok(incoming.take(device, queues::sleep().clone(), attempt)?));
        match taken {
            Ok((id, locked)) => {
                // Nobody but a removal of the device holds it.
                let mut lower = connector.lower.try_lock();
                let arrived = match lower.as_mut() {
                    Some(place) => place.replace(id),
                    None => Some(id),
                };
                let mut inner = connector.inner.lock();
                let epoch = inner.machine.epoch();
                inner.arrived = arrived;
                inner.arrival = Some(arrival);
                // What the consumer does with it at once is done here.
                inner.driven |= lower.is_some();
                drop(inner);
                queues::softirq().enqueue_now::<_, NOTIFY>(connector.clone(), ctx);
                connector.go_on(lower, connector.inner.lock(), &locked, epoch, ctx);
            }
            // Nobody has the handle; this gives it back. The listener counts the connection as answered.
            Err(_) => object::close(connector, None),
        }
    }
}
