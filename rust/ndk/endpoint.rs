// SPDX-License-Identifier: GPL-2.0

//! The local addresses in use on a port.
//!
//! Two consumers that want the same local address and port collide here and not in rdma_cm, which lets several ids share a
//! port where they agree to, and forgets a listener's port as soon as the listening id goes. Here an address stays taken
//! until its owner and every connector over it are closed (NDKPI: endpoints). The decisions are `state/endpoint.rs`.
//!
//! Users of rdma_cm outside of ndk are not in the table: [`Endpoint::bind`] finds out about them. Only where an address is
//! meant to be shared does it let others in, and not before nobody else has it.

use crate::{
    adapter::Port,
    ctx::MaySleep,
    state::{
        endpoint::{
            self as state,
            Address,
            Entry,
            Ip,
            Key,
            Kind,
            FIRST_PORT,
            LAST_PORT, //
        },
        status::Status, //
    },
    status::{
        self,
        Result, //
    },
    sync::{
        new_irq_spinlock,
        IrqSpinLock, //
    },
    trace,
    verbs::{
        addr::{
            IpAddr,
            SocketAddr, //
        },
        cm_id::CmId,
        net, //
    },
};
use kernel::{
    alloc::Flags,
    error::code,
    fmt,
    prelude::*,
    rbtree::{
        RBTree,
        RBTreeNodeReservation, //
    },
    sync::Arc,
};

/// How many ports there are to choose from.
const PORTS: u32 = LAST_PORT as u32 - FIRST_PORT as u32 + 1;

/// How often rdma_cm may answer "not available" for one chosen port after the other before it is the address that is meant,
/// not a wildcard listener of somebody else on just these ports.
const NOT_AVAILABLE: u32 = 16;

/// What the table needs for each entry.
type Memory = RBTreeNodeReservation<Key, Entry>;

/// The ordered map below the decisions.
struct Map(RBTree<Key, Entry>);

impl state::Table for Map {
    type Memory = Memory;

    fn get(&self, key: &Key) -> Option<Entry> {
        self.0.get(key).copied()
    }

    fn set(&mut self, key: &Key, entry: Entry) {
        if let Some(slot) = self.0.get_mut(key) {
            *slot = entry;
        }
    }

    fn insert(&mut self, memory: Memory, key: Key, entry: Entry) {
        self.0.insert(memory.into_node(key, entry));
    }

    fn remove(&mut self, key: &Key) {
        self.0.remove(key);
    }
}

/// The table of one port.
#[pin_data]
pub(crate) struct Table {
    #[pin]
    map: IrqSpinLock<Map>,
}

impl Table {
    /// An empty table.
    pub(crate) fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            map <- new_irq_spinlock!(Map(RBTree::new())),
        })
    }

    /// Takes `local` for a listener; port 0 has one chosen. Any context that `flags` allows.
    ///
    /// # Errors
    ///
    /// `SharingViolation`, `InvalidAddress` for the wildcard, `TooManyAddresses`, `InsufficientResources`.
    pub(crate) fn listen(self: &Arc<Self>, local: SocketAddr, flags: Flags) -> Result<Endpoint> {
        self.listen_from(local, net::random_u16(), flags)
    }

    fn listen_from(
        self: &Arc<Self>,
        local: SocketAddr,
        seed: u16,
        flags: Flags,
    ) -> Result<Endpoint> {
        let memory = Memory::new(flags)?;
        let taken = state::listen(&mut *self.map.lock(), memory, address(&local), seed)?;
        Ok(self.endpoint(local, taken, User::Listener))
    }

    /// Takes `local` for a shared endpoint; port 0 has one chosen. Any context that `flags` allows.
    ///
    /// # Errors
    ///
    /// As for [`Self::listen`].
    pub(crate) fn share(self: &Arc<Self>, local: SocketAddr, flags: Flags) -> Result<Endpoint> {
        self.share_from(local, net::random_u16(), flags)
    }

    fn share_from(
        self: &Arc<Self>,
        local: SocketAddr,
        seed: u16,
        flags: Flags,
    ) -> Result<Endpoint> {
        let memory = Memory::new(flags)?;
        let taken = state::share(&mut *self.map.lock(), memory, address(&local), seed)?;
        Ok(self.endpoint(local, taken, User::Shared))
    }

    /// Takes `local` for a connection to `peer`; port 0 has one chosen. Any context that `flags` allows.
    ///
    /// # Errors
    ///
    /// As for [`Self::listen`]; `AddressAlreadyExists` where just this connection exists, and `InvalidParameter` for a
    /// `peer` that is none.
    pub(crate) fn connect(
        self: &Arc<Self>,
        local: SocketAddr,
        peer: SocketAddr,
        flags: Flags,
    ) -> Result<Endpoint> {
        self.connect_from(local, peer, net::random_u16(), flags)
    }

    fn connect_from(
        self: &Arc<Self>,
        local: SocketAddr,
        peer: SocketAddr,
        seed: u16,
        flags: Flags,
    ) -> Result<Endpoint> {
        let memory = [Memory::new(flags)?, Memory::new(flags)?];
        let taken = state::connect(
            &mut *self.map.lock(),
            memory,
            address(&local),
            address(&peer),
            seed,
        )?;
        Ok(self.endpoint(local, taken, User::Connection(peer)))
    }

    /// Takes one more connection over the endpoint `local` of a listener or of a shared endpoint. Any context that `flags`
    /// allows.
    ///
    /// # Errors
    ///
    /// `AddressAlreadyExists` where just this connection exists, `InvalidParameter` for a `peer` that is none,
    /// `InvalidDeviceState` where there is no such endpoint, `InsufficientResources`.
    pub(crate) fn join(
        self: &Arc<Self>,
        local: SocketAddr,
        peer: SocketAddr,
        flags: Flags,
    ) -> Result<Endpoint> {
        let memory = Memory::new(flags)?;
        state::join(
            &mut *self.map.lock(),
            memory,
            address(&local),
            address(&peer),
        )?;
        Ok(self.endpoint(local, address(&local), User::Joined(peer)))
    }

    /// The first address that is taken after `key`, with its own key.
    fn next(&self, key: Option<Key>) -> Option<(Key, Listing)> {
        let map = self.map.lock();
        let mut cursor = match &key {
            None => map.0.cursor_front()?,
            Some(key) => map.0.cursor_lower_bound(key)?,
        };
        loop {
            let (at, entry) = cursor.current();
            if let Entry::Endpoint {
                kind,
                owned,
                connectors,
            } = *entry
            {
                if key != Some(*at) {
                    let listing = Listing {
                        local: socket_address(&at.local),
                        kind,
                        owned,
                        connectors,
                    };
                    return Some((*at, listing));
                }
            }
            let (next, _) = cursor.peek_next()?;
            cursor = map.0.cursor_lower_bound(next)?;
        }
    }

    /// The addresses that are taken, one after the other. Those that come and go meanwhile may be among them or not.
    pub(crate) fn each(&self) -> impl Iterator<Item = Listing> + '_ {
        let mut at = None;
        core::iter::from_fn(move || {
            let (key, listing) = self.next(at)?;
            at = Some(key);
            Some(listing)
        })
    }

    fn endpoint(self: &Arc<Self>, wanted: SocketAddr, taken: Address, user: User) -> Endpoint {
        Endpoint {
            table: self.clone(),
            local: wanted.with_port(taken.port),
            user,
            chosen: wanted.port() == 0,
        }
    }
}

/// An address that is taken, for those who look on.
pub(crate) struct Listing {
    /// The address.
    pub(crate) local: SocketAddr,
    kind: Kind,
    owned: bool,
    connectors: u32,
}

impl Listing {
    /// Whether a listener's, where it is the endpoint of an object of its own that is not closed.
    pub(crate) fn offered(&self) -> Option<bool> {
        match self.kind {
            Kind::Listener if self.owned => Some(true),
            Kind::Shared if self.owned => Some(false),
            _ => None,
        }
    }

    /// Writes one line about it.
    pub(crate) fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::Listener => "listener",
            Kind::Shared => "shared",
            Kind::Connector => "connector",
        };
        f.write_fmt(fmt!(
            "local={} type={kind} owner={} connectors={}\n",
            self.local,
            if self.owned { "open" } else { "closed" },
            self.connectors
        ))
    }
}

/// What a local address is used for; a connection has its other end.
#[derive(Clone, Copy)]
enum User {
    Listener,
    Shared,
    /// Over an address of its own.
    Connection(SocketAddr),
    /// Over the address of a listener or of a shared endpoint.
    Joined(SocketAddr),
}

/// A reference on a local address: that of a listener, of a shared endpoint, or of one connection. Dropping it gives it back,
/// in any context.
///
/// # Invariants
///
/// `local`, and the connection that `user` is, stands in `table`.
pub(crate) struct Endpoint {
    table: Arc<Table>,
    local: SocketAddr,
    user: User,
    /// Whether the port was chosen here.
    chosen: bool,
}

impl Endpoint {
    /// The local address, with its port.
    pub(crate) fn local(&self) -> SocketAddr {
        self.local
    }

    /// Binds an id to the endpoint. Where the port was chosen here and somebody outside of ndk has it, another one is tried,
    /// and the endpoint moves there. Sleeps.
    ///
    /// # Errors
    ///
    /// `InvalidAddress` for an address that is not the port's, `SharingViolation`, `TooManyAddresses`, `DeviceRemoved`.
    pub(crate) fn bind(&mut self, id: &CmId, port: &Port, ctx: &MaySleep) -> Result {
        let bound = self.try_bind(id, port, ctx);
        trace::endpoint_bind(&self.local.to_storage(), status::of(bound));
        bound
    }

    fn try_bind(&mut self, id: &CmId, port: &Port, ctx: &MaySleep) -> Result {
        id.set_afonly(ctx, true)?;
        // NDKPI: an address that is not local to the adapter is invalid. rdma_cm would find another device for it.
        if !port.owns_address(&self.local, ctx)? {
            return Err(Status::InvalidAddress);
        }
        // To rdma_cm two ids can have one address where both say so.
        if matches!(self.user, User::Joined(_)) {
            id.allow_sharing(ctx)?;
        }
        self.bind_free(id, ctx)?;
        // Only now: until here somebody else on the address was found out about.
        if matches!(self.user, User::Shared) {
            id.allow_sharing(ctx)?;
        }
        // Two devices can share an interface.
        if !id.is_on(id.device()) || id.port_number() != port.number() {
            return Err(Status::InvalidAddress);
        }
        Ok(())
    }

    /// The part of [`Self::bind`] that looks for a port.
    fn bind_free(&mut self, id: &CmId, ctx: &MaySleep) -> Result {
        let mut not_available = 0;
        for _ in 0..PORTS {
            match id.bind_addr(ctx, &self.local) {
                Ok(()) => return Ok(()),
                // No device has the address any more; ours is still there, or an id could not be bound to it.
                Err(error) if error == code::ENODEV => return Err(Status::InvalidAddress),
                Err(error) if error == code::EADDRINUSE || error == code::EADDRNOTAVAIL => {
                    if !self.chosen {
                        return Err(Status::SharingViolation);
                    }
                    if error == code::EADDRINUSE {
                        not_available = 0;
                    } else if not_available == NOT_AVAILABLE {
                        return Err(Status::InvalidAddress);
                    } else {
                        not_available += 1;
                    }
                    self.advance()?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        // NDKPI: no port is free.
        Err(Status::TooManyAddresses)
    }

    /// Moves to the next port that is free in the table. Sleeps.
    fn advance(&mut self) -> Result {
        let any = self.local.with_port(0);
        let seed = self.local.port().wrapping_sub(FIRST_PORT).wrapping_add(1);
        // This port stays taken until the next one is, so that it is not found again at once.
        *self = match self.user {
            User::Listener => self.table.listen_from(any, seed, GFP_KERNEL),
            User::Shared => self.table.share_from(any, seed, GFP_KERNEL),
            User::Connection(peer) => self.table.connect_from(any, peer, seed, GFP_KERNEL),
            // The address is somebody else's choice.
            User::Joined(_) => Err(Status::SharingViolation),
        }?;
        Ok(())
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        let local = address(&self.local);
        let mut map = self.table.map.lock();
        let _freed = match &self.user {
            User::Listener | User::Shared => state::release_owner(&mut *map, local),
            User::Connection(peer) | User::Joined(peer) => {
                state::release(&mut *map, local, address(peer))
            }
        };
    }
}

/// An address of the table as others have it.
fn socket_address(address: &Address) -> SocketAddr {
    let (ip, scope) = match address.ip {
        Ip::V4(bytes) => (IpAddr::V4(bytes), 0),
        Ip::V6(bytes, scope) => (IpAddr::V6(bytes), scope),
    };
    SocketAddr::new(ip, address.port, scope)
}

/// An address as the table has it.
fn address(address: &SocketAddr) -> Address {
    Address {
        ip: match address.ip() {
            IpAddr::V4(bytes) => Ip::V4(bytes),
            IpAddr::V6(bytes) => Ip::V6(bytes, address.scope()),
        },
        port: address.port(),
    }
}
