// SPDX-License-Identifier: GPL-2.0

//! Protection domains.

use crate::{
    adapter::Adapter,
    callback::CreateCompletion,
    ctx::MaySleep,
    ffi,
    object::{
        self,
        object,
        Head,
        Held,
        Object, //
    },
    registrar::Registrar,
    registration::Registrations,
    registry::{
        Lower,
        Rank, //
    },
    status::Result,
    verbs::{
        handle::Handle,
        mr::FastMr,
        pd,
        qp::Access, //
    }, //
};
use kernel::{
    prelude::*,
    sync::{
        new_mutex,
        Arc,
        Mutex, //
    },
};

/// A protection domain.
#[pin_data]
#[repr(C)]
pub(crate) struct Pd {
    #[pin]
    head: Head<Pd>,
    lower: Handle<pd::Pd>,
    token: u32,
    registrations: Arc<Registrations>,
    /// What registers kernel memory; made when it is first needed.
    #[pin]
    registrar: Mutex<Option<Registrar>>,
    /// See [`Self::barrier`].
    #[pin]
    barrier: Mutex<Option<Arc<FastMr>>>,
    adapter: Held<Adapter>,
}

object!(Pd);

impl Object for Pd {
    type Shell = ffi::ndk_pd;

    fn head(&self) -> &Head<Self> {
        &self.head
    }

    fn root(&self) -> Option<&Adapter> {
        Some(self.adapter.object())
    }

    fn teardown(this: &Arc<Self>, ctx: &MaySleep) {
        this.clone().revoke(ctx);
        this.adapter().port().registry().remove(&**this);
    }
}

impl Lower for Pd {
    fn rank(&self) -> Rank {
        Rank::Pd
    }

    fn revoke(self: Arc<Self>, ctx: &MaySleep) {
        let registrar = self.registrar.lock().take();
        if let Some(registrar) = registrar {
            registrar.destroy(ctx);
        }
        let barrier = self.barrier.lock().take();
        drop(barrier);
        drop(self.lower.take(ctx));
    }
}

/// Creates a PD; `completion` brings it. Any context.
///
/// # Errors
///
/// `InsufficientResources`, `DeviceRemoved`.
pub(crate) fn create(adapter: &Arc<Adapter>, completion: CreateCompletion) -> Result {
    // Only to answer at once what would come in the completion.
    drop(adapter.port().enter()?);
    object::create(adapter, completion, |adapter, ctx| {
        Pd::new(adapter.object(), ctx)
    })
}

impl Pd {
    fn new(adapter: &Arc<Adapter>, ctx: &MaySleep) -> Result<Arc<Self>> {
        let port = adapter.port();
        let held = Held::successor(adapter)?;
        let device = port.enter()?;
        let needs_barriers = device.needs_barriers();
        let lower = Arc::new(pd::Pd::new(ctx, device)?, GFP_KERNEL)?;
        let barrier = if needs_barriers {
            let mr = FastMr::new(ctx, lower.clone(), 1)?;
            Some(Arc::new(mr, GFP_KERNEL)?)
        } else {
            None
        };
        let token = lower.local_dma_lkey();
        let registrations = Arc::pin_init(Registrations::new(), GFP_KERNEL)?;
        let pd = Arc::pin_init(
            pin_init!(Self {
                head <- Head::new(adapter.version()),
                lower: Handle::new(),
                token,
                registrations,
                registrar <- new_mutex!(None),
                barrier <- new_mutex!(barrier),
                adapter: held,
            }),
            GFP_KERNEL,
        )?;
        drop(pd.lower.set(lower));
        // Last: what is registered can be revoked at once.
        port.registry().add(&pd, GFP_KERNEL)?;
        Ok(pd)
    }

    /// The adapter it was made from.
    pub(crate) fn adapter(&self) -> &Arc<Adapter> {
        self.adapter.object()
    }

    /// The PD on the device. Sleeps.
    ///
    /// # Errors
    ///
    /// `DeviceRemoved`.
    pub(crate) fn lower(&self, ctx: &MaySleep) -> Result<Arc<pd::Pd>> {
        self.lower.get(ctx)
    }

    /// An MR that is never registered, where the device needs barriers: there an invalidation waits until all requests of its
    /// QP that stand before it are complete, so that one of this MR is nothing else. Sleeps.
    pub(crate) fn barrier(&self, _ctx: &MaySleep) -> Option<Arc<FastMr>> {
        self.barrier.lock().clone()
    }

    /// Its registrations by their tokens.
    pub(crate) fn registrations(&self) -> &Arc<Registrations> {
        &self.registrations
    }

    /// The token for addresses of a LAM. It is good locally only: no peer can use it.
    pub(crate) fn privileged_token(&self) -> u32 {
        self.token
    }

    /// Makes `mr` valid with these rights. Sleeps.
    pub(crate) fn validate(&self, mr: &FastMr, access: Access, ctx: &MaySleep) -> Result {
        self.with_registrar(ctx, |registrar| registrar.register(mr, access, ctx))
    }

    /// Ends what [`Self::validate`] began. Sleeps.
    pub(crate) fn invalidate(&self, mr: &FastMr, ctx: &MaySleep) -> Result {
        self.with_registrar(ctx, |registrar| registrar.invalidate(mr, ctx))
    }

    /// Calls `f` with the registrar, which is made where there is none and dropped when it fails.
    fn with_registrar(&self, ctx: &MaySleep, f: impl FnOnce(&Registrar) -> Result) -> Result {
        let mut slot = self.registrar.lock();
        let registrar = match slot.take() {
            Some(registrar) => registrar,
            None => Registrar::new(&self.lower(ctx)?, self.adapter().port(), ctx)?,
        };
        let result = f(&registrar);
        if result.is_ok() {
            *slot = Some(registrar);
        } else {
            registrar.destroy(ctx);
        }
        result
    }
}
