// SPDX-License-Identifier: GPL-2.0

//! Network interfaces and namespaces, as far as RDMA needs them.
//!
//! C headers: [`include/linux/netdevice.h`](srctree/include/linux/netdevice.h),
//! [`include/net/net_namespace.h`](srctree/include/net/net_namespace.h)

use crate::{
    ctx::MaySleep,
    ffi,
    verbs::addr::{
        IpAddr,
        SocketAddr, //
    },
};
use core::ptr::NonNull;
use kernel::{
    ffi::c_int,
    prelude::*,
    str::CStr, //
};

/// A counted reference to a network namespace.
///
/// It keeps the namespace, and with it the interfaces inside, from being torn down: hold it for the
/// length of a call or of a connection, never for the life of an adapter, which itself lives as
/// long as its interface.
///
/// # Invariants
///
/// The value owns one reference.
pub(crate) struct NetNs(NonNull<ffi::net>);

// SAFETY: Namespaces are shared between all threads.
unsafe impl Send for NetNs {}
// SAFETY: As above.
unsafe impl Sync for NetNs {}

impl NetNs {
    /// The initial namespace.
    pub(crate) fn init() -> Self {
        // SAFETY: Returns the address of a static, on which every thread may take references.
        let net =
            unsafe { NonNull::new_unchecked(ffi::ndk_helper_get_net(ffi::ndk_helper_init_net())) };
        // INVARIANT: Taken above.
        Self(net)
    }

    /// The namespace of the current task. Process context.
    pub(crate) fn current() -> Option<Self> {
        // SAFETY: Takes a reference on the current task's namespace.
        let net = unsafe { ffi::ndk_helper_current_net() };
        // INVARIANT: The callee took a reference for us.
        NonNull::new(net).map(Self)
    }

    /// Takes a reference on what a consumer passed. `None` for a null pointer.
    ///
    /// # Safety
    ///
    /// `net` is null or a namespace on which the caller has a reference.
    pub(crate) unsafe fn from_raw(net: *mut ffi::net) -> Option<Self> {
        let net = NonNull::new(net)?;
        // SAFETY: By this function's requirements.
        unsafe { ffi::ndk_helper_get_net(net.as_ptr()) };
        // INVARIANT: Taken above.
        Some(Self(net))
    }

    /// The raw pointer, valid while `self` is.
    pub(crate) fn as_raw(&self) -> *mut ffi::net {
        self.0.as_ptr()
    }
}

impl Clone for NetNs {
    fn clone(&self) -> Self {
        // SAFETY: By the type invariant we have a reference.
        unsafe { ffi::ndk_helper_get_net(self.0.as_ptr()) };
        // INVARIANT: Taken above.
        Self(self.0)
    }
}

impl PartialEq for NetNs {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for NetNs {}

impl Drop for NetNs {
    fn drop(&mut self) {
        // SAFETY: By the type invariant the reference is ours to give back.
        unsafe { ffi::ndk_helper_put_net(self.0.as_ptr()) };
    }
}

/// `IFNAMSIZ`.
const NAME_LEN: usize = kernel::bindings::IFNAMSIZ as usize;

/// A counted reference to a network interface.
///
/// It delays the interface's removal: hold it for the length of a call only.
///
/// # Invariants
///
/// The value owns one reference.
pub(crate) struct NetDev(NonNull<ffi::net_device>);

// SAFETY: Interfaces are shared between all threads; what is read here is stable or read under RCU.
unsafe impl Send for NetDev {}
// SAFETY: As above.
unsafe impl Sync for NetDev {}

impl NetDev {
    /// Takes over a reference. `None` for a null pointer.
    ///
    /// # Safety
    ///
    /// `dev` is null or an interface on which the caller gives a reference away.
    pub(super) unsafe fn from_owned(dev: *mut ffi::net_device) -> Option<Self> {
        // INVARIANT: By this function's requirements.
        NonNull::new(dev).map(Self)
    }

    /// The raw pointer, valid while `self` is.
    pub(crate) fn as_raw(&self) -> *mut ffi::net_device {
        self.0.as_ptr()
    }

    /// Calls `f` with the interface's name. It may be renamed at the same time; the text is always
    /// terminated.
    pub(crate) fn with_name<R>(&self, f: impl FnOnce(&CStr) -> R) -> R {
        let mut name = [0u8; NAME_LEN];
        // SAFETY: The interface is alive by the type invariant; the callee writes at most
        // `name.len()` bytes.
        unsafe { ffi::ndk_helper_netdev_name(self.as_raw(), name.as_mut_ptr(), name.len()) };
        f(CStr::from_bytes_until_nul(&name).unwrap_or(c""))
    }

    /// The interface's index within its namespace.
    pub(crate) fn ifindex(&self) -> i32 {
        // SAFETY: The interface is alive by the type invariant.
        unsafe { ffi::ndk_helper_netdev_ifindex(self.as_raw()) }
    }

    /// Its namespace. `None` while that is being torn down.
    pub(crate) fn net(&self) -> Option<NetNs> {
        // SAFETY: The interface is alive by the type invariant.
        let net = unsafe { ffi::ndk_helper_dev_net_get(self.as_raw()) };
        // INVARIANT: The callee took a reference for us.
        NonNull::new(net).map(NetNs)
    }

    /// Whether the interface has this address. Works whatever namespace the interface is in.
    pub(crate) fn has_addr(&self, ip: &IpAddr) -> bool {
        match ip {
            // SAFETY: The interface is alive by the type invariant.
            IpAddr::V4(a) => unsafe {
                ffi::ndk_helper_netdev_has_addr4(self.as_raw(), u32::from_ne_bytes(*a))
            },
            IpAddr::V6(a) => {
                let mut addr = ffi::in6_addr::default();
                addr.in6_u.u6_addr8 = *a;
                // SAFETY: As above; `addr` lives during the call.
                unsafe { ffi::ndk_helper_netdev_has_addr6(self.as_raw(), &addr) }
            }
        }
    }

    /// The interface's addresses, IPv4 first, port 0. Process context.
    ///
    /// An address that comes while the list is made may be missing.
    pub(crate) fn addrs(&self, _ctx: &MaySleep) -> Result<KVec<SocketAddr>> {
        // More than an interface has, except where somebody measures how many it can have.
        const MAX: usize = 256;
        let mut raw = KVec::<ffi::sockaddr_storage>::with_capacity(MAX, GFP_KERNEL)?;
        // SAFETY: The interface is alive by the type invariant; there is room for `MAX` elements.
        let found =
            unsafe { ffi::ndk_helper_netdev_addrs(self.as_raw(), raw.as_mut_ptr(), MAX as c_int) };
        let found = usize::try_from(found).unwrap_or(0).min(MAX);
        // SAFETY: The callee has written `found` elements, which is within the capacity.
        unsafe { raw.inc_len(found) };
        let mut addrs = KVec::with_capacity(found, GFP_KERNEL)?;
        for addr in raw.iter().filter_map(SocketAddr::from_storage) {
            addrs.push(addr, GFP_KERNEL)?;
        }
        Ok(addrs)
    }
}

/// A random number, to begin the search for a free port with. Any context.
pub(crate) fn random_u16() -> u16 {
    // SAFETY: Can be called from every context.
    unsafe { kernel::bindings::get_random_u16() }
}
