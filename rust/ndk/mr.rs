// SPDX-License-Identifier: GPL-2.0

//! Memory regions.
//!
//! A normal MR is registered by [`register`], which has the PD's own QP make it valid, and windows can show parts of it
//! (`mw.rs`); a fast one is made ready by [`initialize_fast_register`] and then made valid by requests on the consumer's QPs
//! (`qp.rs`, `registration.rs`). The states are those of [`token`].

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
    registration::Twins,
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
    trace,
    verbs::{
        chain::Chain,
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
        Arc,
        ArcBorrow, //
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
    /// What is registered, of a normal MR.
    registered: Handle<Registered>,
    /// What requests register, of a fast one.
    twins: Twins,
    pd: Held<Pd>,
}

/// A buffer that is registered.
struct Registered {
    /// Goes before the pages: the device must not reach them when they are unmapped.
    lower: FastMr,
    mapping: Mapping,
    va: u64,
    length: u64,
    /// Of the first byte in the first page.
    offset: u32,
    rights: token::Access,
}

/// A part of a registered buffer, for a window.
pub(crate) struct Part<'a> {
    /// Addresses of its pages.
    pub(crate) pages: &'a [u64],
    /// Offset of the first byte in the first page.
    pub(crate) offset: u32,
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
        let state = match self.state.state() {
            State::Initialized if self.twins.is_valid() => "valid",
            state => state.name(),
        };
        f.write_fmt(fmt!(
            " kind={kind} state={state} token={:#x}",
            self.local_token()
        ))?;
        match self.state.state() {
            State::Registered { windows } => f.write_fmt(fmt!(" windows={windows}")),
            _ => Ok(()),
        }
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
            registered: Handle::new(),
            twins: Twins::new(),
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
        let filled = Mr::fill(mr, &buffer, va, rights, ctx);
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
/// `InvalidDeviceRequest` when there is none, `DeviceBusy` while windows show parts of it, `InsufficientResources`.
pub(crate) fn deregister(mr: &Arc<Mr>, completion: RequestCompletion) -> Result {
    let end = |success| Event::DeregisterDone { success };
    request(mr, Event::Deregister, end, completion, move |mr, ctx| {
        // Deregistering the MR itself ends the rights in any case; the request before it is the orderly way.
        let mut ended = Ok(());
        if let Ok(registered) = mr.registered.get(ctx) {
            ended = mr.pd.invalidate(&registered.lower, ctx);
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
    // NDKPI knows of no registration that ends like this.
    if mr.twins.is_valid() {
        return Err(Status::InvalidDeviceRequest);
    }
    let end = |success| Event::InitializeDone { success };
    request(mr, Event::Initialize, end, completion, move |mr, ctx| {
        mr.discard(ctx);
        mr.remote_access.store(remote_access, Relaxed);
        let made = mr.twins.create(&mr.pd, page_count, ctx);
        // Last: what is registered can be revoked at once.
        let made = made.and_then(|()| mr.port().registry().add(mr, GFP_KERNEL));
        if made.is_err() {
            mr.discard(ctx);
        }
        made
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
pub(crate) fn verbs_access(rights: token::Access, port: &Port) -> Access {
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
    fn fill(
        this: &Arc<Self>,
        buffer: &Buffer,
        va: u64,
        rights: token::Access,
        ctx: &MaySleep,
    ) -> Result {
        let pages = buffer.page_count();
        let mapping = Mapping::new(this.port().enter()?, buffer, GFP_KERNEL)?;
        let lower = FastMr::new(ctx, this.pd.lower(ctx)?, pages)?;
        {
            let mut claim = lower.claim().ok_or(Status::InternalError)?;
            claim.map_pages(mapping.pages(), buffer.offset(), buffer.length())?;
            claim.set_iova(va);
            claim.next_key();
        }
        this.pd
            .validate(&lower, verbs_access(rights, this.port()), ctx)?;
        let registered = Registered {
            lower,
            mapping,
            va,
            length: buffer.length(),
            offset: buffer.offset(),
            rights,
        };
        this.registered
            .set(Arc::new(registered, GFP_KERNEL)?)
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
        self.twins.destroy(&self.pd, ctx);
        drop(self.registered.take(ctx));
    }

    /// The token for SGEs; 0 when there is none. Any context.
    pub(crate) fn local_token(&self) -> u32 {
        let guard = rcu::read_lock();
        if self.state.is_fast() {
            let current = self.twins.current(&guard);
            return current.map_or(0, |current| current.local_token());
        }
        let registered = self.registered.access(&guard);
        registered.map_or(0, |registered| registered.lower.lkey())
    }

    /// The token for the peer; 0 when there is none. Any context.
    pub(crate) fn remote_token(&self) -> u32 {
        let guard = rcu::read_lock();
        if self.state.is_fast() {
            let current = self.twins.current(&guard);
            return current.map_or(0, |current| current.remote_token());
        }
        let registered = self.registered.access(&guard);
        registered.map_or(0, |registered| registered.lower.rkey())
    }

    /// Whether it belongs to this PD: requests of a QP name MRs of its PD only.
    pub(crate) fn is_of(&self, pd: &Arc<Pd>) -> bool {
        Arc::ptr_eq(self.pd.object(), pd)
    }

    /// Whether requests may register it or end its registration now.
    fn takes_requests(&self) -> Result {
        let taken = self.state.check(Event::Request);
        // What a device took away is not what a consumer did wrong.
        match taken {
            Err(_) if self.port().is_gone() => Err(Status::DeviceRemoved),
            other => other,
        }
    }

    /// Prepares a fast registration for the chain of a QP, and gives `post` the MR with its new key and the rights. When `post`
    /// fails nothing has happened but that the key is another. `is_read` as in [`token::Registration::make`]. Any context.
    ///
    /// # Errors
    ///
    /// Those of the call, and of `post`; `NoMoreEntries` while two invalidations of it are on their way.
    pub(crate) fn fast_register(
        &self,
        region: &Region<'_>,
        flags: u32,
        guard: &rcu::Guard,
        (chain, is_read): (&Arc<Chain>, bool),
        post: impl FnOnce(&FastMr, Access) -> Result,
    ) -> Result {
        let rights = token::Access::from_op_flags(Op::FastRegister, flags)?;
        self.takes_requests()?;
        // CAST: A list longer than that is longer than every limit.
        let pages = u32::try_from(region.pages.len()).unwrap_or(u32::MAX);
        token::FastRegister {
            pages,
            first_byte: region.fbo,
            length: region.length,
            base: region.va,
        }
        .check(self.twins.current(guard)?.max_pages(), PAGE_SIZE as u32)?;
        rights.check_fast_register(self.remote_access.load(Relaxed))?;
        if self.twins.is_valid() {
            return Err(Status::InvalidDeviceRequest);
        }
        let access = verbs_access(rights, self.port());
        let made = self.twins.spare(guard)?.take(|registration| {
            let map = |claim: &mut MrMapping<'_>| {
                claim.map_pages(region.pages, region.fbo, region.length)?;
                claim.set_iova(region.va);
                Ok(())
            };
            registration.make(chain, is_read, map, |mr| post(mr, access))
        });
        trace::mr_fast_register(
            self.head.number(),
            self.remote_token(),
            region.va,
            region.length,
            flags,
            status::of(made),
        );
        made
    }

    /// Gives `post` the token that an invalidation ends. Any context.
    ///
    /// # Errors
    ///
    /// `InvalidDeviceRequest` for an MR that is not for fast registration, or is not registered.
    pub(crate) fn invalidate(
        &self,
        guard: &rcu::Guard,
        post: impl FnOnce(u32) -> Result,
    ) -> Result {
        self.takes_requests()?;
        let current = self.twins.current(guard)?;
        let ended = current.end(post);
        trace::mr_invalidate(
            self.head.number(),
            current.remote_token(),
            status::of(ended),
        );
        ended
    }

    /// Counts a window that is about to show the `length` bytes at `va` with these rights, and gives `show` the pages. Any
    /// context.
    ///
    /// # Errors
    ///
    /// `InvalidDeviceRequest` where it is not registered by [`register`], `AccessViolation` for rights that it has not,
    /// `InvalidParameter` for what is not within it; those of `show`.
    pub(crate) fn show_part(
        self: ArcBorrow<'_, Self>,
        (va, length): (u64, u64),
        rights: token::Access,
        guard: &rcu::Guard,
        show: impl FnOnce(Part<'_>, Window) -> Result,
    ) -> Result {
        // NDKPI: an MR is an antecedent of the windows that are bound to it.
        let region = Held::successor(&self.into())?;
        self.state.apply(Event::Bind)?;
        let window = Window(Some(region));
        show(self.part(va, length, rights, guard)?, window)
    }

    fn part<'a>(
        &'a self,
        va: u64,
        length: u64,
        rights: token::Access,
        guard: &'a rcu::Guard,
    ) -> Result<Part<'a>> {
        let registered = self.registered.access(guard)?;
        token::check_window(registered.va, registered.length, va, length)?;
        rights.check_bind(registered.rights)?;
        let range = token::window_pages(
            u64::from(registered.offset).saturating_add(va.saturating_sub(registered.va)),
            length,
            PAGE_SIZE as u32,
        );
        let pages = registered.mapping.pages();
        Ok(Part {
            pages: pages.get(range.pages).ok_or(Status::InvalidParameter)?,
            offset: range.first_byte,
        })
    }
}

/// A window that is counted as bound to an MR, until it is dropped.
pub(crate) struct Window(Option<Held<Mr>>);

impl Window {
    /// Leaves it counted without a value for it; [`Self::unpark`] has it back.
    pub(crate) fn park(mut self) -> Option<Arc<Mr>> {
        self.0.take().map(Held::park)
    }

    /// Undoes [`Self::park`], once for each.
    pub(crate) fn unpark(mr: Arc<Mr>) -> Self {
        Self(Some(Held::unpark(mr)))
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        if let Some(mr) = &self.0 {
            let _ = mr.state.apply(Event::Unbind);
        }
    }
}
