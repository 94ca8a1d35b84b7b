// SPDX-License-Identifier: GPL-2.0

//! Accounting of one work queue of a queue pair.
//!
//! # Vocabulary
//!
//! - *Poster*: who posts. The consumer serializes posts per queue (section 7.1), so there is one.
//! - *Poller*: who takes completions. The consumer serializes polls per completion queue (7.3).
//! - *Slot*: where the caller keeps what it needs at completion time. The ring gives out indices; the
//!   slot of an index is `index & mask()` in the caller's array of [`Ring::slots`].
//! - *Silent*: success makes no completion for the consumer; failure does.
//! - *Signalled*: the device makes a completion of its own for it, also on success.
//! - *Sentinel*: the provider's own last request, whose completion says that the queue is drained.
//!
//! # Rules
//!
//! - The consumer has exactly the depth it asked for; a post on a full queue fails with no more entries
//!   and has no completion. Sentinels use reserved room.
//! - Every n-th silent request is signalled, n a quarter of the depth (at least 1), since a device frees
//!   its entries only at a signalled completion; that completion is swallowed. A failure is reported as
//!   the consumer's own.
//! - Completions of one queue come in posting order. So a completion retires every earlier slot, and
//!   these earlier ones were silent successes.
//! - A request can be several work requests, as a read with local invalidate is the read and the invalidate
//!   (so the device's queue is deeper). It is one request to the consumer, with one slot and one index: the
//!   caller tells the last completion from those before it by what it made the device echo. The first
//!   failure of any is reported, and only that one.
//!
//! # Publication
//!
//! The poster fills the slots, publishes the head with a release, and only then hands the request to
//! the device. The poller reads the head with an acquire before it looks at a slot, and publishes the
//! tail with a release after it has looked; the poster acquires the tail before it fills a slot again.

use super::atomic::AtomicU32;
use super::status::Status;

/// A request that has room in the ring but is not visible yet.
///
/// It belongs to the ring it came from, and is used at most once for each of publish and retract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "nothing is posted until the reservation is published"]
pub struct Reservation {
    /// The index of its slot, for the device to echo.
    pub index: u32,
    /// Whether the device is to signal the (last) work request.
    pub signalled: bool,
    /// Unsignalled requests before this one.
    unsignalled: u32,
}

/// What was completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// A request, or the last of its work requests.
    Last {
        /// Whether its success is silent.
        silent: bool,
    },
    /// A work request that is not the last of its request: its success says nothing, its failure ends the request.
    First,
    /// The provider's own.
    Sentinel,
}

/// What a completion means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a completion is reported or swallowed"]
pub enum Retired {
    /// The consumer gets a completion for this request.
    Report,
    /// It does not.
    Swallow,
    /// The sentinel came out: the queue is drained.
    Drained,
    /// The slot was retired before, or never posted.
    Stale,
}

/// The ring of one work queue.
///
/// # Invariants
///
/// - `head` is written by the poster only, `tail` by the poller only; both run freely.
/// - `head - tail` is at most `room + reserved`, and that is at most the number of slots.
#[cfg_attr(not(MODULE), derive(Debug))]
pub struct Ring {
    head: AtomicU32,
    tail: AtomicU32,
    /// Unsignalled requests since the last signalled one; the poster's.
    unsignalled: AtomicU32,
    /// Slots that consumer requests may use.
    room: u32,
    /// Slots kept for sentinels.
    reserved: u32,
    /// One in so many silent requests is signalled.
    interval: u32,
    mask: u32,
}

/// Where the indices begin: shortly before they wrap, so that every queue goes over the wrap.
const START: u32 = 0u32.wrapping_sub(16);

/// The largest number of slots of a ring.
const MAX_SLOTS: u32 = 1 << 24;

impl Ring {
    /// A ring for `depth` requests of the consumer and `reserved` sentinels.
    ///
    /// Fails with [`Status::InvalidParameter`] when that is more than any device holds.
    pub fn new(depth: u32, reserved: u32) -> Result<Ring, Status> {
        let total = depth
            .checked_add(reserved)
            .filter(|total| *total <= MAX_SLOTS)
            .ok_or(Status::InvalidParameter)?;
        // INVARIANT: The ring is empty. At most `MAX_SLOTS`, so the next power of two exists; it is not
        // zero.
        Ok(Ring {
            head: AtomicU32::new(START),
            tail: AtomicU32::new(START),
            unsignalled: AtomicU32::new(0),
            room: depth,
            reserved,
            interval: (depth / 4).max(1),
            mask: total.next_power_of_two().wrapping_sub(1),
        })
    }

    /// How many slots the caller's array has; a power of two.
    pub fn slots(&self) -> u32 {
        self.mask.wrapping_add(1)
    }

    /// Turns an index into the place in the caller's array.
    pub fn mask(&self) -> u32 {
        self.mask
    }

    /// Slots in use; exact for the poster and for the poller, a snapshot for others.
    pub fn in_flight(&self) -> u32 {
        let tail = self.tail.load_acquire();
        self.head.load_acquire().wrapping_sub(tail)
    }

    /// Poster: reserves a slot for one request.
    ///
    /// Fails with [`Status::NoMoreEntries`] when the queue is full.
    pub fn reserve(&self, silent: bool) -> Result<Reservation, Status> {
        let unsignalled = self.unsignalled.load_relaxed();
        let signalled = !silent || unsignalled.saturating_add(1) >= self.interval;
        self.reserve_within(self.room, signalled, unsignalled)
    }

    /// Poster: reserves a slot for a sentinel, out of the reserved room.
    pub fn reserve_sentinel(&self) -> Result<Reservation, Status> {
        let limit = self.room.saturating_add(self.reserved);
        self.reserve_within(limit, true, self.unsignalled.load_relaxed())
    }

    fn reserve_within(
        &self,
        limit: u32,
        signalled: bool,
        unsignalled: u32,
    ) -> Result<Reservation, Status> {
        let head = self.head.load_relaxed();
        // Pairs with the release in `retire`: the poller is done with the slots before the tail.
        let used = head.wrapping_sub(self.tail.load_acquire());
        if used >= limit {
            return Err(Status::NoMoreEntries);
        }
        Ok(Reservation {
            index: head,
            signalled,
            unsignalled,
        })
    }

    /// Poster: makes a filled request visible to the poller, before the device gets it.
    pub fn publish(&self, reservation: &Reservation) {
        let count = if reservation.signalled {
            0
        } else {
            reservation.unsignalled.saturating_add(1)
        };
        self.unsignalled.store_relaxed(count);
        // INVARIANT: `reserve` found room for this slot, and since then the tail has only grown.
        self.head.store_release(reservation.index.wrapping_add(1));
    }

    /// Poster: takes a published request back that the device has refused.
    ///
    /// Several are taken back last one first. The device never completes them.
    pub fn retract(&self, reservation: &Reservation) {
        self.unsignalled.store_relaxed(reservation.unsignalled);
        // INVARIANT: The device has not got the request, so the tail has not passed its index.
        self.head.store_release(reservation.index);
    }

    /// Poller: whether `index` has been posted and not retired; only then is its slot to be read.
    pub fn is_posted(&self, index: u32) -> bool {
        let tail = self.tail.load_relaxed();
        // Pairs with the release in `publish`: the slot is filled.
        let head = self.head.load_acquire();
        index.wrapping_sub(tail) < head.wrapping_sub(tail)
    }

    /// Poller: the index of the oldest request in flight, if any.
    pub fn next_to_retire(&self) -> Option<u32> {
        let tail = self.tail.load_relaxed();
        self.is_posted(tail).then_some(tail)
    }

    /// Poller: the device completed `index`.
    ///
    /// Everything before it is retired too.
    pub fn retire(&self, index: u32, success: bool, request: Request) -> Retired {
        if !self.is_posted(index) {
            return Retired::Stale;
        }
        let (done, retired) = match (request, success) {
            (Request::Last { silent: true }, true) => (1, Retired::Swallow),
            (Request::Last { .. }, _) => (1, Retired::Report),
            // The second work request is still to come.
            (Request::First, true) => (0, Retired::Swallow),
            // The second work request is flushed: its completion will be stale.
            (Request::First, false) => (1, Retired::Report),
            (Request::Sentinel, _) => (1, Retired::Drained),
        };
        // INVARIANT: `index` is posted, so the tail does not pass the head.
        self.tail.store_release(index.wrapping_add(done));
        retired
    }
}
