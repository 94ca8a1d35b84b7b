// SPDX-License-Identifier: GPL-2.0

//! Memory regions.
//!
//! A normal MR is registered by [`register`], which has the PD's own QP make it valid; a fast one is made ready by
//! [`initialize_fast_register`] and then made valid by requests on the consumer's QPs (`qp.rs`). The states are those of
//! [`token`].

use crate::{
    adapter::{
        Adapter,
        Port, //
    },
    callback::RequestCompletion,
    ctx::MaySleep,
    ffi,
    lam::{
        Buffer,
        Mapping, //
    },
    object::{
        self,
        object,
        Head,
        Held,
        Object, //
    },
    pd::Pd,
    registry::{
        Lower,
        Rank, //
    },
    state::{
        flags::Op,
        status::Status,
        token::{
            self,
            Event,
            State, //
        },
    },
    status::{
        self,
        Result, //
    },
    sync::{
        new_irq_spinlock,
        IrqSpinLock, //
    },
    trace,
    verbs::{
        handle::Handle,
        mr::{
            FastMr,
            MrMapping, //
        },
        qp::Access, //
    }, //
};
use kernel::{
    fmt,
    page::PAGE_SIZE,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        rcu,
        Arc, //
    },
};

/// A memory region.
#[pin_data]
#[repr(C)]
pub(crate) struct Mr {
    #[pin]
    head: Head<Mr>,
    state: token::Mr,
    /// Whether fast registrations may give remote rights.
    remote_access: Atomic<bool>,
    /// Invalidations by peers at the time of the last fast registration.
    invalidations: Atomic<u32>,
    lower: Handle<FastMr>,
    /// The buffer of a normal MR while it is registered.
    #[pin]
    mapping: IrqSpinLock<Option<Mapping>>,
    pd: Held<Pd>,
}

object!(Mr);

impl Object for Mr {
    type Shell = ffi::ndk_mr;

    fn head(&self) -> &Head<Self> {
        &self.head
    }

    fn root(&self) -> Option<&Adapter> {
        Some(self.pd.adapter())
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.state.is_fast() {
            "fast"
        } else {
            "normal"
        };
        let state = self.state.state().name();
        f.write_fmt(fmt!(
            " kind={kind} state={state} token={:#x}",
            self.local_token()
        ))
    }

    fn teardown(this: &Arc<Self>, ctx: &MaySleep) {
        // A registration that is left ends with the MR.
        this.discard(ctx);
    }
}

impl Lower for Mr {
    fn rank(&self) -> Rank {
        Rank::Memory
    }

    fn revoke(self: Arc<Self>, ctx: &MaySleep) {
        self.destroy_lower(ctx);
    }
}

/// What a fast registration covers.
pub(crate) struct Region<'a> {
    /// Addresses of a LAM.
    pub(crate) pages: &'a [u64],
    /// Offset of the first byte in the first page.
    pub(crate) fbo: u32,
    /// Bytes.
    pub(crate) length: u64,
    /// Name of the first byte.
    pub(crate) va: u64,
}

/// Creates an MR, for fast registration or for [`register`]. Any context.
///
/// # Errors
///
/// `InsufficientResources`, `DeviceRemoved`.
pub(crate) fn create(pd: &Arc<Pd>, fast: bool) -> Result<Arc<Mr>> {
    drop(pd.adapter().port().enter()?);
    let held = Held::successor(pd)?;
    let mr = Arc::pin_init(
        pin_init!(Mr {
            head <- Head::new(pd.adapter().version()),
            state: token::Mr::new(fast),
            remote_access: Atomic::new(false),
            invalidations: Atomic::new(0),
            lower: Handle::new(),
            mapping <- new_irq_spinlock!(None),
            pd: held,
        }),
        kernel::alloc::flags::GFP_ATOMIC,
    )?;
    Ok(mr)
}

/// Registers a buffer; its pages stay mapped until it is deregistered. Any context; pends.
///
/// # Errors
///
/// `InvalidParameter` for a flag, a name or a size that is not possible, `InvalidDeviceRequest` when the MR is registered
/// or of the other kind, `InsufficientResources`, `DeviceRemoved`.
pub(crate) fn register(
    mr: &Arc<Mr>,
    buffer: Buffer,
    va: u64,
    flags: u32,
    completion: RequestCompletion,
) -> Result {
    let rights = token::Access::from_mr_flags(flags)?;
    let port = mr.port();
    let access = verbs_access(rights, port);
    // The name may be anything with the right offset: it is never dereferenced.
    if va % PAGE_SIZE as u64 != u64::from(buffer.offset())
        || !token::is_range(va, buffer.length())
        || buffer.length() > port.limits().max_registration_size as u64
        || buffer.page_count() > port.max_fast_reg_pages()
    {
        return Err(Status::InvalidParameter);
    }
    drop(port.enter()?);
    let end = |success| Event::RegisterDone { success };
    request(mr, Event::Register, end, completion, move |mr, ctx| {
        let filled = Mr::fill(mr, &buffer, va, access, ctx);
        trace::mr_register(
            mr.head.number(),
            mr.local_token(),
            va,
            buffer.length(),
            flags,
            status::of(filled),
        );
        if filled.is_err() {
            mr.discard(ctx);
        }
        filled
    })
}

/// Ends a registration of [`register`]. Any context; pends.
///
/// # Errors
///
/// `InvalidDeviceRequest` when there is none, `InsufficientResources`.
pub(crate) fn deregister(mr: &Arc<Mr>, completion: RequestCompletion) -> Result {
    let begin = Event::Deregister { bound: false };
    let end = |success| Event::DeregisterDone { success };
    request(mr, begin, end, completion, move |mr, ctx| {
        // Deregistering the MR itself ends the rights in any case; the request before it is the orderly way.
        let mut ended = Ok(());
        if let Ok(lower) = mr.lower.get(ctx) {
            ended = mr.pd.invalidate(&lower, ctx);
        }
        trace::mr_deregister(mr.head.number(), mr.local_token(), status::of(ended));
        mr.discard(ctx);
        Ok(())
    })
}

/// Makes a fast MR ready for registrations of up to `page_count` pages. Any context; pends.
///
/// # Errors
///
/// `InvalidParameter` for no pages, `ImplementationLimit` for too many, `InvalidDeviceRequest` for an MR of the other kind,
/// `InsufficientResources`, `DeviceRemoved`.
pub(crate) fn initialize_fast_register(
    mr: &Arc<Mr>,
    page_count: u32,
    remote_access: bool,
    completion: RequestCompletion,
) -> Result {
    if page_count == 0 {
        return Err(Status::InvalidParameter);
    }
    // NDKPI: this, and no field of the adapter information, tells the maximum.
    if page_count > mr.port().max_fast_reg_pages() {
        return Err(Status::ImplementationLimit);
    }
    drop(mr.port().enter()?);
    mr.forget_invalidated();
    if mr.state.state() == State::Valid {
        return Err(Status::InvalidDeviceRequest);
    }
    let end = |success| Event::InitializeDone { success };
    request(mr, Event::Initialize, end, completion, move |mr, ctx| {
        mr.discard(ctx);
        mr.remote_access.store(remote_access, Relaxed);
        let lower = FastMr::new(ctx, mr.pd.lower(ctx)?, page_count)?;
        Mr::install(mr, lower)
    })
}

/// A request that pends: takes the state on with `begin`, has `work` done, and takes the state on with the `end` for its
/// success.
fn request(
    mr: &Arc<Mr>,
    begin: Event,
    end: fn(bool) -> Event,
    completion: RequestCompletion,
    work: impl FnOnce(&Arc<Mr>, &MaySleep) -> Result + Send + 'static,
) -> Result {
    let held = Held::request(mr)?;
    mr.state.apply(begin)?;
    let started = object::defer(
        move |ctx| {
            let result = work(held.object(), ctx);
            (held, result)
        },
        move |ctx, (held, result): (Held<Mr>, Result)| {
            held.settle(end(result.is_ok()));
            completion.call(ctx, result);
        },
    );
    if started.is_err() {
        mr.settle(end(false));
    }
    started
}

/// The rights as verbs have them.
fn verbs_access(rights: token::Access, port: &Port) -> Access {
    let mut access = Access::NONE;
    if rights.local_write || rights.remote_write || rights.read_sink {
        access = access | Access::LOCAL_WRITE;
    }
    // iWARP has the peer of a read write into its sink as into any remote region.
    if rights.remote_write || (rights.read_sink && port.is_iwarp()) {
        access = access | Access::REMOTE_WRITE;
    }
    if rights.remote_read {
        access = access | Access::REMOTE_READ;
    }
    access
}

impl Mr {
    fn port(&self) -> &Arc<Port> {
        self.pd.adapter().port()
    }

    /// The end of something that was begun, which no state refuses.
    fn settle(&self, event: Event) {
        let _ = self.state.apply(event);
    }

    /// Maps a buffer and makes it valid.
    fn fill(this: &Arc<Self>, buffer: &Buffer, va: u64, access: Access, ctx: &MaySleep) -> Result {
        let pages = buffer.page_count();
        let mapping = Mapping::new(this.port().enter()?, buffer, GFP_KERNEL)?;
        let lower = FastMr::new(ctx, this.pd.lower(ctx)?, pages)?;
        {
            let mut claim = lower.claim().ok_or(Status::InternalError)?;
            claim.map_pages(mapping.pages(), buffer.offset(), buffer.length())?;
            claim.set_iova(va);
            claim.next_key();
        }
        this.pd.validate(&lower, access, ctx)?;
        *this.mapping.lock() = Some(mapping);
        Self::install(this, lower)
    }

    /// Puts an MR of the device below this one.
    fn install(this: &Arc<Self>, lower: FastMr) -> Result {
        let lower = Arc::new(lower, GFP_KERNEL)?;
        this.lower
            .set(lower)
            .map_err(|_| Status::InvalidDeviceRequest)?;
        // Last: what is registered can be revoked at once.
        this.port().registry().add(this, GFP_KERNEL)
    }

    /// Takes away what is below.
    fn discard(&self, ctx: &MaySleep) {
        self.port().registry().remove(self);
        self.destroy_lower(ctx);
    }

    fn destroy_lower(&self, ctx: &MaySleep) {
        // The MR before its pages: the device must not reach them when they are unmapped.
        drop(self.lower.take(ctx));
        let mapping = self.mapping.lock().take();
        drop(mapping);
    }

    /// The token for SGEs; 0 when there is none. Any context.
    pub(crate) fn local_token(&self) -> u32 {
        let guard = rcu::read_lock();
        self.lower.access(&guard).map_or(0, FastMr::lkey)
    }

    /// The token for the peer; 0 when there is none. Any context.
    pub(crate) fn remote_token(&self) -> u32 {
        let guard = rcu::read_lock();
        self.lower.access(&guard).map_or(0, FastMr::rkey)
    }

    /// Whether it belongs to this PD: requests of a QP name MRs of its PD only.
    pub(crate) fn is_of(&self, pd: &Arc<Pd>) -> bool {
        Arc::ptr_eq(self.pd.object(), pd)
    }

    /// Prepares a fast registration, and gives `post` the MR with its new key and the rights. When `post` fails nothing has
    /// happened but that the key is another. Any context.
    pub(crate) fn fast_register(
        &self,
        region: &Region<'_>,
        flags: u32,
        guard: &rcu::Guard,
        post: impl FnOnce(&FastMr, Access) -> Result,
    ) -> Result {
        let rights = token::Access::from_op_flags(Op::FastRegister, flags)?;
        if !self.state.is_fast() {
            return Err(Status::InvalidDeviceRequest);
        }
        let lower = match self.lower.access(guard) {
            Ok(lower) => lower,
            Err(status) if self.port().is_gone() => return Err(status),
            // Not made ready yet.
            Err(_) => return Err(Status::InvalidDeviceRequest),
        };
        // CAST: A list longer than that is longer than every limit.
        let pages = u32::try_from(region.pages.len()).unwrap_or(u32::MAX);
        token::FastRegister {
            pages,
            first_byte: region.fbo,
            length: region.length,
            base: region.va,
        }
        .check(lower.max_pages(), PAGE_SIZE as u32)?;
        rights.check_fast_register(self.remote_access.load(Relaxed))?;
        let mut claim = lower.claim().ok_or(Status::InvalidDeviceRequest)?;
        self.forget_invalidated();
        self.state.apply(Event::FastRegister)?;
        let posted = self
            .map(&mut claim, region)
            .and_then(|()| post(lower, verbs_access(rights, self.port())));
        trace::mr_fast_register(
            self.head.number(),
            lower.rkey(),
            region.va,
            region.length,
            flags,
            status::of(posted),
        );
        match posted {
            Ok(()) => self
                .invalidations
                .store(self.pd.invalidations().count(), Relaxed),
            Err(_) => self.settle(Event::FastRegisterFailed),
        }
        posted
    }

    /// Where a peer may have ended the last registration, that counts as ended; the device knows.
    fn forget_invalidated(&self) {
        if self.invalidations.load(Relaxed) != self.pd.invalidations().count() {
            self.settle(Event::RemoteInvalidated);
        }
    }

    fn map(&self, claim: &mut MrMapping<'_>, region: &Region<'_>) -> Result {
        claim.map_pages(region.pages, region.fbo, region.length)?;
        claim.set_iova(region.va);
        claim.next_key();
        Ok(())
    }

    /// Gives `post` the token that an invalidation ends. Any context.
    ///
    /// # Errors
    ///
    /// `InvalidDeviceRequest` for an MR that is not for fast registration, or is not registered. That the peer has invalidated
    /// it is known to the device only, which then fails the request.
    pub(crate) fn invalidate(
        &self,
        guard: &rcu::Guard,
        post: impl FnOnce(u32) -> Result,
    ) -> Result {
        if !self.state.is_fast() {
            return Err(Status::InvalidDeviceRequest);
        }
        let lower = match self.lower.access(guard) {
            Ok(lower) => lower,
            Err(status) if self.port().is_gone() => return Err(status),
            Err(_) => return Err(Status::InvalidDeviceRequest),
        };
        self.state.apply(Event::Invalidate)?;
        let posted = post(lower.rkey());
        trace::mr_invalidate(self.head.number(), lower.rkey(), status::of(posted));
        if posted.is_err() {
            self.settle(Event::InvalidateFailed);
        }
        posted
    }
}
