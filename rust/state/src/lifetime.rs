// SPDX-License-Identifier: GPL-2.0

//! The lifetime of every object.
//!
//! # Vocabulary
//!
//! - *Handle reference*: the consumer's own, from creation until its Close call has done its part.
//! - *Request reference*: one per asynchronous request, until its completion callback has *returned*.
//! - *Callback reference*: one per event callback in flight, until it has *returned*.
//! - *Successor reference*: one per object that depends on this one (its *antecedent*), until the
//!   CloseCompletion of that successor has *returned*.
//! - *Quiet*: closing, and no reference of any kind is left.
//!
//! # States
//!
//! ```text
//!          begin_close()                 end_close() or put(), whichever is last
//!   open ───────────────► cancelling ────────────────────────────────────────────► quiet
//!   try_get: yes          try_get: refused, get: yes                              one caller is told
//! ```
//!
//! After quiet, the one who was told destroys what lies below the object, calls the CloseCompletion, and puts the references on
//! the antecedents when it has returned.
//!
//! # Rules (section 3)
//!
//! - Close cannot fail, and starts the cancellation itself (rules 5 and 9): the handle reference is
//!   dropped only after the cancellation has been started.
//! - Close completes after all callbacks have returned, not merely been called (rule 8). A callback
//!   that closes its own object holds a reference, so the close is pending (rules 2 and 10).
//! - An antecedent's close completes after the close callbacks of its successors have returned
//!   (rules 5 and 6): the successor's reference is put last of all.
//! - Exactly one caller is told that the object is quiet. It runs the teardown.

use super::atomic::AtomicU64;
use super::status::Status;

/// Kinds of references that come and go while the handle is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An event callback in flight.
    Callback,
    /// An asynchronous request in flight, its completion callback included.
    Request,
    /// An object that depends on this one.
    Successor,
}

impl Kind {
    /// Where the count of this kind stands in the word.
    const fn shift(self) -> u32 {
        match self {
            Kind::Callback => 0,
            Kind::Request => 16,
            Kind::Successor => 36,
        }
    }

    /// The largest count of this kind.
    const fn max(self) -> u64 {
        match self {
            Kind::Callback => (1 << 16) - 1,
            Kind::Request => (1 << 20) - 1,
            Kind::Successor => (1 << 24) - 1,
        }
    }

    const fn count(self, word: u64) -> u64 {
        (word >> self.shift()) & self.max()
    }

    const fn one(self) -> u64 {
        1 << self.shift()
    }
}

/// The handle reference.
const HANDLE: u64 = 1 << 62;
/// Close has been called.
const CLOSING: u64 = 1 << 63;

/// Whether a reference that was put was the last one of a closing object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "whoever puts the last reference runs the teardown"]
pub enum Last {
    /// It was: the caller, and nobody else, runs the teardown.
    Yes,
    /// It was not.
    No,
}

/// How a close stands when the handle reference is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "an object that is already quiet is torn down by the closer"]
pub enum Closed {
    /// Nothing is in flight: the closer, and nobody else, runs the teardown.
    AlreadyQuiet,
    /// Somebody else will put the last reference and be told.
    Pending,
}

/// A look at the references, for debugfs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Whether Close has been called.
    pub closing: bool,
    /// Whether the handle reference is still held.
    pub handle: bool,
    /// Event callbacks in flight.
    pub callbacks: u32,
    /// Requests in flight.
    pub requests: u32,
    /// Objects that depend on this one.
    pub successors: u32,
}

/// The references of one object, in one atomic word.
///
/// # Invariants
///
/// - `HANDLE` is set until [`Life::end_close`], and never again after it.
/// - `CLOSING` is set by [`Life::begin_close`] and stays.
/// - The word is exactly `CLOSING` from the moment that one caller was told of it, for ever.
pub struct Life {
    word: AtomicU64,
}

impl Default for Life {
    fn default() -> Self {
        Self::new()
    }
}

impl Life {
    /// The life of a new object: open, with the handle reference only.
    pub fn new() -> Self {
        // INVARIANT: The handle is held and the object is not closing.
        Self {
            word: AtomicU64::new(HANDLE),
        }
    }

    /// Takes a reference for something that may start only while the object is open.
    ///
    /// Fails with [`Status::InvalidDeviceState`] once the object is closing, and with
    /// [`Status::InsufficientResources`] when the count is at its limit.
    pub fn try_get(&self, kind: Kind) -> Result<(), Status> {
        self.add(kind, |word| word & CLOSING == 0)
    }

    /// Takes one more reference; the caller holds one already, of any kind.
    ///
    /// So it works while closing too. It fails with [`Status::InsufficientResources`] when the count
    /// is at its limit, and with [`Status::InvalidDeviceState`] on an object that is quiet.
    pub fn get(&self, kind: Kind) -> Result<(), Status> {
        self.add(kind, |word| word != CLOSING)
    }

    fn add(&self, kind: Kind, allowed: impl Fn(u64) -> bool) -> Result<(), Status> {
        let mut seen = self.word.load_relaxed();
        loop {
            if !allowed(seen) {
                return Err(Status::InvalidDeviceState);
            }
            if kind.count(seen) == kind.max() {
                return Err(Status::InsufficientResources);
            }
            // The count of this kind is below its maximum, so nothing carries into its neighbour.
            match self
                .word
                .compare_exchange(seen, seen.wrapping_add(kind.one()))
            {
                Ok(_) => return Ok(()),
                Err(now) => seen = now,
            }
        }
    }

    /// Puts a reference of this kind.
    ///
    /// What happened under the reference is visible to whoever is told [`Last::Yes`].
    pub fn put(&self, kind: Kind) -> Last {
        let mut seen = self.word.load_relaxed();
        loop {
            debug_assert!(kind.count(seen) != 0, "a reference was put twice");
            if kind.count(seen) == 0 {
                return Last::No;
            }
            // The count of this kind is not zero, so nothing is borrowed from its neighbour.
            let next = seen.wrapping_sub(kind.one());
            match self.word.compare_exchange(seen, next) {
                // INVARIANT: The word turns `CLOSING` here, and this caller is told.
                Ok(_) if next == CLOSING => return Last::Yes,
                Ok(_) => return Last::No,
                Err(now) => seen = now,
            }
        }
    }

    /// Begins a close: from here on [`Life::try_get`] fails.
    ///
    /// The caller keeps the handle reference while it starts the cancellation of what is in flight,
    /// then calls [`Life::end_close`]. Only the first close succeeds; the others get
    /// [`Status::InvalidDeviceState`].
    pub fn begin_close(&self) -> Result<(), Status> {
        let mut seen = self.word.load_relaxed();
        loop {
            if seen & CLOSING != 0 {
                return Err(Status::InvalidDeviceState);
            }
            match self.word.compare_exchange(seen, seen | CLOSING) {
                Ok(_) => return Ok(()),
                Err(now) => seen = now,
            }
        }
    }

    /// Ends the closer's part: puts the handle reference.
    pub fn end_close(&self) -> Closed {
        let mut seen = self.word.load_relaxed();
        loop {
            let begun = seen & (CLOSING | HANDLE) == CLOSING | HANDLE;
            debug_assert!(begun, "end_close without begin_close, or twice");
            if !begun {
                return Closed::Pending;
            }
            let next = seen & !HANDLE;
            match self.word.compare_exchange(seen, next) {
                // INVARIANT: The word turns `CLOSING` here, and this caller is told.
                Ok(_) if next == CLOSING => return Closed::AlreadyQuiet,
                Ok(_) => return Closed::Pending,
                Err(now) => seen = now,
            }
        }
    }

    /// Closes an object that has nothing to cancel.
    pub fn close(&self) -> Result<Closed, Status> {
        self.begin_close()?;
        Ok(self.end_close())
    }

    /// Whether Close has been called.
    pub fn is_closing(&self) -> bool {
        self.word.load_acquire() & CLOSING != 0
    }

    /// Whether the object is quiet: somebody was told, and runs the teardown. It stays so.
    pub fn is_quiet(&self) -> bool {
        self.word.load_acquire() == CLOSING
    }

    /// The references as they are at this moment.
    pub fn counts(&self) -> Counts {
        let word = self.word.load_relaxed();
        // CAST: No count has more than 24 bits.
        let count = |kind: Kind| kind.count(word) as u32;
        Counts {
            closing: word & CLOSING != 0,
            handle: word & HANDLE != 0,
            callbacks: count(Kind::Callback),
            requests: count(Kind::Request),
            successors: count(Kind::Successor),
        }
    }
}
