// SPDX-License-Identifier: GPL-2.0

//! Accounting of a shared receive queue, and its notification.
//!
//! # Vocabulary
//!
//! - *Poster*: who posts. The consumer serializes posts per shared queue (section 8.5), so there is one.
//! - *Poller*: who takes completions. Receives of one shared queue complete on the completion queues of
//!   all its queue pairs, so there are several at a time.
//! - *Slot*: where the caller keeps what it needs at completion time; the machine's part of it is a
//!   [`Cell`]. Slots have numbers, and may become more.
//! - *Level*: receives that were posted and whose completion has not been taken.
//! - *Room*: the depth in force; the level does not exceed it.
//!
//! # Slots
//!
//! Receives complete in any order, so slots do too. A free slot is in one of two lists, linked through
//! the cells: pollers push what they retire on *returned*, the poster pops from *mine*, which only it
//! touches, and takes over all of *returned* when that is empty. Nobody pops from a list that somebody
//! else pops from, so no slot can come back unseen between the two steps of a pop.
//!
//! A slot is pushed before the level falls, and the level rises before one is popped: who has a place
//! finds a slot.
//!
//! # The notification (sections 8.3, 8.5)
//!
//! - It comes once when the number of receives falls below the threshold, and then not before the queue
//!   is modified with a threshold again.
//! - A modification that finds the number below already notifies at once.
//! - A new queue is empty, which is no fall: it notifies only after its threshold was reached.
//!
//! ```text
//!   new(0)        new(n)
//!     │             │          posted(): level ≥ n
//!   idle          rising ───────────────────────────► armed ◄─── arm(n)
//!     ▲                                                 │
//!     └──────── event(), retired() or look(): below n ──┘   callback due
//! ```
//!
//! The device sees a receive being used before its completion is taken, so its own event is what counts;
//! what the provider sees itself is the level, which is never lower. The level decides where the device
//! was armed too late, and where the device says nothing.
//!
//! Events can be under way while the device is armed anew, and then answer the arms before; they say
//! nothing of which. So it is counted how often the device was armed and has not answered. The last
//! answer that can come belongs to the last arm. Any other may be an old one, and the caller is to look:
//! the event is believed unless the level is too high for it, by more than messages can be on their way
//! in. An arm that took the place of an unanswered one leaves a count that nothing takes away: from then
//! on every event is looked into, which costs time and nothing else.

use super::atomic::{AtomicU32, AtomicU64};
use super::status::Status;

/// The cell of a slot that is posted.
const POSTED: u32 = u32::MAX;

/// The end of a list of free slots.
const LAST: u32 = u32::MAX.wrapping_sub(1);

/// The largest number of slots.
pub const MAX_SLOTS: u32 = 1 << 24;

/// Groups of slots, so that there can be [`MAX_SLOTS`].
pub const GROUPS: usize = 25;

/// Where a slot is when slots come in groups: the first of 1 << `shift`, each other as large as all
/// before it. Returns the group, and the place in it.
pub const fn locate(number: u32, shift: u32) -> (usize, usize) {
    let above = match number.checked_shr(shift) {
        Some(above) => above,
        None => 0,
    };
    if above == 0 {
        return (0, number as usize);
    }
    // CAST: At most 32.
    let group = u32::BITS.wrapping_sub(above.leading_zeros());
    let first = 1u32.wrapping_shl(shift.wrapping_add(group).wrapping_sub(1));
    (group as usize, number.wrapping_sub(first) as usize)
}

/// The number of slots in a group, as [`locate`] has them.
pub const fn group_size(group: usize, shift: u32) -> u32 {
    // CAST: Groups are few.
    let doublings = (group as u32).saturating_sub(1);
    match 1u32.checked_shl(shift.saturating_add(doublings)) {
        Some(size) => size,
        None => 0,
    }
}

/// The machine's part of a slot: that it is posted, or the next slot of its list.
#[cfg_attr(not(MODULE), derive(Debug))]
pub struct Cell(AtomicU32);

impl Default for Cell {
    fn default() -> Self {
        Self::new()
    }
}

impl Cell {
    /// A cell that is in no list.
    pub fn new() -> Self {
        Self(AtomicU32::new(LAST))
    }
}

/// Finds cells by number.
pub trait Cells {
    /// The cell, if there is one.
    fn cell(&self, number: u32) -> Option<&Cell>;
}

/// A slot for one receive, which is not visible yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "nothing is posted until the place is published"]
pub struct Place {
    /// Number of the slot.
    pub number: u32,
    /// The level with this receive.
    pub level: u32,
}

/// The slots of a shared receive queue.
///
/// # Invariants
///
/// - The level is at most the room, and the room at most the number of slots that were added.
/// - Each slot is posted, in one of the lists, or in the hands of one caller.
#[cfg_attr(not(MODULE), derive(Debug))]
pub struct Srq {
    /// The room above, the level below.
    word: AtomicU64,
    /// The first slot that came back.
    returned: AtomicU32,
    /// The first slot of the poster's own.
    mine: AtomicU32,
}

/// Room and level.
const fn parts(word: u64) -> (u32, u32) {
    // CAST: The two halves.
    ((word >> 32) as u32, word as u32)
}

const fn joined(room: u32, level: u32) -> u64 {
    ((room as u64) << 32) | level as u64
}

impl Default for Srq {
    fn default() -> Self {
        Self::new()
    }
}

impl Srq {
    /// A queue without slots, in which there is no room.
    pub fn new() -> Self {
        // INVARIANT: There are no slots.
        Self {
            word: AtomicU64::new(0),
            returned: AtomicU32::new(LAST),
            mine: AtomicU32::new(LAST),
        }
    }

    /// Replaces the word by what `change` makes of it, or gives up with its error.
    fn update<E>(&self, change: impl Fn(u32, u32) -> Result<(u32, u32), E>) -> Result<u32, E> {
        let mut seen = self.word.load_relaxed();
        loop {
            let (room, level) = parts(seen);
            let (room, level) = change(room, level)?;
            match self.word.compare_exchange(seen, joined(room, level)) {
                Ok(_) => return Ok(level),
                Err(now) => seen = now,
            }
        }
    }

    /// Adds slots `first` to `first + count`, whose cells are new. Once for each.
    pub fn add(&self, first: u32, count: u32, cells: &impl Cells) {
        for number in first..first.saturating_add(count) {
            self.put_back(number, cells);
        }
    }

    /// Puts a free slot on the list of those that came back.
    fn put_back(&self, number: u32, cells: &impl Cells) {
        let Some(cell) = cells.cell(number) else {
            return;
        };
        let mut first = self.returned.load_relaxed();
        loop {
            cell.0.store_relaxed(first);
            // Pairs with the take-over in `pop`: whoever held the slot is done with it.
            match self.returned.compare_exchange(first, number) {
                Ok(_) => return,
                Err(now) => first = now,
            }
        }
    }

    /// Poster: takes a free slot.
    fn pop(&self, cells: &impl Cells) -> Option<u32> {
        let mut number = self.mine.load_relaxed();
        if number == LAST {
            number = self.returned.load_relaxed();
            while let Err(now) = self.returned.compare_exchange(number, LAST) {
                number = now;
            }
        }
        if number == LAST {
            return None;
        }
        self.mine
            .store_relaxed(cells.cell(number)?.0.load_relaxed());
        Some(number)
    }

    /// Poster: reserves a slot for one receive.
    ///
    /// Fails with [`Status::NoMoreEntries`] when the queue is full.
    pub fn reserve(&self, cells: &impl Cells) -> Result<Place, Status> {
        let level = self.update(|room, level| {
            if level < room {
                Ok((room, level.wrapping_add(1)))
            } else {
                Err(Status::NoMoreEntries)
            }
        })?;
        match self.pop(cells) {
            Some(number) => Ok(Place { number, level }),
            None => {
                debug_assert!(false, "a place without a slot");
                self.lower();
                Err(Status::NoMoreEntries)
            }
        }
    }

    /// One receive less. Returns how many are left.
    fn lower(&self) -> u32 {
        let lowered = self.update(|room, level| Ok::<_, Status>((room, level.saturating_sub(1))));
        lowered.unwrap_or(0)
    }

    /// Poster: makes a filled slot visible to pollers, before the device gets it.
    pub fn publish(&self, place: &Place, cells: &impl Cells) {
        if let Some(cell) = cells.cell(place.number) {
            cell.0.store_release(POSTED);
        }
    }

    /// Poster: takes a published receive back that the device has refused.
    pub fn retract(&self, place: &Place, cells: &impl Cells) {
        let Some(cell) = cells.cell(place.number) else {
            return;
        };
        // The poster's own list, so no poller has to see it.
        cell.0.store_relaxed(self.mine.load_relaxed());
        self.mine.store_relaxed(place.number);
        self.lower();
    }

    /// Poller: the device completed the receive of a slot, of which `read` takes what it wants.
    ///
    /// `None` when it was retired before, or never posted; else what was read, and the level now.
    pub fn retire<R>(
        &self,
        number: u32,
        cells: &impl Cells,
        read: impl FnOnce() -> R,
    ) -> Option<(R, u32)> {
        // Pairs with `publish`: the slot is filled.
        cells.cell(number)?.0.compare_exchange(POSTED, LAST).ok()?;
        let content = read();
        self.put_back(number, cells);
        Some((content, self.lower()))
    }

    /// Changes the room. There are slots for it.
    ///
    /// Fails with [`Status::BufferOverflow`], and changes nothing, below the level.
    pub fn set_room(&self, room: u32) -> Result<(), Status> {
        self.update(|_, level| {
            if level > room {
                Err(Status::BufferOverflow)
            } else {
                Ok((room, level))
            }
        })
        .map(|_| ())
    }

    /// The room now.
    pub fn room(&self) -> u32 {
        parts(self.word.load_acquire()).0
    }

    /// The level now. Whoever lowers it after this sees what the caller did before.
    pub fn level(&self) -> u32 {
        self.update(|room, level| Ok::<_, Status>((room, level)))
            .unwrap_or(0)
    }
}

/// What an event of the device calls for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "an event that is passed over is lost"]
pub enum Heard {
    /// A callback is due: kick.
    Kick,
    /// It may be an old one: arm the device again, take what has completed out, then [`Alarm::look`].
    Look,
    /// Nobody waits for it.
    Nothing,
}

/// The threshold in force.
const THRESHOLD: u64 = 0xffff_ffff;
/// To be armed when the threshold is reached.
const RISING: u64 = 1 << 32;
/// Armed.
const ARMED: u64 = 1 << 33;
/// The device was armed for this arm.
const ASKED: u64 = 1 << 34;
/// An event came that may be an old one.
const HEARD: u64 = 1 << 35;
/// It came before the look that is under way.
const BEFORE: u64 = 1 << 36;
/// All of the arm in force, but for its threshold.
const ARM: u64 = RISING | ARMED | ASKED | HEARD | BEFORE;
/// A callback is due, since the number fell.
const LOW: u64 = 1 << 37;
/// The queue failed.
const FAILED: u64 = 1 << 38;
/// A callback is due, since the queue failed.
const TELL: u64 = 1 << 39;
/// Either.
const DUE: u64 = LOW | TELL;
/// Close has been called.
const CLOSING: u64 = 1 << 40;
/// How often the device was armed and has not answered. Once it is full it stays so.
const UNANSWERED: u64 = 0xff << 41;
/// One of them.
const ANSWER: u64 = 1 << 41;

/// Whether, and for what, a shared receive queue is to notify, in one atomic word.
///
/// # Invariants
///
/// - At most one of `RISING` and `ARMED` is set, and neither together with `FAILED` or `CLOSING`.
/// - `HEARD` and `BEFORE` are set only together with `ARMED`.
/// - `UNANSWERED` is not less than the number of events that can still come.
/// - `LOW` and `TELL` are not set together with `CLOSING`.
#[cfg_attr(not(MODULE), derive(Debug))]
pub struct Alarm {
    word: AtomicU64,
}

impl Alarm {
    /// The alarm of a new queue. A threshold of 0 is none.
    pub fn new(threshold: u32) -> Self {
        let mode = if threshold == 0 { 0 } else { RISING };
        // INVARIANT: Nothing but perhaps rising.
        Self {
            word: AtomicU64::new(u64::from(threshold) | mode),
        }
    }

    /// Replaces the word by what `change` makes of it, and returns its answer.
    fn update<R>(&self, change: impl Fn(u64) -> (u64, R)) -> R {
        let mut seen = self.word.load_relaxed();
        loop {
            let (next, answer) = change(seen);
            match self.word.compare_exchange(seen, next) {
                Ok(_) => return answer,
                Err(now) => seen = now,
            }
        }
    }

    /// Whether the level is below the threshold.
    const fn is_below(word: u64, level: u32) -> bool {
        (level as u64) < word & THRESHOLD
    }

    /// The word when the callback is due.
    const fn fired(word: u64) -> u64 {
        word & !ARM | LOW
    }

    /// The word when the device has been armed.
    const fn with_ask(word: u64) -> u64 {
        if word & UNANSWERED == UNANSWERED {
            word
        } else {
            word.wrapping_add(ANSWER)
        }
    }

    /// The word when the device has answered.
    const fn with_answer(word: u64) -> u64 {
        match word & UNANSWERED {
            0 | UNANSWERED => word,
            _ => word.wrapping_sub(ANSWER),
        }
    }

    /// A receive was posted. Returns whether the queue is armed by it: have the device armed, then
    /// [`Alarm::look`].
    #[must_use = "an arm that nobody hands to the device may not be answered"]
    pub fn posted(&self, level: u32) -> bool {
        let reached = |word| word & RISING != 0 && !Self::is_below(word, level);
        if !reached(self.word.load_relaxed()) {
            return false;
        }
        self.update(|word| {
            if reached(word) {
                // INVARIANT: It was rising.
                (word & !RISING | ARMED, true)
            } else {
                (word, false)
            }
        })
    }

    /// The queue was modified with a threshold, which is not 0: have the device armed, then
    /// [`Alarm::look`].
    pub fn arm(&self, threshold: u32) {
        self.update(|word| {
            if word & (CLOSING | FAILED) != 0 {
                return (word, ());
            }
            // INVARIANT: Neither closing nor failed.
            let kept = word & !(THRESHOLD | ARM);
            (kept | u64::from(threshold) | ARMED, ())
        });
    }

    /// The threshold for which to arm the device now, if any, before [`Alarm::look`]. It counts as asked from
    /// here on, so that no answer can come before.
    #[must_use = "the device is taken to be armed"]
    pub fn ask(&self) -> Option<u32> {
        self.update(|word| {
            if word & ARMED == 0 {
                return (word, None);
            }
            let before = if word & HEARD != 0 { BEFORE } else { 0 };
            // INVARIANT: Armed.
            let asked = Self::with_ask(word) & !HEARD | before | ASKED;
            // CAST: The low half.
            (asked, Some((word & THRESHOLD) as u32))
        })
    }

    /// The device says that the number of receives fell below what it was armed for.
    pub fn event(&self) -> Heard {
        self.update(|word| {
            let answered = Self::with_answer(word);
            if word & ARMED == 0 {
                (answered, Heard::Nothing)
            } else if word & ASKED != 0 && word & UNANSWERED == ANSWER {
                (Self::fired(answered), Heard::Kick)
            } else {
                // INVARIANT: Armed.
                (answered | HEARD, Heard::Look)
            }
        })
    }

    /// A receive was retired. Returns whether to kick.
    #[must_use = "the callback is due"]
    pub fn retired(&self, level: u32) -> bool {
        let below = |word| word & ARMED != 0 && Self::is_below(word, level);
        if !below(self.word.load_relaxed()) {
            return false;
        }
        self.update(|word| {
            if below(word) {
                (Self::fired(word), true)
            } else {
                (word, false)
            }
        })
    }

    /// The device was armed, and then all completions that were there have been taken out, which left
    /// this level. `on_their_way` is how many messages can be coming in, of which the device has used the
    /// receive. Returns whether to kick. What is heard since [`Alarm::ask`] is for the next look.
    #[must_use = "the callback is due"]
    pub fn look(&self, level: u32, on_their_way: u32) -> bool {
        self.update(|word| {
            if word & ARMED == 0 {
                return (word, false);
            }
            let believed = if word & BEFORE != 0 { on_their_way } else { 0 };
            if Self::is_below(word, level.saturating_sub(believed)) {
                (Self::fired(word), true)
            } else {
                (word & !BEFORE, false)
            }
        })
    }

    /// The queue failed. Returns whether to kick.
    #[must_use = "the callback is due"]
    pub fn fail(&self) -> bool {
        self.update(|word| {
            if word & FAILED != 0 {
                return (word, false);
            }
            // INVARIANT: Neither rising nor armed.
            let failed = word & !ARM | FAILED;
            if word & CLOSING != 0 {
                (failed, false)
            } else {
                (failed | TELL, true)
            }
        })
    }

    /// Whether the queue has failed.
    pub fn is_faulty(&self) -> bool {
        self.word.load_acquire() & FAILED != 0
    }

    /// The bottom half is about to call the consumer. Returns the status to call it with, if it is to be
    /// called at all. After a failure there is nothing more to say.
    pub fn begin_callback(&self) -> Option<Status> {
        self.update(|word| {
            let rest = word & !DUE;
            if word & TELL != 0 {
                (rest, Some(Status::InternalError))
            } else if word & LOW != 0 && word & FAILED == 0 {
                (rest, Some(Status::Success))
            } else {
                (rest, None)
            }
        })
    }

    /// The queue is being closed: no callback starts any more.
    pub fn close(&self) {
        // INVARIANT: Nothing is armed or due.
        self.update(|word| (word & !(ARM | DUE) | CLOSING, ()));
    }

    /// Whether it waits for the number to fall.
    pub fn is_armed(&self) -> bool {
        self.word.load_acquire() & ARMED != 0
    }
}
