// SPDX-License-Identifier: GPL-2.0

//! Posting.
//!
//! The consumer serializes posts to one queue, so a post takes no lock: it looks at the device's QP under RCU, takes a place
//! in the [`WorkQueue`], and hands the request on. A post that fails gives the place back and leaves no trace. A request that
//! is deferred stays in the [`Chain`] until a later one, or the failure of a later one, rings the doorbell for both.
//!
//! [`WorkQueue`]: crate::verbs::work::WorkQueue
//! [`Chain`]: crate::verbs::chain::Chain

use super::{
    Gate,
    Qp,
    RECLAIM, //
};
use crate::{
    ctx::MaySleep,
    ffi,
    queues,
    state::{
        chain::{
            self,
            Step, //
        },
        flags,
        queue::Reservation,
        status::Status, //
    },
    status::Result,
    sync::SleepItem,
    verbs::{
        inline::{
            Pieces,
            Scratch, //
        },
        qp,
        work::{
            Place,
            Tag, //
        },
        wr::{
            How,
            Parts,
            SendWr,
            Sge, //
        },
    }, //
};
use core::ffi::c_void;
use kernel::{
    page::PAGE_SIZE,
    prelude::*,
    sync::{
        atomic::Full,
        barrier::smp_mb,
        rcu,
        Arc,
        ArcBorrow, //
    }, //
};

mod requests;

pub(crate) use requests::Memory;

/// A registration that a request makes or ends.
struct Tracked {
    token: u32,
    /// Whether somebody waits for the end of the request, which so has a completion from the device, also when it is silent.
    counted: bool,
}

impl Tracked {
    fn new(token: u32, counted: bool) -> Self {
        Self { token, counted }
    }

    fn counted(token: u32) -> Self {
        Self::new(token, true)
    }
}

impl Qp {
    /// Makes a post to the initiator queue. Where it fails, what was deferred before it goes to the device all the same. Any
    /// context.
    #[inline]
    pub(crate) fn initiate(
        self: ArcBorrow<'_, Self>,
        post: impl FnOnce(ArcBorrow<'_, Self>) -> Result,
    ) -> Result {
        let result = post(self);
        if result.is_err() {
            // NDKPI: whatever the failure, the provider rings the doorbell for the deferred requests that it accepted.
            self.ring_for_waiting();
        }
        result
    }

    /// Whether the device is there and initiator requests are let in.
    #[inline]
    fn ready<'a>(&'a self, guard: &'a rcu::Guard) -> Result<ArcBorrow<'a, qp::Qp>> {
        let lower = self.lower.borrow(guard)?;
        // NDKPI: initiator requests need a connection.
        if self.gate() == Gate::All as u32 {
            Ok(lower)
        } else {
            Err(Status::ConnectionInvalid)
        }
    }

    /// Checks number and bytes of the pieces of a request.
    #[inline]
    fn check_size(&self, sgl: &[Sge], max_sge: u32) -> Result {
        self.check_total(sgl, Sge::total(sgl), max_sge)
    }

    #[inline]
    fn check_total(&self, sgl: &[Sge], total: u64, max_sge: u32) -> Result {
        if sgl.len() > max_sge as usize || total > self.max_transfer {
            return Err(Status::DataOverrun);
        }
        Ok(())
    }

    /// Takes a place for a request to the initiator queue.
    #[inline]
    fn reserve(self: ArcBorrow<'_, Self>, silent: bool) -> Result<Reservation> {
        self.send
            .reserve(silent)
            .or_else(|status| self.reserve_again(silent, status))
    }

    /// [`Self::reserve`] where the queue seems to be full.
    #[cold]
    fn reserve_again(
        self: ArcBorrow<'_, Self>,
        silent: bool,
        status: Status,
    ) -> Result<Reservation> {
        // What fills the queue may be silent requests that are long done, which nobody else would take out.
        if !self.initiator_cq.object().collect_if_diverted() {
            self.reclaim();
            return Err(status);
        }
        self.send.reserve(silent)
    }

    /// Posts one request to the initiator queue, of one work request; `build` makes it from its id and its place in the queue.
    #[inline]
    fn post<'a>(
        self: ArcBorrow<'_, Self>,
        lower: ArcBorrow<'_, qp::Qp>,
        context: *mut c_void,
        operation: u32,
        flags: u32,
        build: impl FnOnce(u64, Place) -> Result<SendWr<'a>>,
    ) -> Result {
        if flags & flags::READ_FENCE != 0 {
            if let Some(key) = lower.barrier() {
                return self.post_behind(key, lower, context, operation, flags, build);
            }
        }
        let silent = flags & flags::SILENT_SUCCESS != 0;
        let mut reservation = self.reserve(silent)?;
        let tag = Tag::new(operation, silent);
        let (wr_id, place) = self.send.fill(&reservation, tag, context);
        let mut request = build(wr_id, place)?;
        // NDKPI: the buffers are the consumer's again with any success behind it. siw copies what asks for a completion, and
        // what is less than a page.
        if self.sends_in_place && request.length() >= PAGE_SIZE as u64 {
            reservation.signalled = true;
        }
        request.set(How::of(
            self.in_order(operation, flags),
            reservation.signalled,
        ));
        self.send.publish(&reservation);
        lower.trace_post(operation, flags, context, reservation.signalled);
        let defer = flags & flags::DEFER != 0;
        let posted = match chain::step(self.chain.waiting(), self.chain.room(), 1, defer) {
            Step::Post => lower.post_send(&request),
            step => self.chain_up(step, lower, request.into()),
        };
        self.end_of_post(posted, &reservation, silent)
    }

    /// [`Self::post`] of a fenced request where the invalidation of `key` is the fence.
    #[cold]
    fn post_behind<'a>(
        self: ArcBorrow<'_, Self>,
        key: u32,
        lower: ArcBorrow<'_, qp::Qp>,
        context: *mut c_void,
        operation: u32,
        flags: u32,
        build: impl FnOnce(u64, Place) -> Result<SendWr<'a>>,
    ) -> Result {
        let silent = flags & flags::SILENT_SUCCESS != 0;
        let reservation = self.reserve(silent)?;
        let tag = Tag::new(operation, silent);
        let (wr_id, place) = self.send.fill(&reservation, tag, context);
        // With nothing before it, it is not held back either.
        let key = Some(key).filter(|_| self.send.in_flight() != 0);
        let mut request = Parts::behind(key, wr_id, build(wr_id, place)?);
        request.set(How::of(flags & !flags::READ_FENCE, reservation.signalled));
        self.launch(lower, context, operation, flags, &reservation, request)
    }

    /// As [`Self::post`], of up to three work requests that may make or end a registration.
    #[inline]
    fn post_tracked<'a>(
        self: ArcBorrow<'_, Self>,
        lower: ArcBorrow<'_, qp::Qp>,
        context: *mut c_void,
        operation: u32,
        flags: u32,
        tracked: Tracked,
        build: impl FnOnce(u64, Place) -> Result<Parts<'a>>,
    ) -> Result {
        let silent = flags & flags::SILENT_SUCCESS != 0;
        let mut reservation = self.reserve(silent)?;
        let tag = Tag::new(operation, silent).of_token(tracked.counted);
        reservation.signalled |= tracked.counted;
        let (wr_id, place) = self.send.fill(&reservation, tag, context);
        self.send.note_token(&place, tracked.token);
        let mut request = build(wr_id, place)?;
        request.set(How::of(
            self.in_order(operation, flags),
            reservation.signalled,
        ));
        self.launch(lower, context, operation, flags, &reservation, request)
    }

    /// The rest of a post of work requests that are made.
    #[inline]
    fn launch(
        self: ArcBorrow<'_, Self>,
        lower: ArcBorrow<'_, qp::Qp>,
        context: *mut c_void,
        operation: u32,
        flags: u32,
        reservation: &Reservation,
        request: Parts<'_>,
    ) -> Result {
        self.send.publish(reservation);
        lower.trace_post(operation, flags, context, reservation.signalled);
        let defer = flags & flags::DEFER != 0;
        let parts = request.count();
        let posted = match chain::step(self.chain.waiting(), self.chain.room(), parts, defer) {
            Step::Post => lower.post_send(request.last()),
            step => self.chain_up(step, lower, request),
        };
        self.end_of_post(posted, reservation, flags & flags::SILENT_SUCCESS != 0)
    }

    /// The flags with which the device completes a request after those before it. siw completes others than reads past them if
    /// they are not fenced, and refuses a read that is.
    #[inline]
    fn in_order(&self, operation: u32, flags: u32) -> u32 {
        if !self.completes_past_reads {
            flags
        } else if operation == ffi::ndk_operation_type_NDK_OPERATION_READ {
            flags & !flags::READ_FENCE
        } else {
            flags | flags::READ_FENCE
        }
    }

    /// Has a request wait, or go with those that do.
    #[inline(never)]
    fn chain_up(
        self: ArcBorrow<'_, Self>,
        step: Step,
        lower: ArcBorrow<'_, qp::Qp>,
        request: Parts<'_>,
    ) -> Result<(), Error> {
        match step {
            Step::Keep => self.keep(lower, &request),
            Step::Post | Step::Ring => self.ring(&lower, Some(request)),
        }
    }

    #[inline]
    fn end_of_post(
        self: ArcBorrow<'_, Self>,
        posted: Result<(), Error>,
        reservation: &Reservation,
        silent: bool,
    ) -> Result {
        if let Err(error) = posted {
            self.send.retract(reservation);
            return Err(refused(error));
        }
        if silent && reservation.signalled && self.send.is_crowded() {
            self.reclaim();
        }
        Ok(())
    }

    /// Keeps a request until its doorbell.
    fn keep(
        self: ArcBorrow<'_, Self>,
        lower: ArcBorrow<'_, qp::Qp>,
        request: &Parts<'_>,
    ) -> Result<(), Error> {
        self.chain.claim().keep(request, lower)?;
        // Who closes the gate looks at the chain after that, and this looks at the gate after the chain: one of both sees it.
        smp_mb(Full);
        if self.gate() != Gate::All as u32 {
            let _ = self.ring(&lower, None);
        }
        Ok(())
    }

    /// Posts what waits, and `last` behind it.
    #[inline(never)]
    fn ring(
        self: ArcBorrow<'_, Self>,
        lower: &qp::Qp,
        last: Option<Parts<'_>>,
    ) -> Result<(), Error> {
        let posted = self.chain.claim().post(lower, last);
        if self.chain.orphans() != 0 {
            self.orphaned();
        }
        posted
    }

    /// Posts what waits.
    #[cold]
    pub(crate) fn ring_for_waiting(self: ArcBorrow<'_, Self>) {
        let guard = rcu::read_lock();
        if self.chain.waiting() != 0 {
            // Where the device goes, the end of the QP sees to it.
            if let Ok(lower) = self.lower.borrow(&guard) {
                let _ = self.ring(&lower, None);
            }
        }
    }

    /// The device has refused requests that were accepted: the connection ends, and they end as cancelled.
    #[cold]
    fn orphaned(self: ArcBorrow<'_, Self>) {
        self.set_disconnected();
        super::drain::flush(&self.into());
    }

    /// Posts a send or write whose data may be inline.
    #[inline]
    fn post_data(
        self: ArcBorrow<'_, Self>,
        context: *mut c_void,
        operation: u32,
        pieces: Pieces<'_>,
        flags: u32,
        build: impl for<'a> FnOnce(u64, &'a [Sge]) -> SendWr<'a>,
    ) -> Result {
        let guard = rcu::read_lock();
        let lower = self.ready(&guard)?;
        if !pieces.is_inline() {
            let sgl = pieces.sgl();
            self.check_total(sgl, pieces.total(), self.max_initiator_sge)?;
            return self.post(lower, context, operation, flags, |wr_id, _| {
                Ok(build(wr_id, sgl))
            });
        }
        // NDKPI: with inline data the number of pieces is free, their sum is not.
        if pieces.total() > u64::from(self.inline_size) {
            return Err(Status::DataOverrun);
        }
        let mut scratch = Scratch::new();
        self.post(lower, context, operation, flags, |wr_id, place| {
            Ok(self
                .inline
                .build(pieces, &place, &mut scratch, |sgl| build(wr_id, sgl))?)
        })
    }

    /// Makes a registration; where two invalidations before it are on their way, the provider looks for their completions, as
    /// it does when a queue is full.
    fn with_spare(self: ArcBorrow<'_, Self>, mut make: impl FnMut() -> Result) -> Result {
        match make() {
            Err(Status::NoMoreEntries) => {}
            other => return other,
        }
        if !self.initiator_cq.object().collect_if_diverted() {
            self.reclaim();
            return Err(Status::NoMoreEntries);
        }
        make()
    }

    #[cold]
    fn reclaim(self: ArcBorrow<'_, Self>) {
        queues::sleep().enqueue::<Qp, RECLAIM>(self.into());
    }
}

impl SleepItem<RECLAIM> for Qp {
    fn run(this: Arc<Self>, ctx: &MaySleep) {
        // The consumer seems not to poll. As long as that is so, posts may take silent requests out themselves.
        this.initiator_cq.object().collect_and_stay(ctx);
    }
}

/// Why the device refused a request that passed our own checks.
#[cold]
fn refused(error: Error) -> Status {
    if error == ENOMEM {
        // The device's queue is full, or has not seen yet that it is not.
        Status::NoMoreEntries
    } else if error == EINVAL {
        // The QP left the state in which it takes requests.
        Status::ConnectionInvalid
    } else {
        error.into()
    }
}
