// SPDX-License-Identifier: GPL-2.0

//! The table of the endpoints of one port.
//!
//! # Vocabulary
//!
//! - *Endpoint*: a local address and port that belongs to a listener, to one connector, or to a shared
//!   endpoint (section 4.1).
//! - *Connection*: an endpoint and a remote address and port. No two connections are the same.
//! - *Owner*: the listener or the shared endpoint object, or the connector of a private endpoint.
//!
//! Endpoints and connections stand in one ordered map: a connection has a remote address in its key, an
//! endpoint has none. The map is the caller's ([`Table`]), and so is the memory of its nodes, because a
//! call may come in a context where little can be allocated: memory is allocated first, then the
//! table's lock taken.
//!
//! # Rules (sections 4.1, 4.2, 4.3)
//!
//! - An endpoint in use fails a second user with a sharing violation; a connection that exists fails
//!   with address already exists, which is checked first.
//! - An endpoint is free again when its owner *and* every connector over it are *closed*; disconnected
//!   is not enough.
//! - Port 0 picks a port from [`FIRST_PORT`] to [`LAST_PORT`].

use super::status::Status;

/// First port that is picked for port 0.
pub const FIRST_PORT: u16 = 49152;
/// Last port that is picked for port 0.
pub const LAST_PORT: u16 = 65535;
/// How many ports there are to pick from.
const PORTS: u16 = LAST_PORT - FIRST_PORT + 1;

/// An IP address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ip {
    /// IPv4, in network order.
    V4([u8; 4]),
    /// IPv6, in network order, with its scope.
    V6([u8; 16], u32),
}

impl Ip {
    /// Whether it is the wildcard, which no endpoint may have: an endpoint never spans adapters.
    pub fn is_unspecified(&self) -> bool {
        match self {
            Ip::V4(bytes) => bytes.iter().all(|byte| *byte == 0),
            Ip::V6(bytes, _) => bytes.iter().all(|byte| *byte == 0),
        }
    }

    fn same_family(&self, other: &Ip) -> bool {
        matches!(
            (self, other),
            (Ip::V4(_), Ip::V4(_)) | (Ip::V6(..), Ip::V6(..))
        )
    }
}

/// An IP address and a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// The IP address.
    pub ip: Ip,
    /// The port, in host order; 0 asks for any.
    pub port: u16,
}

/// Key of the table: an endpoint, or a connection over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The local address and port.
    pub local: Address,
    /// The remote address and port of a connection.
    pub remote: Option<Address>,
}

/// Whose an endpoint is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Implicit, of a listener.
    Listener,
    /// Implicit, of one connector.
    Connector,
    /// Explicit, of a shared endpoint object.
    Shared,
}

/// Value of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Entry {
    /// An endpoint with its references.
    Endpoint {
        /// Whose it is.
        kind: Kind,
        /// Whether the owner is still there.
        owned: bool,
        /// Connectors over it that are not closed.
        connectors: u32,
    },
    /// A connection.
    Connection,
}

/// The ordered map below the functions of this module.
pub trait Table {
    /// Memory for one node, allocated by the caller beforehand.
    type Memory;

    /// The entry of `key`.
    fn get(&self, key: &Key) -> Option<Entry>;

    /// Replaces the entry of `key`, which is in the table.
    fn set(&mut self, key: &Key, entry: Entry);

    /// Puts in `key`, which is not in the table.
    fn insert(&mut self, memory: Self::Memory, key: Key, entry: Entry);

    /// Takes out `key`.
    fn remove(&mut self, key: &Key);
}

/// Whether an endpoint is free after a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freed {
    /// Nobody uses the address any more: it is out of the table.
    Yes,
    /// Somebody does.
    No,
}

/// Reserves an endpoint for a listener. Returns its address with the port that was picked.
///
/// `seed` is any random number; it says where the search for a free port begins.
pub fn listen<T: Table>(
    table: &mut T,
    memory: T::Memory,
    local: Address,
    seed: u16,
) -> Result<Address, Status> {
    own(table, memory, local, seed, Kind::Listener)
}

/// Reserves an endpoint for a shared endpoint object. Returns its address with the port that was
/// picked.
pub fn share<T: Table>(
    table: &mut T,
    memory: T::Memory,
    local: Address,
    seed: u16,
) -> Result<Address, Status> {
    own(table, memory, local, seed, Kind::Shared)
}

/// Reserves an endpoint of its own and a connection for a connector. Returns its address with the port
/// that was picked.
pub fn connect<T: Table>(
    table: &mut T,
    memory: [T::Memory; 2],
    local: Address,
    remote: Address,
    seed: u16,
) -> Result<Address, Status> {
    check_remote(&local, &remote)?;
    if table.get(&connection(local, remote)).is_some() {
        return Err(Status::AddressAlreadyExists);
    }
    let [endpoint_memory, connection_memory] = memory;
    let local = own(table, endpoint_memory, local, seed, Kind::Connector)?;
    table.insert(
        connection_memory,
        connection(local, remote),
        Entry::Connection,
    );
    Ok(local)
}

/// Reserves a connection over the shared endpoint `local`, or over the listener's endpoint that
/// delivered the connector.
pub fn join<T: Table>(
    table: &mut T,
    memory: T::Memory,
    local: Address,
    remote: Address,
) -> Result<(), Status> {
    check_remote(&local, &remote)?;
    let (kind, owned, connectors) = match table.get(&endpoint(local)) {
        // A private endpoint carries its own connection only.
        Some(Entry::Endpoint {
            kind: Kind::Connector,
            ..
        })
        | Some(Entry::Connection)
        | None => return Err(Status::InvalidDeviceState),
        // The consumer of a closed shared endpoint has promised not to connect over it (section 5.7).
        Some(Entry::Endpoint {
            kind: Kind::Shared,
            owned: false,
            ..
        }) => return Err(Status::InvalidDeviceState),
        Some(Entry::Endpoint {
            kind,
            owned,
            connectors,
        }) => (kind, owned, connectors),
    };
    if table.get(&connection(local, remote)).is_some() {
        return Err(Status::AddressAlreadyExists);
    }
    let connectors = connectors
        .checked_add(1)
        .ok_or(Status::InsufficientResources)?;
    table.set(
        &endpoint(local),
        Entry::Endpoint {
            kind,
            owned,
            connectors,
        },
    );
    table.insert(memory, connection(local, remote), Entry::Connection);
    Ok(())
}

/// The owner is closed: a listener, or a shared endpoint object.
pub fn release_owner<T: Table>(table: &mut T, local: Address) -> Freed {
    let key = endpoint(local);
    match table.get(&key) {
        Some(Entry::Endpoint {
            kind: kind @ (Kind::Listener | Kind::Shared),
            owned: true,
            connectors,
        }) => {
            if connectors == 0 {
                table.remove(&key);
                return Freed::Yes;
            }
            table.set(
                &key,
                Entry::Endpoint {
                    kind,
                    owned: false,
                    connectors,
                },
            );
            Freed::No
        }
        _ => {
            debug_assert!(false, "an endpoint was released twice");
            Freed::No
        }
    }
}

/// A connector is closed, or its Connect failed.
pub fn release<T: Table>(table: &mut T, local: Address, remote: Address) -> Freed {
    let connection = connection(local, remote);
    if table.get(&connection).is_none() {
        debug_assert!(false, "a connection was released twice");
        return Freed::No;
    }
    table.remove(&connection);
    let key = endpoint(local);
    match table.get(&key) {
        Some(Entry::Endpoint {
            kind: Kind::Connector,
            ..
        })
        | Some(Entry::Endpoint {
            owned: false,
            connectors: 0 | 1,
            ..
        }) => {
            table.remove(&key);
            Freed::Yes
        }
        Some(Entry::Endpoint {
            kind,
            owned,
            connectors,
        }) => {
            // One of these connectors is the one that is released.
            let connectors = connectors.saturating_sub(1);
            table.set(
                &key,
                Entry::Endpoint {
                    kind,
                    owned,
                    connectors,
                },
            );
            Freed::No
        }
        Some(Entry::Connection) | None => Freed::No,
    }
}

const fn endpoint(local: Address) -> Key {
    Key {
        local,
        remote: None,
    }
}

const fn connection(local: Address, remote: Address) -> Key {
    Key {
        local,
        remote: Some(remote),
    }
}

fn check_remote(local: &Address, remote: &Address) -> Result<(), Status> {
    if remote.port == 0 || remote.ip.is_unspecified() || !remote.ip.same_family(&local.ip) {
        return Err(Status::InvalidParameter);
    }
    Ok(())
}

fn own<T: Table>(
    table: &mut T,
    memory: T::Memory,
    local: Address,
    seed: u16,
    kind: Kind,
) -> Result<Address, Status> {
    if local.ip.is_unspecified() {
        return Err(Status::InvalidAddress);
    }
    let local = if local.port == 0 {
        pick(table, local.ip, seed).ok_or(Status::TooManyAddresses)?
    } else if table.get(&endpoint(local)).is_some() {
        return Err(Status::SharingViolation);
    } else {
        local
    };
    let entry = Entry::Endpoint {
        kind,
        owned: true,
        connectors: 0,
    };
    table.insert(memory, endpoint(local), entry);
    Ok(local)
}

/// The first free port at or after a random one, around the range once.
fn pick<T: Table>(table: &T, ip: Ip, seed: u16) -> Option<Address> {
    let start = seed % PORTS;
    (0..PORTS)
        .map(|step| {
            // `PORTS` divides the range of `u16`, so the wrap does not skip a port.
            let offset = start.wrapping_add(step) % PORTS;
            Address {
                ip,
                port: FIRST_PORT.wrapping_add(offset),
            }
        })
        .find(|local| table.get(&endpoint(*local)).is_none())
}
