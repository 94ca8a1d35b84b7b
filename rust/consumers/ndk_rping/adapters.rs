// SPDX-License-Identifier: GPL-2.0

//! The adapters that there are, and their limits.

use crate::{
    client::{
        adapters,
        AdapterInfo,
        Found, //
    },
    log::Status, //
};
use kernel::{
    fmt,
    prelude::*, //
};

/// Writes all limits, as `struct ndk_adapter_info` names them.
fn limits(f: &mut fmt::Formatter<'_>, info: &AdapterInfo) -> fmt::Result {
    write!(f, " version={}.{}", info.version.major, info.version.minor)?;
    macro_rules! each {
        ($($member:ident)*) => { $( write!(f, concat!(" ", stringify!($member), "={}"), info.$member)?; )* };
    }
    each!(
        vendor_id device_id max_registration_size max_window_size frmr_page_count max_initiator_request_sge
        max_receive_request_sge max_read_request_sge max_transfer_length max_inline_data_size max_inbound_read_limit
        max_outbound_read_limit max_receive_queue_depth max_initiator_queue_depth max_srq_depth max_cq_depth
        large_request_threshold max_caller_data max_callee_data
    );
    write!(
        f,
        " adapter_flags={:#x} rdma_technology={}",
        info.adapter_flags, info.rdma_technology
    )
}

/// What there is on it, of whatever consumer, and what was counted.
fn usage(f: &mut fmt::Formatter<'_>, found: &Found) -> Result<fmt::Result> {
    let (able, counters) = (found.capabilities()?, found.counters()?);
    let (connections, endpoints) = (found.connections()?, found.local_endpoints()?);
    Ok(write!(
        f,
        " enabled={} max_qp_count={} connect={} accept={} connect_failure={} active_connection={} connections={} endpoints={}",
        u32::from(able.enabled),
        able.max_qp_count,
        counters.connect,
        counters.accept,
        counters.connect_failure,
        counters.active_connection,
        connections.len(),
        endpoints.len()
    ))
}

fn line(f: &mut fmt::Formatter<'_>, found: &Found) -> fmt::Result {
    let name = found.device().to_str().unwrap_or("?");
    write!(
        f,
        "adapter device={name} port={} ifindex={}",
        found.port(),
        found.interface()
    )?;
    match found.open().and_then(|adapter| adapter.info()) {
        Ok(info) => limits(f, &info)?,
        Err(error) => write!(f, " error={}", Status(Err(error)))?,
    }
    match usage(f, found) {
        Ok(written) => written?,
        Err(error) => write!(f, " usage={}", Status(Err(error)))?,
    }
    f.write_str("\n")
}

/// A read of `adapters`.
pub(crate) fn show(_: &(), f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match adapters() {
        Ok(found) => found.iter().try_for_each(|found| line(f, found)),
        Err(error) => writeln!(f, "error={}", Status(Err(error))),
    }
}
