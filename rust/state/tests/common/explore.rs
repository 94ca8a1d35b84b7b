// SPDX-License-Identifier: GPL-2.0

//! Walks through everything that can happen to a machine.

// Each test crate uses its part of this.
#![allow(dead_code)]

use std::collections::HashSet;
use std::fmt::Debug;
use std::hash::Hash;

/// Long enough for every walk whose states are finitely many.
pub(crate) const TO_THE_END: usize = 1000;

/// A machine with what surrounds and watches it.
pub(crate) trait World: Sized {
    /// What can happen.
    type Input: Copy + Debug;

    /// What decides what can happen from here on.
    type Key: Eq + Hash;

    /// Lets it happen; panics when the machine does what it must not. `false` if it cannot happen here.
    fn step(&mut self, input: Self::Input) -> bool;

    /// Two worlds with the same key have the same future.
    fn key(&self) -> Self::Key;

    /// What has to hold from here to the end, whenever the end begins.
    fn end(self) {}
}

/// What a walk saw.
pub(crate) struct Walked {
    /// Different worlds.
    pub(crate) worlds: usize,
    /// The longest sequence that led to a new one.
    pub(crate) longest: usize,
    /// Whether longer sequences lead to no other.
    pub(crate) all: bool,
}

/// Prints the way to what failed.
struct Way<'a, I: Debug>(&'a [I], Option<I>);

impl<I: Debug> Drop for Way<'_, I> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("after {:?}, {:?}", self.0, self.1);
        }
    }
}

/// Every sequence of up to `depth` inputs. Sequences that end in the same world are walked on once. Worlds need not be copied:
/// each is made anew, and walked up to where it is.
pub(crate) fn explore<W: World>(new: impl Fn() -> W, inputs: &[W::Input], depth: usize) -> Walked {
    let mut seen = HashSet::from([new().key()]);
    let mut edge: Vec<Vec<W::Input>> = vec![Vec::new()];
    let mut longest = 0;
    while longest < depth {
        let mut next = Vec::new();
        for way in &edge {
            for input in inputs {
                let shown = Way(way, Some(*input));
                let mut world = new();
                for before in way {
                    assert!(world.step(*before), "it goes as it went");
                }
                if world.step(*input) && seen.insert(world.key()) {
                    world.end();
                    next.push([&way[..], &[*input]].concat());
                }
                drop(shown);
            }
        }
        edge = next;
        if edge.is_empty() {
            break;
        }
        longest += 1;
    }
    Walked {
        worlds: seen.len(),
        longest,
        all: edge.is_empty(),
    }
}
