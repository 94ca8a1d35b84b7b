// SPDX-License-Identifier: GPL-2.0

//! Requests of a QP that wait for their doorbell, and lists of requests.
//!
//! What is decided is `state/chain.rs`; here are the requests. The memory is made with the QP: a request that waits keeps its
//! pieces and its inline data here, since the consumer's are its own again when the post returns.
//!
//! Who touches the chain claims it. That is the poster, and no other while all goes well: its claim is one atomic operation,
//! and a post that neither waits nor ends a chain makes none. The provider claims it to push what waits when the QP or an MR in
//! the chain comes to its end, with softirqs off; so the poster is held up for the time of one post at most.

use crate::{
    ctx::{
        MaySleep,
        Process, //
    },
    state::{
        atomic::AtomicU32,
        chain::{
            rung,
            Rung, //
        }, //
    },
    status::Result,
    sync::BhOff,
    verbs::{
        fault::FaultLine,
        qp::Qp,
        wr::{
            Parts,
            RawSend,
            SendWr,
            Sge, //
        }, //
    },
};
use core::{
    cell::UnsafeCell,
    hint,
    ptr, //
};
use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Acquire,
            Atomic,
            Relaxed,
            Release, //
        },
        Arc,
        ArcBorrow, //
    },
};

/// Requests that wait at most; a chain that is longer has several doorbells.
pub(crate) const ROOM: u32 = 16;

/// Sizes of the requests that can wait.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    /// Requests, at most.
    pub(crate) room: u32,
    /// Pieces of each.
    pub(crate) max_sge: u32,
    /// Bytes of inline data of each, where the device copies it.
    pub(crate) max_inline: u32,
}

/// One part of a request that waits.
struct Entry {
    raw: RawSend,
    /// Whether it is the last part of its request.
    ends_request: bool,
}

struct Links {
    entries: KVVec<Entry>,
    /// `max_sge` for each entry.
    sges: KVVec<Sge>,
    /// `max_inline` for each entry.
    bytes: KVVec<u8>,
    max_sge: usize,
    max_inline: usize,
    /// The QP to which they go, while some wait.
    qp: Option<Arc<Qp>>,
}

/// The chain of one QP.
///
/// # Invariants
///
/// - `links` is touched by the holder of the one [`Claim`] only.
/// - The addresses in the entries are those of `links.sges` and `links.bytes`, which never move.
/// - `waiting` is the number of entries, as the last claim left it.
pub(crate) struct Chain {
    claimed: Atomic<bool>,
    waiting: AtomicU32,
    /// Requests that were accepted and that the device never took.
    orphans: Atomic<u32>,
    line: Arc<FaultLine>,
    room: u32,
    links: UnsafeCell<Links>,
}

// SAFETY: The pointers in the entries point into `links`, to MRs that outlive the entries (`FastMr::settle`), or nowhere.
unsafe impl Send for Chain {}
// SAFETY: What changes is guarded by `claimed`.
unsafe impl Sync for Chain {}

impl Chain {
    /// An empty chain. Sleeps.
    pub(crate) fn new(sizes: Sizes, line: Arc<FaultLine>) -> Result<Arc<Self>> {
        let room = sizes.room.min(ROOM);
        let count = room as usize;
        let (max_sge, max_inline) = (sizes.max_sge as usize, sizes.max_inline as usize);
        let all = |each: usize| count.checked_mul(each).ok_or(EINVAL);
        let links = Links {
            entries: KVVec::with_capacity(count, GFP_KERNEL)?,
            sges: KVVec::from_elem(Sge::default(), all(max_sge)?, GFP_KERNEL)?,
            bytes: KVVec::from_elem(0, all(max_inline)?, GFP_KERNEL)?,
            max_sge,
            max_inline,
            qp: None,
        };
        // INVARIANT: There is no claim, and nothing waits.
        let chain = Self {
            claimed: Atomic::new(false),
            waiting: AtomicU32::new(0),
            orphans: Atomic::new(0),
            line,
            room,
            links: UnsafeCell::new(links),
        };
        Ok(Arc::new(chain, GFP_KERNEL)?)
    }

    /// Parts that wait. Exact for the poster.
    #[inline]
    pub(crate) fn waiting(&self) -> u32 {
        self.waiting.load_acquire()
    }

    /// Parts that can wait at a time.
    #[inline]
    pub(crate) fn room(&self) -> u32 {
        self.room
    }

    /// Claims the chain. Any context; whoever has it is about to let go.
    pub(crate) fn claim(&self) -> Claim<'_> {
        while self.claimed.cmpxchg(false, true, Acquire).is_err() {
            hint::spin_loop();
        }
        // INVARIANT: `claimed` was false, so nobody else has one.
        Claim { chain: self }
    }

    /// Requests that were accepted and that the device will not complete; the last ones of their queue.
    pub(crate) fn orphans(&self) -> u32 {
        self.orphans.load(Acquire)
    }

    /// Posts what waits, on behalf of the provider.
    pub(crate) fn push(&self, ctx: &Process) {
        if self.waiting() == 0 {
            return;
        }
        let off = BhOff::new(ctx);
        let mut claim = self.claim();
        let qp = claim.links().qp.clone();
        if let Some(qp) = &qp {
            let _ = claim.post(qp, None);
        }
        drop(claim);
        drop(off);
        // It may be the last one, whose end sleeps.
        drop(qp);
    }

    /// Does what it can to have requests of the QP complete, and their completions taken. Sleeps.
    pub(crate) fn hasten(&self, ctx: &MaySleep) {
        self.push(ctx);
        self.line.collect(ctx);
    }
}

/// The right to touch a chain. Given back when dropped.
///
/// # Invariants
///
/// There is one value at a time for a chain.
pub(crate) struct Claim<'a> {
    chain: &'a Chain,
}

impl Claim<'_> {
    fn links(&mut self) -> &mut Links {
        // SAFETY: Ours to touch by the type invariant.
        unsafe { &mut *self.chain.links.get() }
    }

    /// Keeps a request behind those that wait, for which there is room.
    ///
    /// # Errors
    ///
    /// `EINVAL`, and nothing is kept, where it is larger than the sizes of the chain.
    pub(crate) fn keep(&mut self, parts: &Parts<'_>, qp: ArcBorrow<'_, Qp>) -> Result<(), Error> {
        let links = self.links();
        let before = links.entries.len();
        let kept = links.keep(parts);
        if kept.is_err() {
            links.entries.truncate(before);
        } else if links.qp.is_none() {
            links.qp = Some(qp.into());
        }
        // CAST: At most `ROOM`.
        let waiting = links.entries.len() as u32;
        // INVARIANT: Just counted.
        self.chain.waiting.store_relaxed(waiting);
        kept
    }

    /// Posts what waits, and `last` behind it, of which it says what became. Then nothing waits any more.
    pub(crate) fn post(&mut self, qp: &Qp, last: Option<Parts<'_>>) -> Result<(), Error> {
        let links = self.links();
        let waiting = links.entries.len();
        let mut last = last;
        let parts = last.as_ref().map_or(0, Parts::count);
        let mut next = match &mut last {
            Some(parts) => parts.link(),
            None => ptr::null_mut(),
        };
        for entry in links.entries.iter_mut().rev() {
            next = entry.raw.link(next);
        }
        // CAST: At most `ROOM`.
        let count = (waiting as u32).saturating_add(parts);
        // SAFETY: All are valid requests, linked to each other, and stay while they are posted: the entries are ours, `last` is
        // a value of this function. The memory that they name is that of the chain, or as the requests themselves say.
        let (result, bad) = unsafe { qp.post_list(next, count) };
        let mut taken = waiting + parts as usize;
        if result.is_err() {
            // Without a word of which one it is, it was the first.
            let behind = last.iter().flat_map(Parts::ptrs);
            let waited = links.entries.iter().map(|entry| entry.raw.as_ptr());
            taken = Iterator::chain(waited, behind)
                .position(|ptr| ptr == bad)
                .unwrap_or(0);
        }
        // CAST: Small numbers.
        let (orphans, last) = match rung(waiting as u32, parts, taken as u32) {
            Rung::All => (0, Ok(())),
            Rung::Refused => (0, result),
            Rung::Orphaned { begun, .. } => (
                links.requests_from(taken).saturating_add(begun.into()),
                if begun { Ok(()) } else { result },
            ),
        };
        links.entries.clear();
        let held = links.qp.take();
        // INVARIANT: None is left. Released, so that who posts without a claim posts after this.
        self.chain.waiting.store_release(0);
        // Not the last one: the caller has the QP.
        drop(held);
        if orphans != 0 {
            self.chain.orphans.add(orphans, Relaxed);
            // The device refuses such requests only when the QP is not what it was.
            self.chain.line.broken();
        }
        last
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.chain.claimed.store(false, Release);
    }
}

impl Links {
    fn keep(&mut self, parts: &Parts<'_>) -> Result<(), Error> {
        for (wr, ends_request) in parts.iter() {
            let at = self.entries.len();
            let mut raw = wr.raw();
            let first = at.checked_mul(self.max_sge).ok_or(EINVAL)?;
            let room = first..first.saturating_add(self.max_sge);
            let sges = self.sges.as_mut_slice().get_mut(room).ok_or(EINVAL)?;
            let count = if wr.is_inline() {
                let first = at.checked_mul(self.max_inline).ok_or(EINVAL)?;
                let room = first..first.saturating_add(self.max_inline);
                let bytes = self.bytes.as_mut_slice().get_mut(room).ok_or(EINVAL)?;
                let sge = sges.first_mut().ok_or(EINVAL)?;
                *sge = copy_inline(wr, bytes)?;
                1
            } else {
                let from = wr.sgl();
                sges.get_mut(..from.len())
                    .ok_or(EINVAL)?
                    .copy_from_slice(from);
                from.len()
            };
            raw.set_sgl(sges.get(..count).ok_or(EINVAL)?);
            // INVARIANT: The vectors have their size for good.
            self.entries
                .push_within_capacity(Entry { raw, ends_request })
                .map_err(|_| EINVAL)?;
        }
        Ok(())
    }

    /// Requests of which parts stand from entry `first` on.
    fn requests_from(&self, first: usize) -> u32 {
        let left = self.entries.iter().skip(first);
        // CAST: At most `ROOM`.
        left.filter(|entry| entry.ends_request).count() as u32
    }
}

/// Copies inline data to `to`, and gives the piece that names it.
fn copy_inline(wr: &SendWr<'_>, to: &mut [u8]) -> Result<Sge, Error> {
    let mut at = 0;
    for piece in wr.sgl() {
        let len = piece.length() as usize;
        let end = at + len;
        let to = to.get_mut(at..end).ok_or(EINVAL)?;
        let from = ptr::with_exposed_provenance::<u8>(piece.addr() as usize);
        // SAFETY: Readable while the request is posted, as `SendWr::inline_data` demands; the target is that long.
        unsafe { to.as_mut_ptr().copy_from_nonoverlapping(from, len) };
        at = end;
    }
    // CAST: A request with inline data has at most `MAX_INLINE` bytes.
    Ok(Sge::new(
        to.as_ptr().expose_provenance() as u64,
        at as u32,
        0,
    ))
}
