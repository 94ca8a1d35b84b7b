// SPDX-License-Identifier: GPL-2.0

//! Scatterlists of consumers.

use crate::{
    ffi,
    verbs::{
        device::DeviceRef,
        dma::{
            Direction,
            DmaSg, //
        },
    },
};
use core::ptr::NonNull;
use kernel::prelude::*;

/// A scatterlist of somebody else.
///
/// # Invariants
///
/// `first` begins a scatterlist of `nents` entries, at least one, that is left alone while the
/// value or a mapping made of it lives.
pub(crate) struct List {
    first: NonNull<ffi::scatterlist>,
    nents: u32,
}

// SAFETY: By the type invariant it is only read, whatever the thread.
unsafe impl Send for List {}
// SAFETY: As above.
unsafe impl Sync for List {}

impl List {
    /// Takes a list; `None` for a null pointer or no entries.
    ///
    /// # Safety
    ///
    /// `sgl` is null or a scatterlist of `nents` entries. It, and the memory that it names, are
    /// left alone while the value or a mapping made of it lives.
    pub(crate) unsafe fn new(sgl: *mut ffi::scatterlist, nents: u32) -> Option<Self> {
        let first = NonNull::new(sgl)?;
        // INVARIANT: By the requirements of this function.
        (nents != 0).then_some(Self { first, nents })
    }

    /// A list of entries with these offsets and lengths, over no memory. It is good while `entries` lives.
    #[cfg(CONFIG_KUNIT = "y")]
    pub(crate) fn of_test(entries: &mut [ffi::scatterlist], sizes: &[(u32, u32)]) -> Option<Self> {
        let nents = entries.len().min(sizes.len());
        // SAFETY: An array of at least that many entries.
        unsafe { ffi::ndk_helper_sg_init_table(entries.as_mut_ptr(), i32::try_from(nents).ok()?) };
        for (entry, (offset, length)) in entries.iter_mut().zip(sizes) {
            entry.offset = *offset;
            entry.length = *length;
        }
        // SAFETY: Just made; tests keep it long enough.
        unsafe { Self::new(entries.as_mut_ptr(), u32::try_from(nents).ok()?) }
    }

    /// Offset and length of each entry.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let mut next = self.first.as_ptr();
        (0..self.nents).map_while(move |_| {
            // SAFETY: Null at the end of the list, and an entry of it before, by the type
            // invariant.
            let entry = unsafe { next.as_ref() }?;
            let item = (entry.offset, entry.length);
            // SAFETY: As above.
            next = unsafe { kernel::bindings::sg_next(next) };
            Some(item)
        })
    }

    /// Maps the first `nents` entries. Any context.
    pub(crate) fn map(&self, device: DeviceRef, nents: u32, direction: Direction) -> Result<DmaSg> {
        // SAFETY: By the type invariant, for at most all of its entries.
        unsafe {
            DmaSg::map(
                device,
                self.first.as_ptr(),
                nents.min(self.nents),
                direction,
            )
        }
    }
}
