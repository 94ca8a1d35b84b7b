// SPDX-License-Identifier: GPL-2.0

//! The endpoint table: two addresses, two peers, and whatever they are used for, in every order.

use super::explore::{explore, World, TO_THE_END};
use ndk_state::endpoint::*;
use ndk_state::status::Status;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Default)]
struct Map(BTreeMap<Key, Entry>);

impl Table for Map {
    type Memory = ();

    fn get(&self, key: &Key) -> Option<Entry> {
        self.0.get(key).copied()
    }

    fn set(&mut self, key: &Key, entry: Entry) {
        assert!(
            self.0.insert(*key, entry).is_some(),
            "only what is there is set"
        );
    }

    fn insert(&mut self, (): (), key: Key, entry: Entry) {
        assert_eq!(self.0.insert(key, entry), None, "put in twice");
    }

    fn remove(&mut self, key: &Key) {
        assert!(
            self.0.remove(key).is_some(),
            "only what is there is removed"
        );
    }
}

const fn at(host: u8, port: u16) -> Address {
    Address {
        ip: Ip::V4([10, 0, 0, host]),
        port,
    }
}

const LOCALS: [Address; 2] = [at(1, 5445), at(1, 5446)];
const REMOTES: [Address; 2] = [at(2, 445), at(3, 445)];

#[derive(Clone, Copy, Debug)]
enum Input {
    Listen(Address),
    Share(Address),
    Connect(Address, Address),
    Join(Address, Address),
    CloseOwner(Address),
    CloseConnector(Address, Address),
}

fn inputs() -> Vec<Input> {
    let mut all = Vec::new();
    for local in LOCALS {
        all.extend([
            Input::Listen(local),
            Input::Share(local),
            Input::CloseOwner(local),
        ]);
        for remote in REMOTES {
            all.extend([
                Input::Connect(local, remote),
                Input::Join(local, remote),
                Input::CloseConnector(local, remote),
            ]);
        }
    }
    all
}

/// The table, and who is open in plain lists.
#[derive(Default)]
struct Addresses {
    table: Map,
    /// Listeners and shared endpoints that are open.
    owners: BTreeMap<Address, bool>,
    /// Connectors that are not closed.
    connectors: BTreeSet<(Address, Address)>,
    /// Addresses that belong, or belonged, to a listener.
    listened: BTreeSet<Address>,
}

impl Addresses {
    fn is_used(&self, local: Address) -> bool {
        self.owners.contains_key(&local) || self.connectors.iter().any(|pair| pair.0 == local)
    }

    fn own(&mut self, local: Address, listens: bool) {
        let expected = if self.is_used(local) {
            Err(Status::SharingViolation)
        } else {
            Ok(local)
        };
        let take = if listens { listen::<Map> } else { share::<Map> };
        assert_eq!(take(&mut self.table, (), local, 0), expected);
        if expected.is_ok() {
            self.owners.insert(local, listens);
            if listens {
                self.listened.insert(local);
            }
        }
    }

    fn connect(&mut self, local: Address, remote: Address) {
        let expected = if self.connectors.contains(&(local, remote)) {
            Err(Status::AddressAlreadyExists)
        } else if self.is_used(local) {
            Err(Status::SharingViolation)
        } else {
            Ok(local)
        };
        assert_eq!(
            connect(&mut self.table, [(), ()], local, remote, 0),
            expected
        );
        if expected.is_ok() {
            self.connectors.insert((local, remote));
        }
    }

    fn join(&mut self, local: Address, remote: Address) {
        // Over a listener's address also when the listener is closed, over a shared one only while that is open.
        let expected = if !self.owners.contains_key(&local) && !self.listened.contains(&local) {
            Err(Status::InvalidDeviceState)
        } else if self.connectors.contains(&(local, remote)) {
            Err(Status::AddressAlreadyExists)
        } else {
            Ok(())
        };
        assert_eq!(join(&mut self.table, (), local, remote), expected);
        if expected.is_ok() {
            self.connectors.insert((local, remote));
        }
    }

    /// One user less: the address is free exactly if it was the last.
    fn freed(&mut self, local: Address, freed: Freed) {
        assert_eq!(freed == Freed::Yes, !self.is_used(local));
        if freed == Freed::Yes {
            self.listened.remove(&local);
        }
    }
}

impl World for Addresses {
    type Input = Input;
    type Key = (
        Vec<(Key, Entry)>,
        Vec<(Address, bool)>,
        Vec<(Address, Address)>,
    );

    fn step(&mut self, input: Input) -> bool {
        match input {
            Input::Listen(local) => self.own(local, true),
            Input::Share(local) => self.own(local, false),
            Input::Connect(local, remote) => self.connect(local, remote),
            Input::Join(local, remote) => self.join(local, remote),
            Input::CloseOwner(local) => {
                if self.owners.remove(&local).is_none() {
                    return false;
                }
                let freed = release_owner(&mut self.table, local);
                self.freed(local, freed);
            }
            Input::CloseConnector(local, remote) => {
                if !self.connectors.remove(&(local, remote)) {
                    return false;
                }
                let freed = release(&mut self.table, local, remote);
                self.freed(local, freed);
            }
        }
        // Nothing is left behind, nothing is forgotten.
        let used = LOCALS
            .into_iter()
            .filter(|local| self.is_used(*local))
            .count();
        assert_eq!(self.table.0.len(), used + self.connectors.len());
        true
    }

    fn key(&self) -> Self::Key {
        (
            self.table
                .0
                .iter()
                .map(|(key, entry)| (*key, *entry))
                .collect(),
            self.owners
                .iter()
                .map(|(local, listens)| (*local, *listens))
                .collect(),
            self.connectors.iter().copied().collect(),
        )
    }

    fn end(mut self) {
        for input in inputs() {
            if matches!(input, Input::CloseOwner(_) | Input::CloseConnector(..)) {
                self.step(input);
            }
        }
        assert!(self.table.0.is_empty());
    }
}

/// Proves: 4.1-listener, 4.1-connector, 4.1-shared, 4.2-listener-closed, 4.2-shared-closed
#[test]
fn an_address_is_taken_exactly_as_long_as_somebody_has_it() {
    let walked = explore(Addresses::default, &inputs(), TO_THE_END);
    assert!(walked.all && walked.longest >= 6);
    assert!(walked.worlds > 200, "{}", walked.worlds);
}
