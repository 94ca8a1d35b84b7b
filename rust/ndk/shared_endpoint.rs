// SPDX-License-Identifier: GPL-2.0

//! Shared endpoints: a local address and port that several connectors connect from.
//!
//! What there is on the device is a placeholder, an id of the connection manager that never connects. It keeps the address in
//! rdma_cm until the last connector over it is closed, as the table of endpoints keeps it here (NDKPI: endpoints). When the
//! endpoint goes is decided by `state/shared_endpoint.rs`.
//!
//! `lower` is held by the one who destroys the placeholder, and comes before `inner`.

use crate::{
    adapter::{
        Adapter,
        Port, //
    },
    callback::CreateCompletion,
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
    registry::{
        Lower,
        Rank, //
    },
    state::{
        shared_endpoint::{
            Call,
            Effect,
            List,
            Report,
            SharedEndpoint as Machine, //
        },
        status::Status, //
    },
    status::Result,
    sync::{
        new_irq_spinlock,
        IrqSpinLock, //
    },
    verbs::{
        addr::SocketAddr,
        cm_id::{
            CmEvent,
            CmEvents,
            CmId,
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
    machine: Machine,
    endpoint: Option<Endpoint>,
}

impl Inner {
    fn apply(&mut self, (next, effects): (Machine, List)) -> List {
        self.machine = next;
        effects
    }
}

/// A local address that connectors share.
#[pin_data]
#[repr(C)]
pub(crate) struct SharedEndpoint {
    #[pin]
    head: Head<SharedEndpoint>,
    #[pin]
    lower: Mutex<Option<CmId>>,
    #[pin]
    inner: IrqSpinLock<Inner>,
    local: SocketAddr,
    adapter: Held<Adapter>,
}

object!(SharedEndpoint);

impl Object for SharedEndpoint {
    type Shell = ffi::ndk_shared_endpoint;

    fn head(&self) -> &Head<Self> {
        &self.head
    }

    fn root(&self) -> Option<&Adapter> {
        Some(self.adapter.object())
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_fmt(fmt!(" local={}", self.local))
    }

    fn cancel(this: &Arc<Self>) {
        // NDKPI: no more than a dereference. Connectors over it go on.
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

impl Lower for SharedEndpoint {
    fn rank(&self) -> Rank {
        Rank::Connection
    }

    fn revoke(self: Arc<Self>, ctx: &MaySleep) {
        self.report(Report::DeviceRemoved, ctx);
    }
}

/// Creates a shared endpoint on a local address, where port 0 has one chosen; `completion` brings it. Any context.
///
/// # Errors
///
/// `SharingViolation`, `InvalidAddress`, `TooManyAddresses`, `InsufficientResources`, `DeviceRemoved`.
pub(crate) fn create(
    adapter: &Arc<Adapter>,
    address: SocketAddr,
    completion: CreateCompletion,
) -> Result {
    let port = adapter.port();
    // Only to answer at once what would come in the completion.
    drop(port.enter()?);
    let endpoint = port.endpoints().share(address, GFP_ATOMIC)?;
    object::create(adapter, completion, |adapter, ctx| {
        SharedEndpoint::new(adapter.object(), endpoint, ctx)
    })
}

/// Takes one more connection over a shared endpoint. Any context.
///
/// # Errors
///
/// `AddressAlreadyExists`, `InvalidParameter` for a `peer` that is none or an endpoint of another adapter,
/// `InsufficientResources`, `DeviceRemoved`.
pub(crate) fn join(
    this: &Arc<SharedEndpoint>,
    port: &Arc<Port>,
    peer: SocketAddr,
) -> Result<(Held<SharedEndpoint>, Endpoint)> {
    if !Arc::ptr_eq(this.port(), port) {
        return Err(Status::InvalidParameter);
    }
    this.inner.lock().machine.call(Call::Connect)?;
    let held = Held::successor(this)?;
    match port.endpoints().join(this.local, peer, GFP_ATOMIC) {
        Ok(endpoint) => Ok((held, endpoint)),
        // It is held, so only the removal of the device can have taken its address.
        Err(Status::InvalidDeviceState) => Err(Status::DeviceRemoved),
        Err(status) => Err(status),
    }
}

impl SharedEndpoint {
    fn new(adapter: &Arc<Adapter>, mut endpoint: Endpoint, ctx: &MaySleep) -> Result<Arc<Self>> {
        let port = adapter.port();
        let held = Held::successor(adapter)?;
        let id = port.new_id(Arc::new(Placeholder, GFP_KERNEL)?, ctx)?;
        if let Err(status) = endpoint.bind(&id, port, ctx) {
            // Now, since the consumer may come back for the same address.
            id.destroy(ctx);
            return Err(status);
        }
        let local = endpoint.local();
        let this = Arc::pin_init(
            pin_init!(Self {
                head <- Head::new(adapter.version()),
                lower <- new_mutex!(None),
                inner <- new_irq_spinlock!(Inner {
                    machine: Machine::new(),
                    endpoint: None,
                }),
                local,
                adapter: held,
            }),
            GFP_KERNEL,
        );
        let this = match this {
            Ok(this) => this,
            Err(error) => {
                id.destroy(ctx);
                return Err(error.into());
            }
        };
        *this.lower.lock() = Some(id);
        this.inner.lock().endpoint = Some(endpoint);
        // Last: what is registered can be revoked at once.
        if let Err(status) = port.registry().add(&this, GFP_KERNEL) {
            this.report(Report::DeviceRemoved, ctx);
            return Err(status);
        }
        Ok(this)
    }

    fn port(&self) -> &Arc<Port> {
        self.adapter.port()
    }

    /// The address. Any context.
    ///
    /// # Errors
    ///
    /// `DeviceRemoved`.
    pub(crate) fn local_address(&self) -> Result<SocketAddr> {
        self.inner.lock().machine.call(Call::QueryLocal)?;
        Ok(self.local)
    }

    /// Tells the machine something, and does what it asks for.
    fn report(&self, report: Report, ctx: &MaySleep) {
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
                // The return of `cancel`.
                Effect::EndClose => {}
            }
        }
    }
}

/// What happens at a placeholder: nothing, but the removal of the device, which the registry sees to.
struct Placeholder;

impl CmEvents for Placeholder {
    fn event(_this: ArcBorrow<'_, Self>, _id: &Locked<'_>, _event: &CmEvent<'_>, _ctx: &Process) {}
}
