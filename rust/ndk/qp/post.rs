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
    Receives,
    Remote,
    RECLAIM, //
};
use crate::{
    ctx::MaySleep,
    ffi,
    mr::{
        Mr,
        Region, //
    },
    mw::{
        Bind,
        Mw, //
    },
    queues,
    state::{
        chain::{
            self,
            Step, //
        },
        flags::{
            self,
            Op, //
        },
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
            RecvWr,
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

/// What an invalidation names.
pub(crate) enum Memory<'a> {
    /// An MR.
    Mr(ArcBorrow<'a, Mr>),
    /// A memory window.
    Mw(ArcBorrow<'a, Mw>),
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

    /// Sends a message, or one that invalidates a token of the peer. Any context.
    pub(crate) fn send(
        self: ArcBorrow<'_, Self>,
        context: *mut c_void,
        pieces: Pieces<'_>,
        flags: u32,
        invalidate: Option<u32>,
    ) -> Result {
        // NDKPI: to its sender, a send that invalidates is a send.
        let operation = ffi::ndk_operation_type_NDK_OPERATION_SEND;
        match invalidate {
            None => {
                Op::Send.check(flags)?;
                self.post_data(context, operation, pieces, flags, |wr_id, sgl| {
                    SendWr::send(wr_id, sgl)
                })
            }
            Some(token) => {
                Op::SendAndInvalidate.check(flags)?;
                self.post_data(context, operation, pieces, flags, |wr_id, sgl| {
                    SendWr::send_inv(wr_id, sgl, token)
                })
            }
        }
    }

    /// Writes to the peer's memory. Any context.
    pub(crate) fn write(
        self: ArcBorrow<'_, Self>,
        context: *mut c_void,
        pieces: Pieces<'_>,
        remote: Remote,
        flags: u32,
    ) -> Result {
        Op::Write.check(flags)?;
        let operation = ffi::ndk_operation_type_NDK_OPERATION_WRITE;
        self.post_data(context, operation, pieces, flags, |wr_id, sgl| {
            SendWr::write(wr_id, sgl, remote.address, remote.token)
        })
    }

    /// Reads the peer's memory. Any context.
    pub(crate) fn read(
        self: ArcBorrow<'_, Self>,
        context: *mut c_void,
        sgl: &[ffi::ndk_sge],
        remote: Remote,
        flags: u32,
    ) -> Result {
        Op::Read.check(flags)?;
        let sgl = Sge::from_ndk(sgl);
        let guard = rcu::read_lock();
        let lower = self.ready(&guard)?;
        self.check_size(sgl, self.max_read_sge)?;
        let operation = ffi::ndk_operation_type_NDK_OPERATION_READ;
        // NDKPI: with local invalidation, success ends the token of the first piece.
        let first = sgl
            .first()
            .filter(|_| flags & flags::RDMA_READ_LOCAL_INVALIDATE != 0);
        // On iWARP a read names a sink, also where it brings nothing.
        let nowhere = [Sge::default()];
        let sgl = match sgl {
            [] if self.read_invalidates => &nowhere,
            _ => sgl,
        };
        let read = |wr_id| SendWr::read(wr_id, sgl, remote.address, remote.token);
        let Some(first) = first else {
            return self.post(lower, context, operation, flags, |wr_id, _| Ok(read(wr_id)));
        };
        let token = first.lkey();
        let fenced = flags & flags::READ_FENCE != 0;
        let (barrier, flags) = match lower.barrier() {
            // The device's own fence would hold the read up for ever once it has to be sent again.
            Some(_) if fenced => (self.barrier(lower), flags & !flags::READ_FENCE),
            _ => (None, flags),
        };
        self.pd.registrations().end_local(token, || {
            let tracked = Tracked::counted(token);
            self.post_tracked(lower, context, operation, flags, tracked, |wr_id, _| {
                if self.read_invalidates {
                    let (address, remote) = (remote.address, remote.token);
                    return Ok(SendWr::read_inv(wr_id, sgl, address, remote, token).into());
                }
                // After the read, and it alone has the completion.
                let invalidate = SendWr::local_inv(wr_id, token).fenced();
                Ok(Parts::two(read(wr_id), invalidate).after(barrier, wr_id))
            })
        })
    }

    /// The key to invalidate before a registration or a fenced request, where a retry of what is under way would come to that.
    #[inline]
    fn barrier(&self, lower: ArcBorrow<'_, qp::Qp>) -> Option<u32> {
        lower.barrier().filter(|_| self.send.in_flight() != 0)
    }

    /// Registers the pages of a LAM. Any context.
    pub(crate) fn fast_register(
        self: ArcBorrow<'_, Self>,
        context: *mut c_void,
        mr: &Mr,
        region: Region<'_>,
        flags: u32,
    ) -> Result {
        Op::FastRegister.check(flags)?;
        let guard = rcu::read_lock();
        let lower = self.ready(&guard)?;
        if !mr.is_of(self.pd.object()) {
            return Err(Status::InvalidParameter);
        }
        let operation = ffi::ndk_operation_type_NDK_OPERATION_FAST_REGISTER;
        let user = (&self.chain, self.reads_late);
        let barrier = self.barrier(lower);
        self.with_spare(|| {
            mr.fast_register(&region, flags, &guard, user, |mr, access| {
                let tracked = Tracked::new(mr.rkey(), self.reads_late);
                self.post_tracked(lower, context, operation, flags, tracked, |wr_id, _| {
                    let register = SendWr::reg_mr(wr_id, mr, mr.rkey(), access);
                    Ok(Parts::behind(barrier, wr_id, register))
                })
            })
        })
    }

    /// Has a window show a part of an MR. Any context.
    pub(crate) fn bind(
        self: ArcBorrow<'_, Self>,
        context: *mut c_void,
        mr: ArcBorrow<'_, Mr>,
        mw: &Mw,
        bind: Bind,
    ) -> Result {
        let flags = bind.flags;
        Op::Bind.check(flags)?;
        let guard = rcu::read_lock();
        let lower = self.ready(&guard)?;
        let pd = self.pd.object();
        if !mr.is_of(pd) || !mw.is_of(pd) {
            return Err(Status::AccessViolation);
        }
        let operation = ffi::ndk_operation_type_NDK_OPERATION_BIND;
        let user = (&self.chain, self.reads_late);
        let barrier = self.barrier(lower);
        self.with_spare(|| {
            mw.bind(mr, &bind, &guard, user, |mr, access, replaces| {
                let counted = self.reads_late || replaces.is_some();
                let tracked = Tracked::new(mr.rkey(), counted);
                self.post_tracked(lower, context, operation, flags, tracked, |wr_id, _| {
                    let register = SendWr::reg_mr(wr_id, mr, mr.rkey(), access);
                    Ok(Parts::behind(replaces.or(barrier), wr_id, register))
                })
            })
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

    /// Ends a fast registration, or what a window shows. Any context.
    pub(crate) fn invalidate(
        self: ArcBorrow<'_, Self>,
        context: *mut c_void,
        memory: Memory<'_>,
        flags: u32,
    ) -> Result {
        Op::Invalidate.check(flags)?;
        let guard = rcu::read_lock();
        let lower = self.ready(&guard)?;
        let pd = self.pd.object();
        let operation = ffi::ndk_operation_type_NDK_OPERATION_INVALIDATE;
        let post = |token| {
            let tracked = Tracked::counted(token);
            self.post_tracked(lower, context, operation, flags, tracked, |wr_id, _| {
                Ok(SendWr::local_inv(wr_id, token).into())
            })
        };
        match memory {
            Memory::Mr(mr) if mr.is_of(pd) => mr.invalidate(&guard, post),
            Memory::Mw(mw) if mw.is_of(pd) => mw.invalidate(&guard, post),
            _ => Err(Status::InvalidParameter),
        }
    }

    /// Posts a receive. Any context.
    pub(crate) fn receive(&self, context: *mut c_void, sgl: &[ffi::ndk_sge]) -> Result {
        let sgl = Sge::from_ndk(sgl);
        let guard = rcu::read_lock();
        let lower = self.lower.access(&guard)?;
        // NDKPI: receives of a QP with an SRQ are posted to that.
        let Receives::Own { queue, max_sge } = &self.receives else {
            return Err(Status::InvalidDeviceRequest);
        };
        // NDKPI: a receive needs no connection, but one that was disconnected takes none any more.
        if self.gate() == Gate::Nothing as u32 {
            return Err(Status::ConnectionInvalid);
        }
        self.check_size(sgl, *max_sge)?;
        let reservation = queue.reserve(false)?;
        let operation = ffi::ndk_operation_type_NDK_OPERATION_RECEIVE;
        let tag = Tag::new(operation, false);
        let (wr_id, _) = queue.fill(&reservation, tag, context);
        queue.publish(&reservation);
        lower.trace_post(operation, 0, context, true);
        if let Err(error) = lower.post_recv(RecvWr::new(wr_id, sgl)) {
            queue.retract(&reservation);
            return Err(refused(error));
        }
        Ok(())
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
