// SPDX-License-Identifier: GPL-2.0

//! What a device counts at a port: the counters that `rdma statistic show link` shows.

use crate::{
    ctx::MaySleep,
    ffi,
    verbs::device::Port, //
};
use core::{
    ptr::NonNull,
    slice, //
};
use kernel::{
    prelude::*,
    str::CStr, //
};

/// Counters of a port at one moment.
///
/// # Invariants
///
/// `raw` is a structure of the RDMA core, with names and values for `num_counters`, that this value alone frees.
pub(crate) struct PortCounters {
    raw: NonNull<ffi::rdma_hw_stats>,
}

impl PortCounters {
    /// Asks the device. `None` where it does not count, or does not say. Sleeps.
    pub(crate) fn read(port: &Port<'_>, ctx: &MaySleep) -> Option<Self> {
        ctx.check();
        let device = port.device().as_raw();
        // SAFETY: The device is valid while the port is; its functions do not change.
        let (alloc, get) = unsafe {
            let ops = &(*device).ops;
            (ops.alloc_hw_port_stats?, ops.get_hw_stats?)
        };
        // SAFETY: The device has this port, by the invariant of the port.
        let raw = NonNull::new(unsafe { alloc(device, port.number()) })?;
        // INVARIANT: The driver has made it for us.
        let counters = Self { raw };
        // SAFETY: As above; with the number of counters as an index all of them are read.
        let got = unsafe {
            get(
                device,
                raw.as_ptr(),
                port.number(),
                (*raw.as_ptr()).num_counters,
            )
        };
        (got >= 0).then_some(counters)
    }

    /// What the device has counted under a name.
    pub(crate) fn value(&self, name: &str) -> Option<u64> {
        // SAFETY: By the type invariant.
        let (names, values) = unsafe {
            let raw = self.raw.as_ptr();
            let count = usize::try_from((*raw).num_counters).unwrap_or(0);
            (
                slice::from_raw_parts((*raw).descs, count),
                slice::from_raw_parts((&raw const (*raw).value).cast::<u64>(), count),
            )
        };
        let found = names.iter().zip(values).find(|(desc, _)| {
            if desc.name.is_null() {
                return false;
            }
            // SAFETY: Names are strings of the driver, which stays while its device does.
            let own = unsafe { CStr::from_char_ptr(desc.name) };
            own.to_bytes() == name.as_bytes()
        });
        found.map(|(_, value)| *value)
    }
}

impl Drop for PortCounters {
    fn drop(&mut self) {
        // SAFETY: By the type invariant it is ours.
        unsafe { ffi::rdma_free_hw_stats_struct(self.raw.as_ptr()) };
    }
}
