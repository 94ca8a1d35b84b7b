// SPDX-License-Identifier: GPL-2.0

//! Protection domains.

use crate::{
    adapter::Adapter,
    callback::CreateCompletion,
    ctx::MaySleep,
    dispatch,
    ffi,
    object::{
        self,
        object,
        Core,
        Held,
        Object,
        CLOSED,
        TEARDOWN, //
    },
    registrar::Registrar,
    registry::{
        Lower,
        Rank,
        Registered, //
    },
    status::Result,
    sync::{
        new_irq_spinlock,
        IrqSpinLock, //
    },
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
    types::Opaque,
    workqueue::{
        new_work,
        Work, //
    },
};

/// A protection domain.
#[pin_data]
#[repr(C)]
pub(crate) struct Pd {
    shell: Opaque<ffi::ndk_pd>,
    #[pin]
    core: Core,
    #[pin]
    teardown_work: Work<Pd, TEARDOWN>,
    #[pin]
    closed_work: Work<Pd, CLOSED>,
    lower: Handle<pd::Pd>,
    token: u32,
    /// What registers kernel memory; made when it is first needed.
    #[pin]
    registrar: Mutex<Option<Registrar>>,
    #[pin]
    registered: IrqSpinLock<Option<Registered>>,
    adapter: Held<Adapter>,
}

// SAFETY: The shell is the consumer's once it is handed out; all else is shared safely.
unsafe impl Send for Pd {}
// SAFETY: As above.
unsafe impl Sync for Pd {}

object!(Pd);

impl Object for Pd {
    type Shell = ffi::ndk_pd;

    fn shell(&self) -> *mut Self::Shell {
        self.shell.get()
    }

    fn core(&self) -> &Core {
        &self.core
    }

    fn teardown(this: &Arc<Self>, ctx: &MaySleep) {
        this.clone().revoke(ctx);
        let registered = this.registered.lock().take();
        drop(registered);
    }
}

impl Lower for Pd {
    fn revoke(self: Arc<Self>, ctx: &MaySleep) {
        *self.registrar.lock() = None;
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
        let lower = Arc::new(pd::Pd::new(ctx, port.enter()?)?, GFP_KERNEL)?;
        let token = lower.local_dma_lkey();
        let pd = Arc::pin_init(
            pin_init!(Self {
                shell: Opaque::new(ffi::ndk_pd {
                    header: dispatch::header(
                        adapter.version(),
                        ffi::ndk_object_type_NDK_OBJECT_PD
                    ),
                    dispatch: &raw const dispatch::PD,
                }),
                core <- Core::new(),
                teardown_work <- new_work!("Pd::teardown_work"),
                closed_work <- new_work!("Pd::closed_work"),
                lower: Handle::new(),
                token,
                registrar <- new_mutex!(None),
                registered <- new_irq_spinlock!(None),
                adapter: held,
            }),
            GFP_KERNEL,
        )?;
        drop(pd.lower.set(lower));
        // Last: what is registered can be revoked at once.
        let registered = port.registry().add(Rank::Pd, &pd, GFP_KERNEL)?;
        *pd.registered.lock() = Some(registered);
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
            None => Registrar::new(self.lower(ctx)?, self.adapter().port(), ctx)?,
        };
        let result = f(&registrar);
        if result.is_ok() {
            *slot = Some(registrar);
        }
        result
    }
}
