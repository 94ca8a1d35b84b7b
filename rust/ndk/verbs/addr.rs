// SPDX-License-Identifier: GPL-2.0

//! IPv4 and IPv6 socket addresses.
//!
//! C header: [`include/linux/socket.h`](srctree/include/linux/socket.h)

use crate::ffi;
use core::{
    cmp::Ordering,
    mem::{
        offset_of,
        size_of, //
    },
    ptr,
};
use kernel::{
    fmt,
    prelude::*, //
};

/// `AF_INET`.
const AF_INET: u16 = 2;
/// `AF_INET6`.
const AF_INET6: u16 = 10;

/// An IP address without port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum IpAddr {
    /// IPv4, in network order.
    V4([u8; 4]),
    /// IPv6, in network order.
    V6([u8; 16]),
}

impl IpAddr {
    /// Whether this is an IPv6 link-local address, which means nothing without a scope.
    pub(crate) fn is_link_local(&self) -> bool {
        matches!(self, Self::V6(a) if a[0] == 0xfe && a[1] & 0xc0 == 0x80)
    }

    /// Whether this is a multicast or broadcast address, to which no connection can be made.
    pub(crate) fn is_multicast(&self) -> bool {
        match self {
            Self::V4(a) => a[0] & 0xf0 == 0xe0 || *a == [0xff; 4],
            Self::V6(a) => a[0] == 0xff,
        }
    }

    /// The GID by which RoCE and iWARP know this address.
    pub(crate) fn to_gid(self) -> [u8; 16] {
        match self {
            Self::V4(a) => {
                let mut gid = [0; 16];
                gid[10] = 0xff;
                gid[11] = 0xff;
                gid[12..].copy_from_slice(&a);
                gid
            }
            Self::V6(a) => a,
        }
    }
}

impl fmt::Display for IpAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V4(a) => f.write_fmt(fmt!("{}.{}.{}.{}", a[0], a[1], a[2], a[3])),
            Self::V6(a) => {
                for (i, pair) in a.chunks_exact(2).enumerate() {
                    if i > 0 {
                        f.write_str(":")?;
                    }
                    f.write_fmt(fmt!("{:x}", u16::from_be_bytes([pair[0], pair[1]])))?;
                }
                Ok(())
            }
        }
    }
}

/// An IP address and port, with a scope where the address is link-local.
///
/// Totally ordered, so that it can key a table. Equality looks at family, address, port and scope;
/// flow information is dropped. A v4-mapped IPv6 address is not the same as the IPv4 address:
/// rdma_cm does not mix them either.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct SocketAddr {
    ip: IpAddr,
    port: u16,
    scope: u32,
}

impl SocketAddr {
    /// Makes an address with port (in host order) and, for link-local ones, the interface index.
    pub(crate) fn new(ip: IpAddr, port: u16, scope: u32) -> Self {
        let scope = if ip.is_link_local() { scope } else { 0 };
        Self { ip, port, scope }
    }

    /// Reads what a consumer passed as `struct sockaddr *` and length.
    ///
    /// `EINVAL`: null, too short for its family, or neither IPv4 nor IPv6.
    ///
    /// # Safety
    ///
    /// `addr` is null or `len` bytes from it can be read.
    pub(crate) unsafe fn from_raw(addr: *const ffi::sockaddr, len: usize) -> Result<Self> {
        if addr.is_null() || len < size_of::<u16>() {
            return Err(EINVAL);
        }
        let base = addr.cast::<u8>();
        // SAFETY: The two bytes are within `len`; a consumer's buffer need not be aligned.
        let family = unsafe { ptr::read_unaligned(base.cast::<u16>()) };
        match family {
            AF_INET if len >= size_of::<ffi::sockaddr_in>() => {
                // SAFETY: The whole structure is within `len`, and every bit pattern is one.
                let sin = unsafe { ptr::read_unaligned(base.cast::<ffi::sockaddr_in>()) };
                Ok(Self::new(
                    IpAddr::V4(sin.sin_addr.s_addr.to_ne_bytes()),
                    u16::from_be(sin.sin_port),
                    0,
                ))
            }
            // The scope came later than the rest of the structure (RFC 2133 has none), hence the
            // shorter length.
            AF_INET6 if len >= offset_of!(ffi::sockaddr_in6, sin6_scope_id) => {
                let mut sin6 = ffi::sockaddr_in6::default();
                let known = len.min(size_of::<ffi::sockaddr_in6>());
                // SAFETY: `known` bytes can be read and written; every bit pattern is a
                // `sockaddr_in6`.
                unsafe {
                    ptr::copy_nonoverlapping(base, ptr::from_mut(&mut sin6).cast::<u8>(), known)
                };
                // SAFETY: All members of the union are plain bytes.
                let ip = unsafe { sin6.sin6_addr.in6_u.u6_addr8 };
                Ok(Self::new(
                    IpAddr::V6(ip),
                    u16::from_be(sin6.sin6_port),
                    sin6.sin6_scope_id,
                ))
            }
            _ => Err(EINVAL),
        }
    }

    /// Reads a kernel `sockaddr_storage`. `None` while it holds no IP address.
    pub(crate) fn from_storage(storage: &ffi::sockaddr_storage) -> Option<Self> {
        // SAFETY: The reference covers all bytes.
        unsafe {
            Self::from_raw(
                ptr::from_ref(storage).cast(),
                size_of::<ffi::sockaddr_storage>(),
            )
        }
        .ok()
    }

    /// Writes the address as a `sockaddr_storage`.
    pub(crate) fn to_storage(self) -> ffi::sockaddr_storage {
        let mut storage = ffi::sockaddr_storage::default();
        let to = ptr::from_mut(&mut storage);
        match self.ip {
            IpAddr::V4(a) => {
                let sin = ffi::sockaddr_in {
                    sin_family: AF_INET,
                    sin_port: self.port.to_be(),
                    sin_addr: ffi::in_addr {
                        s_addr: u32::from_ne_bytes(a),
                    },
                    ..ffi::sockaddr_in::default()
                };
                // SAFETY: A `sockaddr_storage` has room and alignment for every socket address.
                unsafe { ptr::write(to.cast(), sin) };
            }
            IpAddr::V6(a) => {
                let mut sin6 = ffi::sockaddr_in6 {
                    sin6_family: AF_INET6,
                    sin6_port: self.port.to_be(),
                    sin6_scope_id: self.scope,
                    ..ffi::sockaddr_in6::default()
                };
                sin6.sin6_addr.in6_u.u6_addr8 = a;
                // SAFETY: As above.
                unsafe { ptr::write(to.cast(), sin6) };
            }
        }
        storage
    }

    /// How many bytes of [`Self::to_storage`] are the address.
    pub(crate) fn len(&self) -> usize {
        match self.ip {
            IpAddr::V4(_) => size_of::<ffi::sockaddr_in>(),
            IpAddr::V6(_) => size_of::<ffi::sockaddr_in6>(),
        }
    }

    /// The IP address.
    pub(crate) fn ip(&self) -> IpAddr {
        self.ip
    }

    /// The port, in host order.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The same address with another port.
    pub(crate) fn with_port(self, port: u16) -> Self {
        Self { port, ..self }
    }

    /// The interface index of a link-local address, else 0.
    pub(crate) fn scope(&self) -> u32 {
        self.scope
    }
}

impl Ord for SocketAddr {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.port, self.ip, self.scope).cmp(&(other.port, other.ip, other.scope))
    }
}

impl PartialOrd for SocketAddr {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for SocketAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.ip, self.scope) {
            (IpAddr::V4(_), _) => f.write_fmt(fmt!("{}:{}", self.ip, self.port)),
            (IpAddr::V6(_), 0) => f.write_fmt(fmt!("[{}]:{}", self.ip, self.port)),
            (IpAddr::V6(_), scope) => f.write_fmt(fmt!("[{}%{}]:{}", self.ip, scope, self.port)),
        }
    }
}

#[kernel::macros::kunit_tests(ndk_addr)]
mod tests {
    use super::*;

    const V4: IpAddr = IpAddr::V4([10, 9, 0, 1]);
    const GLOBAL: IpAddr = IpAddr::V6([0xfd, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    const LOCAL: IpAddr = IpAddr::V6([0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);

    /// What is read back of `addr` when a consumer says that it has `len` bytes.
    fn read(addr: &SocketAddr, len: usize) -> Result<SocketAddr> {
        let storage = addr.to_storage();
        // SAFETY: No test says more than a `sockaddr_storage` has.
        unsafe { SocketAddr::from_raw(ptr::from_ref(&storage).cast(), len) }
    }

    #[test]
    fn addresses_are_written_and_read() {
        for addr in [
            SocketAddr::new(V4, 4791, 0),
            SocketAddr::new(GLOBAL, 1, 0),
            SocketAddr::new(LOCAL, 65535, 3),
        ] {
            assert!(read(&addr, addr.len()) == Ok(addr));
            assert!(SocketAddr::from_storage(&addr.to_storage()) == Some(addr));
        }
        assert_eq!(SocketAddr::new(V4, 1, 0).len(), 16);
        assert_eq!(SocketAddr::new(LOCAL, 1, 0).len(), 28);
    }

    #[test]
    fn too_short_is_refused() {
        let v4 = SocketAddr::new(V4, 7, 0);
        assert!(read(&v4, 15) == Err(EINVAL));
        assert!(read(&v4, 2) == Err(EINVAL));
        assert!(read(&v4, 1) == Err(EINVAL));
        assert!(read(&v4, 0) == Err(EINVAL));
        assert!(read(&SocketAddr::new(GLOBAL, 7, 0), 23) == Err(EINVAL));
    }

    #[test]
    fn an_old_ipv6_address_has_no_scope() {
        let addr = SocketAddr::new(LOCAL, 7, 3);
        assert!(read(&addr, 24) == Ok(SocketAddr::new(LOCAL, 7, 0)));
    }

    #[test]
    fn null_and_other_families_are_refused() {
        // SAFETY: A null pointer is allowed.
        assert!(unsafe { SocketAddr::from_raw(ptr::null(), 16) } == Err(EINVAL));
        // A `sockaddr_storage` of family 0, as before an address is known.
        assert!(SocketAddr::from_storage(&ffi::sockaddr_storage::default()).is_none());
    }

    #[test]
    fn a_scope_is_for_link_local_addresses() {
        assert_eq!(SocketAddr::new(GLOBAL, 7, 3).scope(), 0);
        assert_eq!(SocketAddr::new(LOCAL, 7, 3).scope(), 3);
        assert!(SocketAddr::new(LOCAL, 7, 3) != SocketAddr::new(LOCAL, 7, 4));
        assert!(SocketAddr::new(LOCAL, 7, 3).with_port(8) == SocketAddr::new(LOCAL, 8, 3));
    }

    #[test]
    fn kinds_of_addresses() {
        assert!(IpAddr::V4([224, 0, 0, 1]).is_multicast());
        assert!(IpAddr::V4([255; 4]).is_multicast());
        assert!(!V4.is_multicast());
        assert!(IpAddr::V6([0xff; 16]).is_multicast());
        assert!(!GLOBAL.is_multicast());
        assert!(LOCAL.is_link_local());
        assert!(!GLOBAL.is_link_local());
        // Only IPv6 ones need a scope.
        assert!(!IpAddr::V4([169, 254, 0, 1]).is_link_local());
    }

    #[test]
    fn the_gid_of_an_ipv4_address_is_mapped() {
        let gid = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 9, 0, 1];
        assert_eq!(V4.to_gid(), gid);
        // The IPv6 address that looks like it is another address all the same.
        assert!(IpAddr::V6(gid) != V4);
    }
}
