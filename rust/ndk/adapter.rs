// SPDX-License-Identifier: GPL-2.0

//! Adapters: one per port of an RDMA device, opened any number of times.
//!
//! A [`Port`] is what all instances of an adapter share; an [`Adapter`] is one instance, the root of all objects made from
//! it. The ports there are come and go with the devices ([`Provider`]).

use crate::{
    clients,
    ctx::MaySleep,
    ffi,
    object::{
        self,
        object,
        Head,
        Object, //
    },
    state::{
        limits::{
            self,
            Version, //
        },
        status::Status, //
    },
    status::Result,
    verbs::{
        addr::SocketAddr,
        net::NetNs, //
    },
};
use core::mem::{
    offset_of,
    size_of, //
};
use kernel::{
    fmt,
    prelude::*,
    str::CStr,
    sync::Arc, //
};

mod port;

pub(crate) use port::{
    Port,
    Provider,
    CQ_RESERVE,
    MAX_INLINE, //
};

/// The versions spoken, the highest of each major number.
const VERSIONS: [Version; 2] = [
    Version { major: 1, minor: 2 },
    Version { major: 2, minor: 1 },
];

/// Which adapter to open.
pub(crate) enum Selector<'a> {
    /// By name of the RDMA device and port, 0 for the first.
    Device(&'a CStr, u32),
    /// By index of its network interface.
    Interface(i32),
    /// By an IP address of it.
    Address(SocketAddr),
}

impl Selector<'_> {
    /// Whether it means this port, in that namespace. A port that is going away is meant by nobody.
    fn matches(&self, port: &Port, net: &NetNs, ctx: &MaySleep) -> bool {
        let Ok(port_net) = port.net(ctx) else {
            return false;
        };
        if port_net != *net {
            return false;
        }
        match self {
            Self::Device(name, number) => {
                (*number == 0 || *number == port.number())
                    && port
                        .with_names(ctx, |device, _| device == *name)
                        .unwrap_or(false)
            }
            Self::Interface(index) => port
                .with_names(ctx, |_, ifindex| ifindex == *index)
                .unwrap_or(false),
            Self::Address(address) => port.owns_address(address, ctx).unwrap_or(false),
        }
    }
}

/// One instance of an adapter.
#[pin_data]
#[repr(C)]
pub(crate) struct Adapter {
    #[pin]
    head: Head<Adapter>,
    port: Arc<Port>,
    version: ffi::ndk_version,
    consumer: Consumer,
}

/// The name of a consumer, as far as there is room, terminated.
#[derive(Clone, Copy)]
pub(crate) struct Consumer([u8; 32]);

impl Consumer {
    /// Takes a name; without one the consumer is called by nothing.
    pub(crate) fn new(name: Option<&CStr>) -> Self {
        let mut own = [0; 32];
        if let Some((_, room)) = own.split_last_mut() {
            for (to, from) in room.iter_mut().zip(name.unwrap_or(c"").to_bytes()) {
                // One word of a line.
                *to = if from.is_ascii_graphic() { *from } else { b'_' };
            }
        }
        Self(own)
    }

    /// The name, `-` where there is none.
    pub(crate) fn name(&self) -> &str {
        let name = CStr::from_bytes_until_nul(&self.0).unwrap_or(c"");
        match name.to_str() {
            Ok(name) if !name.is_empty() => name,
            _ => "-",
        }
    }
}

object!(Adapter);

impl Object for Adapter {
    type Shell = ffi::ndk_adapter;

    fn head(&self) -> &Head<Self> {
        &self.head
    }

    fn root(&self) -> Option<&Adapter> {
        Some(self)
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_fmt(fmt!(
            " version={}.{}",
            self.version.major,
            self.version.minor
        ))
    }
}

impl Adapter {
    /// What traces and debugfs call the instance.
    pub(crate) fn number(&self) -> u64 {
        self.head.number()
    }

    /// Who has opened it.
    pub(crate) fn consumer(&self) -> &str {
        self.consumer.name()
    }

    /// What instances of the adapter share.
    pub(crate) fn port(&self) -> &Arc<Port> {
        &self.port
    }

    /// The version in force.
    pub(crate) fn version(&self) -> ffi::ndk_version {
        self.version
    }

    /// The limits, with the version of this instance.
    ///
    /// # Errors
    ///
    /// `DeviceRemoved`.
    pub(crate) fn info(&self) -> Result<ffi::ndk_adapter_info> {
        if self.port.is_gone() {
            return Err(Status::DeviceRemoved);
        }
        Ok(ffi::ndk_adapter_info {
            version: self.version,
            ..*self.port.limits()
        })
    }
}

/// How many bytes of the limits a buffer of `room` bytes gets, or how many it would need.
///
/// The technology came last: a caller built before it gets the structure without.
pub(crate) fn info_fits(room: usize) -> (Result, usize) {
    let answer = limits::adapter_info(
        room != 0,
        room,
        offset_of!(ffi::ndk_adapter_info, rdma_technology),
        size_of::<ffi::ndk_adapter_info>(),
    );
    match answer.status {
        Status::Success => (Ok(()), answer.copy),
        status => (Err(status), answer.size),
    }
}

/// Opens an instance. Sleeps.
///
/// # Errors
///
/// `BadVersion`, `DeviceRemoved` where there is no such adapter, `AdapterNotReady`, `InsufficientResources`.
pub(crate) fn open(
    net: &NetNs,
    version: ffi::ndk_version,
    selector: &Selector<'_>,
    consumer: Consumer,
    ctx: &MaySleep,
) -> Result<Arc<Adapter>> {
    let wanted = Version {
        major: version.major,
        minor: version.minor,
    };
    // NDKPI: the major number must match; the minor one is the least that will do, and the answer is the highest.
    let version = VERSIONS
        .iter()
        .find_map(|spoken| limits::negotiate(wanted, *spoken).ok())
        .ok_or(Status::BadVersion)?;
    let version = ffi::ndk_version {
        major: version.major,
        minor: version.minor,
    };
    let port = find(net, selector, ctx)?;
    if !port.is_active(ctx)? {
        return Err(Status::AdapterNotReady);
    }
    object::listed(GFP_KERNEL, || {
        Ok(Arc::pin_init(
            pin_init!(Adapter {
                head <- Head::new(version),
                port,
                version,
                consumer,
            }),
            GFP_KERNEL,
        )?)
    })
}

/// The port that is meant. Sleeps.
///
/// # Errors
///
/// `DeviceRemoved` where there is none.
pub(crate) fn find(net: &NetNs, selector: &Selector<'_>, ctx: &MaySleep) -> Result<Arc<Port>> {
    clients::find(|port| selector.matches(port, net, ctx))
}
