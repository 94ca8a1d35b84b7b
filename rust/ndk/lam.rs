// SPDX-License-Identifier: GPL-2.0

//! Consumers' buffers, and logical address mappings of them.
//!
//! NDKPI describes a buffer by a chain of MDLs that is virtually contiguous. Here it is a scatterlist with no gap: every entry
//! but the first starts at the beginning of a page, and every one but the last ends at the end of a page.

use crate::{
    adapter::Adapter,
    ctx::MaySleep,
    ffi,
    object::Held,
    registry::{
        Lower,
        Rank, //
    },
    state::status::Status,
    status::Result,
    sync::{
        new_irq_spinlock,
        IrqSpinLock, //
    },
    verbs::{
        device::DeviceRef,
        dma::{
            Direction,
            DmaSg, //
        },
        sg, //
    },
};
use core::mem::{
    offset_of,
    size_of, //
};
use kernel::{
    alloc::{
        flags::GFP_ATOMIC,
        Flags, //
    },
    page::PAGE_SIZE,
    prelude::*,
    sync::Arc, //
};

/// Bytes of a page, as lengths and addresses count them.
const PAGE: u64 = PAGE_SIZE as u64;

/// A consumer's buffer.
///
/// # Invariants
///
/// `list` has `used` entries without a gap between them, which hold `length` bytes from the start of the first.
pub(crate) struct Buffer {
    list: sg::List,
    used: u32,
    offset: u32,
    length: u64,
}

impl Buffer {
    /// Checks a buffer of `length` bytes from the start of the list.
    ///
    /// # Errors
    ///
    /// `InvalidParameter` when it is empty, has a gap, or is shorter than `length`.
    pub(crate) fn new(list: sg::List, length: u64) -> Result<Self> {
        let mut offset = 0;
        let mut used: u32 = 0;
        let mut found: u64 = 0;
        let mut at_page_end = true;
        for (start, len) in list.iter() {
            if found >= length {
                break;
            }
            let within = start % PAGE_SIZE as u32;
            if used == 0 {
                offset = within;
            } else if within != 0 || !at_page_end {
                return Err(Status::InvalidParameter);
            }
            at_page_end = (u64::from(start) + u64::from(len)) % PAGE == 0;
            found = found
                .checked_add(u64::from(len))
                .ok_or(Status::InvalidParameter)?;
            used += 1;
        }
        if length == 0 || found < length {
            return Err(Status::InvalidParameter);
        }
        // INVARIANT: Checked above.
        Ok(Self {
            list,
            used,
            offset,
            length,
        })
    }

    /// Offset of the first byte in its page.
    pub(crate) fn offset(&self) -> u32 {
        self.offset
    }

    /// Bytes.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Pages that it touches; more than can be counted is more than any limit.
    pub(crate) fn page_count(&self) -> u32 {
        let bytes = self.length.saturating_add(u64::from(self.offset));
        u32::try_from(bytes.div_ceil(PAGE)).unwrap_or(u32::MAX)
    }
}

/// A buffer as the device addresses it.
pub(crate) struct Mapping {
    pages: KVec<u64>,
    /// Unmaps the buffer when it goes.
    _dma: DmaSg,
}

impl Mapping {
    /// Maps a buffer. Any context that `flags` allows.
    ///
    /// # Errors
    ///
    /// `InsufficientResources`.
    pub(crate) fn new(device: DeviceRef, buffer: &Buffer, flags: Flags) -> Result<Self> {
        let count = buffer.page_count() as usize;
        let mut pages = KVec::with_capacity(count, flags)?;
        let dma = buffer.list.map(device, buffer.used, Direction::Both)?;
        for (address, len) in dma.iter() {
            let end = address
                .checked_add(u64::from(len))
                .ok_or(Status::InsufficientResources)?;
            let mut page = address - address % PAGE;
            while page < end && pages.len() < count {
                pages
                    .push_within_capacity(page)
                    .map_err(|_| Status::InsufficientResources)?;
                page += PAGE;
            }
        }
        // Pieces that the DMA layer moved within their pages cannot be named by pages.
        let first = dma.iter().next().map(|(address, _)| address % PAGE);
        if pages.len() != count || first != Some(u64::from(buffer.offset)) {
            return Err(Status::InsufficientResources);
        }
        Ok(Self { pages, _dma: dma })
    }

    /// Addresses of the pages.
    pub(crate) fn pages(&self) -> &[u64] {
        &self.pages
    }
}

/// A logical address mapping that a consumer holds. It counts as a child of the adapter.
#[pin_data]
pub(crate) struct Lam {
    #[pin]
    mapping: IrqSpinLock<Option<Mapping>>,
    adapter: Held<Adapter>,
}

impl Lower for Lam {
    fn rank(&self) -> Rank {
        Rank::Memory
    }

    fn revoke(self: Arc<Self>, _ctx: &MaySleep) {
        let mapping = self.mapping.lock().take();
        drop(mapping);
    }
}

impl Lam {
    /// Ends the mapping. Any context.
    pub(crate) fn release(&self) {
        self.adapter.port().registry().remove(self);
        let mapping = self.mapping.lock().take();
        drop(mapping);
    }
}

/// Bytes of a `struct ndk_lam` with so many pages.
pub(crate) fn size(pages: u32) -> usize {
    (pages as usize)
        .saturating_mul(size_of::<u64>())
        .saturating_add(offset_of!(ffi::ndk_lam, pages))
}

/// Maps a buffer for a consumer, and gives the addresses of its pages. Any context.
///
/// # Errors
///
/// `InsufficientResources`, `DeviceRemoved`.
pub(crate) fn build(adapter: &Arc<Adapter>, buffer: Buffer) -> Result<(Arc<Lam>, KVec<u64>)> {
    let held = Held::successor(adapter)?;
    let mapping = Mapping::new(adapter.port().enter()?, &buffer, GFP_ATOMIC)?;
    let mut pages = KVec::new();
    pages.extend_from_slice(mapping.pages(), GFP_ATOMIC)?;
    let lam = Arc::pin_init(
        pin_init!(Lam {
            mapping <- new_irq_spinlock!(Some(mapping)),
            adapter: held,
        }),
        GFP_ATOMIC,
    )?;
    adapter.port().registry().add(&lam, GFP_ATOMIC)?;
    Ok((lam, pages))
}

#[kernel::macros::kunit_tests(ndk_buffer)]
mod tests {
    use super::*;

    const P: u32 = PAGE_SIZE as u32;

    /// Offset and page count of a buffer of `length` bytes over entries of these offsets and lengths.
    fn check(sizes: &[(u32, u32)], length: u64) -> Result<(u32, u32)> {
        let mut entries = [ffi::scatterlist::default(); 4];
        let list = sg::List::of_test(&mut entries, sizes).ok_or(Status::InternalError)?;
        let buffer = Buffer::new(list, length)?;
        if buffer.length() != length {
            return Err(Status::InternalError);
        }
        Ok((buffer.offset(), buffer.page_count()))
    }

    fn is_refused(sizes: &[(u32, u32)], length: u64) -> bool {
        check(sizes, length) == Err(Status::InvalidParameter)
    }

    #[test]
    fn offset_and_pages() {
        assert!(check(&[(0, 1)], 1) == Ok((0, 1)));
        assert!(check(&[(100, 200)], 200) == Ok((100, 1)));
        assert!(check(&[(P - 1, 1)], 1) == Ok((P - 1, 1)));
        assert!(check(&[(P - 1, 2)], 2) == Ok((P - 1, 2)));
        assert!(check(&[(0, 3 * P)], 3 * PAGE) == Ok((0, 3)));
        assert!(check(&[(8, 3 * P)], 3 * PAGE) == Ok((8, 4)));
    }

    #[test]
    fn the_offset_is_within_a_page_of_a_larger_one() {
        assert!(check(&[(5 * P + 8, 16)], 16) == Ok((8, 1)));
    }

    #[test]
    fn entries_join_at_the_ends_of_pages() {
        assert!(check(&[(100, P - 100), (0, 50)], PAGE - 50) == Ok((100, 2)));
        assert!(check(&[(P - 4, 4), (0, P), (2 * P, P)], 4 + 2 * PAGE) == Ok((P - 4, 3)));
    }

    /// Proves: 7.7-contiguous
    #[test]
    fn gaps_are_refused() {
        // The first does not end with its page, the second does not begin with one.
        assert!(is_refused(&[(100, 100), (0, 50)], 150));
        assert!(is_refused(&[(100, P - 100), (4, 50)], PAGE - 50));
        assert!(is_refused(&[(0, P), (0, 8), (0, 8)], PAGE + 16));
    }

    #[test]
    fn what_follows_the_buffer_does_not_matter() {
        assert!(check(&[(0, 100), (7, 5)], 100) == Ok((0, 1)));
        assert!(check(&[(0, 2 * P), (7, 5)], 100) == Ok((0, 1)));
    }

    #[test]
    fn the_length_is_there_and_not_zero() {
        assert!(is_refused(&[(0, 100)], 101));
        assert!(is_refused(&[(0, P), (0, P)], 2 * PAGE + 1));
        assert!(is_refused(&[(0, 100)], 0));
    }

    #[test]
    fn the_size_of_a_lam_grows_by_a_word_for_each_page() {
        assert_eq!(size(0), offset_of!(ffi::ndk_lam, pages));
        assert_eq!(size(3), size(0) + 24);
    }
}
