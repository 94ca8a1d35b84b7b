// SPDX-License-Identifier: GPL-2.0

//! Socket addresses as the kernel wants them.

use super::ffi;
use core::{
    mem::size_of,
    net::{
        Ipv4Addr,
        Ipv6Addr,
        SocketAddr,
        SocketAddrV4,
        SocketAddrV6, //
    },
};
use kernel::{
    bindings,
    prelude::*, //
};

const AF_INET: u16 = bindings::AF_INET as u16;
const AF_INET6: u16 = bindings::AF_INET6 as u16;

/// A `struct sockaddr` of either family.
#[repr(C)]
pub(crate) union RawAddr {
    any: ffi::sockaddr,
    v4: ffi::sockaddr_in,
    v6: ffi::sockaddr_in6,
}

impl RawAddr {
    /// Room for an address.
    pub(crate) fn zeroed() -> Self {
        // SAFETY: All zeroes is a value of every member.
        unsafe { core::mem::zeroed() }
    }

    pub(crate) fn new(addr: &SocketAddr) -> Self {
        let mut raw = Self::zeroed();
        match addr {
            SocketAddr::V4(addr) => {
                raw.v4.sin_family = AF_INET;
                raw.v4.sin_port = addr.port().to_be();
                raw.v4.sin_addr.s_addr = u32::from_ne_bytes(addr.ip().octets());
            }
            SocketAddr::V6(addr) => {
                raw.v6.sin6_family = AF_INET6;
                raw.v6.sin6_port = addr.port().to_be();
                raw.v6.sin6_addr.in6_u.u6_addr8 = addr.ip().octets();
                raw.v6.sin6_scope_id = addr.scope_id();
            }
        }
        raw
    }

    /// The address in room for any.
    pub(crate) fn from_storage(storage: &bindings::__kernel_sockaddr_storage) -> Self {
        // SAFETY: It has room and alignment for every socket address, and every bit pattern is one.
        unsafe { core::ptr::from_ref(storage).cast::<Self>().read() }
    }

    pub(crate) fn get(&self) -> Result<SocketAddr> {
        // SAFETY: Every member begins with the family, and every bit pattern is a value of every member.
        unsafe {
            match self.v4.sin_family {
                AF_INET => Ok(SocketAddr::V4(SocketAddrV4::new(
                    Ipv4Addr::from(self.v4.sin_addr.s_addr.to_ne_bytes()),
                    u16::from_be(self.v4.sin_port),
                ))),
                AF_INET6 => Ok(SocketAddr::V6(SocketAddrV6::new(
                    Ipv6Addr::from(self.v6.sin6_addr.in6_u.u6_addr8),
                    u16::from_be(self.v6.sin6_port),
                    0,
                    self.v6.sin6_scope_id,
                ))),
                _ => Err(EAFNOSUPPORT),
            }
        }
    }

    #[inline]
    pub(crate) fn as_ptr(&self) -> *const ffi::sockaddr {
        core::ptr::from_ref(self).cast()
    }

    #[inline]
    pub(crate) fn as_mut_ptr(&mut self) -> *mut ffi::sockaddr {
        core::ptr::from_mut(self).cast()
    }

    /// Bytes of the address, or of the room for one.
    pub(crate) fn len(&self) -> u32 {
        // SAFETY: Every member begins with the family.
        let size = match unsafe { self.v4.sin_family } {
            AF_INET => size_of::<ffi::sockaddr_in>(),
            _ => size_of::<Self>(),
        };
        // CAST: At most 28.
        size as u32
    }
}
