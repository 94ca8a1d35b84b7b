// SPDX-License-Identifier: GPL-2.0

//! Memory regions for fast registration.

use crate::{
    ctx::{
        self,
        MaySleep, //
    },
    ffi,
    verbs::{
        chain::Chain,
        pd::Pd, //
    }, //
};
use core::{
    cell::UnsafeCell,
    ptr::{
        self,
        NonNull, //
    },
};
use kernel::{
    error::{
        from_err_ptr,
        to_result, //
    },
    ffi::{
        c_int,
        c_uint, //
    },
    prelude::*,
    sync::{
        atomic::{
            Acquire,
            Atomic,
            Release, //
        },
        Arc, //
    },
    time::{
        delay::fsleep,
        Delta, //
    },
};

/// A memory region that is filled by mapping and made valid by a request
/// ([`crate::verbs::qp::SendWr::reg_mr`]).
///
/// Mapping goes through [`Self::claim`], so that two mappings never meet.
///
/// # Invariants
///
/// * `raw` is an MR of `_pd` that this value alone deregisters.
/// * `pages`, `user` and the mutable members of `raw` are touched by the holder of the one [`MrMapping`]
///   only.
pub(crate) struct FastMr {
    raw: NonNull<ffi::ib_mr>,
    max_pages: u32,
    claimed: Atomic<bool>,
    /// Room for one entry per page, for mapping without an allocation.
    pages: UnsafeCell<KVec<ffi::scatterlist>>,
    /// The chain of the QP that had a request with it last.
    user: UnsafeCell<Option<Arc<Chain>>>,
    /// What the MR is in, and which goes after it.
    _pd: Arc<Pd>,
}

// SAFETY: An MR may be used from every thread.
unsafe impl Send for FastMr {}
// SAFETY: What changes is guarded by `claimed`.
unsafe impl Sync for FastMr {}

impl FastMr {
    /// Allocates an MR of at most `max_pages` pages. Sleeps.
    pub(crate) fn new(ctx: &MaySleep, pd: Arc<Pd>, max_pages: u32) -> Result<Self> {
        ctx.check();
        let pages = KVec::from_elem(
            ffi::scatterlist::default(),
            usize::try_from(max_pages).map_err(|_| EINVAL)?,
            GFP_KERNEL,
        )?;
        // SAFETY: The PD is valid by its invariant.
        let raw = from_err_ptr(unsafe {
            ffi::ib_alloc_mr(pd.as_raw(), ffi::ib_mr_type_IB_MR_TYPE_MEM_REG, max_pages)
        })?;
        // INVARIANT: Just allocated, and nobody else has the pointer or a claim.
        Ok(Self {
            raw: NonNull::new(raw).ok_or(ENOMEM)?,
            max_pages,
            claimed: Atomic::new(false),
            pages: UnsafeCell::new(pages),
            user: UnsafeCell::new(None),
            _pd: pd,
        })
    }

    /// The raw MR.
    pub(super) fn as_raw(&self) -> *mut ffi::ib_mr {
        self.raw.as_ptr()
    }

    /// How many pages fit.
    pub(crate) fn max_pages(&self) -> u32 {
        self.max_pages
    }

    /// The key for local use.
    pub(crate) fn lkey(&self) -> u32 {
        // SAFETY: Valid by the type invariant; a key that changes meanwhile is read as one or the
        // other.
        unsafe { ptr::read_volatile(&raw const (*self.raw.as_ptr()).lkey) }
    }

    /// The key for remote use.
    pub(crate) fn rkey(&self) -> u32 {
        // SAFETY: As above.
        unsafe { ptr::read_volatile(&raw const (*self.raw.as_ptr()).rkey) }
    }

    /// The chain of the QP that had a request with it last. Process context.
    pub(crate) fn user(&self, ctx: &MaySleep) -> Option<Arc<Chain>> {
        ctx.check();
        // Whoever has the claim is about to give it back.
        let claim = loop {
            if let Some(claim) = self.claim() {
                break claim;
            }
            fsleep(Delta::from_micros(100));
        };
        // SAFETY: Ours to touch while `claim` exists.
        let user = unsafe { &*self.user.get() }.clone();
        drop(claim);
        user
    }

    /// Takes the right to map. `None` while somebody else has it. Any context.
    pub(crate) fn claim(&self) -> Option<MrMapping<'_>> {
        self.claimed
            .cmpxchg(false, true, Acquire)
            .ok()
            // INVARIANT: Nobody else has it, as `claimed` was false.
            .map(|_| MrMapping { mr: self })
    }
}

impl Drop for FastMr {
    fn drop(&mut self) {
        ctx::might_sleep();
        // SAFETY: By the type invariant it is ours.
        let ret = unsafe { ffi::ndk_helper_ib_dereg_mr(self.raw.as_ptr()) };
        kernel::warn_on!(ret != 0);
    }
}

/// The right to map memory into an MR. Given back when dropped.
///
/// # Invariants
///
/// There is one value at a time for an MR.
pub(crate) struct MrMapping<'a> {
    mr: &'a FastMr,
}

impl MrMapping<'_> {
    /// Maps `length` bytes from `offset` of the first page on, out of pages of `PAGE_SIZE` bytes at
    /// these DMA addresses. Any context, and without an allocation. `EINVAL` where the pages do not
    /// hold that much, or do not fit.
    pub(crate) fn map_pages(&mut self, pages: &[u64], offset: u32, length: u64) -> Result {
        let page_size = kernel::page::PAGE_SIZE;
        let room = pages.len().checked_mul(page_size).ok_or(EINVAL)? as u64;
        let end = u64::from(offset).checked_add(length).ok_or(EINVAL)?;
        if length == 0 || end > room || offset as usize >= page_size {
            return Err(EINVAL);
        }
        let used = usize::try_from(end.div_ceil(page_size as u64)).map_err(|_| EINVAL)?;
        let nents = c_int::try_from(used).map_err(|_| EINVAL)?;
        // SAFETY: Ours to change by the type invariant.
        let list = unsafe { &mut *self.mr.pages.get() };
        let list = list.as_mut_slice().get_mut(..used).ok_or(EINVAL)?;
        // SAFETY: An array of that many entries.
        unsafe { ffi::ndk_helper_sg_init_table(list.as_mut_ptr(), nents) };
        let mut left = end;
        // The first entry begins at the offset. Told beside the list it would be lost on siw, and the region begin before its
        // bytes.
        let mut skipped = u64::from(offset);
        for (entry, page) in list.iter_mut().zip(pages) {
            let start = page.checked_add(skipped).ok_or(EINVAL)?;
            let until = left.min(page_size as u64);
            // CAST: At most a page.
            // SAFETY: Writes two members of a valid entry.
            unsafe { ffi::ndk_helper_sg_set_dma(entry, start, (until - skipped) as u32) };
            left -= until;
            skipped = 0;
        }
        let mut offset = 0;
        // SAFETY: The MR is valid, and ours to change by the type invariant; the list has `nents` mapped entries.
        let mapped = unsafe {
            ffi::ib_map_mr_sg(
                self.mr.raw.as_ptr(),
                list.as_mut_ptr(),
                nents,
                &mut offset,
                // CAST: The size of a page.
                page_size as c_uint,
            )
        };
        if mapped == nents {
            return Ok(());
        }
        to_result(mapped)?;
        // More pages than fit.
        Err(EINVAL)
    }

    /// Sets the address by which the region is named. Its offset within a page must be that of the
    /// buffer.
    pub(crate) fn set_iova(&mut self, iova: u64) {
        // SAFETY: The MR is valid, and ours to change by the type invariant.
        unsafe { (*self.mr.raw.as_ptr()).iova = iova };
    }

    /// Notes the chain of the QP that a request with the MR is about to be posted to.
    pub(crate) fn set_user(&mut self, chain: &Arc<Chain>) {
        // SAFETY: Ours to change by the type invariant.
        let user = unsafe { &mut *self.mr.user.get() };
        if !user.as_ref().is_some_and(|user| Arc::ptr_eq(user, chain)) {
            *user = Some(chain.clone());
        }
    }

    /// Moves the MR to its next key, so that one that was given out is no good for the next
    /// registration.
    pub(crate) fn next_key(&mut self) {
        // SAFETY: The MR is valid, and ours to change by the type invariant.
        unsafe {
            let key = ffi::ndk_helper_ib_inc_rkey((*self.mr.raw.as_ptr()).rkey);
            // CAST: The key's low byte is the part that changes.
            ffi::ndk_helper_ib_update_fast_reg_key(self.mr.raw.as_ptr(), key as u8);
        }
    }
}

impl Drop for MrMapping<'_> {
    fn drop(&mut self) {
        self.mr.claimed.store(false, Release);
    }
}
