// SPDX-License-Identifier: GPL-2.0

//! The exported functions of `include/ndk/ndk_query.h`: what there is to know of a port.

use crate::{
    adapter::{
        self,
        Port, //
    },
    ctx::MaySleep,
    exports, ffi,
    state::{
        limits,
        status::Status, //
    },
    stats,
    status::{
        self,
        Result, //
    },
    verbs::{
        addr::SocketAddr,
        net::NetNs, //
    },
};
use core::{
    ffi::c_int,
    mem::{
        offset_of,
        size_of, //
    }, //
};
use kernel::sync::Arc;

/// The caller's buffer.
///
/// # Invariants
///
/// `size` is valid, and `to` writable for `room` bytes.
struct Answer {
    to: *mut u8,
    room: usize,
    size: *mut usize,
}

impl Answer {
    /// # Safety
    ///
    /// `size` is null or valid, and `to` null or writable for `*size` bytes.
    unsafe fn new<T>(to: *mut T, size: *mut usize) -> Result<Self> {
        // SAFETY: By this function's requirements.
        let size = unsafe { size.as_mut() }.ok_or(Status::InvalidParameter)?;
        // INVARIANT: By this function's requirements.
        Ok(Self {
            to: to.cast(),
            room: if to.is_null() { 0 } else { *size },
            size,
        })
    }

    /// Says how many bytes it takes, and whether there is room for them.
    fn needs(&self, bytes: usize) -> Result {
        // All or nothing, as with addresses.
        let answer = limits::address(self.room, bytes);
        // SAFETY: By the type invariant.
        unsafe { self.size.write(answer.size) };
        match answer.status {
            Status::Success => Ok(()),
            status => Err(status),
        }
    }

    /// Answers with one structure.
    fn put<T>(&self, value: T) -> Result {
        self.needs(size_of::<T>())?;
        // SAFETY: There is room, by the type invariant; the caller's buffer need not be aligned.
        unsafe { self.to.cast::<T>().write_unaligned(value) };
        Ok(())
    }

    /// Answers with a table: `head` stands before the rows, and is cut where they begin. With `pairs` each row comes twice.
    fn put_table<H, R: Row>(&self, head: H, rows_at: usize, rows: &[R], pairs: bool) -> Result {
        let count = entries(rows.len(), pairs)? as usize;
        let bytes = count.checked_mul(size_of::<R::Raw>());
        self.needs(bytes.map_or(usize::MAX, |bytes| bytes.saturating_add(rows_at)))?;
        // SAFETY: There is room for the head, by the type invariant, and `rows_at` is within it.
        unsafe {
            self.to
                .copy_from_nonoverlapping((&raw const head).cast(), rows_at.min(size_of::<H>()))
        };
        // SAFETY: As above; the rows begin there.
        let mut to = unsafe { self.to.add(rows_at) }.cast::<R::Raw>();
        for row in rows {
            // SAFETY: There is room for `count` rows, which is one or two for each.
            unsafe {
                row.write(to);
                to = to.add(1);
                if pairs {
                    row.write_tcp(to);
                    to = to.add(1);
                }
            }
        }
        Ok(())
    }
}

/// Entries of a table.
fn entries(rows: usize, pairs: bool) -> Result<u32> {
    let count = rows.checked_mul(if pairs { 2 } else { 1 });
    count
        .and_then(|count| u32::try_from(count).ok())
        .ok_or(Status::InsufficientResources)
}

/// A row of a table.
trait Row {
    /// What the caller gets.
    type Raw;

    /// Writes it.
    ///
    /// # Safety
    ///
    /// `to` is writable; it need not be aligned.
    unsafe fn write(&self, to: *mut Self::Raw);

    /// Writes what it is to TCP, and no more.
    ///
    /// # Safety
    ///
    /// As for [`Self::write`].
    unsafe fn write_tcp(&self, to: *mut Self::Raw);
}

/// A connection: both ends.
impl Row for (SocketAddr, SocketAddr) {
    type Raw = ffi::ndk_connection_entry;

    unsafe fn write(&self, to: *mut Self::Raw) {
        let entry = ffi::ndk_connection_entry {
            local: self.0.to_storage(),
            remote: self.1.to_storage(),
            // All consumers are in the kernel.
            user_mode_owner: false,
            owner_pid: 0,
        };
        // SAFETY: By this function's requirements.
        unsafe { to.write_unaligned(entry) };
    }

    unsafe fn write_tcp(&self, to: *mut Self::Raw) {
        // SAFETY: By this function's requirements.
        unsafe {
            (&raw mut (*to).local).write_unaligned(self.0.to_storage());
            (&raw mut (*to).remote).write_unaligned(self.1.to_storage());
        }
    }
}

/// A local endpoint: its address, and whether it is a listener's.
impl Row for (SocketAddr, bool) {
    type Raw = ffi::ndk_local_endpoint_entry;

    unsafe fn write(&self, to: *mut Self::Raw) {
        let entry = ffi::ndk_local_endpoint_entry {
            local: self.0.to_storage(),
            // As above.
            user_mode_owner: false,
            listener: self.1,
            owner_pid: 0,
        };
        // SAFETY: By this function's requirements.
        unsafe { to.write_unaligned(entry) };
    }

    unsafe fn write_tcp(&self, to: *mut Self::Raw) {
        // SAFETY: By this function's requirements.
        unsafe { (&raw mut (*to).local).write_unaligned(self.0.to_storage()) };
    }
}

/// Finds the port that is asked about, and has `answer` say what there is to say.
///
/// # Safety
///
/// As `include/ndk/ndk_query.h` says: process context, a namespace to which the caller has a reference, pointers in `params`
/// that are valid, and a buffer of `*size` bytes.
unsafe fn query<T>(
    net: *mut ffi::net,
    params: *const ffi::ndk_open_params,
    to: *mut T,
    size: *mut usize,
    answer: impl FnOnce(&Arc<Port>, &Answer, &MaySleep) -> Result,
) -> c_int {
    if params.is_null() {
        return status::to_errno(Status::InvalidParameter);
    }
    // SAFETY: By this function's requirements.
    let (ctx, net, params) = unsafe { (MaySleep::assume(), NetNs::from_raw(net), &*params) };
    status::of((|| {
        let net = net.ok_or(Status::InvalidParameter)?;
        // SAFETY: By this function's requirements.
        let (selector, buffer) = unsafe { (exports::selector(params)?, Answer::new(to, size)?) };
        let port = adapter::find(&net, &selector, &ctx)?;
        answer(&port, &buffer, &ctx)
    })())
}

/// See `ndk_query_capabilities()` in `include/ndk/ndk_query.h`.
///
/// # Safety
///
/// As for [`query`].
#[no_mangle]
pub(crate) unsafe extern "C" fn ndk_query_capabilities(
    net: *mut ffi::net,
    params: *const ffi::ndk_open_params,
    capabilities: *mut ffi::ndk_capabilities,
    size: *mut usize,
) -> c_int {
    // SAFETY: By this function's requirements.
    unsafe {
        query(net, params, capabilities, size, |port, answer, ctx| {
            answer.put(stats::capabilities(port, ctx)?)
        })
    }
}

/// See `ndk_query_statistics()` in `include/ndk/ndk_query.h`.
///
/// # Safety
///
/// As for [`query`].
#[no_mangle]
pub(crate) unsafe extern "C" fn ndk_query_statistics(
    net: *mut ffi::net,
    params: *const ffi::ndk_open_params,
    statistics: *mut ffi::ndk_statistics,
    size: *mut usize,
) -> c_int {
    // SAFETY: By this function's requirements.
    unsafe {
        query(net, params, statistics, size, |port, answer, ctx| {
            let (counters, _) = stats::counters(port, ctx)?;
            answer.put(ffi::ndk_statistics {
                counters,
                ..ffi::ndk_statistics::default()
            })
        })
    }
}

/// See `ndk_query_connections()` in `include/ndk/ndk_query.h`.
///
/// # Safety
///
/// As for [`query`].
#[no_mangle]
pub(crate) unsafe extern "C" fn ndk_query_connections(
    net: *mut ffi::net,
    params: *const ffi::ndk_open_params,
    connections: *mut ffi::ndk_connections,
    size: *mut usize,
) -> c_int {
    // SAFETY: By this function's requirements.
    unsafe {
        query(net, params, connections, size, |port, answer, _| {
            let found = stats::connections(port)?;
            let mapped_to_tcp = port.is_iwarp();
            let count = entries(found.len(), mapped_to_tcp)?;
            answer.put_table(
                ffi::ndk_connections {
                    count,
                    mapped_to_tcp,
                    ..ffi::ndk_connections::default()
                },
                offset_of!(ffi::ndk_connections, connections),
                &found,
                mapped_to_tcp,
            )
        })
    }
}

/// See `ndk_query_local_endpoints()` in `include/ndk/ndk_query.h`.
///
/// # Safety
///
/// As for [`query`].
#[no_mangle]
pub(crate) unsafe extern "C" fn ndk_query_local_endpoints(
    net: *mut ffi::net,
    params: *const ffi::ndk_open_params,
    endpoints: *mut ffi::ndk_local_endpoints,
    size: *mut usize,
) -> c_int {
    // SAFETY: By this function's requirements.
    unsafe {
        query(net, params, endpoints, size, |port, answer, _| {
            let found = stats::local_endpoints(port)?;
            let mapped_to_tcp = port.is_iwarp();
            let count = entries(found.len(), mapped_to_tcp)?;
            answer.put_table(
                ffi::ndk_local_endpoints {
                    count,
                    mapped_to_tcp,
                    ..ffi::ndk_local_endpoints::default()
                },
                offset_of!(ffi::ndk_local_endpoints, endpoints),
                &found,
                mapped_to_tcp,
            )
        })
    }
}
