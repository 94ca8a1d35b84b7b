// SPDX-License-Identifier: GPL-2.0

//! DMA mappings, on real devices and on those whose DMA addresses are kernel addresses.

use crate::{
    ffi,
    verbs::device::DeviceRef, //
};
use core::ptr::{
    self,
    NonNull, //
};
use kernel::{
    alloc::Flags,
    bindings::dma_data_direction,
    ffi::c_int,
    prelude::*, //
};

/// Which way data goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Direction {
    /// The device reads.
    ToDevice,
    /// Both.
    Both,
}

impl Direction {
    fn raw(self) -> dma_data_direction {
        match self {
            Self::ToDevice => dma_data_direction::DMA_TO_DEVICE,
            Self::Both => dma_data_direction::DMA_BIDIRECTIONAL,
        }
    }
}

/// A mapped scatterlist of somebody else.
///
/// # Invariants
///
/// `sg` is a scatterlist of `nents` entries, mapped for `device` in `direction` as `mapped`
/// entries.
pub(crate) struct DmaSg {
    sg: NonNull<ffi::scatterlist>,
    nents: c_int,
    mapped: c_int,
    direction: Direction,
    device: DeviceRef,
}

// SAFETY: The owner of the scatterlist leaves it alone while it is mapped, whatever thread unmaps
// it.
unsafe impl Send for DmaSg {}
// SAFETY: A shared reference only reads addresses.
unsafe impl Sync for DmaSg {}

impl DmaSg {
    /// Maps a scatterlist. Any context. `EINVAL` for an empty one, `ENOMEM` where the mapping
    /// fails.
    ///
    /// # Safety
    ///
    /// `sg` is a scatterlist of at least `nents` entries which lives, and is not changed or mapped
    /// by others, until the value is dropped; its memory stays as long.
    pub(crate) unsafe fn map(
        device: DeviceRef,
        sg: *mut ffi::scatterlist,
        nents: u32,
        direction: Direction,
    ) -> Result<Self> {
        let sg = NonNull::new(sg).ok_or(EINVAL)?;
        let nents = c_int::try_from(nents).map_err(|_| EINVAL)?;
        if nents == 0 {
            return Err(EINVAL);
        }
        // SAFETY: The device is valid; the scatterlist is by this function's requirements.
        let mapped = unsafe {
            ffi::ndk_helper_ib_dma_map_sg(device.as_raw(), sg.as_ptr(), nents, direction.raw())
        };
        if mapped <= 0 {
            return Err(ENOMEM);
        }
        // INVARIANT: Mapped above.
        Ok(Self {
            sg,
            nents,
            mapped,
            direction,
            device,
        })
    }

    /// The mapped pieces, as DMA address and length.
    pub(crate) fn iter(&self) -> DmaSgIter<'_> {
        DmaSgIter {
            next: self.sg.as_ptr(),
            left: self.mapped,
            _sg: core::marker::PhantomData,
        }
    }
}

impl Drop for DmaSg {
    fn drop(&mut self) {
        // SAFETY: By the type invariant it is mapped like this.
        unsafe {
            ffi::ndk_helper_ib_dma_unmap_sg(
                self.device.as_raw(),
                self.sg.as_ptr(),
                self.nents,
                self.direction.raw(),
            )
        };
    }
}

/// Iterator of [`DmaSg::iter`].
pub(crate) struct DmaSgIter<'a> {
    next: *mut ffi::scatterlist,
    left: c_int,
    _sg: core::marker::PhantomData<&'a DmaSg>,
}

impl Iterator for DmaSgIter<'_> {
    type Item = (u64, u32);

    fn next(&mut self) -> Option<Self::Item> {
        if self.left <= 0 || self.next.is_null() {
            return None;
        }
        // SAFETY: By the invariant of `DmaSg` there are `left` mapped entries from here, chained as
        // `sg_next` wants it.
        unsafe {
            let item = (
                ffi::ndk_helper_sg_dma_address(self.next),
                ffi::ndk_helper_sg_dma_len(self.next),
            );
            self.next = kernel::bindings::sg_next(self.next);
            self.left -= 1;
            Some(item)
        }
    }
}

/// A buffer of our own, mapped for its whole life.
///
/// The CPU may touch a part only while no request that names it is outstanding; [`Self::write`] and
/// [`Self::read`] move data between the CPU's view and the device's.
///
/// # Invariants
///
/// `addr` is a mapping of all of `data` for `device` in `direction`.
pub(crate) struct DmaBuf {
    data: NonNull<u8>,
    len: usize,
    capacity: usize,
    addr: u64,
    direction: Direction,
    device: DeviceRef,
}

// SAFETY: Owns plain memory.
unsafe impl Send for DmaBuf {}
// SAFETY: `write` wants exclusive access, `read` only reads.
unsafe impl Sync for DmaBuf {}

impl DmaBuf {
    /// Allocates `len` zero bytes and maps them. Any context that `flags` allow.
    pub(crate) fn new(
        device: DeviceRef,
        len: usize,
        direction: Direction,
        flags: Flags,
    ) -> Result<Self> {
        if len == 0 {
            return Err(EINVAL);
        }
        let mut data = KVec::<u8>::zeroed(len, flags)?;
        let raw = device.as_raw();
        // SAFETY: The device is valid, and so are `len` bytes of the vector.
        let addr = unsafe {
            ffi::ndk_helper_ib_dma_map_single(raw, data.as_mut_ptr().cast(), len, direction.raw())
        };
        // SAFETY: The device is valid.
        if unsafe { ffi::ndk_helper_ib_dma_mapping_error(raw, addr) } != 0 {
            return Err(ENOMEM);
        }
        let (data, len, capacity) = data.into_raw_parts();
        // INVARIANT: Mapped above.
        Ok(Self {
            data: NonNull::new(data).ok_or(ENOMEM)?,
            len,
            capacity,
            addr,
            direction,
            device,
        })
    }

    /// The DMA address of the first byte.
    pub(crate) fn addr(&self) -> u64 {
        self.addr
    }

    fn check(&self, offset: usize, len: usize) -> Result<()> {
        match offset.checked_add(len) {
            Some(end) if end <= self.len => Ok(()),
            _ => Err(EINVAL),
        }
    }

    fn sync(&self, offset: usize, len: usize, to_device: bool) {
        let at = self.addr.wrapping_add(offset as u64);
        // SAFETY: By the type invariant the range, which callers checked, is mapped.
        unsafe {
            if to_device {
                ffi::ndk_helper_ib_dma_sync_for_device(
                    self.device.as_raw(),
                    at,
                    len,
                    self.direction.raw(),
                );
            } else {
                ffi::ndk_helper_ib_dma_sync_for_cpu(
                    self.device.as_raw(),
                    at,
                    len,
                    self.direction.raw(),
                );
            }
        }
    }

    /// As [`Self::write`], from a consumer's pointer, and without exclusive access.
    ///
    /// # Safety
    ///
    /// * `len` bytes at `from` can be read.
    /// * Nobody else writes to the same part of the buffer, and no outstanding request names it.
    pub(crate) unsafe fn write_raw(&self, offset: usize, from: *const u8, len: usize) -> Result {
        self.check(offset, len)?;
        self.sync(offset, len, false);
        // SAFETY: Within the buffer, as checked; the rest by this function's requirements.
        unsafe { ptr::copy_nonoverlapping(from, self.data.as_ptr().add(offset), len) };
        self.sync(offset, len, true);
        Ok(())
    }
}

impl Drop for DmaBuf {
    fn drop(&mut self) {
        // SAFETY: By the type invariant it is mapped like this.
        unsafe {
            ffi::ndk_helper_ib_dma_unmap_single(
                self.device.as_raw(),
                self.addr,
                self.len,
                self.direction.raw(),
            )
        };
        // SAFETY: These are the parts of the vector that `new` took apart.
        drop(unsafe { KVec::from_raw_parts(self.data.as_ptr(), self.len, self.capacity) });
    }
}
