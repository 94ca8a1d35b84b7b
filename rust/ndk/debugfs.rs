// SPDX-License-Identifier: GPL-2.0

//! debugfs `ndk/`: a directory for each port, of files that are read only.
//!
//! What a file says is made when it is read. Files go with their port, and wait for those who read; readers wait for nothing
//! but the device's counters.

use crate::{
    adapter::Port,
    ctx::MaySleep,
    ffi::debugfs::{
        self,
        ReadOnly, //
    },
    state::status::Status,
    stats, //
};
use kernel::{
    debugfs::Dir,
    fmt,
    prelude::*,
    str::{
        CStr,
        CString, //
    },
    sync::Arc, //
};

kernel::sync::global_lock! {
    // SAFETY: `init` is called in module initialization, before anything else of this file.
    unsafe(uninit) static ROOT: Mutex<Option<Dir>> = None;
}

/// Makes the place for the directory.
///
/// # Safety
///
/// Called once, before everything else of this file.
pub(crate) unsafe fn init() {
    // SAFETY: By the requirements of this function.
    unsafe { ROOT.init() };
}

/// Owns the directory `ndk/`; the module drops it when all ports have gone.
pub(crate) struct Root(());

impl Root {
    /// Makes the directory. Sleeps.
    pub(crate) fn new() -> Self {
        *ROOT.lock() = Some(Dir::new(c"ndk"));
        Self(())
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        let root = ROOT.lock().take();
        drop(root);
    }
}

/// The files of a port. Dropping them sleeps, until nobody reads them any more.
pub(crate) struct Files {
    _files: [ReadOnly<Arc<Port>>; 5],
}

impl Files {
    /// Makes the directory of a port. Sleeps.
    ///
    /// # Errors
    ///
    /// `ENOMEM`. Where debugfs itself fails there are no files, and nobody is told, as is its way.
    pub(crate) fn new(port: &Arc<Port>, name: &CStr) -> Result<Self> {
        let root = ROOT.lock().clone();
        let dir = root.ok_or(ENODEV)?.subdir(name);
        let file = |name, show| debugfs::file(&dir, name, port.clone(), show);
        Ok(Self {
            _files: [
                file(c"adapter", show_adapter)?,
                file(c"objects", show_objects)?,
                file(c"counters", show_counters)?,
                file(c"connections", show_connections)?,
                file(c"endpoints", show_endpoints)?,
            ],
        })
    }
}

/// The name of the directory of a port: that of its device, with the port's number if the device has several.
pub(crate) fn name_of(device: &CStr, port: u32, alone: bool) -> Result<CString> {
    let device = device.to_str()?;
    Ok(if alone {
        CString::try_from_fmt(fmt!("{device}"))?
    } else {
        CString::try_from_fmt(fmt!("{device}:{port}"))?
    })
}

/// What ends a device that is gone.
fn or_nothing<T>(found: Result<T, Status>) -> Result<Option<T>, fmt::Error> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(Status::DeviceRemoved) => Ok(None),
        Err(_) => Err(fmt::Error),
    }
}

fn show_adapter(port: &Arc<Port>, f: &mut fmt::Formatter<'_>, ctx: &MaySleep) -> fmt::Result {
    let Some(able) = or_nothing(stats::capabilities(port, ctx))? else {
        return Ok(());
    };
    let info = &able.info;
    f.write_fmt(fmt!(
        "version {}.{}\n",
        info.version.major,
        info.version.minor
    ))?;
    let (name, _) = port.listed_as();
    if let Ok(Ok(name)) = CStr::from_bytes_until_nul(name).map(CStr::to_str) {
        f.write_fmt(fmt!("device {name}\nport {}\n", port.number()))?;
    }
    for (name, value) in [
        ("enabled", u64::from(able.enabled)),
        ("max_qp_count", able.max_qp_count.into()),
        ("max_cq_count", able.max_cq_count.into()),
        ("max_mr_count", able.max_mr_count.into()),
        ("max_pd_count", able.max_pd_count.into()),
        ("max_mw_count", able.max_mw_count.into()),
        ("max_srq_count", able.max_srq_count.into()),
        (
            "adapter_inbound_read_limit",
            able.max_inbound_read_limit.into(),
        ),
        (
            "adapter_outbound_read_limit",
            able.max_outbound_read_limit.into(),
        ),
        ("vendor_id", info.vendor_id.into()),
        ("device_id", info.device_id.into()),
        ("max_registration_size", info.max_registration_size as u64),
        ("max_window_size", info.max_window_size as u64),
        ("frmr_page_count", info.frmr_page_count.into()),
        (
            "max_initiator_request_sge",
            info.max_initiator_request_sge.into(),
        ),
        (
            "max_receive_request_sge",
            info.max_receive_request_sge.into(),
        ),
        ("max_read_request_sge", info.max_read_request_sge.into()),
        ("max_transfer_length", info.max_transfer_length.into()),
        ("max_inline_data_size", info.max_inline_data_size.into()),
        ("max_inbound_read_limit", info.max_inbound_read_limit.into()),
        (
            "max_outbound_read_limit",
            info.max_outbound_read_limit.into(),
        ),
        (
            "max_receive_queue_depth",
            info.max_receive_queue_depth.into(),
        ),
        (
            "max_initiator_queue_depth",
            info.max_initiator_queue_depth.into(),
        ),
        ("max_srq_depth", info.max_srq_depth.into()),
        ("max_cq_depth", info.max_cq_depth.into()),
        (
            "large_request_threshold",
            info.large_request_threshold.into(),
        ),
        ("max_caller_data", info.max_caller_data.into()),
        ("max_callee_data", info.max_callee_data.into()),
        ("rdma_technology", info.rdma_technology.into()),
    ] {
        f.write_fmt(fmt!("{name} {value}\n"))?;
    }
    f.write_fmt(fmt!("adapter_flags {:#x}\n", info.adapter_flags))?;
    f.write_fmt(fmt!(
        "missing_counter_mask {:#x}\n",
        able.missing_counter_mask
    ))
}

fn show_objects(port: &Arc<Port>, f: &mut fmt::Formatter<'_>, _ctx: &MaySleep) -> fmt::Result {
    port.inventory().show(f)
}

fn show_endpoints(port: &Arc<Port>, f: &mut fmt::Formatter<'_>, _ctx: &MaySleep) -> fmt::Result {
    for endpoint in port.endpoints().each() {
        endpoint.show(f)?;
    }
    Ok(())
}

fn show_connections(port: &Arc<Port>, f: &mut fmt::Formatter<'_>, _ctx: &MaySleep) -> fmt::Result {
    let connections = port.inventory().each(|object| object.connection());
    for (local, peer) in connections.flatten() {
        f.write_fmt(fmt!("local={local} peer={peer}\n"))?;
    }
    Ok(())
}

fn show_counters(port: &Arc<Port>, f: &mut fmt::Formatter<'_>, ctx: &MaySleep) -> fmt::Result {
    let Some((counters, missing)) = or_nothing(stats::counters(port, ctx))? else {
        return Ok(());
    };
    for (bit, name, value) in [
        (0, "connect", counters.connect),
        (1, "accept", counters.accept),
        (2, "connect_failure", counters.connect_failure),
        (3, "connection_error", counters.connection_error),
        (4, "active_connection", counters.active_connection),
        (25, "cq_error", counters.cq_error),
        (26, "rdma_in_octets", counters.rdma_in_octets),
        (27, "rdma_out_octets", counters.rdma_out_octets),
        (28, "rdma_in_frames", counters.rdma_in_frames),
        (29, "rdma_out_frames", counters.rdma_out_frames),
    ] {
        if missing & (1u64 << bit) == 0 {
            f.write_fmt(fmt!("{name} {value}\n"))?;
        }
    }
    Ok(())
}
