// SPDX-License-Identifier: GPL-2.0

//! Memory regions, and the pieces of them that requests name.

use super::{
    adapter::Adapter,
    buffer::Buffer,
    ffi,
    flags::MrFlags,
    notice::{
        dispatch,
        Notice,
        Wait,
        MISSING, //
    },
    owned::{
        Hook,
        Owned, //
    },
};
use core::{
    mem::{
        offset_of,
        size_of, //
    },
    ops::Deref,
    ptr::{
        self,
        NonNull, //
    },
};
use kernel::{
    error::to_result,
    prelude::*, //
};

/// The name of a region's first byte: the kernel's own addresses are nothing for a peer to know.
const NAME: u64 = 1 << 32;

/// A piece of registered memory, for a request.
///
/// May outlive the region: a request that names a region which is gone fails.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Sge(ffi::ndk_sge);

impl Sge {
    pub(super) fn new(address: u64, length: u32, token: u32) -> Self {
        let mut sge = ffi::ndk_sge::default();
        sge.__bindgen_anon_1.virtual_address = address;
        sge.length = length;
        sge.token = token;
        Self(sge)
    }

    /// The same piece, cut or extended to `length`. Beyond the region the request fails.
    #[inline]
    pub(crate) fn resized(mut self, length: u32) -> Self {
        self.0.length = length;
        self
    }

    /// The list that C takes.
    #[inline]
    pub(super) fn list(sgl: &[Self]) -> (*const ffi::ndk_sge, u32) {
        // CAST: A list longer than this is too long as it is; the provider refuses it.
        let count = u32::try_from(sgl.len()).unwrap_or(u32::MAX);
        (sgl.as_ptr().cast(), count)
    }
}

/// An MR that is not registered.
pub(crate) struct Mr(Owned<ffi::ndk_mr>);

impl Mr {
    /// # Safety
    ///
    /// `raw` is open, made without fast registration, and becomes this value's own.
    pub(super) unsafe fn new(raw: NonNull<ffi::ndk_mr>) -> Self {
        // SAFETY: By this function's requirements.
        Self(unsafe { Owned::new(raw, None) })
    }

    /// Registers `buffer`, all of it. The memory lives until the region is closed.
    pub(crate) fn register<N: Notice<Region>>(
        mut self,
        buffer: Buffer,
        flags: MrFlags,
        how: N,
    ) -> N::Return {
        let (sgl, nents) = buffer.sgl();
        let length = buffer.len() as u64;
        let buffer = match Hook::new(buffer).and_then(|(hook, buffer)| {
            self.0.keep(hook)?;
            Ok(Shared(buffer))
        }) {
            Ok(buffer) => buffer,
            Err(error) => return how.fail(error),
        };
        let mr = self.0.as_ptr();
        how.request(
            // SAFETY: The MR is open; the buffer and its scatterlist live until it is closed.
            |done, context| unsafe {
                dispatch!(mr, register_mr(mr, sgl, nents, NAME, length, flags.raw(), done, context) or MISSING)
            },
            move |status| {
                status?;
                Ok(Region { mr: self.0, buffer })
            },
        )
    }
}

/// A buffer that a region's hook owns.
#[derive(Clone, Copy)]
struct Shared(NonNull<Buffer>);

// SAFETY: Only `&Buffer` is made of it, and `Buffer` is `Send` and `Sync`.
unsafe impl Send for Shared {}

// SAFETY: As above.
unsafe impl Sync for Shared {}

/// A registered buffer, and its owner.
///
/// # Invariants
///
/// The hook of `mr` owns `buffer`.
pub(crate) struct Region {
    mr: Owned<ffi::ndk_mr>,
    buffer: Shared,
}

impl Region {
    /// A piece for a request.
    pub(crate) fn sge(&self, offset: usize, length: u32) -> Result<Sge> {
        match offset.checked_add(length as usize) {
            Some(end) if end <= self.len() => {
                Ok(Sge::new(self.address(offset), length, self.local_token()))
            }
            _ => Err(EINVAL),
        }
    }

    /// The address by which requests know the byte at `offset`.
    pub(crate) fn address(&self, offset: usize) -> u64 {
        NAME.wrapping_add(offset as u64)
    }

    /// The token for the peer.
    pub(crate) fn remote_token(&self) -> u32 {
        let mr = self.mr.as_ptr();
        // SAFETY: The MR is open.
        unsafe { dispatch!(mr, get_remote_token(mr) or 0) }
    }

    #[inline]
    pub(super) fn as_ptr(&self) -> *mut ffi::ndk_mr {
        self.mr.as_ptr()
    }

    fn local_token(&self) -> u32 {
        let mr = self.mr.as_ptr();
        // SAFETY: The MR is open.
        unsafe { dispatch!(mr, get_local_token(mr) or 0) }
    }

    /// Ends the registration: the tokens are dead. The memory stays until the close.
    pub(crate) fn deregister<N: Notice<()>>(&self, how: N) -> N::Return {
        let mr = self.mr.as_ptr();
        how.request(
            // SAFETY: The MR is open.
            |done, context| unsafe { dispatch!(mr, deregister(mr, done, context) or MISSING) },
            |status| status,
        )
    }

    /// Ends the registration and closes the MR.
    pub(crate) fn close<N: Notice<()>>(self, how: N) -> N::Return {
        self.mr.close(how)
    }
}

impl Deref for Region {
    type Target = Buffer;

    #[inline]
    fn deref(&self) -> &Buffer {
        // SAFETY: By the type invariant the buffer lives as long as `self.mr`.
        unsafe { self.buffer.0.as_ref() }
    }
}

/// An MR that requests on a QP register and invalidate.
pub(crate) struct FastMr(Owned<ffi::ndk_mr>);

impl FastMr {
    /// # Safety
    ///
    /// `raw` is open, made for fast registration, and becomes this value's own.
    pub(super) unsafe fn new(raw: NonNull<ffi::ndk_mr>) -> Self {
        // SAFETY: By this function's requirements.
        Self(unsafe { Owned::new(raw, None) })
    }

    #[inline]
    pub(super) fn as_ptr(&self) -> *mut ffi::ndk_mr {
        self.0.as_ptr()
    }

    pub(super) fn initialize(&self, pages: u32, remote_access: bool) -> Result {
        Wait.request(
            // SAFETY: The MR is open.
            |done, context| unsafe {
                dispatch!(self.as_ptr(), initialize_fast_register(
                    self.as_ptr(), pages, remote_access, done, context,
                ) or MISSING)
            },
            |status| status,
        )
    }

    /// Closes the MR; a registration that is left is ended.
    pub(crate) fn close<N: Notice<()>>(self, how: N) -> N::Return {
        self.0.close(how)
    }

    /// The token for the peer, anew with each registration.
    #[inline]
    pub(crate) fn remote_token(&self) -> u32 {
        // SAFETY: The MR is open.
        unsafe { dispatch!(self.as_ptr(), get_remote_token(self.as_ptr()) or 0) }
    }

    /// A piece for a request, where `address` is the name given to the registration plus an offset.
    #[inline]
    pub(crate) fn sge(&self, address: u64, length: u32) -> Sge {
        // SAFETY: The MR is open.
        let token = unsafe { dispatch!(self.as_ptr(), get_local_token(self.as_ptr()) or 0) };
        Sge::new(address, length, token)
    }
}

/// A buffer as its adapter addresses it.
///
/// # Invariants
///
/// `lam` was built over `buffer`, and not released.
pub(crate) struct Lam<'a> {
    adapter: &'a Adapter,
    // Words, for the alignment; the last of them may be half used.
    lam: KVVec<u64>,
    buffer: Buffer,
    fbo: u32,
}

impl<'a> Lam<'a> {
    pub(super) fn new(adapter: &'a Adapter, buffer: Buffer) -> Result<Self> {
        let (sgl, nents) = buffer.sgl();
        let length = buffer.len() as u64;
        let build = |lam: *mut ffi::ndk_lam, size: &mut usize, fbo: &mut u32| {
            // SAFETY: The adapter is open, the scatterlist valid, and `lam` has `size` bytes or is NULL.
            to_result(unsafe {
                dispatch!(adapter.as_ptr(), build_lam(
                    adapter.as_ptr(), sgl, nents, length, None, ptr::null_mut(), lam, size, fbo,
                ) or MISSING)
            })
        };
        let (mut size, mut fbo) = (0, 0);
        match build(ptr::null_mut(), &mut size, &mut fbo) {
            Ok(()) => {}
            Err(error) if error == ENOSPC => {}
            Err(error) => return Err(error),
        }
        let size_asked = size.max(size_of::<ffi::ndk_lam>());
        let mut lam = KVVec::from_elem(0u64, size_asked.div_ceil(size_of::<u64>()), GFP_KERNEL)?;
        size = size_asked;
        build(lam.as_mut_ptr().cast(), &mut size, &mut fbo)?;
        // INVARIANT: It was built just now.
        Ok(Self {
            adapter,
            lam,
            buffer,
            fbo,
        })
    }

    fn as_ptr(&self) -> *mut ffi::ndk_lam {
        self.lam.as_ptr().cast_mut().cast()
    }

    /// The addresses of the pages.
    pub(crate) fn pages(&self) -> &[u64] {
        // SAFETY: By the type invariant the provider has filled in the count and so many pages.
        let count = unsafe { (*self.as_ptr()).page_count } as usize;
        let first = offset_of!(ffi::ndk_lam, pages) / size_of::<u64>();
        self.lam
            .get(first..first.saturating_add(count))
            .unwrap_or(&[])
    }

    /// A name for the first byte that a registration can have.
    pub(crate) fn name(&self) -> u64 {
        NAME | u64::from(self.fbo)
    }

    /// Offset of the first byte in the first page.
    pub(crate) fn fbo(&self) -> u32 {
        self.fbo
    }

    /// The buffer.
    pub(crate) fn buffer(&self) -> &Buffer {
        &self.buffer
    }
}

impl Drop for Lam<'_> {
    fn drop(&mut self) {
        let adapter = self.adapter.as_ptr();
        // SAFETY: By the type invariant it was built by this adapter, and no request uses it, see `Qp::fast_register`.
        unsafe { dispatch!(adapter, release_lam(adapter, self.as_ptr()) or ()) };
    }
}
