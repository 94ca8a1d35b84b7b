// SPDX-License-Identifier: GPL-2.0

//! Memory that a device can reach.

use super::ffi;
use core::ptr;
use kernel::{
    alloc::VVec,
    bindings,
    error::to_result,
    page::{
        AsPageIter,
        PAGE_SIZE, //
    },
    prelude::*, //
};

/// Zeroed pages, contiguous for the CPU, with a scatterlist over them.
///
/// # Invariants
///
/// `table` describes the first `len` bytes of `pages`.
pub(crate) struct Buffer {
    pages: VVec<u8>,
    table: ffi::sg_table,
    len: usize,
}

// SAFETY: The buffer owns its memory and the table.
unsafe impl Send for Buffer {}

// SAFETY: Nothing is reached through `&Buffer` but copies of bytes, which the device may change at any time all the same.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Allocates a buffer of `len` bytes. Sleeps.
    pub(crate) fn new(len: usize) -> Result<Self> {
        let size = kernel::page::page_align(len).ok_or(EINVAL)?;
        if size == 0 {
            return Err(EINVAL);
        }
        let mut pages = VVec::from_elem(0u8, size, GFP_KERNEL)?;
        let mut list = KVVec::with_capacity(size / PAGE_SIZE, GFP_KERNEL)?;
        for page in pages.page_iter() {
            list.push(page.as_ptr(), GFP_KERNEL)?;
        }
        let mut table = ffi::sg_table::default();
        // SAFETY: `list` has at least one page, and each stays allocated as long as `pages`.
        to_result(unsafe {
            bindings::sg_alloc_table_from_pages_segment(
                &mut table,
                list.as_mut_ptr(),
                list.len().try_into()?,
                0,
                len,
                u32::MAX & !(PAGE_SIZE as u32 - 1),
                bindings::GFP_KERNEL,
            )
        })?;
        // INVARIANT: The table was just made so.
        Ok(Self { pages, table, len })
    }

    /// Bytes.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The address of the first byte.
    #[inline]
    pub(crate) fn as_ptr(&self) -> *const u8 {
        self.pages.as_ptr()
    }

    /// The scatterlist, of so many entries, that describes the buffer as long as it lives.
    pub(crate) fn sgl(&self) -> (*mut bindings::scatterlist, u32) {
        (self.table.sgl, self.table.orig_nents)
    }

    fn range(&self, offset: usize, len: usize) -> Result<*mut u8> {
        match offset.checked_add(len) {
            Some(end) if end <= self.len => Ok(self.as_ptr().wrapping_add(offset).cast_mut()),
            _ => Err(EINVAL),
        }
    }

    /// Copies `from` into the buffer.
    pub(crate) fn write(&self, offset: usize, from: &[u8]) -> Result {
        let to = self.range(offset, from.len())?;
        // SAFETY: In range, and never the target of a Rust reference; the device may see either content, as it would anyway.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) };
        Ok(())
    }

    /// Copies out of the buffer.
    pub(crate) fn read(&self, offset: usize, into: &mut [u8]) -> Result {
        let from = self.range(offset, into.len())?;
        // SAFETY: In range, and never the target of a Rust reference; bytes that the device is writing may be old or new.
        unsafe { ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len()) };
        Ok(())
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: By the type invariant the table is ours.
        unsafe { bindings::sg_free_table(&mut self.table) };
    }
}
