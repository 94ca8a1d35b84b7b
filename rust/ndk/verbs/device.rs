// SPDX-License-Identifier: GPL-2.0

//! RDMA devices and their ports: arrival, removal, attributes.
//!
//! C headers: [`include/rdma/ib_verbs.h`](srctree/include/rdma/ib_verbs.h),
//! [`include/rdma/ib_cache.h`](srctree/include/rdma/ib_cache.h)

use crate::{
    ctx::MaySleep,
    ffi,
    sync::Gate,
    verbs::{
        addr::{
            IpAddr,
            SocketAddr, //
        },
        net::NetDev, //
    },
};
use core::{
    marker::PhantomData,
    ops::RangeInclusive,
    ptr::{
        self,
        NonNull, //
    },
};
use kernel::{
    error::{
        from_result,
        to_result, //
    },
    ffi::{
        c_int,
        c_void, //
    },
    prelude::*,
    str::CStr,
    sync::{
        atomic::{
            Atomic,
            Full,
            Relaxed, //
        },
        Arc, //
    },
    types::Opaque,
};

/// What a client of the RDMA core does when devices come and go.
pub(crate) trait Client: 'static {
    /// What the client keeps for each device.
    type Data: Send + Sync + 'static;

    /// A device has come. An error means that the client takes no interest in it.
    ///
    /// Process context, under locks of the RDMA core: no device may be registered from here.
    fn add(device: &Arc<Device>, ctx: &MaySleep) -> Result<Self::Data>;

    /// The device goes away: revoke every [`DeviceRef`].
    ///
    /// No new ones can be had already. When this returns, removal waits until the last one is
    /// dropped. Process context.
    fn remove(data: Self::Data, ctx: &MaySleep);
}

/// The one registered client, which `ib_client.add` does not tell us. Null while there is none.
static CLIENT: Atomic<*mut ffi::ib_client> = Atomic::new(ptr::null_mut());

/// A registration with the RDMA core. Dropping it removes the client from all devices, and sleeps.
///
/// There is one for the module.
///
/// # Invariants
///
/// `inner` is a registered client, and [`CLIENT`] points to it.
#[pin_data(PinnedDrop)]
pub(crate) struct Registration<T: Client> {
    #[pin]
    inner: Opaque<ffi::ib_client>,
    _client: PhantomData<T>,
}

// SAFETY: The registration is only created and dropped; the RDMA core takes its own locks for both.
unsafe impl<T: Client> Send for Registration<T> {}
// SAFETY: As above, there is nothing to call through a reference.
unsafe impl<T: Client> Sync for Registration<T> {}

impl<T: Client> Registration<T> {
    /// Registers the client; devices that exist are added before this returns. `EBUSY` if there is
    /// a registration. Sleeps.
    pub(crate) fn new(name: &'static CStr) -> impl PinInit<Self, Error> {
        try_pin_init!(Self {
            // INVARIANT: Registered, or the initialiser fails.
            inner <- Opaque::try_ffi_init(move |slot: *mut ffi::ib_client| {
                if CLIENT.cmpxchg(ptr::null_mut(), slot, Full).is_err() {
                    return Err(EBUSY);
                }
                let client = ffi::ib_client {
                    name: name.as_char_ptr(),
                    add: Some(Callbacks::<T>::add),
                    remove: Some(Callbacks::<T>::remove),
                    ..ffi::ib_client::default()
                };
                // SAFETY: `slot` is valid for writing, and pinned from here on.
                unsafe { slot.write(client) };
                // SAFETY: The structure is initialised, and stays until it is unregistered in
                // `drop`.
                let result = to_result(unsafe { ffi::ib_register_client(slot) });
                if result.is_err() {
                    CLIENT.store(ptr::null_mut(), Relaxed);
                }
                result
            }),
            _client: PhantomData,
        })
    }
}

#[pinned_drop]
impl<T: Client> PinnedDrop for Registration<T> {
    fn drop(self: Pin<&mut Self>) {
        // SAFETY: By the type invariant the client is registered. Every device is removed when this
        // returns.
        unsafe { ffi::ib_unregister_client(self.inner.get()) };
        CLIENT.store(ptr::null_mut(), Relaxed);
    }
}

/// What hangs at an `ib_device` for our client.
struct ClientData<T: Client> {
    device: Arc<Device>,
    data: T::Data,
}

/// The C callbacks of a client.
struct Callbacks<T: Client>(PhantomData<T>);

impl<T: Client> Callbacks<T> {
    /// # Safety
    ///
    /// Called by the RDMA core, in process context, with a registered device that stays until
    /// [`Self::remove`] returns.
    unsafe extern "C" fn add(raw: *mut ffi::ib_device) -> c_int {
        from_result(|| {
            // SAFETY: `ib_client.add` runs in process context.
            let ctx = unsafe { MaySleep::assume() };
            let raw = NonNull::new(raw).ok_or(EINVAL)?;
            let device = Arc::pin_init(Device::new(raw), GFP_KERNEL)?;
            let room = KBox::<ClientData<T>>::new_uninit(GFP_KERNEL)?;
            let data = match T::add(&device, &ctx) {
                Ok(data) => data,
                Err(e) => {
                    device.gate.close_and_wait(&ctx);
                    return Err(e);
                }
            };
            let data = KBox::into_raw(KBox::write(room, ClientData { device, data }));
            // SAFETY: Device and client are registered; the client's pointer was stored before it
            // was registered.
            unsafe {
                ffi::ib_set_client_data(raw.as_ptr(), CLIENT.load(Relaxed), data.cast::<c_void>())
            };
            Ok(0)
        })
    }

    /// # Safety
    ///
    /// Called by the RDMA core, in process context, once after a successful [`Self::add`] with what
    /// that stored.
    unsafe extern "C" fn remove(_raw: *mut ffi::ib_device, data: *mut c_void) {
        if data.is_null() {
            return;
        }
        // SAFETY: `ib_client.remove` runs in process context.
        let ctx = unsafe { MaySleep::assume() };
        // SAFETY: `add` stored it, and the core calls `remove` once.
        let data = unsafe { KBox::from_raw(data.cast::<ClientData<T>>()) };
        data.device.gate.close();
        let ClientData { device, data } = KBox::into_inner(data);
        T::remove(data, &ctx);
        device.gate.close_and_wait(&ctx);
    }
}

/// An RDMA device as our client sees it. It may outlive the device; what needs the device goes
/// through a [`DeviceRef`].
///
/// # Invariants
///
/// `raw` is valid while somebody is inside `gate`: `ib_client.remove` returns after the gate is
/// closed and empty.
#[pin_data]
pub(crate) struct Device {
    raw: NonNull<ffi::ib_device>,
    #[pin]
    gate: Gate,
}

// SAFETY: The RDMA core's functions on a device may be called from every thread.
unsafe impl Send for Device {}
// SAFETY: As above.
unsafe impl Sync for Device {}

impl Device {
    fn new(raw: NonNull<ffi::ib_device>) -> impl PinInit<Self> {
        pin_init!(Self {
            raw,
            gate <- Gate::new(),
        })
    }

    /// A reference that keeps the device's removal waiting. `ENODEV` once removal has begun. Any
    /// context.
    pub(crate) fn try_enter(self: &Arc<Self>) -> Result<DeviceRef> {
        if !self.gate.try_enter() {
            return Err(ENODEV);
        }
        // INVARIANT: Entered above.
        Ok(DeviceRef(self.clone()))
    }

    /// Whether removal has begun.
    pub(crate) fn is_gone(&self) -> bool {
        self.gate.is_closed()
    }
}

/// A device that is not removed while the reference exists. Everything made on the device holds
/// one.
///
/// Dropping it is possible in any context.
///
/// # Invariants
///
/// Entered through the device's gate.
pub(crate) struct DeviceRef(Arc<Device>);

impl Drop for DeviceRef {
    fn drop(&mut self) {
        self.0.gate.leave();
    }
}

impl Clone for DeviceRef {
    fn clone(&self) -> Self {
        self.0.gate.enter_again();
        // INVARIANT: Entered above.
        Self(self.0.clone())
    }
}

impl DeviceRef {
    /// The raw device.
    pub(super) fn as_raw(&self) -> *mut ffi::ib_device {
        self.0.raw.as_ptr()
    }

    /// The device itself, which does not keep removal waiting.
    pub(crate) fn device(&self) -> &Arc<Device> {
        &self.0
    }

    /// Whether both are the same device.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn raw(&self) -> &ffi::ib_device {
        // SAFETY: Valid by the type invariant. What is read through this reference is written
        // before registration only.
        unsafe { self.0.raw.as_ref() }
    }

    /// Calls `f` with the device's name, `rxe0` for one. It may be renamed at the same time; the
    /// text is always terminated.
    pub(crate) fn with_name<R>(&self, f: impl FnOnce(&CStr) -> R) -> R {
        let mut name = [0u8; ffi::IB_DEVICE_NAME_MAX as usize];
        // SAFETY: The device is valid by the type invariant; the callee writes at most `name.len()`
        // bytes.
        unsafe { ffi::ndk_helper_ib_device_name(self.as_raw(), name.as_mut_ptr(), name.len()) };
        f(CStr::from_bytes_until_nul(&name).unwrap_or(c""))
    }

    /// The device's attributes, by the names of `struct ib_device_attr`.
    pub(crate) fn attrs(&self) -> &ffi::ib_device_attr {
        &self.raw().attrs
    }

    /// Whether the device has the memory management extensions: fast registration, and send with
    /// invalidate.
    pub(crate) fn has_mem_mgt_ext(&self) -> bool {
        // CAST: An enum without a type of its own; the value is a single bit.
        let bit = ffi::ib_device_cap_flags_IB_DEVICE_MEM_MGT_EXTENSIONS as u64;
        self.attrs().device_cap_flags & bit != 0
    }

    /// Whether the device can make an SRQ larger.
    pub(crate) fn has_srq_resize(&self) -> bool {
        // CAST: An enum without a type of its own; the value is a single bit.
        let bit = ffi::ib_device_cap_flags_IB_DEVICE_SRQ_RESIZE as u64;
        self.attrs().device_cap_flags & bit != 0
    }

    /// How many completion vectors the device has, at least 1.
    pub(crate) fn completion_vectors(&self) -> u32 {
        u32::try_from(self.raw().num_comp_vectors)
            .unwrap_or(1)
            .max(1)
    }

    /// Whether DMA addresses of this device are kernel addresses: a device in software (rxe, siw).
    pub(crate) fn is_virtual_dma(&self) -> bool {
        // SAFETY: Valid by the type invariant.
        unsafe { ffi::ndk_helper_ib_uses_virt_dma(self.as_raw()) }
    }

    /// Whether it belongs to this driver, for what a device does and does not tell of itself.
    fn is_of(&self, driver: ffi::rdma_driver_id) -> bool {
        self.raw().ops.driver_id == driver
    }

    /// Whether requests that are not sent have to be kept out of the way of a retry: rxe. A retry performs the registrations
    /// behind what is sent again a second time, which then fail; and what is fenced, and sent again, waits for itself if it is
    /// a read, or for reads behind it. Its invalidations wait for all that is before them, so no retry comes to those.
    pub(crate) fn needs_barriers(&self) -> bool {
        self.is_of(ffi::rdma_driver_id_RDMA_DRIVER_RXE)
    }

    /// Whether the device may forget requests while a connection stands: rxe. An acknowledgement of the last packet of a message
    /// that comes while the message is sent again does not complete it, and if the next one is lost it asks for none any more.
    pub(crate) fn forgets(&self) -> bool {
        self.is_of(ffi::rdma_driver_id_RDMA_DRIVER_RXE)
    }

    /// Whether a request may complete before a read that was posted earlier, unless it is fenced: siw, which completes it when it is
    /// sent.
    pub(crate) fn completes_past_reads(&self) -> bool {
        self.is_of(ffi::rdma_driver_id_RDMA_DRIVER_SIW)
    }

    /// Whether an arm for solicited completions is answered by none: siw.
    pub(crate) fn ignores_solicited(&self) -> bool {
        self.is_of(ffi::rdma_driver_id_RDMA_DRIVER_SIW)
    }

    /// Whether a request is sent out of its buffers themselves, also after it is done, unless it asks for a completion: siw,
    /// which gives pages to TCP.
    pub(crate) fn sends_in_place(&self) -> bool {
        self.is_of(ffi::rdma_driver_id_RDMA_DRIVER_SIW)
    }

    /// The numbers of the ports that can carry connections.
    pub(crate) fn ports(&self) -> RangeInclusive<u32> {
        1..=self.raw().phys_port_cnt
    }

    /// A port. `EINVAL` for a number outside [`Self::ports`].
    pub(crate) fn port(&self, number: u32) -> Result<Port<'_>> {
        if !self.ports().contains(&number) {
            return Err(EINVAL);
        }
        // INVARIANT: Checked above.
        Ok(Port {
            device: self,
            number,
        })
    }
}

/// What a port speaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Protocol {
    /// InfiniBand.
    Infiniband,
    /// RoCE, version 1 only.
    RoceV1,
    /// RoCE version 2.
    RoceV2,
    /// iWARP.
    Iwarp,
    /// Something that makes no connections (OPA without IB, usNIC, raw packets).
    Other,
}

/// Attributes of a port at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PortAttr {
    /// Whether the port can carry data.
    pub(crate) active: bool,
    /// Largest message, in bytes.
    pub(crate) max_msg_size: u32,
    /// Length of the GID table.
    pub(crate) gids: u32,
}

/// A port of a device.
///
/// # Invariants
///
/// `number` is a port of `device`.
#[derive(Clone, Copy)]
pub(crate) struct Port<'a> {
    device: &'a DeviceRef,
    number: u32,
}

impl<'a> Port<'a> {
    /// The device.
    pub(super) fn device(&self) -> &DeviceRef {
        self.device
    }

    /// The port's number, from 1.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// What the port speaks.
    pub(crate) fn protocol(&self) -> Protocol {
        let (dev, port) = (self.device.as_raw(), self.number);
        // SAFETY: By the type invariants the device is valid and has this port.
        unsafe {
            if ffi::ndk_helper_rdma_protocol_iwarp(dev, port) {
                Protocol::Iwarp
            } else if ffi::ndk_helper_rdma_protocol_roce_udp(dev, port) {
                Protocol::RoceV2
            } else if ffi::ndk_helper_rdma_protocol_roce_eth(dev, port) {
                Protocol::RoceV1
            } else if ffi::ndk_helper_rdma_protocol_ib(dev, port) {
                Protocol::Infiniband
            } else {
                Protocol::Other
            }
        }
    }

    /// Whether READ with invalidate of the local key is one work request here.
    pub(crate) fn has_read_inv(&self) -> bool {
        // SAFETY: By the type invariants the device is valid and has this port.
        unsafe { ffi::ndk_helper_rdma_cap_read_inv(self.device.as_raw(), self.number) }
    }

    /// The port's attributes now. Asks the device, and sleeps.
    pub(crate) fn attr(&self, ctx: &MaySleep) -> Result<PortAttr> {
        ctx.check();
        let mut raw = ffi::ib_port_attr::default();
        // SAFETY: By the type invariants the device is valid and has this port.
        to_result(unsafe { ffi::ib_query_port(self.device.as_raw(), self.number, &mut raw) })?;
        Ok(PortAttr {
            active: raw.state == ffi::ib_port_state_IB_PORT_ACTIVE,
            max_msg_size: raw.max_msg_sz,
            gids: u32::try_from(raw.gid_tbl_len).unwrap_or(0),
        })
    }

    /// The port's network interface. `None` for InfiniBand, and while the interface goes away.
    /// Sleeps.
    pub(crate) fn netdev(&self, ctx: &MaySleep) -> Option<NetDev> {
        ctx.check();
        // SAFETY: By the type invariants the device is valid and has this port; the callee takes a
        // reference for us.
        unsafe { NetDev::from_owned(ffi::ib_device_get_netdev(self.device.as_raw(), self.number)) }
    }

    /// The IPoIB interface of an InfiniBand port that has `ip`, in the default partition. Sleeps; not
    /// from [`Client::add`], which runs under a lock that this takes.
    pub(crate) fn ipoib_netdev(&self, ip: &IpAddr, ctx: &MaySleep) -> Option<NetDev> {
        ctx.check();
        let mut pkey = 0;
        // SAFETY: By the type invariants the device is valid and has this port.
        to_result(unsafe {
            ffi::ib_get_cached_pkey(self.device.as_raw(), self.number, 0, &mut pkey)
        })
        .ok()?;
        let addr = SocketAddr::new(*ip, 0, 0).to_storage();
        // SAFETY: As above; `addr` is a socket address, and the callee takes a reference for us.
        unsafe {
            NetDev::from_owned(ffi::ib_get_net_dev_by_params(
                self.device.as_raw(),
                self.number,
                pkey,
                ptr::null(),
                ptr::from_ref(&addr).cast(),
            ))
        }
    }

    /// An entry of the port's GID table. `None` for an empty one.
    pub(crate) fn gid(&self, index: u32) -> Option<GidEntry> {
        let index = c_int::try_from(index).ok()?;
        // SAFETY: By the type invariants the device is valid and has this port.
        let attr = unsafe { ffi::rdma_get_gid_attr(self.device.as_raw(), self.number, index) };
        // INVARIANT: The callee took a reference for us.
        kernel::error::from_err_ptr(attr.cast_mut())
            .ok()
            .and_then(NonNull::new)
            .map(|attr| GidEntry {
                attr,
                _device: Some(self.device.clone()),
            })
    }

    /// Whether connections of this port can use `ip` as their local address.
    ///
    /// RoCE: the GID table has it, which includes addresses of VLANs and bonds above. iWARP: the
    /// interface has it. InfiniBand: an IPoIB interface has it (see [`Self::ipoib_netdev`]). Works
    /// whatever namespace the interface is in. Sleeps; not from [`Client::add`].
    pub(crate) fn has_addr(&self, ip: &IpAddr, ctx: &MaySleep) -> Result<bool> {
        match self.protocol() {
            Protocol::RoceV1 | Protocol::RoceV2 => {
                let gid = ip.to_gid();
                for index in 0..self.attr(ctx)?.gids {
                    if self.gid(index).is_some_and(|entry| entry.gid() == gid) {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Protocol::Infiniband => Ok(self.ipoib_netdev(ip, ctx).is_some()),
            _ => Ok(self.netdev(ctx).is_some_and(|netdev| netdev.has_addr(ip))),
        }
    }
}

/// A counted entry of a GID table.
///
/// # Invariants
///
/// The value owns one reference on `attr`.
pub(crate) struct GidEntry {
    attr: NonNull<ffi::ib_gid_attr>,
    /// Keeps the device's removal waiting, where nothing else of the owner does.
    _device: Option<DeviceRef>,
}

// SAFETY: Entries are shared between all threads; they do not change while referenced.
unsafe impl Send for GidEntry {}
// SAFETY: As above.
unsafe impl Sync for GidEntry {}

impl GidEntry {
    /// Takes a reference. `None` for a null pointer. The caller sees to it that the device stays.
    ///
    /// # Safety
    ///
    /// `attr` is null or an entry on which somebody has a reference.
    pub(super) unsafe fn from_raw(attr: *const ffi::ib_gid_attr) -> Option<Self> {
        let attr = NonNull::new(attr.cast_mut())?;
        // SAFETY: By this function's requirements.
        unsafe { ffi::rdma_hold_gid_attr(attr.as_ptr()) };
        // INVARIANT: Taken above.
        Some(Self {
            attr,
            _device: None,
        })
    }

    fn raw(&self) -> &ffi::ib_gid_attr {
        // SAFETY: Valid by the type invariant; apart from `ndev`, which is not read here, the entry
        // does not change.
        unsafe { self.attr.as_ref() }
    }

    /// The raw entry, valid while `self` is.
    pub(super) fn as_raw(&self) -> *const ffi::ib_gid_attr {
        self.attr.as_ptr()
    }

    /// The GID.
    pub(crate) fn gid(&self) -> [u8; 16] {
        // SAFETY: All members of the union are plain bytes.
        unsafe { self.raw().gid.raw }
    }

    /// Whether it is for RoCE version 2.
    pub(crate) fn is_roce_v2(&self) -> bool {
        self.raw().gid_type == ffi::ib_gid_type_IB_GID_TYPE_ROCE_UDP_ENCAP
    }
}

impl Drop for GidEntry {
    fn drop(&mut self) {
        // SAFETY: By the type invariant the reference is ours to give back.
        unsafe { ffi::rdma_put_gid_attr(self.attr.as_ptr()) };
    }
}
