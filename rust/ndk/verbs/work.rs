// SPDX-License-Identifier: GPL-2.0

//! Work queues: what the provider remembers of each posted request, and how a completion finds it.
//!
//! The work request id that goes through the device is the address of the request's [`Slot`], so a completion leads to its
//! request without a look-up and without touching the QP, which may be gone by then. Where a request is two work requests, the
//! first one has a bit of its own in the id. That makes one rule: a [`WorkQueue`] stays until the CQ holds no completion of it
//! any more. [`crate::qp`] takes them out before it lets go.
//!
//! No lock: a queue has one poster (the consumer serializes posts) and one poller (it serializes
//! polls, and the provider's own polls are exclusive with them, see [`crate::cq`]).

use crate::{
    ffi,
    state::{
        atomic::AtomicU32,
        queue::{
            Reservation,
            Retired,
            Ring, //
        },
        status::Status, //
    },
    status::Result,
    verbs::{
        cq::{
            Wc,
            WcStatus, //
        },
        fault::{
            Ended,
            FaultLine, //
        },
        shared_queue,
        wr::FIRST_OF_TWO, //
    },
};
use core::ffi::c_void;
use kernel::{
    prelude::*,
    sync::{
        Arc,
        UniqueArc, //
    },
};

mod slot;

pub(super) use self::slot::Slot;
pub(crate) use self::slot::{
    Place,
    Tag, //
};

/// One of the two queues of a QP.
///
/// # Invariants
///
/// - `slots` has `ring.slots()` entries, and does not move.
/// - The `owner` pointers of all slots point to this value, which lives in an [`Arc`].
pub(crate) struct WorkQueue {
    ring: Ring,
    slots: KVVec<Slot>,
    depth: u32,
    qp_context: usize,
    line: Arc<FaultLine>,
    /// Requests that were accepted and that the device has not done: the last ones, but for the sentinel behind them.
    undone: AtomicU32,
    /// Whether the device is done with all others: it has completed that sentinel.
    passed: AtomicU32,
}

// SAFETY: The pointers in the slots point to the value itself, and are only read.
unsafe impl Send for WorkQueue {}
// SAFETY: As above; all else is atomic or constant.
unsafe impl Sync for WorkQueue {}

impl WorkQueue {
    /// A queue for `depth` requests of the consumer and `sentinels` of the provider. Sleeps.
    pub(crate) fn new(
        depth: u32,
        sentinels: u32,
        qp_context: usize,
        line: Arc<FaultLine>,
    ) -> Result<Arc<Self>> {
        let ring = Ring::new(depth, sentinels)?;
        let count = ring.slots();
        let mut this = UniqueArc::new(
            Self {
                ring,
                slots: KVVec::with_capacity(count as usize, GFP_KERNEL)?,
                depth,
                qp_context,
                line,
                undone: AtomicU32::new(0),
                passed: AtomicU32::new(0),
            },
            GFP_KERNEL,
        )?;
        let owner = (&raw const *this).cast();
        for index in 0..count {
            // INVARIANT: The address stays when the `UniqueArc` becomes an `Arc`.
            this.slots
                .push(Slot::new(owner, index, Tag::none()), GFP_KERNEL)?;
        }
        Ok(this.into())
    }

    /// Takes a place for one request.
    ///
    /// # Errors
    ///
    /// `NoMoreEntries` when the queue is full.
    #[inline]
    pub(crate) fn reserve(&self, silent: bool) -> Result<Reservation> {
        self.ring.reserve(silent)
    }

    /// Takes the place kept for the sentinel.
    pub(crate) fn reserve_sentinel(&self) -> Result<Reservation> {
        self.ring.reserve_sentinel()
    }

    /// Writes down the request of a reservation, and returns its work request id and its place in the queue.
    #[inline]
    pub(crate) fn fill(
        &self,
        reservation: &Reservation,
        tag: Tag,
        context: *mut c_void,
    ) -> (u64, Place) {
        let place = (reservation.index & self.ring.mask()) as usize;
        // In bounds by the type invariant: the mask is the number of slots less one.
        let Some(slot) = self.slots.get(place) else {
            return (0, Place(place));
        };
        slot.set_context(context);
        slot.set_request(reservation.index, tag);
        (slot.id(), Place(place))
    }

    /// Writes down the token of a request at `place`, whose tag is [`Tag::of_token`].
    #[inline]
    pub(crate) fn note_token(&self, place: &Place, token: u32) {
        if let Some(slot) = self.slots.get(place.0) {
            slot.set_token(token);
        }
    }

    /// Makes what was filled visible to the poller; before the device gets it.
    #[inline]
    pub(crate) fn publish(&self, reservation: &Reservation) {
        self.ring.publish(reservation);
    }

    /// Takes back what the device refused.
    pub(crate) fn retract(&self, reservation: &Reservation) {
        self.ring.retract(reservation);
    }

    /// Requests that were posted and whose completion has not been taken.
    pub(crate) fn in_flight(&self) -> u32 {
        self.ring.in_flight()
    }

    /// Requests that it takes from the consumer.
    pub(crate) fn depth(&self) -> u32 {
        self.depth
    }

    /// The places of the queue.
    pub(crate) fn slots(&self) -> u32 {
        self.ring.slots()
    }

    /// Whether so many requests wait for their retirement that silent ones should be looked after.
    #[inline]
    pub(crate) fn is_crowded(&self) -> bool {
        self.ring.in_flight() > self.depth / 2
    }

    /// The number of the oldest request, and whether it or one behind it is a read, up to the first that wants a completion;
    /// `None` where none does. What others do at the same time is seen or not.
    pub(crate) fn oldest_waiting(&self) -> Option<(u32, bool)> {
        let oldest = self.ring.next_to_retire()?;
        let mut reads = false;
        for offset in 0..self.ring.in_flight() {
            let index = oldest.wrapping_add(offset);
            let slot = self.slots.get((index & self.ring.mask()) as usize)?;
            let tag = slot.tag();
            reads |= tag.operation() == ffi::ndk_operation_type_NDK_OPERATION_READ;
            if !tag.is_silent() {
                return Some((oldest, reads));
            }
        }
        None
    }

    /// Notes that so many requests were left by the device, before the sentinel is posted behind them.
    pub(crate) fn note_orphans(&self, orphans: u32) {
        self.undone.store_relaxed(orphans);
    }

    /// Whether the device has completed every request that it took.
    pub(crate) fn is_done_but_for(&self, orphans: u32) -> bool {
        self.passed.load_acquire() != 0 || self.in_flight() <= orphans
    }

    /// The completions of requests for which the device will bring none, in order: all that is in
    /// flight.
    ///
    /// Only once the QP is destroyed, or the device is done with it, and its completions are taken out of the CQ.
    pub(crate) fn abandon(&self, mut report: impl FnMut(Completed)) {
        let count = self.ring.in_flight();
        let Some(first) = self.ring.next_to_retire() else {
            return;
        };
        // What the device took and brings no completion for was silent, and has succeeded.
        let done = if self.passed.load_acquire() != 0 {
            count.saturating_sub(self.undone.load_relaxed().saturating_add(1))
        } else {
            0
        };
        for offset in 0..count {
            let (index, success) = (first.wrapping_add(offset), offset < done);
            let Some(slot) = self.slots.get((index & self.ring.mask()) as usize) else {
                return;
            };
            let tag = slot.tag();
            let (context, token) = (slot.context(), slot.token());
            match self.ring.retire(index, success, tag.request(0)) {
                Retired::Report if !success => {
                    self.tell_of_token(token, tag, false);
                    report(self.completed(context, tag, Err(Status::Cancelled)));
                }
                Retired::Report | Retired::Swallow => self.tell_of_token(token, tag, true),
                Retired::Drained | Retired::Stale => {}
            }
        }
    }

    /// The sentinel came, which has number `index`: how many requests before it the device has not done. Others without a
    /// completion were silent, and have succeeded.
    ///
    /// Not done are those that the device never took, and one that wants a completion and has none, with all behind it: siw
    /// completes the sentinel first in one of its states.
    #[cold]
    fn undone_before(&self, index: u32) -> u32 {
        let first = self.ring.next_to_retire().unwrap_or(index);
        let mut before = (0..index.wrapping_sub(first)).map(|n| first.wrapping_add(n));
        let passed = before.find(|number| {
            let slot = self.slots.get((number & self.ring.mask()) as usize);
            slot.is_some_and(|slot| !slot.tag().is_silent())
        });
        let passed = passed.map_or(0, |number| index.wrapping_sub(number));
        passed.max(self.undone.load_relaxed())
    }

    /// Tells of the end of a request that makes or ends a registration.
    #[inline]
    fn tell_of_token(&self, token: u32, tag: Tag, success: bool) {
        if let Some(counted) = tag.token() {
            let ended = Ended {
                makes: matches!(
                    tag.operation(),
                    ffi::ndk_operation_type_NDK_OPERATION_FAST_REGISTER
                        | ffi::ndk_operation_type_NDK_OPERATION_BIND
                ),
                success,
                counted,
            };
            self.line.tokens().request_ended(token, ended);
        }
    }

    fn completed(&self, request_context: usize, tag: Tag, result: Result) -> Completed {
        Completed {
            result,
            bytes: 0,
            qp_context: self.qp_context,
            request_context,
            operation: tag.operation(),
            provider_error: 0,
            token: 0,
        }
    }
}

/// The end of a request, for the consumer.
pub(crate) struct Completed {
    /// How it ended.
    pub(crate) result: Result,
    /// Bytes received, for a receive.
    pub(crate) bytes: u32,
    /// What the consumer gave with the QP.
    pub(crate) qp_context: usize,
    /// What the consumer gave with the request.
    pub(crate) request_context: usize,
    /// An `enum ndk_operation_type`.
    pub(crate) operation: u32,
    /// What the device says of a failure.
    pub(crate) provider_error: u32,
    /// The token that a receive had invalidated.
    pub(crate) token: u32,
}

/// Takes a completion from the device to the request that it ends. `None` when the consumer is not
/// to see it.
///
/// # Safety
///
/// `wc` was polled by the caller, who excludes other polls of its CQ, from a CQ on which only
/// requests of living [`WorkQueue`]s were posted, or took receives of living [`shared_queue::SharedQueue`]s.
#[inline]
pub(crate) unsafe fn retire(wc: &Wc) -> Option<Completed> {
    // SAFETY: The id is the address of a slot of a queue that is alive, by the requirements of this
    // function.
    let slot = unsafe {
        &*core::ptr::with_exposed_provenance::<Slot>((wc.wr_id() & !FIRST_OF_TWO) as usize)
    };
    let tag = slot.tag();
    if tag.is_shared() {
        // SAFETY: By the tag and the requirements of this function.
        return unsafe { shared_queue::retire(wc, slot) };
    }
    // SAFETY: By the type invariant of `WorkQueue`, which is alive.
    let queue = unsafe { &*slot.owner().cast::<WorkQueue>() };
    let index = slot.index();
    if tag.is_sentinel() && queue.ring.is_posted(index) {
        let undone = queue.undone_before(index);
        if undone != 0 {
            // It would pass for the completion of those, which is for `WorkQueue::abandon`.
            queue.undone.store_relaxed(undone);
            queue.passed.store_release(1);
            return None;
        }
    }
    // Before the slot is given back: the poster may fill it again as soon as it is.
    let (context, token) = (slot.context(), slot.token());
    match queue
        .ring
        .retire(index, wc.is_success(), tag.request(wc.wr_id()))
    {
        Retired::Report => queue.tell_of_token(token, tag, wc.is_success()),
        Retired::Swallow => {
            queue.tell_of_token(token, tag, true);
            return None;
        }
        Retired::Stale | Retired::Drained => return None,
    }
    let mut completed = queue.completed(context, tag, Ok(()));
    conclude(wc, &mut completed, Some(&*queue.line));
    Some(completed)
}

/// Notes how a request ended, and tells `line` what that shows.
#[inline]
pub(super) fn conclude(wc: &Wc, completed: &mut Completed, line: Option<&FaultLine>) {
    let receive = completed.operation == ffi::ndk_operation_type_NDK_OPERATION_RECEIVE;
    if !wc.is_success() {
        completed.result = Err(match failure(wc.status(), receive) {
            // NDKPI: what a flush ends is cancelled. siw says so of no request that it was just sending.
            Status::InvalidDeviceRequest if line.is_some_and(FaultLine::is_flush_ours) => {
                Status::Cancelled
            }
            status => status,
        });
        completed.provider_error = wc.error_code();
        if let Some(line) = line {
            line.failed(wc.status());
        }
    } else if receive {
        completed.bytes = wc.byte_len();
        if let Some(token) = wc.invalidated_rkey() {
            // NDKPI: a token that is not valid ends the connection, by the provider of the receiver.
            if let Some(line) = line.filter(|line| !line.tokens().peer_invalidated(token)) {
                completed.result = Err(Status::AccessViolation);
                line.broken();
            }
            completed.operation = ffi::ndk_operation_type_NDK_OPERATION_RECEIVE_AND_INVALIDATE;
            completed.token = token;
        }
    }
}

/// The status of a failed completion (NDKPI documents cancellation; the others are those of its
/// user-mode sibling).
fn failure(status: WcStatus, receive: bool) -> Status {
    match status {
        WcStatus::Flushed => Status::Cancelled,
        WcStatus::LocalLength if receive => Status::BufferOverflow,
        WcStatus::LocalLength => Status::DataOverrun,
        WcStatus::LocalProtection | WcStatus::LocalAccess => Status::AccessViolation,
        WcStatus::LocalQpOperation | WcStatus::MwBind => Status::InvalidDeviceRequest,
        WcStatus::RemoteAccess
        | WcStatus::RemoteInvalidRequest
        | WcStatus::RemoteOperation
        | WcStatus::RemoteAborted => Status::RemoteResources,
        WcStatus::RetryExceeded | WcStatus::RnrRetryExceeded => Status::IoTimeout,
        WcStatus::Success | WcStatus::BadResponse | WcStatus::Other(_) => Status::InternalError,
    }
}

#[kernel::macros::kunit_tests(ndk_work)]
mod tests {
    use super::*;
    use crate::ffi::{
        ib_wc_status_IB_WC_LOC_LEN_ERR as TOO_LONG,
        ib_wc_status_IB_WC_SUCCESS as SUCCESS,
        ib_wc_status_IB_WC_WR_FLUSH_ERR as FLUSHED,
        ndk_operation_type_NDK_OPERATION_RECEIVE as RECEIVE,
        ndk_operation_type_NDK_OPERATION_RECEIVE_AND_INVALIDATE as RECEIVE_AND_INVALIDATE,
        ndk_operation_type_NDK_OPERATION_SEND as SEND, //
    };

    const QP: usize = 0x77;

    fn queue(depth: u32) -> Result<Arc<WorkQueue>> {
        let line = FaultLine::of_test()?;
        WorkQueue::new(depth, 1, QP, line)
    }

    /// Posts a request; gives its id, and whether the device is to signal it.
    fn post(
        queue: &WorkQueue,
        operation: u32,
        silent: bool,
        context: usize,
    ) -> Result<(u64, bool)> {
        let reservation = queue.reserve(silent)?;
        let context = core::ptr::without_provenance_mut(context);
        let (id, _) = queue.fill(&reservation, Tag::new(operation, silent), context);
        queue.publish(&reservation);
        Ok((id, reservation.signalled))
    }

    fn post_sentinel(queue: &WorkQueue) -> Result<u64> {
        let reservation = queue.reserve_sentinel()?;
        let (id, _) = queue.fill(&reservation, Tag::sentinel(), core::ptr::null_mut());
        queue.publish(&reservation);
        Ok(id)
    }

    fn take(wc: &Wc) -> Option<Completed> {
        // SAFETY: Tests keep their queues while they complete requests of them, and each is one thread.
        unsafe { retire(wc) }
    }

    fn complete(id: u64, status: ffi::ib_wc_status) -> Option<Completed> {
        take(&Wc::of_test(id, status, 0))
    }

    /// Context and result of what the consumer gets.
    fn seen(completed: Option<Completed>) -> Option<(usize, Result)> {
        completed.map(|completed| (completed.request_context, completed.result))
    }

    #[test]
    fn a_completion_finds_its_request() -> Result {
        let queue = queue(4)?;
        let (first, _) = post(&queue, SEND, false, 1)?;
        let (second, _) = post(&queue, SEND, false, 2)?;
        assert_eq!(queue.in_flight(), 2);
        let completed = complete(first, SUCCESS).ok_or(Status::InternalError)?;
        assert!(completed.result == Ok(()));
        assert_eq!(completed.qp_context, QP);
        assert_eq!(completed.request_context, 1);
        assert_eq!(completed.operation, SEND);
        assert_eq!(completed.provider_error, 0);
        let completed = complete(second, TOO_LONG).ok_or(Status::InternalError)?;
        assert!(completed.result == Err(Status::DataOverrun));
        assert_eq!(completed.request_context, 2);
        assert_eq!(completed.provider_error, TOO_LONG);
        assert_eq!(queue.in_flight(), 0);
        Ok(())
    }

    #[test]
    fn a_receive_tells_what_came() -> Result {
        let queue = queue(4)?;
        let (first, _) = post(&queue, RECEIVE, false, 1)?;
        let (second, _) = post(&queue, RECEIVE, false, 2)?;
        let (third, _) = post(&queue, RECEIVE, false, 3)?;
        let completed = take(&Wc::of_test(first, SUCCESS, 100)).ok_or(Status::InternalError)?;
        assert_eq!(
            (completed.operation, completed.bytes, completed.token),
            (RECEIVE, 100, 0)
        );
        let wc = Wc::of_test(second, SUCCESS, 8).invalidating(0x1234);
        let completed = take(&wc).ok_or(Status::InternalError)?;
        assert_eq!(
            (completed.operation, completed.bytes, completed.token),
            (RECEIVE_AND_INVALIDATE, 8, 0x1234)
        );
        // What does not fit is not what a sender did wrong.
        assert!(seen(complete(third, TOO_LONG)) == Some((3, Err(Status::BufferOverflow))));
        Ok(())
    }

    /// Proves: 6.4-silent
    #[test]
    fn silent_successes_are_swallowed() -> Result {
        let queue = queue(8)?;
        let (_, signalled) = post(&queue, SEND, true, 1)?;
        assert!(!signalled);
        // Every second one of a queue of eight.
        let (second, signalled) = post(&queue, SEND, true, 2)?;
        assert!(signalled);
        assert_eq!(queue.in_flight(), 2);
        assert!(complete(second, SUCCESS).is_none());
        assert_eq!(queue.in_flight(), 0);
        Ok(())
    }

    #[test]
    fn a_completion_retires_silent_requests_before_it() -> Result {
        let queue = queue(8)?;
        post(&queue, SEND, true, 1)?;
        let (loud, _) = post(&queue, SEND, false, 2)?;
        assert!(seen(complete(loud, SUCCESS)) == Some((2, Ok(()))));
        assert_eq!(queue.in_flight(), 0);
        Ok(())
    }

    /// Proves: 6.4-silent
    #[test]
    fn silent_failures_are_reported() -> Result {
        let queue = queue(8)?;
        let (silent, _) = post(&queue, SEND, true, 1)?;
        assert!(seen(complete(silent, FLUSHED)) == Some((1, Err(Status::Cancelled))));
        Ok(())
    }

    #[test]
    fn a_second_completion_of_a_request_is_stale() -> Result {
        let queue = queue(4)?;
        let (id, _) = post(&queue, SEND, false, 1)?;
        assert!(complete(id, SUCCESS).is_some());
        assert!(complete(id, SUCCESS).is_none());
        Ok(())
    }

    #[test]
    fn a_full_queue_takes_nothing_but_the_sentinel() -> Result {
        let queue = queue(2)?;
        post(&queue, SEND, false, 1)?;
        let (last, _) = post(&queue, SEND, false, 2)?;
        assert!(post(&queue, SEND, false, 3).err() == Some(Status::NoMoreEntries));
        let sentinel = post_sentinel(&queue)?;
        assert!(complete(last, SUCCESS).is_some());
        assert_eq!(queue.in_flight(), 1);
        assert!(complete(sentinel, FLUSHED).is_none());
        assert_eq!(queue.in_flight(), 0);
        Ok(())
    }

    #[test]
    fn a_sentinel_that_passes_a_request_leaves_it_and_what_is_behind() -> Result {
        let queue = queue(8)?;
        post(&queue, SEND, true, 1)?;
        let (passed, _) = post(&queue, SEND, false, 2)?;
        post(&queue, SEND, true, 3)?;
        let sentinel = post_sentinel(&queue)?;
        assert!(complete(sentinel, FLUSHED).is_none());
        assert!(queue.is_done_but_for(0));
        assert_eq!(queue.in_flight(), 4);
        let mut cancelled = 0;
        queue.abandon(|completed| cancelled = 10 * cancelled + completed.request_context);
        assert_eq!(cancelled, 23);
        assert_eq!(queue.in_flight(), 0);
        // Its own completion comes too late.
        assert!(complete(passed, FLUSHED).is_none());
        Ok(())
    }

    #[test]
    fn what_the_device_refuses_leaves_no_trace() -> Result {
        let queue = queue(1)?;
        let reservation = queue.reserve(false)?;
        queue.fill(&reservation, Tag::new(SEND, false), core::ptr::null_mut());
        queue.publish(&reservation);
        queue.retract(&reservation);
        assert_eq!(queue.in_flight(), 0);
        let (id, _) = post(&queue, SEND, false, 2)?;
        assert!(seen(complete(id, SUCCESS)) == Some((2, Ok(()))));
        Ok(())
    }

    #[test]
    fn abandoned_requests_are_cancelled_in_order() -> Result {
        let queue = queue(8)?;
        let (done, _) = post(&queue, SEND, false, 1)?;
        post(&queue, SEND, true, 2)?;
        post(&queue, SEND, false, 3)?;
        post_sentinel(&queue)?;
        assert!(complete(done, SUCCESS).is_some());
        let mut contexts = [0; 4];
        let mut count = 0;
        let mut all_cancelled = true;
        queue.abandon(|completed| {
            if let Some(slot) = contexts.get_mut(count) {
                *slot = completed.request_context;
            }
            count += 1;
            all_cancelled &= completed.result == Err(Status::Cancelled);
        });
        assert_eq!(contexts, [2, 3, 0, 0]);
        assert_eq!(count, 2);
        assert!(all_cancelled);
        assert_eq!(queue.in_flight(), 0);
        Ok(())
    }
}
