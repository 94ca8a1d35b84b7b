// SPDX-License-Identifier: GPL-2.0

//! The endpoint table, against a model that keeps plain lists.

#![cfg(not(loom))]

use ndk_state::endpoint::*;
use ndk_state::status::Status;
use proptest::prelude::*;
use std::collections::{BTreeMap, HashSet};

#[derive(Default)]
struct Map(BTreeMap<Key, Entry>);

/// Memory for one node; counts itself away when it is used.
struct Node;

impl Table for Map {
    type Memory = Node;

    fn get(&self, key: &Key) -> Option<Entry> {
        self.0.get(key).copied()
    }

    fn set(&mut self, key: &Key, entry: Entry) {
        *self.0.get_mut(key).expect("only what is there is set") = entry;
    }

    fn insert(&mut self, Node: Node, key: Key, entry: Entry) {
        assert_eq!(self.0.insert(key, entry), None, "put in twice");
    }

    fn remove(&mut self, key: &Key) {
        assert!(
            self.0.remove(key).is_some(),
            "only what is there is removed"
        );
    }
}

const fn v4(last: u8, port: u16) -> Address {
    Address {
        ip: Ip::V4([10, 0, 0, last]),
        port,
    }
}

const fn v6(last: u8, scope: u32, port: u16) -> Address {
    let mut bytes = [0; 16];
    bytes[0] = 0xfe;
    bytes[15] = last;
    Address {
        ip: Ip::V6(bytes, scope),
        port,
    }
}

const LOCAL: Address = v4(1, 5445);
const REMOTE: Address = v4(2, 445);
const OTHER: Address = v4(3, 445);

/// Proves: 4.1-listener, 4.1-connector, 5.3-IDLE-connect-shared-address, 5.6-CREATED-listen-busy,
/// 5.7-create-busy
// Bug: B12
#[test]
fn a_local_address_has_one_user() {
    type Taker = fn(&mut Map) -> Result<Address, Status>;
    let takers: [Taker; 3] = [
        |map| listen(map, Node, LOCAL, 0),
        |map| share(map, Node, LOCAL, 0),
        |map| connect(map, [Node, Node], LOCAL, REMOTE, 0),
    ];
    for first in takers {
        for second in takers {
            let mut map = Map::default();
            assert_eq!(first(&mut map), Ok(LOCAL));
            let refused = second(&mut map).unwrap_err();
            assert!(matches!(
                refused,
                Status::SharingViolation | Status::AddressAlreadyExists
            ));
            // Another address or port is not concerned.
            assert!(listen(&mut map, Node, v4(1, 5446), 0).is_ok());
            assert!(listen(&mut map, Node, v4(9, 5445), 0).is_ok());
            assert!(listen(&mut map, Node, v6(1, 2, 5445), 0).is_ok());
        }
    }
}

/// Proves: 5.3-IDLE-connect-same-tuple
#[test]
fn the_same_connection_is_named_before_the_sharing_violation() {
    let mut map = Map::default();
    assert!(connect(&mut map, [Node, Node], LOCAL, REMOTE, 0).is_ok());
    assert_eq!(
        connect(&mut map, [Node, Node], LOCAL, REMOTE, 0),
        Err(Status::AddressAlreadyExists)
    );
    assert_eq!(
        connect(&mut map, [Node, Node], LOCAL, OTHER, 0),
        Err(Status::SharingViolation)
    );
    // Over a listener's endpoint too.
    let mut map = Map::default();
    assert!(listen(&mut map, Node, LOCAL, 0).is_ok());
    assert!(join(&mut map, Node, LOCAL, REMOTE).is_ok());
    assert_eq!(
        connect(&mut map, [Node, Node], LOCAL, REMOTE, 0),
        Err(Status::AddressAlreadyExists)
    );
}

/// Proves: 4.1-listener, 4.2-listener-closed
#[test]
fn a_listener_keeps_its_address_until_its_connectors_are_closed() {
    for kind in [listen::<Map>, share::<Map>] {
        let mut map = Map::default();
        assert!(kind(&mut map, Node, LOCAL, 0).is_ok());
        assert!(join(&mut map, Node, LOCAL, REMOTE).is_ok());
        assert!(join(&mut map, Node, LOCAL, OTHER).is_ok());
        assert_eq!(release_owner(&mut map, LOCAL), Freed::No);
        let taken = listen(&mut map, Node, LOCAL, 0);
        assert_eq!(taken, Err(Status::SharingViolation));
        assert_eq!(release(&mut map, LOCAL, REMOTE), Freed::No);
        assert_eq!(release(&mut map, LOCAL, OTHER), Freed::Yes);
        assert!(map.0.is_empty());

        // The other way round.
        assert!(kind(&mut map, Node, LOCAL, 0).is_ok());
        assert!(join(&mut map, Node, LOCAL, REMOTE).is_ok());
        assert_eq!(release(&mut map, LOCAL, REMOTE), Freed::No);
        assert_eq!(release_owner(&mut map, LOCAL), Freed::Yes);
        assert!(map.0.is_empty());
    }
}

/// Proves: 4.1-connector, 4.1-until-closed
#[test]
fn a_private_endpoint_goes_with_its_connector() {
    let mut map = Map::default();
    assert!(connect(&mut map, [Node, Node], LOCAL, REMOTE, 0).is_ok());
    assert_eq!(release(&mut map, LOCAL, REMOTE), Freed::Yes);
    assert!(map.0.is_empty());
}

#[test]
fn joining_needs_an_endpoint_that_can_be_joined() {
    let mut map = Map::default();
    let refused = Err(Status::InvalidDeviceState);
    assert_eq!(join(&mut map, Node, LOCAL, REMOTE), refused, "none");
    connect(&mut map, [Node, Node], LOCAL, REMOTE, 0).unwrap();
    assert_eq!(join(&mut map, Node, LOCAL, OTHER), refused, "private");
    let mut map = Map::default();
    share(&mut map, Node, LOCAL, 0).unwrap();
    join(&mut map, Node, LOCAL, REMOTE).unwrap();
    assert_eq!(
        join(&mut map, Node, LOCAL, REMOTE),
        Err(Status::AddressAlreadyExists)
    );
    assert_eq!(release_owner(&mut map, LOCAL), Freed::No);
    assert_eq!(join(&mut map, Node, LOCAL, OTHER), refused, "closed");
    // A connector that was delivered before its listener closed can be accepted.
    let mut map = Map::default();
    listen(&mut map, Node, LOCAL, 0).unwrap();
    join(&mut map, Node, LOCAL, REMOTE).unwrap();
    assert_eq!(release_owner(&mut map, LOCAL), Freed::No);
    assert!(join(&mut map, Node, LOCAL, OTHER).is_ok());
}

#[test]
fn malformed_addresses_are_refused() {
    let mut map = Map::default();
    for wildcard in [
        Address {
            ip: Ip::V4([0; 4]),
            port: 1,
        },
        Address {
            ip: Ip::V6([0; 16], 0),
            port: 1,
        },
    ] {
        let refused = listen(&mut map, Node, wildcard, 0);
        assert_eq!(refused, Err(Status::InvalidAddress));
        let refused = connect(&mut map, [Node, Node], LOCAL, wildcard, 0);
        assert_eq!(refused, Err(Status::InvalidParameter));
    }
    for remote in [v4(2, 0), v6(2, 0, 445)] {
        let refused = connect(&mut map, [Node, Node], LOCAL, remote, 0);
        assert_eq!(refused, Err(Status::InvalidParameter));
    }
    assert!(map.0.is_empty());
}

/// Proves: 4.3-ports, 4.3-exhausted, 5.3-IDLE-connect-no-port, 5.6-CREATED-listen-no-port,
/// 5.7-create-no-port
#[test]
fn port_0_picks_every_port_of_the_range_and_then_none() {
    let any = v4(1, 0);
    let mut map = Map::default();
    // Taken by somebody, on the same and on another address.
    listen(&mut map, Node, v4(1, 60000), 0).unwrap();
    listen(&mut map, Node, v4(2, 60001), 0).unwrap();
    let mut ports = HashSet::from([60000]);
    for count in 1..16384u32 {
        let seed = (count.wrapping_mul(40503) >> 3) as u16;
        let got = share(&mut map, Node, any, seed).unwrap();
        assert_eq!(got.ip, any.ip);
        assert!(got.port >= FIRST_PORT);
        assert!(ports.insert(got.port));
    }
    assert_eq!(ports.len(), 16384);
    let none = Err(Status::TooManyAddresses);
    assert_eq!(listen(&mut map, Node, any, 7), none);
    assert_eq!(connect(&mut map, [Node, Node], any, REMOTE, 7), none);
    assert!(listen(&mut map, Node, v6(1, 0, 0), 7).is_ok());
    assert_eq!(release_owner(&mut map, v4(1, 50000)), Freed::Yes);
    assert_eq!(listen(&mut map, Node, any, 7), Ok(v4(1, 50000)));
}

#[test]
fn the_seed_says_where_the_search_begins() {
    let start = |seed| {
        let mut map = Map::default();
        listen(&mut map, Node, v4(1, 0), seed).unwrap().port
    };
    assert_eq!(start(0), FIRST_PORT);
    assert_eq!(start(16383), LAST_PORT);
    assert_eq!(start(16384), FIRST_PORT);
    assert_eq!(start(u16::MAX), LAST_PORT);
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Listen(Address),
    Share(Address),
    Connect(Address, Address),
    Join(Address, Address),
    CloseOwner(usize),
    CloseConnector(usize),
}

fn op() -> impl Strategy<Value = Op> {
    let local = || (1..3u8, 1..4u16).prop_map(|(host, port)| v4(host, port));
    let remote = || (5..8u8).prop_map(|host| v4(host, 445));
    prop_oneof![
        1 => local().prop_map(Op::Listen),
        1 => local().prop_map(Op::Share),
        1 => (local(), remote()).prop_map(|(l, r)| Op::Connect(l, r)),
        3 => (local(), remote()).prop_map(|(l, r)| Op::Join(l, r)),
        1 => any::<usize>().prop_map(Op::CloseOwner),
        3 => any::<usize>().prop_map(Op::CloseConnector),
    ]
}

proptest! {
    /// The model: who is open, in plain lists; an address is in use as long as somebody has it.
    /// Proves: 4.1-listener, 4.1-connector, 4.1-shared, 4.2-listener-closed, 4.2-shared-closed
    #[test]
    fn agrees_with_plain_lists(ops in prop::collection::vec(op(), 1..120)) {
        let mut map = Map::default();
        let mut owners: Vec<(Address, Kind)> = Vec::new();
        let mut connectors: Vec<(Address, Address)> = Vec::new();
        for op in ops {
            let in_use = |local: Address| {
                owners.iter().any(|o| o.0 == local) || connectors.iter().any(|c| c.0 == local)
            };
            let exists = |l: Address, r: Address| {
                connectors.contains(&(l, r))
            };
            match op {
                Op::Listen(local) | Op::Share(local) => {
                    let listens = matches!(op, Op::Listen(_));
                    let expected = if in_use(local) {
                        Err(Status::SharingViolation)
                    } else {
                        Ok(local)
                    };
                    let kind = if listens { Kind::Listener } else { Kind::Shared };
                    let got = if listens {
                        listen(&mut map, Node, local, 0)
                    } else {
                        share(&mut map, Node, local, 0)
                    };
                    prop_assert_eq!(got, expected);
                    if got.is_ok() { owners.push((local, kind)); }
                }
                Op::Connect(local, remote) => {
                    let expected = if exists(local, remote) {
                        Err(Status::AddressAlreadyExists)
                    } else if in_use(local) {
                        Err(Status::SharingViolation)
                    } else {
                        Ok(local)
                    };
                    let got = connect(&mut map, [Node, Node], local, remote, 0);
                    prop_assert_eq!(got, expected);
                    if got.is_ok() { connectors.push((local, remote)); }
                }
                Op::Join(local, remote) => {
                    // A listener's endpoint outlives the listener; a shared one is not joined then.
                    let owned = owners.iter().any(|o| o.0 == local);
                    let left = matches!(
                        map.get(&Key { local, remote: None }),
                        Some(Entry::Endpoint { kind: Kind::Listener, .. })
                    );
                    let expected = if !owned && !left {
                        Err(Status::InvalidDeviceState)
                    } else if exists(local, remote) {
                        Err(Status::AddressAlreadyExists)
                    } else {
                        Ok(())
                    };
                    let got = join(&mut map, Node, local, remote);
                    prop_assert_eq!(got, expected);
                    if got.is_ok() { connectors.push((local, remote)); }
                }
                Op::CloseOwner(which) => {
                    if owners.is_empty() { continue; }
                    let (local, _) = owners.swap_remove(which % owners.len());
                    let freed = release_owner(&mut map, local) == Freed::Yes;
                    prop_assert_eq!(freed, connectors.iter().all(|c| c.0 != local));
                }
                Op::CloseConnector(which) => {
                    if connectors.is_empty() { continue; }
                    let (local, remote) = connectors.swap_remove(which % connectors.len());
                    let freed = release(&mut map, local, remote) == Freed::Yes;
                    let used = owners.iter().any(|o| o.0 == local)
                        || connectors.iter().any(|c| c.0 == local);
                    prop_assert_eq!(freed, !used);
                }
            }
            // Nothing is left behind, nothing is forgotten.
            let addresses: HashSet<_> = owners
                .iter()
                .map(|o| o.0)
                .chain(connectors.iter().map(|c| c.0))
                .collect();
            prop_assert_eq!(map.0.len(), addresses.len() + connectors.len());
        }
    }
}
