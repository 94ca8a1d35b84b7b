// SPDX-License-Identifier: GPL-2.0

//! Ports: what all instances of an adapter share. They come and go with the devices ([`Provider`]).

use super::VERSIONS;
use crate::{
    clients,
    ctx::MaySleep,
    debugfs,
    endpoint,
    ffi,
    inventory::Inventory,
    queues,
    registry::Registry,
    state::{
        limits,
        srq,
        status::Status, //
    },
    stats::Counters,
    status::Result,
    trace,
    verbs::{
        addr::{
            IpAddr,
            SocketAddr, //
        },
        cm_id::{
            CmEvents,
            CmId, //
        },
        device::{
            Client,
            Device,
            DeviceRef,
            Protocol, //
        },
        net::NetNs, //
    },
    watcher::Watcher, //
};
use kernel::{
    page::PAGE_SIZE,
    prelude::*,
    str::CStr,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc, //
    },
};

/// Bytes of inline data that a QP can be made for. Where the device has no inline of its own the QP copies them into slots.
pub(crate) const MAX_INLINE: u32 = 256;

/// Room in a CQ on the device for completions of the provider's own, beside the consumer's depth.
pub(crate) const CQ_RESERVE: u32 = 256;

/// Pages of a fast registration of which most can be had: no adapter known here gains from less or loses with more.
const FRMR_PAGES: u32 = 16;

/// Pages of a memory window, at most: each has room for so many from its creation on.
const WINDOW_PAGES: u32 = 512;

/// Pages of a memory window on a device with so many for one registration.
fn window_pages(registration: u32) -> u32 {
    registration.min(WINDOW_PAGES)
}

/// From here on a read or write beats a send into posted buffers.
const LARGE_REQUEST: u32 = 64 * 1024;

/// What rdma_cm leaves of the private data of a connect on InfiniBand and RoCE: 92 bytes less its own header of 36.
const IB_CALLER_DATA: u32 = 56;

/// The smaller of what an accept (196) and a reject (148) carry on InfiniBand and RoCE.
const IB_CALLEE_DATA: u32 = 148;

/// Private data on iWARP: what one byte can count, in which rdma_cm and drivers keep the length, less the read limits that MPA
/// version 2 puts in front.
const IWARP_DATA: u32 = 251;

/// A port of a device, as all instances of its adapter see it.
pub(crate) struct Port {
    device: Arc<Device>,
    number: u32,
    protocol: Protocol,
    info: ffi::ndk_adapter_info,
    max_fast_reg_pages: u32,
    read_invalidates: bool,
    /// Whether the device says when a QP has used its last receive of an SRQ; assumed until it did not.
    tells_last_receive: Atomic<bool>,
    /// Name of the device, terminated, and index of the interface as they were when the port came: what clients are told.
    name: [u8; DEVICE_NAME],
    ifindex: i32,
    registry: Arc<Registry>,
    /// Where the device may forget requests.
    watcher: Option<Arc<Watcher>>,
    endpoints: Arc<endpoint::Table>,
    inventory: Arc<Inventory>,
    counters: Arc<Counters>,
}

/// Room for the name of a device, with its terminator.
pub(crate) const DEVICE_NAME: usize = ffi::IB_DEVICE_NAME_MAX as usize;

impl Port {
    fn new(device: &DeviceRef, number: u32, ctx: &MaySleep) -> Result<Arc<Self>, Error> {
        let port = device.port(number)?;
        let protocol = port.protocol();
        // Without the memory management extensions there is no registration of kernel memory.
        if protocol == Protocol::Other || !device.has_mem_mgt_ext() {
            return Err(EOPNOTSUPP);
        }
        let attrs = device.attrs();
        let pages = attrs.max_fast_reg_page_list_len;
        let iwarp = protocol == Protocol::Iwarp;
        let read_invalidates = port.has_read_inv();
        let mut flags = ffi::NDK_ADAPTER_FLAG_LOOPBACK_CONNECTIONS
            | ffi::NDK_ADAPTER_FLAG_CQ_INTERRUPT_MODERATION
            | ffi::NDK_ADAPTER_FLAG_CQ_RESIZE
            | ffi::NDK_ADAPTER_FLAG_RDMA_READ_LOCAL_INVALIDATE;
        if !iwarp {
            flags |= ffi::NDK_ADAPTER_FLAG_RDMA_READ_SINK_NOT_REQUIRED;
        }
        // A receive may have as many pieces on an SRQ as on a QP: NDKPI has one number for both.
        let (srq_depth, receive_sge) = if attrs.max_srq == 0 || attrs.max_srq_wr == 0 {
            (0, attrs.max_recv_sge)
        } else {
            (
                attrs.max_srq_wr.min(srq::MAX_SLOTS),
                attrs.max_recv_sge.min(attrs.max_srq_sge),
            )
        };
        let read_limit = |value: u32| value.min(u32::from(u8::MAX));
        let info = ffi::ndk_adapter_info {
            vendor_id: attrs.vendor_id,
            device_id: attrs.vendor_part_id,
            // A buffer of that size may start and end within a page.
            max_registration_size: (pages as usize).saturating_sub(1).saturating_mul(PAGE_SIZE),
            // A window as well.
            max_window_size: (window_pages(pages) as usize)
                .saturating_sub(1)
                .saturating_mul(PAGE_SIZE),
            frmr_page_count: FRMR_PAGES.min(pages),
            max_initiator_request_sge: attrs.max_send_sge,
            max_receive_request_sge: receive_sge,
            max_read_request_sge: attrs.max_sge_rd.min(attrs.max_send_sge),
            max_transfer_length: port.attr(ctx)?.max_msg_size,
            max_inline_data_size: MAX_INLINE,
            max_inbound_read_limit: read_limit(attrs.max_qp_rd_atom),
            max_outbound_read_limit: read_limit(attrs.max_qp_init_rd_atom),
            max_receive_queue_depth: attrs.max_qp_wr.saturating_sub(1),
            max_initiator_queue_depth: limits::max_initiator_depth(
                attrs.max_qp_wr,
                device.needs_barriers(),
            ),
            max_srq_depth: srq_depth,
            max_cq_depth: attrs.max_cqe.saturating_sub(CQ_RESERVE),
            large_request_threshold: LARGE_REQUEST,
            max_caller_data: if iwarp { IWARP_DATA } else { IB_CALLER_DATA },
            max_callee_data: if iwarp { IWARP_DATA } else { IB_CALLEE_DATA },
            adapter_flags: flags,
            rdma_technology: match protocol {
                Protocol::Iwarp => ffi::ndk_rdma_technology_NDK_RDMA_IWARP,
                Protocol::Infiniband => ffi::ndk_rdma_technology_NDK_RDMA_INFINIBAND,
                Protocol::RoceV1 => ffi::ndk_rdma_technology_NDK_RDMA_ROCE,
                Protocol::RoceV2 => ffi::ndk_rdma_technology_NDK_RDMA_ROCE_V2,
                Protocol::Other => ffi::ndk_rdma_technology_NDK_RDMA_UNDEFINED,
            },
            ..ffi::ndk_adapter_info::default()
        };
        let registry = Arc::pin_init(Registry::new(), GFP_KERNEL)?;
        let watcher = if device.forgets() {
            Some(Watcher::new(registry.clone())?)
        } else {
            None
        };
        let mut name = [0; DEVICE_NAME];
        device.with_name(|text| {
            for (to, from) in name.iter_mut().zip(text.to_bytes()) {
                *to = *from;
            }
        });
        Ok(Arc::new(
            Self {
                device: device.device().clone(),
                number,
                protocol,
                info,
                max_fast_reg_pages: pages,
                read_invalidates,
                tells_last_receive: Atomic::new(true),
                name,
                ifindex: port.netdev(ctx).map_or(0, |netdev| netdev.ifindex()),
                registry,
                watcher,
                endpoints: Arc::pin_init(endpoint::Table::new(), GFP_KERNEL)?,
                inventory: Arc::pin_init(Inventory::new(), GFP_KERNEL)?,
                counters: Arc::new(Counters::new(), GFP_KERNEL)?,
            },
            GFP_KERNEL,
        )?)
    }

    /// The device, for as long as its removal may wait.
    pub(crate) fn enter(&self) -> Result<DeviceRef> {
        Ok(self.device.try_enter()?)
    }

    /// Whether the device is being removed.
    pub(crate) fn is_gone(&self) -> bool {
        self.device.is_gone()
    }

    /// Number of the port on its device, from 1.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Whether it is an iWARP port, where connecting has no third message.
    pub(crate) fn is_iwarp(&self) -> bool {
        self.protocol == Protocol::Iwarp
    }

    /// The limits. The version in it is that of no instance.
    pub(crate) fn limits(&self) -> &ffi::ndk_adapter_info {
        &self.info
    }

    /// Pages of one fast registration, at most.
    pub(crate) fn max_fast_reg_pages(&self) -> u32 {
        self.max_fast_reg_pages
    }

    /// Whether a read with local invalidation is one work request.
    pub(crate) fn read_invalidates(&self) -> bool {
        self.read_invalidates
    }

    /// Whether the device says when a QP has used its last receive of an SRQ.
    pub(crate) fn tells_last_receive(&self) -> bool {
        self.tells_last_receive.load(Relaxed)
    }

    /// Notes what the device was seen to do.
    pub(crate) fn set_tells_last_receive(&self, tells: bool) {
        self.tells_last_receive.store(tells, Relaxed);
    }

    /// Pages that a memory window shows, at most.
    pub(crate) fn max_window_pages(&self) -> u32 {
        window_pages(self.max_fast_reg_pages)
    }

    /// What lives on the port.
    pub(crate) fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// Has the QPs of the port watched, where that is needed. Any context.
    pub(crate) fn watch(&self) {
        if let Some(watcher) = &self.watcher {
            watcher.start();
        }
    }

    /// The local addresses in use.
    pub(crate) fn endpoints(&self) -> &Arc<endpoint::Table> {
        &self.endpoints
    }

    /// The objects that consumers have.
    pub(crate) fn inventory(&self) -> &Inventory {
        &self.inventory
    }

    /// What is counted.
    pub(crate) fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// The limits, with the highest version that is spoken.
    pub(crate) fn described(&self) -> ffi::ndk_adapter_info {
        let highest = VERSIONS.iter().max();
        ffi::ndk_adapter_info {
            version: highest.map_or(self.info.version, |highest| ffi::ndk_version {
                major: highest.major,
                minor: highest.minor,
            }),
            ..self.info
        }
    }

    /// Makes an id of the connection manager, whose events go to `events`. Sleeps.
    pub(crate) fn new_id<E: CmEvents>(&self, events: Arc<E>, ctx: &MaySleep) -> Result<CmId> {
        let (net, device) = (self.net(ctx)?, self.enter()?);
        Ok(CmId::new(
            ctx,
            &net,
            device,
            queues::sleep().clone(),
            events,
        )?)
    }

    /// Whether connections of this port can have this local address. Sleeps.
    pub(crate) fn owns_address(&self, address: &SocketAddr, ctx: &MaySleep) -> Result<bool> {
        self.owns_ip(&address.ip(), ctx)
    }

    fn owns_ip(&self, ip: &IpAddr, ctx: &MaySleep) -> Result<bool> {
        let device = self.enter()?;
        Ok(device.port(self.number)?.has_addr(ip, ctx)?)
    }

    /// An address of the port. Sleeps.
    ///
    /// # Errors
    ///
    /// `InvalidAddress` while it has none.
    pub(crate) fn own_address(&self, ctx: &MaySleep) -> Result<SocketAddr> {
        let device = self.enter()?;
        let netdev = device.port(self.number)?.netdev(ctx);
        netdev
            .and_then(|netdev| netdev.addr())
            .ok_or(Status::InvalidAddress)
    }

    /// The network namespace of the port: that of its interface. RDMA's shared mode keeps all devices in the initial
    /// namespace, whatever namespace their interfaces are in. Sleeps.
    pub(crate) fn net(&self, ctx: &MaySleep) -> Result<NetNs> {
        let device = self.enter()?;
        match device.port(self.number)?.netdev(ctx) {
            Some(netdev) => netdev.net().ok_or(Status::DeviceRemoved),
            None => Ok(NetNs::init()),
        }
    }

    /// Name of the device, terminated, and index of the interface as they were when the port came.
    pub(crate) fn listed_as(&self) -> (&[u8; DEVICE_NAME], i32) {
        (&self.name, self.ifindex)
    }

    /// Name of the device as it was when the port came.
    fn name(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.name).unwrap_or(c"")
    }

    /// Calls `f` with device name and interface index as they are now. Sleeps.
    pub(crate) fn with_names<R>(
        &self,
        ctx: &MaySleep,
        f: impl FnOnce(&CStr, i32) -> R,
    ) -> Result<R> {
        let device = self.enter()?;
        let ifindex = device
            .port(self.number)?
            .netdev(ctx)
            .map_or(0, |netdev| netdev.ifindex());
        Ok(device.with_name(|name| f(name, ifindex)))
    }

    /// Whether the port can carry data now. Sleeps.
    ///
    /// # Errors
    ///
    /// `DeviceRemoved`.
    pub(crate) fn is_active(&self, ctx: &MaySleep) -> Result<bool> {
        let device = self.enter()?;
        Ok(device.port(self.number)?.attr(ctx)?.active)
    }
}

/// The provider as a client of the RDMA core: it makes the ports of a device known, and takes them away.
pub(crate) struct Provider;

impl Client for Provider {
    type Data = KVec<(Arc<Port>, debugfs::Files)>;

    fn add(device: &Arc<Device>, ctx: &MaySleep) -> Result<Self::Data, Error> {
        let device = device.try_enter()?;
        let mut ports = KVec::new();
        let alone = *device.ports().end() == 1;
        for number in device.ports() {
            if let Ok(port) = Port::new(&device, number, ctx) {
                let name = debugfs::name_of(port.name(), number, alone)?;
                let files = debugfs::Files::new(&port, &name)?;
                ports.push((port, files), GFP_KERNEL)?;
            }
        }
        if ports.is_empty() {
            return Err(EOPNOTSUPP);
        }
        for (count, (port, _)) in ports.iter().enumerate() {
            if let Err(error) = clients::arrived(port) {
                for (port, _) in ports.iter().take(count) {
                    clients::left(port);
                }
                return Err(error);
            }
            trace::device_add(port.name(), port.number);
        }
        Ok(ports)
    }

    fn remove(ports: Self::Data, ctx: &MaySleep) {
        for (port, _) in ports.iter() {
            trace::device_remove(port.name(), port.number);
            clients::left(port);
            if let Some(watcher) = &port.watcher {
                watcher.stop(ctx);
            }
            port.registry.revoke_all(ctx);
            trace::device_removed(port.name(), port.number);
        }
    }
}
