// SPDX-License-Identifier: GPL-2.0

//! Memory windows.
//!
//! Verbs have no windows for the kernel any more. So a window is a registration of its own, of the pages of the MR that it
//! shows; a bind makes it, as a fast registration would, and an invalidation ends it (`registration.rs`).

use crate::{
    adapter::{
        Adapter,
        Port, //
    },
    callback::CreateCompletion,
    ctx::MaySleep,
    ffi,
    mr::{
        self,
        Mr, //
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
        token, //
    },
    status::Result,
    verbs::{
        chain::Chain,
        mr::{
            FastMr,
            MrMapping, //
        },
        qp::Access, //
    }, //
};
use kernel::{
    fmt,
    prelude::*,
    sync::{
        rcu,
        Arc,
        ArcBorrow, //
    },
};

/// A memory window.
#[pin_data]
#[repr(C)]
pub(crate) struct Mw {
    #[pin]
    head: Head<Mw>,
    twins: Twins,
    pd: Held<Pd>,
}

object!(Mw);

impl Object for Mw {
    type Shell = ffi::ndk_mw;

    fn head(&self) -> &Head<Self> {
        &self.head
    }

    fn root(&self) -> Option<&Adapter> {
        Some(self.pd.adapter())
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.twins.is_valid() {
            "bound"
        } else {
            "unbound"
        };
        f.write_fmt(fmt!(" state={state} token={:#x}", self.remote_token()))
    }

    fn teardown(this: &Arc<Self>, ctx: &MaySleep) {
        // A window that is bound is unbound with its end.
        this.port().registry().remove(&**this);
        this.clone().revoke(ctx);
    }
}

impl Lower for Mw {
    fn rank(&self) -> Rank {
        Rank::Memory
    }

    fn revoke(self: Arc<Self>, ctx: &MaySleep) {
        self.twins.destroy(&self.pd, ctx);
    }
}

/// What a bind asks for.
pub(crate) struct Bind {
    /// Address of the window, as the MR's buffer is named.
    pub(crate) va: u64,
    /// Bytes.
    pub(crate) length: u64,
    /// `NDK_OP_FLAG_*`.
    pub(crate) flags: u32,
}

/// Creates a window, which shows nothing yet; `completion` brings it. Any context.
///
/// # Errors
///
/// `InsufficientResources`, `DeviceRemoved`.
pub(crate) fn create(pd: &Arc<Pd>, completion: CreateCompletion) -> Result {
    drop(pd.adapter().port().enter()?);
    object::create(pd, completion, |pd, ctx| Mw::new(pd.object(), ctx))
}

impl Mw {
    fn new(pd: &Arc<Pd>, ctx: &MaySleep) -> Result<Arc<Self>> {
        let held = Held::successor(pd)?;
        let mw = Arc::pin_init(
            pin_init!(Self {
                head <- Head::new(pd.adapter().version()),
                twins: Twins::new(),
                pd: held,
            }),
            GFP_KERNEL,
        )?;
        let port = pd.adapter().port();
        let made = mw.twins.create(pd, port.max_window_pages(), ctx);
        // Last: what is registered can be revoked at once.
        if let Err(status) = made.and_then(|()| port.registry().add(&mw, GFP_KERNEL)) {
            mw.twins.destroy(pd, ctx);
            return Err(status);
        }
        Ok(mw)
    }

    fn port(&self) -> &Arc<Port> {
        self.pd.adapter().port()
    }

    /// The token for the peer; 0 when there is none. Any context.
    pub(crate) fn remote_token(&self) -> u32 {
        let guard = rcu::read_lock();
        let current = self.twins.current(&guard);
        current.map_or(0, |current| current.remote_token())
    }

    /// Whether it belongs to this PD: requests of a QP name windows of its PD only.
    pub(crate) fn is_of(&self, pd: &Arc<Pd>) -> bool {
        Arc::ptr_eq(self.pd.object(), pd)
    }

    /// Prepares to show a part of `mr`, and gives `post` the MR of the device with its new key, the rights, and the token of
    /// what the window shows by then, which the same request has to end. When `post` fails nothing has happened but that the
    /// key is another. `is_read` as in [`token::Registration::make`]. Any context.
    ///
    /// # Errors
    ///
    /// Those of the call, and of `post`; `NoMoreEntries` while two invalidations of the window are on their way.
    pub(crate) fn bind(
        &self,
        mr: ArcBorrow<'_, Mr>,
        bind: &Bind,
        guard: &rcu::Guard,
        (chain, is_read): (&Arc<Chain>, bool),
        post: impl FnOnce(&FastMr, Access, Option<u32>) -> Result,
    ) -> Result {
        let rights = token::Access::from_op_flags(Op::Bind, bind.flags)?;
        mr.show_part((bind.va, bind.length), rights, guard, |part, window| {
            let spare = self.twins.spare(guard)?;
            // CAST: A list longer than that is longer than every limit.
            let pages = u32::try_from(part.pages.len()).unwrap_or(u32::MAX);
            if pages > spare.registration().max_pages() {
                return Err(Status::InvalidParameter);
            }
            let access = mr::verbs_access(rights, self.port());
            let map = |claim: &mut MrMapping<'_>| {
                claim.map_pages(part.pages, part.offset, bind.length)?;
                claim.set_iova(bind.va);
                Ok(())
            };
            let made = |replaces: Option<u32>| {
                spare.take(|registration| {
                    // A window that moves ends one registration with the request that makes the other.
                    let is_read = is_read || replaces.is_some();
                    registration.make(chain, is_read, map, |mr| {
                        registration.show(window, replaces.unwrap_or(0));
                        post(mr, access, replaces)
                    })
                })
            };
            match spare.valid() {
                Some(shown) => shown.end(|token| made(Some(token))),
                None => made(None),
            }
        })
    }

    /// Gives `post` the token that an invalidation ends. Any context.
    ///
    /// # Errors
    ///
    /// `InvalidDeviceRequest` for a window that shows nothing.
    pub(crate) fn invalidate(
        &self,
        guard: &rcu::Guard,
        post: impl FnOnce(u32) -> Result,
    ) -> Result {
        self.twins.current(guard)?.end(post)
    }
}
