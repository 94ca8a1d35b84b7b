// SPDX-License-Identifier: GPL-2.0

//! Counters, capabilities and tables of a port: NDKPI's statistics.
//!
//! The data path counts nothing: octets and frames are the device's own counters, and what is counted here changes with
//! connections and with CQs that fail.

use crate::{
    adapter::Port,
    ctx::MaySleep,
    ffi,
    state::tally::{
        Tally,
        Traffic, //
    },
    status::Result,
    verbs::{
        addr::SocketAddr,
        stats::PortCounters, //
    },
};
use kernel::{
    prelude::*,
    sync::atomic::{
        Acquire,
        Atomic,
        Relaxed,
        Release, //
    },
};

/// What is counted at a port.
pub(crate) struct Counters {
    connect: Atomic<u64>,
    accept: Atomic<u64>,
    connect_failure: Atomic<u64>,
    connection_error: Atomic<u64>,
    ended: Atomic<u64>,
    cq_error: Atomic<u64>,
}

impl Counters {
    /// Nothing yet.
    pub(crate) fn new() -> Self {
        Self {
            connect: Atomic::new(0),
            accept: Atomic::new(0),
            connect_failure: Atomic::new(0),
            connection_error: Atomic::new(0),
            ended: Atomic::new(0),
            cq_error: Atomic::new(0),
        }
    }

    /// Counts a step of a connector. Any context.
    pub(crate) fn count(&self, tally: Tally) {
        match tally {
            Tally::Connect => self.connect.add(1, Relaxed),
            Tally::Accept => self.accept.add(1, Relaxed),
            Tally::ConnectFailure => self.connect_failure.add(1, Relaxed),
            Tally::End { error } => {
                if error {
                    self.connection_error.add(1, Relaxed);
                }
                // After the begin of what has ended, in [`Self::fill`] as well.
                self.ended.fetch_add(1u64, Release);
            }
        }
    }

    /// Counts a CQ that has failed. Any context.
    pub(crate) fn cq_error(&self) {
        self.cq_error.add(1, Relaxed);
    }

    fn fill(&self, counters: &mut ffi::ndk_counters) {
        let ended = self.ended.load(Acquire);
        counters.connect = self.connect.load(Relaxed);
        counters.accept = self.accept.load(Relaxed);
        counters.connect_failure = self.connect_failure.load(Relaxed);
        counters.connection_error = self.connection_error.load(Relaxed);
        let begun = counters.connect.wrapping_add(counters.accept);
        counters.active_connection = begun.saturating_sub(ended);
        counters.cq_error = self.cq_error.load(Relaxed);
    }
}

/// The counters of a port, and which of them the device has not got, by their bits. Sleeps.
///
/// # Errors
///
/// `DeviceRemoved`.
pub(crate) fn counters(port: &Port, ctx: &MaySleep) -> Result<(ffi::ndk_counters, u64)> {
    let device = port.enter()?;
    let counted = PortCounters::read(&device.port(port.number())?, ctx);
    let mut counters = ffi::ndk_counters::default();
    port.counters().fill(&mut counters);
    let mut missing = 0;
    for traffic in Traffic::ALL {
        let found = traffic.find(|name| counted.as_ref()?.value(name));
        if found.is_none() {
            missing |= traffic.bit();
        }
        let value = found.unwrap_or(0);
        match traffic {
            Traffic::InOctets => counters.rdma_in_octets = value,
            Traffic::OutOctets => counters.rdma_out_octets = value,
            Traffic::InFrames => counters.rdma_in_frames = value,
            Traffic::OutFrames => counters.rdma_out_frames = value,
        }
    }
    Ok((counters, missing))
}

/// What a port is able to do, all instances together. Sleeps.
///
/// # Errors
///
/// `DeviceRemoved`.
pub(crate) fn capabilities(port: &Port, ctx: &MaySleep) -> Result<ffi::ndk_capabilities> {
    let (_, missing_counter_mask) = counters(port, ctx)?;
    let device = port.enter()?;
    let attrs = device.attrs();
    // CAST: Nothing is lost; the kernel's sizes of them differ.
    let count = |value: i64| u32::try_from(value).unwrap_or(0);
    let info = port.described();
    Ok(ffi::ndk_capabilities {
        flags: 0,
        enabled: port.is_active(ctx)?,
        max_qp_count: count(attrs.max_qp.into()),
        max_cq_count: count(attrs.max_cq.into()),
        max_mr_count: count(attrs.max_mr.into()),
        max_pd_count: count(attrs.max_pd.into()),
        // NDKPI: 0 is no limit for the adapter as a whole. Verbs know one for reads of peers only.
        max_inbound_read_limit: count(attrs.max_res_rd_atom.into()),
        max_outbound_read_limit: 0,
        // A window is a registration of its own.
        max_mw_count: if info.max_window_size == 0 {
            0
        } else {
            count(attrs.max_mr.into())
        },
        max_srq_count: if info.max_srq_depth == 0 {
            0
        } else {
            count(attrs.max_srq.into())
        },
        missing_counter_mask,
        info,
    })
}

/// The connections of a port: their two ends. Sleeps.
///
/// # Errors
///
/// `InsufficientResources`.
pub(crate) fn connections(port: &Port) -> Result<KVVec<(SocketAddr, SocketAddr)>> {
    let mut found = KVVec::new();
    let connections = port.inventory().each(|object| object.connection());
    for ends in connections.flatten() {
        found.push(ends, GFP_KERNEL)?;
    }
    Ok(found)
}

/// The local endpoints of a port: their addresses, and whether a listener's; the others are shared endpoints. Sleeps.
///
/// # Errors
///
/// `InsufficientResources`.
pub(crate) fn local_endpoints(port: &Port) -> Result<KVVec<(SocketAddr, bool)>> {
    let mut found = KVVec::new();
    for endpoint in port.endpoints().each() {
        if let Some(listener) = endpoint.offered() {
            found.push((endpoint.local, listener), GFP_KERNEL)?;
        }
    }
    Ok(found)
}
