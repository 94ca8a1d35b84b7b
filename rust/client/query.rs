// SPDX-License-Identifier: GPL-2.0

//! What there is to know of an adapter without opening it: `include/ndk/ndk_query.h`.

use super::{
    adapter::{
        Net,
        Target, //
    },
    addr::RawAddr,
    ffi, //
};
use core::{
    ffi::c_int,
    mem::{
        offset_of,
        size_of, //
    },
    net::SocketAddr,
    ops::Deref,
    ptr,
    slice, //
};
use kernel::{
    error::to_result,
    prelude::*, //
};

/// What an adapter can do: `struct ndk_capabilities`.
pub(crate) struct Capabilities(ffi::ndk_capabilities);

impl Deref for Capabilities {
    type Target = ffi::ndk_capabilities;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

/// What is counted at an adapter: `struct ndk_counters`.
pub(crate) struct Counters(ffi::ndk_counters);

impl Deref for Counters {
    type Target = ffi::ndk_counters;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

/// A connection that stands.
pub(crate) struct Connection {
    /// This end.
    pub(crate) local: SocketAddr,
    /// The peer's end.
    pub(crate) remote: SocketAddr,
    /// The process that owns it; `None` for a kernel consumer.
    pub(crate) owner: Option<u32>,
}

/// A listener or a shared endpoint that is open.
pub(crate) struct LocalEndpoint {
    /// Its address.
    pub(crate) local: SocketAddr,
    /// Whether it is a listener.
    pub(crate) is_listener: bool,
    /// The process that owns it; `None` for a kernel consumer.
    pub(crate) owner: Option<u32>,
}

/// Asks what an adapter can do, also of one that cannot be opened now. Sleeps.
pub(crate) fn capabilities(net: &Net, target: Target<'_>) -> Result<Capabilities> {
    let mut found = ffi::ndk_capabilities::default();
    let mut size = size_of::<ffi::ndk_capabilities>();
    target.with_params(|params| {
        // SAFETY: The namespace is referenced, `params` is valid during the call, and `found` has `size` bytes.
        to_result(unsafe {
            ffi::ndk_query_capabilities(net.as_ptr(), params, &mut found, &mut size)
        })
    })?;
    Ok(Capabilities(found))
}

/// Reads the counters of an adapter. Sleeps.
pub(crate) fn counters(net: &Net, target: Target<'_>) -> Result<Counters> {
    let mut found = ffi::ndk_statistics::default();
    let mut size = size_of::<ffi::ndk_statistics>();
    target.with_params(|params| {
        // SAFETY: As above.
        to_result(unsafe { ffi::ndk_query_statistics(net.as_ptr(), params, &mut found, &mut size) })
    })?;
    Ok(Counters(found.counters))
}

/// A table as the provider gives it.
struct Table {
    /// Aligned for every structure in it.
    words: KVVec<u64>,
    bytes: usize,
}

impl Table {
    /// Has `ask` fill a buffer that is large enough. Sleeps.
    fn read(
        target: Target<'_>,
        ask: impl Fn(*const ffi::ndk_open_params, *mut u64, &mut usize) -> c_int,
    ) -> Result<Self> {
        target.with_params(|params| {
            let mut words = KVVec::new();
            let mut bytes = 0;
            loop {
                let ret = ask(params, ptr::null_mut(), &mut bytes);
                if ret != ENOSPC.to_errno() {
                    to_result(ret)?;
                }
                // A few may come meanwhile.
                let room = bytes.checked_add(SLACK).ok_or(EOVERFLOW)?;
                words.resize(room.div_ceil(size_of::<u64>()), 0, GFP_KERNEL)?;
                bytes = room;
                let ret = ask(params, words.as_mut_ptr(), &mut bytes);
                if ret != ENOSPC.to_errno() {
                    to_result(ret)?;
                    return Ok(Self { words, bytes });
                }
            }
        })
    }

    /// The head, and every `step`-th of the entries that begin `at` bytes behind its begin.
    ///
    /// # Safety
    ///
    /// The table has a head of this type, and then entries of this type.
    unsafe fn parts<'a, H, E: 'a>(
        &'a self,
        at: usize,
        step: impl FnOnce(&H) -> usize,
    ) -> impl Iterator<Item = &'a E> {
        let base = self.words.as_ptr().cast::<u8>();
        let count = self.bytes.saturating_sub(at) / size_of::<E>();
        // SAFETY: By this function's requirements; `bytes` of the words were written.
        let (head, entries) = unsafe {
            (
                &*base.cast::<H>(),
                slice::from_raw_parts(base.add(at).cast::<E>(), count),
            )
        };
        entries.iter().step_by(step(head).max(1))
    }
}

/// Bytes of a table beyond what was needed a moment ago.
const SLACK: usize = 1024;

/// How many entries there are for one thing.
const fn copies(mapped_to_tcp: bool) -> usize {
    if mapped_to_tcp {
        2
    } else {
        1
    }
}

/// Reads the connections of an adapter, each once. Sleeps.
pub(crate) fn connections(net: &Net, target: Target<'_>) -> Result<KVec<Connection>> {
    let table = Table::read(target, |params, to, size| {
        // SAFETY: The namespace is referenced, `params` is valid during the call, and `to` null or of `*size` bytes.
        unsafe { ffi::ndk_query_connections(net.as_ptr(), params, to.cast(), size) }
    })?;
    // SAFETY: It holds what the provider writes for connections.
    let entries = unsafe {
        table.parts::<ffi::ndk_connections, ffi::ndk_connection_entry>(
            offset_of!(ffi::ndk_connections, connections),
            |head| copies(head.mapped_to_tcp),
        )
    };
    let mut found = KVec::new();
    for entry in entries {
        let connection = Connection {
            local: RawAddr::from_storage(&entry.local).get()?,
            remote: RawAddr::from_storage(&entry.remote).get()?,
            owner: entry.user_mode_owner.then_some(entry.owner_pid),
        };
        found.push(connection, GFP_KERNEL)?;
    }
    Ok(found)
}

/// Reads the listeners and shared endpoints of an adapter, each once. Sleeps.
pub(crate) fn local_endpoints(net: &Net, target: Target<'_>) -> Result<KVec<LocalEndpoint>> {
    let table = Table::read(target, |params, to, size| {
        // SAFETY: As above.
        unsafe { ffi::ndk_query_local_endpoints(net.as_ptr(), params, to.cast(), size) }
    })?;
    // SAFETY: It holds what the provider writes for local endpoints.
    let entries = unsafe {
        table.parts::<ffi::ndk_local_endpoints, ffi::ndk_local_endpoint_entry>(
            offset_of!(ffi::ndk_local_endpoints, endpoints),
            |head| copies(head.mapped_to_tcp),
        )
    };
    let mut found = KVec::new();
    for entry in entries {
        let endpoint = LocalEndpoint {
            local: RawAddr::from_storage(&entry.local).get()?,
            is_listener: entry.listener,
            owner: entry.user_mode_owner.then_some(entry.owner_pid),
        };
        found.push(endpoint, GFP_KERNEL)?;
    }
    Ok(found)
}
