// SPDX-License-Identifier: GPL-2.0

//! The connections on which the data path is measured.

use crate::{
    client::{
        AcceptParams,
        Adapter,
        ConnectParams,
        Connector,
        Listener,
        OnConnect,
        Promise,
        Qp,
        Wait, //
    },
    job::TIMEOUT, //
};
use core::net::{
    IpAddr,
    SocketAddr, //
};
use kernel::{
    new_spinlock_irq,
    prelude::*,
    sync::{
        Arc,
        SpinLockIrq, //
    },
};

/// Hands the listener's next connection over.
#[pin_data]
struct Arrival {
    #[pin]
    waiting: SpinLockIrq<Option<Arc<Promise<Connector>>>>,
}

struct Taker(Arc<Arrival>);

impl OnConnect for Taker {
    fn connect(&self, connector: Connector) {
        let waiting = self.0.waiting.lock().take();
        // Dropped, it is rejected.
        if let Some(promise) = waiting {
            promise.keep(Ok(connector));
        }
    }
}

/// The side that is connected to.
pub(crate) struct Passive {
    arrival: Arc<Arrival>,
    listener: Listener,
    address: SocketAddr,
}

impl Passive {
    /// Listens at a port of the provider's choice.
    pub(crate) fn new(adapter: &Adapter, address: IpAddr) -> Result<Self> {
        let arrival = Arc::pin_init(
            pin_init!(Arrival {
                waiting <- new_spinlock_irq!(None),
            }),
            GFP_KERNEL,
        )?;
        let listener = adapter.create_listener(Taker(arrival.clone()), Wait)?;
        listener.listen(&SocketAddr::new(address, 0), Wait)?;
        Ok(Self {
            address: listener.local_address()?,
            arrival,
            listener,
        })
    }

    /// Connects a QP here with `peer`, which is at `from` on `adapter`. Gives the active connector first.
    pub(crate) fn connect(
        &self,
        qp: &Qp,
        adapter: &Adapter,
        from: IpAddr,
        peer: &Qp,
    ) -> Result<(Connector, Connector)> {
        let (arrived, _) = Promise::new()?;
        *self.arrival.waiting.lock() = Some(arrived.clone());
        let mut active = adapter.create_connector(Wait)?;
        let (connected, notice) = Promise::new()?;
        let params = ConnectParams {
            source: SocketAddr::new(from, 0),
            destination: self.address,
            inbound_reads: 16,
            outbound_reads: 16,
            private_data: &[],
        };
        active.connect(peer, &params, notice);
        let mut passive = arrived.wait_for(TIMEOUT)?;
        let (accepted, notice) = Promise::new()?;
        let params = AcceptParams {
            inbound_reads: 16,
            outbound_reads: 16,
            private_data: &[],
        };
        passive.accept(qp, &params, || (), notice);
        connected.wait_for(TIMEOUT)?;
        active.complete_connect(|| (), Wait)?;
        accepted.wait_for(TIMEOUT)?;
        Ok((active, passive))
    }

    /// Ends the listening.
    pub(crate) fn close(self) -> Result {
        self.listener.close(Wait)
    }
}
