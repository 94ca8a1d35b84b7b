// SPDX-License-Identifier: GPL-2.0

//! Deferred requests: every run of a consumer, a device that refuses and a provider that pushes.

#![cfg(not(loom))]

#[path = "common/explore.rs"]
mod explore;

use explore::{explore, World, TO_THE_END};
use ndk_state::chain::*;

const ROOM: u32 = 3;

/// Parts of requests; the request of a part is its number.
#[derive(Clone, Default)]
struct Model {
    waiting: Vec<u32>,
    device: Vec<u32>,
    orphans: Vec<u32>,
    accepted: Vec<u32>,
    failed: Vec<u32>,
    next: u32,
    over: bool,
    doorbells: u32,
}

impl Model {
    /// Gives a list to a device that takes at most `takes` parts.
    fn ring(&mut self, request: Option<(u32, u32)>, takes: u32) {
        let waiting = self.waiting.len() as u32;
        let parts = request.map_or(0, |(_, parts)| parts);
        let list: Vec<u32> = self
            .waiting
            .drain(..)
            .chain(
                request
                    .iter()
                    .flat_map(|(number, parts)| vec![*number; *parts as usize]),
            )
            .collect();
        let taken = takes.min(list.len() as u32);
        self.doorbells += 1;
        self.device.extend(&list[..taken as usize]);
        let fail = |model: &mut Self| model.failed.extend(request.map(|(number, _)| number));
        let accept = |model: &mut Self| model.accepted.extend(request.map(|(number, _)| number));
        match rung(waiting, parts, taken) {
            Rung::All => accept(self),
            Rung::Refused => fail(self),
            Rung::Orphaned {
                waiting: left,
                begun,
            } => {
                let from = (waiting - left) as usize;
                self.orphans
                    .extend(&list[from.min(list.len())..waiting as usize]);
                if begun {
                    self.orphans.extend(&list[taken as usize..]);
                    accept(self);
                } else {
                    fail(self);
                }
                self.over = true;
            }
        }
    }

    fn post(&mut self, parts: u32, defer: bool, takes: u32) {
        let number = self.next;
        self.next += 1;
        match step(self.waiting.len() as u32, ROOM, parts, defer) {
            Step::Keep => {
                assert!(defer);
                self.waiting.extend(vec![number; parts as usize]);
                self.accepted.push(number);
            }
            Step::Post => {
                assert!(self.waiting.is_empty() && parts == 1);
                self.ring(Some((number, parts)), takes);
            }
            Step::Ring => self.ring(Some((number, parts)), takes),
        }
        if self.failed.last() == Some(&number) {
            self.push(takes);
        } else {
            // Absent failures, a request without the flag ends the chain.
            assert!(defer || self.waiting.is_empty());
        }
        assert!(self.waiting.len() as u32 <= ROOM);
    }

    /// A post that failed by itself, a flush, a disconnect, a close.
    fn push(&mut self, takes: u32) {
        if !self.waiting.is_empty() {
            self.ring(None, takes);
        }
        assert!(self.waiting.is_empty());
    }

    /// Whether each accepted request is with the device or among the orphans, in order, and no failed one is.
    fn check(&self) {
        let mut seen: Vec<u32> = [&self.device[..], &self.orphans, &self.waiting].concat();
        assert!(seen.is_sorted(), "{seen:?}");
        seen.dedup();
        assert_eq!(seen, self.accepted);
        assert!(self.failed.iter().all(|number| !seen.contains(number)));
        assert_eq!(self.over, !self.orphans.is_empty());
    }
}

#[derive(Clone, Copy, Debug)]
enum Input {
    /// A request of so many parts; the device takes at most `takes` of what it is given.
    Post {
        parts: u32,
        defer: bool,
        takes: u32,
    },
    Push {
        takes: u32,
    },
}

/// What a device takes that refuses early, in the midst of a request, or nothing at all.
const TAKES: [u32; 5] = [u32::MAX, 0, 1, 2, 3];

fn inputs(takes: &[u32]) -> Vec<Input> {
    let mut all = Vec::new();
    for takes in takes.iter().copied() {
        for (parts, defer) in [(1, false), (1, true), (2, false), (2, true)] {
            all.push(Input::Post {
                parts,
                defer,
                takes,
            });
        }
        all.push(Input::Push { takes });
    }
    all
}

impl World for Model {
    type Input = Input;
    /// What waits; what was before is settled.
    type Key = (Vec<u32>, bool);

    fn step(&mut self, input: Input) -> bool {
        match input {
            _ if self.over => return false,
            Input::Post {
                parts,
                defer,
                takes,
            } => self.post(parts, defer, takes),
            Input::Push { takes } => self.push(takes),
        }
        self.check();
        true
    }

    fn key(&self) -> Self::Key {
        let first = self.waiting.first().copied().unwrap_or(0);
        let waiting = self.waiting.iter().map(|number| number - first);
        (waiting.collect(), self.over)
    }

    /// When the end comes, what waits is given away as well.
    fn end(mut self) {
        if !self.over {
            self.push(u32::MAX);
            self.check();
            assert!(self.orphans.is_empty());
        }
    }
}

// Proves: 7.5-hint, 7.5-push-on-failure, 7.5-push-on-end
#[test]
fn every_accepted_request_ends_once_and_no_failed_one_does() {
    let walked = explore(Model::default, &inputs(&TAKES), TO_THE_END);
    assert!(walked.all);
    // Nothing; one or two parts of one or two requests; three of three or of two, in two orders; the end.
    assert_eq!(walked.worlds, 8);
}

#[test]
fn a_device_that_takes_all_orphans_nothing() {
    let walked = explore(Model::default, &inputs(&TAKES[..1]), TO_THE_END);
    assert!(walked.all);
    assert_eq!(walked.worlds, 7);
}

// Proves: 7.5-push-on-undeferred
#[test]
fn a_chain_has_one_doorbell() {
    for length in 0..=ROOM {
        let mut model = Model::default();
        for _ in 0..length {
            model.post(1, true, u32::MAX);
        }
        assert_eq!(model.doorbells, 0);
        model.post(1, false, u32::MAX);
        assert_eq!(model.doorbells, 1);
        assert_eq!(model.device.len() as u32, length + 1);
    }
}

#[test]
fn no_room_rings_and_nothing_else_does() {
    assert_eq!(step(0, 0, 1, true), Step::Post);
    assert_eq!(step(0, 0, 2, true), Step::Ring);
    assert_eq!(step(0, 1, 2, true), Step::Ring);
    assert_eq!(step(0, 1, 1, true), Step::Keep);
    assert_eq!(step(2, 3, 1, true), Step::Keep);
    assert_eq!(step(2, 3, 2, true), Step::Ring);
    assert_eq!(step(3, 3, 1, true), Step::Ring);
    assert_eq!(step(u32::MAX, 3, 1, true), Step::Ring);
    assert_eq!(step(0, 3, 1, false), Step::Post);
    assert_eq!(step(0, 3, 2, false), Step::Ring);
    assert_eq!(step(1, 3, 1, false), Step::Ring);
}

#[test]
fn what_the_device_took_decides() {
    assert_eq!(rung(2, 1, 3), Rung::All);
    assert_eq!(rung(2, 0, 2), Rung::All);
    assert_eq!(rung(2, 1, 2), Rung::Refused);
    assert_eq!(rung(0, 1, 0), Rung::Refused);
    let orphaned = |waiting, begun| Rung::Orphaned { waiting, begun };
    assert_eq!(rung(2, 1, 1), orphaned(1, false));
    assert_eq!(rung(2, 0, 0), orphaned(2, false));
    assert_eq!(rung(2, 2, 3), orphaned(0, true));
    assert_eq!(rung(0, 2, 1), orphaned(0, true));
}
