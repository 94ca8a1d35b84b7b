// SPDX-License-Identifier: GPL-2.0

//! Adapters.

use super::{
    addr::RawAddr,
    buffer::Buffer,
    connector::Connector,
    cq::{
        self,
        Cq,
        Handler, //
    },
    ffi,
    listener::{
        self,
        Listener,
        OnConnect, //
    },
    mr::Lam,
    notice::{
        dispatch,
        Notice,
        MISSING, //
    },
    pd::Pd,
    query::{
        self,
        Capabilities,
        Connection,
        Counters,
        LocalEndpoint, //
    },
    shared_endpoint::SharedEndpoint, //
};
use core::{
    mem::size_of,
    net::IpAddr,
    net::SocketAddr,
    ops::Deref,
    ptr::{
        self,
        NonNull, //
    },
};
use kernel::{
    error::to_result,
    prelude::*,
    str::CStr,
    ModuleMetadata, //
};

/// A reference to a network namespace.
pub(crate) struct Net(NonNull<ffi::net>);

// SAFETY: A counted reference to an object that belongs to no context.
unsafe impl Send for Net {}

// SAFETY: As above.
unsafe impl Sync for Net {}

impl Net {
    /// The namespace of the current task. Process context of a live task.
    pub(crate) fn current() -> Result<Self> {
        // SAFETY: A running task that writes a file has its namespaces.
        NonNull::new(unsafe { ffi::ndk_client_current_net() })
            .map(Self)
            .ok_or(ESRCH)
    }

    /// The C object.
    pub(crate) fn as_ptr(&self) -> *mut ffi::net {
        self.0.as_ptr()
    }
}

impl Net {
    /// Takes a reference of its own.
    ///
    /// # Safety
    ///
    /// `raw` is null or a namespace to which the caller has a reference.
    unsafe fn get(raw: *mut ffi::net) -> Option<Self> {
        let raw = NonNull::new(raw)?;
        // SAFETY: By this function's requirements.
        unsafe { ffi::ndk_client_get_net(raw.as_ptr()) };
        Some(Self(raw))
    }
}

impl Clone for Net {
    fn clone(&self) -> Self {
        // SAFETY: `self` holds a reference.
        unsafe { ffi::ndk_client_get_net(self.as_ptr()) };
        Self(self.0)
    }
}

impl Drop for Net {
    fn drop(&mut self) {
        // SAFETY: The reference is ours.
        unsafe { ffi::ndk_client_put_net(self.as_ptr()) };
    }
}

/// Which adapter to open.
pub(crate) enum Target<'a> {
    /// A port, from 1, of an RDMA device; 0 for its first.
    Device(&'a CStr, u32),
    /// The network interface of this index.
    Interface(i32),
    /// The network interface that has this address.
    Address(IpAddr),
}

impl Target<'_> {
    /// Calls `f` with the parameters that name the adapter, which are valid during the call.
    pub(super) fn with_params<R>(&self, f: impl FnOnce(*const ffi::ndk_open_params) -> R) -> R {
        let mut params = ffi::ndk_open_params {
            version: ffi::ndk_version {
                major: ffi::NDK_VERSION_MAJOR as u16,
                minor: ffi::NDK_VERSION_MINOR as u16,
            },
            client: <crate::LocalModule as ModuleMetadata>::NAME.as_char_ptr(),
            ..Default::default()
        };
        let addr;
        match *self {
            Target::Device(name, port) => {
                params.device = name.as_char_ptr();
                params.port = port;
            }
            Target::Interface(index) => params.ifindex = index,
            Target::Address(ip) => {
                addr = RawAddr::new(&SocketAddr::new(ip, 0));
                params.address = addr.as_ptr();
                params.address_len = addr.len();
            }
        }
        f(&raw const params)
    }
}

/// Limits of an adapter: those of `struct ndk_adapter_info`.
pub(crate) struct AdapterInfo(ffi::ndk_adapter_info);

impl Deref for AdapterInfo {
    type Target = ffi::ndk_adapter_info;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

/// An adapter that can be opened.
pub(crate) struct Found {
    device: [kernel::ffi::c_char; 64],
    port: u32,
    ifindex: i32,
    net: Option<Net>,
}

impl Found {
    /// Name of the RDMA device.
    pub(crate) fn device(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.device).unwrap_or(c"")
    }

    /// Its port, from 1.
    pub(crate) fn port(&self) -> u32 {
        self.port
    }

    /// Index of the network interface behind it.
    pub(crate) fn interface(&self) -> i32 {
        self.ifindex
    }

    /// Opens it. Sleeps.
    pub(crate) fn open(&self) -> Result<Adapter> {
        let (net, target) = self.place()?;
        Adapter::open(net, target)
    }

    /// What it can do. Sleeps.
    pub(crate) fn capabilities(&self) -> Result<Capabilities> {
        let (net, target) = self.place()?;
        query::capabilities(net, target)
    }

    /// What is counted at it. Sleeps.
    pub(crate) fn counters(&self) -> Result<Counters> {
        let (net, target) = self.place()?;
        query::counters(net, target)
    }

    /// The connections of all consumers over it. Sleeps.
    pub(crate) fn connections(&self) -> Result<KVec<Connection>> {
        let (net, target) = self.place()?;
        query::connections(net, target)
    }

    /// The listeners and shared endpoints of all consumers on it. Sleeps.
    pub(crate) fn local_endpoints(&self) -> Result<KVec<LocalEndpoint>> {
        let (net, target) = self.place()?;
        query::local_endpoints(net, target)
    }

    fn place(&self) -> Result<(&Net, Target<'_>)> {
        let net = self.net.as_ref().ok_or(ENODEV)?;
        Ok((net, Target::Device(self.device(), self.port)))
    }
}

/// What a look around collects; the provider calls back with a pointer to the first member.
#[repr(C)]
struct Look {
    client: ffi::ndk_client,
    found: KVec<Found>,
    status: Result,
}

/// # Safety
///
/// `client` is that of a [`Look`] which nobody else touches, and `desc` is valid.
unsafe extern "C" fn look_at(client: *mut ffi::ndk_client, desc: *const ffi::ndk_adapter_desc) {
    // SAFETY: By this function's requirements; of the client itself nothing is touched.
    let (found, status, desc) = unsafe {
        let look = client.cast::<Look>();
        (&mut (*look).found, &mut (*look).status, &*desc)
    };
    let adapter = Found {
        device: desc.device,
        port: desc.port,
        ifindex: desc.ifindex,
        // SAFETY: By this function's requirements; the namespace is valid during the call.
        net: unsafe { Net::get(desc.net) },
    };
    if let Err(error) = found.push(adapter, GFP_KERNEL) {
        *status = Err(error.into());
    }
}

/// # Safety
///
/// Any.
unsafe extern "C" fn look_away(_: *mut ffi::ndk_client, _: *const ffi::ndk_adapter_desc) {}

/// The adapters that there are now. Sleeps.
pub(crate) fn adapters() -> Result<KVec<Found>> {
    let mut look = Look {
        client: ffi::ndk_client {
            add: Some(look_at),
            remove: Some(look_away),
            provider: ptr::null_mut(),
        },
        found: KVec::new(),
        status: Ok(()),
    };
    let client = (&raw mut look).cast::<ffi::ndk_client>();
    // SAFETY: `look` stays until the client is unregistered, and is not touched meanwhile but by the callbacks, of which one
    // runs at a time.
    unsafe {
        to_result(ffi::ndk_register_client(client))?;
        ffi::ndk_unregister_client(client);
    }
    look.status.map(|()| look.found)
}

/// An open instance of an adapter.
///
/// The drop sleeps until everything made from the instance is closed and its last callback has returned. Never in a callback.
///
/// # Invariants
///
/// The adapter is open until the drop.
pub(crate) struct Adapter(NonNull<ffi::ndk_adapter>);

// SAFETY: The provider's objects belong to no context.
unsafe impl Send for Adapter {}

// SAFETY: The functions called through `&Adapter` may be called at the same time.
unsafe impl Sync for Adapter {}

impl Adapter {
    /// Opens an adapter. Sleeps.
    pub(crate) fn open(net: &Net, target: Target<'_>) -> Result<Self> {
        target.with_params(|params| {
            let mut raw = ptr::null_mut();
            // SAFETY: The namespace is referenced, and `params` valid during the call.
            to_result(unsafe { ffi::ndk_open_adapter(net.as_ptr(), params, &mut raw) })?;
            // INVARIANT: It was opened just now.
            NonNull::new(raw).map(Self).ok_or(EIO)
        })
    }
    pub(super) fn as_ptr(&self) -> *mut ffi::ndk_adapter {
        self.0.as_ptr()
    }

    /// Reads the limits. Process context.
    pub(crate) fn info(&self) -> Result<AdapterInfo> {
        let mut info = ffi::ndk_adapter_info::default();
        let mut size = size_of::<ffi::ndk_adapter_info>();
        // SAFETY: By the type invariant the adapter is open; `info` has `size` bytes.
        to_result(unsafe {
            dispatch!(self.as_ptr(), query_adapter_info(self.as_ptr(), &mut info, &mut size) or MISSING)
        })?;
        Ok(AdapterInfo(info))
    }

    /// Creates a PD.
    pub(crate) fn create_pd<N: Notice<Pd>>(&self, how: N) -> N::Return {
        how.create(
            // SAFETY: By the type invariant the adapter is open.
            |done, context, out| unsafe {
                dispatch!(self.as_ptr(), create_pd(self.as_ptr(), done, context, out) or MISSING)
            },
            // SAFETY: The object is new and ours.
            |raw| Ok(unsafe { Pd::new(raw?) }),
        )
    }

    /// Creates a CQ for `depth` results, notified on CPU `affinity` if possible, which belongs to `handler`.
    pub(crate) fn create_cq<H: Handler, N: Notice<Cq<H>>>(
        &self,
        depth: u32,
        affinity: Option<u32>,
        handler: H,
        how: N,
    ) -> N::Return {
        let seed = match cq::Seed::new(handler) {
            Ok(seed) => seed,
            Err(error) => return how.fail(error),
        };
        let shared = seed.context();
        let affinity = affinity.and_then(|cpu| cpu.try_into().ok()).unwrap_or(-1);
        how.create(
            // SAFETY: By the type invariant the adapter is open. The context lives as long as the CQ, see `Seed::grow`.
            |done, context, out| unsafe {
                dispatch!(self.as_ptr(), create_cq(
                    self.as_ptr(), depth, Some(cq::notify::<H>), shared, affinity, done, context, out,
                ) or MISSING)
            },
            // SAFETY: The object is new and ours, and was made with the seed's context.
            |raw| Ok(unsafe { seed.grow(raw?) }),
        )
    }

    /// Creates a connector for the active side.
    pub(crate) fn create_connector<N: Notice<Connector>>(&self, how: N) -> N::Return {
        how.create(
            // SAFETY: By the type invariant the adapter is open.
            |done, context, out| unsafe {
                dispatch!(self.as_ptr(), create_connector(self.as_ptr(), done, context, out) or MISSING)
            },
            // SAFETY: The object is new and ours.
            |raw| Ok(unsafe { Connector::new(raw?) }),
        )
    }

    /// Creates a shared endpoint on a local address of the adapter; port 0 has one chosen.
    pub(crate) fn create_shared_endpoint<N: Notice<SharedEndpoint>>(
        &self,
        address: &SocketAddr,
        how: N,
    ) -> N::Return {
        let address = RawAddr::new(address);
        how.create(
            // SAFETY: By the type invariant the adapter is open; the address is read during the call only.
            |done, context, out| unsafe {
                dispatch!(self.as_ptr(), create_shared_endpoint(
                    self.as_ptr(), address.as_ptr(), address.len(), done, context, out,
                ) or MISSING)
            },
            // SAFETY: The object is new and ours.
            |raw| Ok(unsafe { SharedEndpoint::new(raw?) }),
        )
    }

    /// Creates a listener whose connections go to `handler`.
    pub(crate) fn create_listener<L: OnConnect, N: Notice<Listener>>(
        &self,
        handler: L,
        how: N,
    ) -> N::Return {
        let seed = match listener::Seed::new(handler) {
            Ok(seed) => seed,
            Err(error) => return how.fail(error),
        };
        let handler = seed.context();
        how.create(
            // SAFETY: By the type invariant the adapter is open. The context lives as long as the listener, see `Seed::grow`.
            |done, context, out| unsafe {
                dispatch!(self.as_ptr(), create_listener(
                    self.as_ptr(), Some(listener::connect_event::<L>), handler, done, context, out,
                ) or MISSING)
            },
            // SAFETY: The object is new and ours, and was made with the seed's context.
            |raw| Ok(unsafe { seed.grow(raw?) }),
        )
    }

    /// Maps `buffer` for fast registration. Sleeps.
    pub(crate) fn build_lam(&self, buffer: Buffer) -> Result<Lam<'_>> {
        Lam::new(self, buffer)
    }
}

impl Drop for Adapter {
    fn drop(&mut self) {
        // SAFETY: By the type invariant the adapter is open, and this is the last use of it.
        unsafe { ffi::ndk_close_adapter(self.as_ptr()) };
    }
}
