// SPDX-License-Identifier: GPL-2.0

//! Resizing a completion queue.

#![cfg(not(loom))]

#[path = "common/explore.rs"]
mod explore;

use explore::{explore, World};
use ndk_state::resize::{check_depth, plan, Lower, Plan};
use ndk_state::status::Status;

const RESERVE: u32 = 2;
const MAX: u32 = 40;

fn lower(holds: u32, promised: u32, users: u32) -> Lower {
    Lower {
        holds,
        promised,
        users,
    }
}

// Proves: RESIZE_CQ.bad-argument
#[test]
fn a_depth_is_from_one_to_the_limit() {
    for (depth, answer) in [
        (0, Err(Status::InvalidParameter)),
        (1, Ok(())),
        (MAX, Ok(())),
        (MAX + 1, Err(Status::InvalidParameter)),
        (u32::MAX, Err(Status::InvalidParameter)),
    ] {
        assert_eq!(check_depth(depth, MAX), answer, "{depth}");
    }
}

#[test]
fn what_is_done_for_a_depth() {
    let no_memory = Err(Status::InsufficientResources);
    for (wanted, newest, older, answer) in [
        // Nobody uses it: larger, smaller, the same.
        (20, lower(12, 0, 0), None, Ok(Plan::Replace)),
        (5, lower(12, 0, 0), None, Ok(Plan::Replace)),
        // In use, and all that is promised fits.
        (20, lower(12, 10, 1), None, Ok(Plan::Add)),
        (10, lower(12, 10, 1), None, Ok(Plan::Keep)),
        (11, lower(12, 10, 1), None, Ok(Plan::Add)),
        (5, lower(12, 10, 1), None, Ok(Plan::Keep)),
        // More is promised than it holds.
        (10, lower(12, 11, 2), None, Ok(Plan::Keep)),
        (11, lower(12, 11, 2), None, no_memory),
        // The same with older ones.
        (20, lower(30, 5, 1), Some(lower(12, 10, 1)), Ok(Plan::Keep)),
        (29, lower(30, 5, 1), Some(lower(12, 10, 1)), Ok(Plan::Add)),
        (
            20,
            lower(15, 0, 0),
            Some(lower(12, 10, 1)),
            Ok(Plan::Replace),
        ),
        (20, lower(30, 5, 1), Some(lower(12, 11, 1)), no_memory),
        (10, lower(30, 5, 1), Some(lower(12, 11, 1)), Ok(Plan::Keep)),
        // Nothing wraps.
        (u32::MAX, lower(30, 5, 1), None, Ok(Plan::Add)),
        (u32::MAX, lower(u32::MAX, u32::MAX, 1), None, Ok(Plan::Keep)),
    ] {
        let planned = plan(wanted, RESERVE, newest, older.into_iter());
        assert_eq!(planned, answer, "{wanted}: {newest:?}, {older:?}");
    }
}

/// A queue pair.
struct Pair {
    /// Its lower queue.
    on: usize,
    depth: u32,
    /// Requests that have not completed.
    open: u32,
    /// Completions in the lower queue. Their places in the queue pair are free again when they are taken out.
    placed: u32,
}

/// A queue with its lower queues, and completions in them.
struct Queue {
    depth: u32,
    /// With names. The last is the newest.
    lowers: Vec<(usize, Lower)>,
    next: usize,
    pairs: Vec<Pair>,
    /// What the provider has taken out.
    stash: u32,
    placed: u64,
    polled: u64,
}

impl Queue {
    fn new(depth: u32) -> Self {
        Self {
            depth,
            lowers: vec![(0, Lower::unused(depth + RESERVE))],
            next: 1,
            pairs: Vec::new(),
            stash: 0,
            placed: 0,
            polled: 0,
        }
    }

    fn queued(&self) -> u32 {
        self.stash + self.pairs.iter().map(|pair| pair.placed).sum::<u32>()
    }

    /// What may be queued in the end.
    fn coming(&self) -> u32 {
        self.queued() + self.pairs.iter().map(|pair| pair.open).sum::<u32>()
    }

    fn collect(&mut self) {
        for pair in &mut self.pairs {
            self.stash += std::mem::take(&mut pair.placed);
        }
    }

    fn newest(&mut self) -> &mut (usize, Lower) {
        self.lowers.last_mut().expect("one at least")
    }

    fn resize(&mut self, wanted: u32) -> Result<(), Status> {
        check_depth(wanted, MAX)?;
        let (newest, older) = self.lowers.split_last().expect("one at least");
        let planned = plan(wanted, RESERVE, newest.1, older.iter().map(|lower| lower.1))?;
        if wanted < self.depth {
            self.collect();
            if self.queued() > wanted {
                return Err(Status::BufferOverflow);
            }
        }
        if planned == Plan::Replace {
            self.lowers.pop();
        }
        if planned != Plan::Keep {
            self.lowers
                .push((self.next, Lower::unused(wanted + RESERVE)));
            self.next += 1;
        }
        self.depth = wanted;
        Ok(())
    }

    fn attach(&mut self, depth: u32) {
        let (on, newest) = self.newest();
        newest.sit(depth);
        let on = *on;
        self.pairs.push(Pair {
            on,
            depth,
            open: 0,
            placed: 0,
        });
    }

    fn detach(&mut self, index: usize) {
        let pair = self.pairs.remove(index);
        // Drained into the hands of the consumer first.
        self.stash += pair.placed;
        self.placed += u64::from(pair.open);
        self.polled += u64::from(pair.open);
        let lower = self.lowers.iter_mut().find(|lower| lower.0 == pair.on);
        lower.expect("stays while it is used").1.leave(pair.depth);
        let newest = self.newest().0;
        self.lowers
            .retain(|(name, lower)| *name == newest || lower.users != 0);
    }

    /// A consumer that keeps to the depth posts.
    fn post(&mut self, index: usize) -> bool {
        let has_room = self.coming() < self.depth;
        let pair = &mut self.pairs[index];
        let posts = has_room && pair.open + pair.placed < pair.depth;
        pair.open += u32::from(posts);
        posts
    }

    /// Something completes.
    fn place(&mut self, index: usize) -> bool {
        let fits = self.queued() < self.depth;
        let pair = &mut self.pairs[index];
        let places = fits && pair.open != 0;
        pair.open -= u32::from(places);
        pair.placed += u32::from(places);
        self.placed += u64::from(places);
        places
    }

    fn poll(&mut self, most: u32) {
        self.collect();
        let take = most % (self.stash + 1);
        self.stash -= take;
        self.polled += u64::from(take);
    }

    fn check(&self) {
        let newest = self.lowers.last().expect("one at least").1;
        assert!(
            newest.holds >= self.depth + RESERVE,
            "new queue pairs have no room"
        );
        for (name, lower) in &self.lowers {
            let mine = self.pairs.iter().filter(|pair| pair.on == *name);
            let entries: u32 = mine.map(|pair| pair.placed).sum();
            assert!(entries + RESERVE <= lower.holds, "an entry is lost");
            assert!(lower.is_safe(self.depth, RESERVE));
        }
        assert_eq!(self.placed, self.polled + u64::from(self.queued()));
    }

    /// One step at random. Returns what it proved.
    fn step(&mut self, what: u64, value: u32) -> Option<usize> {
        let index = (!self.pairs.is_empty()).then(|| value as usize % self.pairs.len());
        match (what % 16, index) {
            (0, _) => {
                let (was, queued, wanted) = (self.depth, self.queued(), value % (MAX + 2));
                return match self.resize(wanted) {
                    Ok(()) => Some(0),
                    Err(Status::InvalidParameter) => {
                        assert!(wanted == 0 || wanted > MAX);
                        None
                    }
                    Err(Status::BufferOverflow) => {
                        assert!(wanted < queued && self.depth == was);
                        Some(1)
                    }
                    Err(_) => {
                        assert!(wanted > was && self.depth == was);
                        Some(2)
                    }
                };
            }
            (1 | 2, _) if self.pairs.len() < 6 => self.attach(1 + value % 12),
            (3, Some(index)) => self.detach(index),
            (4..=8, Some(index)) => {
                self.post(index);
            }
            (9..=13, Some(index)) => return self.place(index).then_some(3),
            _ => self.poll(value),
        }
        None
    }
}

#[derive(Clone, Copy, Debug)]
enum Input {
    Resize(u32),
    Attach(u32),
    Detach(usize),
    Post(usize),
    Place(usize),
    Poll,
}

const INPUTS: [Input; 12] = [
    Input::Resize(1),
    Input::Resize(2),
    Input::Resize(4),
    Input::Attach(1),
    Input::Attach(2),
    Input::Detach(0),
    Input::Detach(1),
    Input::Post(0),
    Input::Post(1),
    Input::Place(0),
    Input::Place(1),
    Input::Poll,
];

impl World for Queue {
    type Input = Input;
    type Key = (u32, Vec<(usize, [u32; 3])>, Vec<(usize, [u32; 3])>, u32);

    fn step(&mut self, input: Input) -> bool {
        let possible = match input {
            Input::Resize(wanted) => self.resize(wanted).is_ok(),
            Input::Attach(depth) => {
                self.pairs.len() < 2 && {
                    self.attach(depth);
                    true
                }
            }
            Input::Detach(index) | Input::Post(index) | Input::Place(index)
                if index >= self.pairs.len() =>
            {
                false
            }
            Input::Detach(index) => {
                self.detach(index);
                true
            }
            Input::Post(index) => self.post(index),
            Input::Place(index) => self.place(index),
            Input::Poll => {
                self.queued() != 0 && {
                    self.poll(1);
                    true
                }
            }
        };
        self.check();
        possible
    }

    fn key(&self) -> Self::Key {
        let first = self.lowers[0].0;
        let lower = |(name, lower): &(usize, Lower)| {
            (name - first, [lower.holds, lower.promised, lower.users])
        };
        let pair = |pair: &Pair| (pair.on - first, [pair.depth, pair.open, pair.placed]);
        (
            self.depth,
            self.lowers.iter().map(lower).collect(),
            self.pairs.iter().map(pair).collect(),
            self.stash,
        )
    }

    /// Without queue pairs any depth is possible.
    fn end(mut self) {
        while !self.pairs.is_empty() {
            self.detach(0);
        }
        self.stash = 0;
        assert_eq!(self.lowers.len(), 1, "what nobody uses is kept");
        assert_eq!(self.resize(MAX), Ok(()));
    }
}

// Proves: RESIZE_CQ.ok, 8.4-resize, 8.4-resize-busy
#[test]
fn nothing_is_lost_in_every_order_of_resizes_and_completions() {
    let walked = explore(|| Queue::new(2), &INPUTS, 8);
    assert_eq!(walked.longest, 8);
    assert!(walked.worlds > 1000, "{}", walked.worlds);
}

// Proves: RESIZE_CQ.ok, RESIZE_CQ.no-resources, 8.4-resize, 8.4-resize-busy
/// A consumer that keeps to the depth loses nothing, whatever it attaches, posts and resizes.
#[test]
fn nothing_is_lost_while_the_consumer_keeps_to_the_depth() {
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let mut seen = [0u32; 4];
    for _ in 0..5_000 {
        let mut queue = Queue::new(8);
        for _ in 0..200 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            if let Some(proved) = queue.step(random, (random >> 32) as u32) {
                seen[proved] += 1;
            }
            queue.check();
        }
    }
    assert!(seen.iter().all(|count| *count > 1_000), "{seen:?}");
}
