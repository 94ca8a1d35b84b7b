// SPDX-License-Identifier: GPL-2.0

//! Protection domains.

use crate::{
    ctx::{
        self,
        MaySleep, //
    },
    ffi,
    verbs::device::DeviceRef, //
};
use core::ptr::NonNull;
use kernel::{
    error::from_err_ptr,
    prelude::*, //
};

/// A protection domain. What belongs to it holds it by [`kernel::sync::Arc`].
///
/// # Invariants
///
/// `raw` is a PD of `device` that this value alone deallocates.
pub(crate) struct Pd {
    raw: NonNull<ffi::ib_pd>,
    device: DeviceRef,
}

// SAFETY: A PD may be used from every thread.
unsafe impl Send for Pd {}
// SAFETY: As above.
unsafe impl Sync for Pd {}

impl Pd {
    /// Allocates a PD without any key that covers all memory. Sleeps.
    pub(crate) fn new(ctx: &MaySleep, device: DeviceRef) -> Result<Self> {
        ctx.check();
        // SAFETY: The device is valid by `DeviceRef`'s invariant.
        let raw = from_err_ptr(unsafe { ffi::ndk_helper_ib_alloc_pd(device.as_raw()) })?;
        // INVARIANT: Just allocated, and nobody else has the pointer.
        Ok(Self {
            raw: NonNull::new(raw).ok_or(ENOMEM)?,
            device,
        })
    }

    /// The raw PD.
    pub(super) fn as_raw(&self) -> *mut ffi::ib_pd {
        self.raw.as_ptr()
    }

    /// The device it is on.
    pub(crate) fn device(&self) -> &DeviceRef {
        &self.device
    }

    /// The key for local access to memory by DMA address. It is good for local use only, and in no
    /// remote operation.
    pub(crate) fn local_dma_lkey(&self) -> u32 {
        // SAFETY: Valid by the type invariant; the member does not change.
        unsafe { self.raw.as_ref().local_dma_lkey }
    }
}

impl Drop for Pd {
    fn drop(&mut self) {
        ctx::might_sleep();
        // SAFETY: By the type invariant it is ours, and its users, which hold it, are gone.
        let ret = unsafe { ffi::ndk_helper_ib_dealloc_pd(self.raw.as_ptr()) };
        kernel::warn_on!(ret != 0);
    }
}
