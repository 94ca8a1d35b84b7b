// SPDX-License-Identifier: GPL-2.0

//! Network interfaces and namespaces, as far as RDMA needs them.
//!
//! C headers: [`include/linux/netdevice.h`](srctree/include/linux/netdevice.h),
//! [`include/net/net_namespace.h`](srctree/include/net/net_namespace.h)

use crate::{
    ffi,
    verbs::addr::{
        IpAddr,
        SocketAddr, //
    }, //
};
use core::ptr::NonNull;

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

impl Drop for NetDev {
    fn drop(&mut self) {
        // SAFETY: By the type invariant the reference is ours to give back.
        unsafe { ffi::ndk_helper_dev_put(self.0.as_ptr()) };
    }
}

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

    /// An address that a connection over the interface can have, without a port. Works whatever namespace the interface is
    /// in.
    pub(crate) fn addr(&self) -> Option<SocketAddr> {
        let mut addr = ffi::sockaddr_storage::default();
        // SAFETY: The interface is alive by the type invariant; `addr` may be written.
        unsafe { ffi::ndk_helper_netdev_addr(self.as_raw(), &mut addr) }
            .then(|| SocketAddr::from_storage(&addr))
            .flatten()
    }
}

/// A random number, to begin the search for a free port with. Any context.
pub(crate) fn random_u16() -> u16 {
    // SAFETY: Can be called from every context.
    unsafe { kernel::bindings::get_random_u16() }
}
