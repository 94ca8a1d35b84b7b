// SPDX-License-Identifier: GPL-2.0

//! Queue pairs, and who uses them. Their creation is in `qp/create.rs`, requests are in `qp/post.rs`, the way to the end is in
//! `qp/drain.rs`.

use crate::{
    adapter::{
        Adapter,
        Port, //
    },
    cq::{
        Cq,
        Seats, //
    },
    ctx::{
        MaySleep,
        Process, //
    },
    ffi,
    object::{
        object,
        Head,
        Held,
        Object, //
    },
    pd::Pd,
    registry::{
        Lower,
        Rank, //
    },
    srq::Srq,
    state::{
        atomic::AtomicU32,
        stall::Watch,
        status::Status, //
    },
    status::Result,
    sync::{
        sleep_work,
        IrqSpinLock, //
    },
    verbs::{
        chain::Chain,
        fault::{
            FaultLine,
            FaultSink, //
        },
        handle::Handle,
        inline::Inline,
        qp::{
            self,
            QpEvent,
            QpEvents, //
        },
        shared_queue::SharedQueue,
        work::WorkQueue, //
    }, //
};
use kernel::{
    fmt,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Full,
            Relaxed,
            Release, //
        },
        rcu,
        Arc,
        ArcBorrow,
        Mutex, //
    },
    workqueue::Work, //
};

mod create;
mod drain;
mod post;
mod watch;

pub(crate) use self::{
    create::{
        create,
        Config,
        Wanted, //
    },
    drain::flush,
    post::Memory, //
};

/// Work item that flushes.
const FLUSH: u64 = 2;

/// Work item that takes silent completions out.
const RECLAIM: u64 = 3;

/// Remote memory.
#[derive(Clone, Copy)]
pub(crate) struct Remote {
    /// Address within the peer's region.
    pub(crate) address: u64,
    /// The peer's token.
    pub(crate) token: u32,
}

/// What may be posted.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum Gate {
    /// Receives: not connected yet.
    Receives = 0,
    /// Everything.
    All = 1,
    /// Nothing any more.
    Nothing = 2,
}

/// Who uses the QP for a connection.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum Use {
    /// Nobody yet.
    Free = 0,
    /// A connector.
    Claimed = 1,
    /// A connector got it as far as the device; it serves no other connection.
    Spent = 2,
}

/// Where the receives of a QP come from.
enum Receives {
    /// A queue of its own.
    Own { queue: Arc<WorkQueue>, max_sge: u32 },
    /// An SRQ.
    Shared {
        srq: Held<Srq>,
        /// The device has failed the QP, and takes no receive for it any more.
        ended: Arc<Atomic<bool>>,
    },
}

impl Receives {
    /// Receives of the QP alone that have no completion yet.
    fn in_flight(&self) -> u32 {
        match self {
            Self::Own { queue, .. } => queue.in_flight(),
            Self::Shared { .. } => 0,
        }
    }

    fn srq(&self) -> Option<&Arc<Srq>> {
        match self {
            Self::Own { .. } => None,
            Self::Shared { srq, .. } => Some(srq.object()),
        }
    }
}

/// How far the end of a QP is.
struct End {
    /// The device's QP is in its error state, which it does not leave.
    failed: bool,
    /// The last request is posted.
    sentinel: bool,
    /// The device takes too long to complete what it has, and is not waited for any more.
    given_up: bool,
}

/// A queue pair.
#[pin_data]
#[repr(C)]
pub(crate) struct Qp {
    #[pin]
    head: Head<Qp>,
    #[pin]
    flush_work: Work<Qp, FLUSH>,
    #[pin]
    reclaim_work: Work<Qp, RECLAIM>,
    lower: Handle<qp::Qp>,
    send: Arc<WorkQueue>,
    receives: Receives,
    /// Requests of `send` that wait for their doorbell.
    chain: Arc<Chain>,
    line: Arc<FaultLine>,
    inline: Inline,
    gate: AtomicU32,
    max_initiator_sge: u32,
    max_read_sge: u32,
    max_transfer: u64,
    inline_size: u32,
    /// Whether one work request reads and invalidates.
    read_invalidates: bool,
    /// Whether only a fence keeps a request from completing before a read that was posted earlier.
    completes_past_reads: bool,
    /// Whether the device reads what a registration names after it was posted, as devices in software do.
    reads_late: bool,
    /// Whether the device may send out of the buffers of a request that is done, unless it asked for a completion.
    sends_in_place: bool,
    /// Held by the one who brings the end about: posting the sentinel takes the place of the consumer.
    #[pin]
    end: Mutex<End>,
    usage: Atomic<u32>,
    /// Its places on the CQs, until it is torn down.
    #[pin]
    seats: IrqSpinLock<Option<Seats>>,
    receive_cq: Held<Cq>,
    initiator_cq: Held<Cq>,
    pd: Held<Pd>,
}

object!(Qp);

sleep_work! { impl SleepItem<2> for Qp { self.flush_work } }
sleep_work! { impl SleepItem<3> for Qp { self.reclaim_work } }

/// What the device's QP needs of ours: it keeps the queues as long as it can complete requests in them.
struct Events {
    line: Arc<FaultLine>,
    /// See [`Receives::Shared`].
    ended: Option<Arc<Atomic<bool>>>,
    _send: Arc<WorkQueue>,
    _receive: Option<Arc<WorkQueue>>,
    _shared: Option<Arc<SharedQueue>>,
}

impl QpEvents for Events {
    fn event(this: ArcBorrow<'_, Self>, event: QpEvent) {
        match event {
            QpEvent::Fatal | QpEvent::RequestError | QpEvent::AccessError => this.line.broken(),
            QpEvent::CommEst => this.line.message_came_first(),
            QpEvent::LastReceive => {
                if let Some(ended) = &this.ended {
                    ended.store(true, Release);
                }
            }
            QpEvent::Other => {}
        }
    }
}

impl Object for Qp {
    type Shell = ffi::ndk_qp;

    fn head(&self) -> &Head<Self> {
        &self.head
    }

    fn root(&self) -> Option<&Adapter> {
        Some(self.pd.adapter())
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let guard = rcu::read_lock();
        match self.lower.access(&guard) {
            Ok(lower) => f.write_fmt(fmt!(" qpn={}", lower.number()))?,
            Err(_) => f.write_str(" qpn=none")?,
        }
        let open = match self.gate() {
            gate if gate == Gate::Receives as u32 => "receives",
            gate if gate == Gate::All as u32 => "all",
            _ => "nothing",
        };
        f.write_fmt(fmt!(
            " posts={open} initiator={}/{} initiator_cq={} receive_cq={}",
            self.send.in_flight(),
            self.send.depth(),
            self.initiator_cq.number(),
            self.receive_cq.number()
        ))?;
        match &self.receives {
            Receives::Own { queue, .. } => {
                f.write_fmt(fmt!(" receive={}/{}", queue.in_flight(), queue.depth()))
            }
            Receives::Shared { srq, .. } => f.write_fmt(fmt!(" srq={}", srq.number())),
        }
    }

    fn teardown(this: &Arc<Self>, ctx: &MaySleep) {
        if this.port().registry().remove(&**this) {
            Self::destroy_closed(this, ctx);
        } else {
            this.destroy_in_use(ctx);
        }
        let seats = this.seats.lock().take();
        if let Some(seats) = seats {
            seats.leave(ctx);
        }
        this.detach(ctx);
    }
}

impl Lower for Qp {
    fn rank(&self) -> Rank {
        Rank::Qp
    }

    fn revoke(self: Arc<Self>, ctx: &MaySleep) {
        self.destroy_in_use(ctx);
    }

    fn look(self: Arc<Self>, watch: Watch, ctx: &MaySleep) -> Option<Watch> {
        self.look_after(watch, ctx)
    }
}

impl Qp {
    fn port(&self) -> &Arc<Port> {
        self.pd.adapter().port()
    }

    /// The CQs, each once.
    fn cqs(&self) -> impl Iterator<Item = &Arc<Cq>> {
        let (initiator, receive) = (self.initiator_cq.object(), self.receive_cq.object());
        let other = (!Arc::ptr_eq(initiator, receive)).then_some(receive);
        [Some(initiator), other].into_iter().flatten()
    }

    /// Tells who takes completions out, and has the SRQ, if there is one, tell it when it fails and its receives go with
    /// `context`.
    fn attach(&self, lower: &qp::Qp, context: usize, ctx: &MaySleep) -> Result {
        let collector = self.initiator_cq.object().clone();
        self.line.collect_by(Some(collector));
        match self.receives.srq() {
            Some(srq) => srq.attach(lower, context, &self.line, self.receive_cq.object(), ctx),
            None => Ok(()),
        }
    }

    /// Undoes [`Self::attach`].
    fn detach(&self, ctx: &MaySleep) {
        self.line.collect_by(None);
        self.leave_srq(ctx);
    }

    /// Has the SRQ forget it, if that was not done before.
    fn leave_srq(&self, ctx: &MaySleep) {
        if let Some(srq) = self.receives.srq() {
            srq.detach(&self.line, self.receive_cq.object(), ctx);
        }
    }

    /// What traces and debugfs call it.
    pub(crate) fn number(&self) -> u64 {
        self.head.number()
    }

    /// The PD it was made from.
    pub(crate) fn pd(&self) -> &Arc<Pd> {
        self.pd.object()
    }

    /// The QP on the device. Sleeps.
    ///
    /// # Errors
    ///
    /// `DeviceRemoved`.
    pub(crate) fn lower(&self, ctx: &Process) -> Result<Arc<qp::Qp>> {
        self.lower.get(ctx)
    }

    fn gate(&self) -> u32 {
        self.gate.load_acquire()
    }

    /// The connection that has claimed it got as far as the device: it serves no other.
    pub(crate) fn spend(&self) {
        self.usage.store(Use::Spent as u32, Relaxed);
    }

    /// Lets initiator requests in. Any context.
    pub(crate) fn set_connected(&self) {
        let _ = self
            .gate
            .compare_exchange(Gate::Receives as u32, Gate::All as u32);
    }

    /// Lets nothing in any more: a connection that ended is not used again. Any context.
    pub(crate) fn set_disconnected(&self) {
        self.gate.swap(Gate::Nothing as u32);
    }
}

/// The right of a connector to use a QP, which stays open meanwhile.
pub(crate) struct Claim {
    qp: Held<Qp>,
}

impl Claim {
    /// Claims a QP for a connection, faults of which go to `sink`. Any context.
    ///
    /// # Errors
    ///
    /// `ConnectionActive` for a QP that a connection uses or has used.
    pub(crate) fn new(qp: &Arc<Qp>, sink: Arc<dyn FaultSink>) -> Result<Self> {
        let held = Held::successor(qp)?;
        qp.usage
            .cmpxchg(Use::Free as u32, Use::Claimed as u32, Full)
            .map_err(|_| Status::ConnectionActive)?;
        qp.line.lead_to(Some(sink));
        Ok(Self { qp: held })
    }

    /// The QP.
    pub(crate) fn qp(&self) -> &Arc<Qp> {
        self.qp.object()
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.qp.line.lead_to(None);
        let _ = self
            .qp
            .usage
            .cmpxchg(Use::Claimed as u32, Use::Free as u32, Full);
    }
}
