// SPDX-License-Identifier: GPL-2.0

//! Shared receive queues.
//!
//! # Notification
//!
//! NDKPI wants it without the consumer polling, so it is the device's limit event that counts: it comes when a message takes a
//! receive. Arming the device sleeps, so that is done by a work item, after which the provider takes out what has completed
//! and looks for itself ([`crate::state::srq::Alarm`]).
//!
//! # Depth
//!
//! A larger depth makes the device's queue larger where that can be done. A smaller one is only kept to, and nothing is given
//! back to the device.

use crate::{
    adapter::Adapter,
    callback::{
        CreateCompletion,
        RequestCompletion,
        SrqNotification, //
    },
    cq::Cq,
    ctx::{
        MaySleep,
        Softirq, //
    },
    ffi,
    object::{
        self,
        object,
        Head,
        Held,
        Object, //
    },
    pd::Pd,
    queues,
    registry::{
        Lower,
        Rank, //
    },
    state::{
        limits::check_limit,
        srq::Heard,
        status::Status, //
    },
    status::{
        self,
        Result, //
    },
    sync::{
        bh_work,
        sleep_work,
        Affinity,
        BhItem,
        SleepItem, //
    },
    trace,
    verbs::{
        fault::FaultLine,
        handle::Handle,
        qp,
        shared_queue::{
            LowSink,
            SharedQueue, //
        },
        srq::{
            self,
            SrqEvents, //
        },
        wr::{
            RecvWr,
            Sge, //
        }, //
    }, //
};
use core::ffi::c_void;
use kernel::{
    fmt,
    prelude::*,
    sync::{
        new_mutex,
        rcu,
        Arc,
        ArcBorrow,
        Mutex, //
    },
    workqueue::{
        new_work,
        Work, //
    },
};

/// Work item that calls the notification.
const NOTIFY: u64 = 2;

/// Work item that arms the device.
const SETTLE: u64 = 3;

/// What the consumer wants of an SRQ.
pub(crate) struct Config {
    /// Receives outstanding.
    pub(crate) depth: u32,
    /// Pieces of a receive.
    pub(crate) max_sge: u32,
    /// What the number of receives falls below for a notification, 0 for none.
    pub(crate) threshold: u32,
    /// Where to notify.
    pub(crate) affinity: Affinity,
}

/// A shared receive queue.
#[pin_data]
#[repr(C)]
pub(crate) struct Srq {
    #[pin]
    head: Head<Srq>,
    #[pin]
    notify_work: Work<Srq, NOTIFY>,
    #[pin]
    settle_work: Work<Srq, SETTLE>,
    lower: Handle<srq::Srq>,
    queue: Arc<SharedQueue>,
    notification: Option<SrqNotification>,
    affinity: Affinity,
    max_sge: usize,
    max_transfer: u64,
    /// Receives that the device's queue holds; held by the one who changes the SRQ or arms the device.
    #[pin]
    device_depth: Mutex<u32>,
    /// Where the QPs of the SRQ have their receives completed, once for each QP.
    #[pin]
    cqs: Mutex<KVec<Arc<Cq>>>,
    pd: Held<Pd>,
}

object!(Srq);

bh_work! { impl BhItem<2> for Srq { self.notify_work } }
sleep_work! { impl SleepItem<3> for Srq { self.settle_work } }

impl Object for Srq {
    type Shell = ffi::ndk_srq;

    fn head(&self) -> &Head<Self> {
        &self.head
    }

    fn root(&self) -> Option<&Adapter> {
        Some(self.pd.adapter())
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_fmt(fmt!(
            " receive={} qps={}",
            self.queue.level(),
            self.queue.member_count()
        ))
    }

    fn cancel(this: &Arc<Self>) {
        this.queue.alarm().close();
    }

    fn teardown(this: &Arc<Self>, ctx: &MaySleep) {
        this.pd.adapter().port().registry().remove(&**this);
        this.clone().revoke(ctx);
        // They hold each other.
        this.queue.lead_to(None);
    }
}

impl Lower for Srq {
    fn rank(&self) -> Rank {
        Rank::Srq
    }

    // Its QPs, from which receives could come back, are gone. What is left in it has nobody to be reported to.
    fn revoke(self: Arc<Self>, ctx: &MaySleep) {
        drop(self.lower.take(ctx));
        // NDKPI: an SRQ that failed for good says so once. After a close there is nobody to tell.
        if self.queue.alarm().fail() {
            kick(&self);
        }
    }
}

impl SrqEvents for Srq {
    fn limit_reached(this: ArcBorrow<'_, Self>) {
        match this.queue.alarm().event() {
            Heard::Kick => kick(&this.into()),
            Heard::Look => settle(&this.into()),
            Heard::Nothing => {}
        }
    }

    fn failed(this: ArcBorrow<'_, Self>) {
        // NDKPI: the SRQ and its QPs are of no more use.
        if this.queue.alarm().fail() {
            kick(&this.into());
        }
        this.queue.broken();
    }
}

impl LowSink for Srq {
    fn low(self: Arc<Self>) {
        kick(&self);
    }
}

fn kick(srq: &Arc<Srq>) {
    queues::softirq().enqueue_near::<Srq, NOTIFY>(srq.clone(), srq.affinity);
}

fn settle(srq: &Arc<Srq>) {
    queues::sleep().enqueue::<Srq, SETTLE>(srq.clone());
}

impl BhItem<NOTIFY> for Srq {
    fn run(this: Arc<Self>, ctx: &Softirq) {
        // NDKPI: a close waits for a notification that runs, and none runs after it.
        let Ok(held) = Held::callback(&this) else {
            return;
        };
        let Some(status) = this.queue.alarm().begin_callback() else {
            return;
        };
        let result = match status {
            Status::Success => Ok(()),
            status => Err(status),
        };
        if let Some(notification) = this.notification {
            let (number, shown) = (this.head.number(), status::of(result));
            trace::srq_notify_begin(number, shown);
            notification.call(ctx, result);
            trace::srq_notify_end(number, shown);
        }
        drop(held);
    }
}

impl SleepItem<SETTLE> for Srq {
    fn run(this: Arc<Self>, ctx: &MaySleep) {
        let device_depth = this.device_depth.lock();
        this.settle(*device_depth, ctx);
    }
}

/// Creates an SRQ; `completion` brings it. Any context.
///
/// # Errors
///
/// `NotSupported` where the adapter has no SRQs, `InvalidParameter` for a depth of 0 or over a limit, `InsufficientResources`,
/// `DeviceRemoved`.
pub(crate) fn create(
    pd: &Arc<Pd>,
    config: Config,
    notification: Option<SrqNotification>,
    completion: CreateCompletion,
) -> Result {
    let port = pd.adapter().port();
    let limits = port.limits();
    if limits.max_srq_depth == 0 {
        return Err(Status::NotSupported);
    }
    if config.depth == 0 {
        return Err(Status::InvalidParameter);
    }
    check_limit(config.depth, limits.max_srq_depth)?;
    check_limit(config.max_sge, limits.max_receive_request_sge)?;
    drop(port.enter()?);
    object::create(pd, completion, move |pd, ctx| {
        Srq::new(pd.object(), config, notification, ctx)
    })
}

/// Changes depth and threshold; 0 keeps either. Any context.
///
/// # Errors
///
/// `InvalidParameter` over the limit, `InsufficientResources`, `DeviceRemoved`. In the completion also `BufferOverflow` below
/// what is outstanding, and `InternalError` for an SRQ that has failed.
pub(crate) fn modify(
    srq: &Arc<Srq>,
    depth: u32,
    threshold: u32,
    completion: RequestCompletion,
) -> Result {
    let port = srq.pd.adapter().port();
    check_limit(depth, port.limits().max_srq_depth)?;
    drop(port.enter()?);
    let held = Held::request(srq)?;
    object::defer(
        move |ctx| {
            let result = held.change(depth, threshold, ctx);
            trace::srq_modify(held.head.number(), depth, threshold, status::of(result));
            (result, held)
        },
        move |ctx, (result, held)| {
            completion.call(ctx, result);
            // A request of the SRQ until its callback has returned.
            drop(held);
        },
    )
}

impl Srq {
    /// What traces and debugfs call it.
    pub(crate) fn number(&self) -> u64 {
        self.head.number()
    }

    fn new(
        pd: &Arc<Pd>,
        config: Config,
        notification: Option<SrqNotification>,
        ctx: &MaySleep,
    ) -> Result<Arc<Self>> {
        let adapter = pd.adapter();
        let limits = adapter.port().limits();
        let held = Held::successor(pd)?;
        let lower_pd = pd.lower(ctx)?;
        // Without a callback there is nothing to be armed for.
        let threshold = notification.map_or(0, |_| config.threshold);
        let queue = SharedQueue::new(config.depth, threshold)?;
        let srq = Arc::pin_init(
            pin_init!(Self {
                head <- Head::new(adapter.version()),
                notify_work <- new_work!("Srq::notify_work"),
                settle_work <- new_work!("Srq::settle_work"),
                lower: Handle::new(),
                queue,
                notification,
                affinity: config.affinity,
                max_sge: config.max_sge as usize,
                max_transfer: u64::from(limits.max_transfer_length),
                device_depth <- new_mutex!(config.depth),
                cqs <- new_mutex!(KVec::new()),
                pd: held,
            }),
            GFP_KERNEL,
        )?;
        let lower = srq::Srq::new(
            ctx,
            lower_pd,
            config.depth,
            config.max_sge.max(1),
            srq.clone(),
        )?;
        *srq.device_depth.lock() = lower.depth();
        let lower = Arc::new(lower, GFP_KERNEL)?;
        srq.queue.lead_to(Some(srq.clone()));
        drop(srq.lower.set(lower));
        // Last: what is registered can be revoked at once.
        if let Err(status) = adapter.port().registry().add(&srq, GFP_KERNEL) {
            // The device's SRQ and this one hold each other, and so does its queue.
            drop(srq.lower.take(ctx));
            srq.queue.lead_to(None);
            return Err(status);
        }
        Ok(srq)
    }

    /// The PD it was made from.
    pub(crate) fn pd(&self) -> &Arc<Pd> {
        self.pd.object()
    }

    /// The SRQ on the device. Sleeps.
    ///
    /// # Errors
    ///
    /// `DeviceRemoved`.
    pub(crate) fn lower(&self, ctx: &MaySleep) -> Result<Arc<srq::Srq>> {
        self.lower.get(ctx)
    }

    /// Whether it has failed, and is of no use to a QP.
    pub(crate) fn is_faulty(&self) -> bool {
        self.queue.alarm().is_faulty()
    }

    /// What its receives are kept in.
    pub(crate) fn queue(&self) -> &Arc<SharedQueue> {
        &self.queue
    }

    /// Posts a receive. Any context; serialized by the consumer.
    pub(crate) fn receive(
        self: ArcBorrow<'_, Self>,
        context: *mut c_void,
        sgl: &[ffi::ndk_sge],
    ) -> Result {
        let sgl = Sge::from_ndk(sgl);
        let guard = rcu::read_lock();
        let lower = self.lower.access(&guard)?;
        if self.queue.alarm().is_faulty() {
            return Err(Status::InternalError);
        }
        if sgl.len() > self.max_sge || Sge::total(sgl) > self.max_transfer {
            return Err(Status::DataOverrun);
        }
        let (place, wr_id) = self.queue.reserve(context)?;
        let posted = lower.post_recv(RecvWr::new(wr_id, sgl));
        let result = posted.map_err(refused);
        trace::srq_receive(
            self.head.number(),
            context.addr(),
            place.level,
            status::of(result),
        );
        if result.is_err() {
            self.queue.retract(&place);
            return result;
        }
        if self.queue.alarm().posted(place.level) {
            settle(&self.into());
        }
        Ok(())
    }

    /// The part of [`modify`] that sleeps.
    fn change(&self, depth: u32, threshold: u32, ctx: &MaySleep) -> Result {
        let mut device_depth = self.device_depth.lock();
        if self.queue.alarm().is_faulty() {
            return Err(Status::InternalError);
        }
        if depth != 0 {
            self.set_depth(&mut device_depth, depth, ctx)?;
        }
        if threshold != 0 && self.notification.is_some() {
            self.queue.alarm().arm(threshold);
            self.settle(*device_depth, ctx);
        }
        Ok(())
    }

    fn set_depth(&self, device_depth: &mut u32, depth: u32, ctx: &MaySleep) -> Result {
        let lower = self.lower(ctx)?;
        // NDKPI: what has completed is not outstanding any more, whether or not the consumer has taken it.
        if depth < self.queue.level() {
            self.collect(ctx)?;
        }
        self.queue.grow(depth)?;
        if depth > *device_depth {
            if !lower.pd().device().has_srq_resize() {
                return Err(Status::InsufficientResources);
            }
            lower.resize(ctx, depth)?;
            *device_depth = depth;
        }
        self.queue.set_room(depth)
    }

    /// Has the device tell when the number of receives falls below the threshold, and looks whether it has.
    fn settle(&self, device_depth: u32, ctx: &MaySleep) {
        let alarm = self.queue.alarm();
        // Where it is clear already, the device and those who poll are left alone.
        if alarm.retired(self.queue.level()) {
            self.queue.low();
            return;
        }
        let Some(threshold) = alarm.ask() else {
            return;
        };
        if let Ok(lower) = self.lower(ctx) {
            // The number cannot fall below more than the device's queue holds, it is below. An error means that the device has
            // no limits, and then what is seen in completions has to do.
            let _ = lower.set_limit(ctx, threshold.min(device_depth));
        }
        // Without memory the consumer's own polls tell.
        let _ = self.collect(ctx);
        if alarm.look(self.queue.level(), self.queue.member_count()) {
            self.queue.low();
        }
    }

    /// Takes the completions of its receives out, so that they are accounted for. Sleeps.
    fn collect(&self, ctx: &MaySleep) -> Result {
        let cqs = {
            let all = self.cqs.lock();
            let mut cqs = KVec::with_capacity(all.len(), GFP_KERNEL)?;
            for cq in all.iter() {
                if !cqs.iter().any(|other| Arc::ptr_eq(other, cq)) {
                    cqs.push(cq.clone(), GFP_KERNEL)?;
                }
            }
            cqs
        };
        Cq::collect_all(&cqs, ctx);
        Ok(())
    }

    /// Lets a QP have its receives, and has `line` told when the SRQ fails. Sleeps.
    pub(crate) fn attach(
        &self,
        qp: &qp::Qp,
        context: usize,
        line: &Arc<FaultLine>,
        cq: &Arc<Cq>,
        ctx: &MaySleep,
    ) -> Result {
        self.queue.join(qp.address(), context, line, ctx)?;
        let noted = self.cqs.lock().push(cq.clone(), GFP_KERNEL);
        if noted.is_err() {
            self.queue.leave(line, ctx);
        }
        Ok(noted?)
    }

    /// Undoes [`Self::attach`], if that was done, once the QP is destroyed and its completions are taken out. Sleeps.
    pub(crate) fn detach(&self, line: &Arc<FaultLine>, cq: &Arc<Cq>, ctx: &MaySleep) {
        if !self.queue.leave(line, ctx) {
            return;
        }
        let mut cqs = self.cqs.lock();
        if let Some(at) = cqs.iter().position(|other| Arc::ptr_eq(other, cq)) {
            let _ = cqs.remove(at);
        }
    }
}

/// Why the device refused a receive that passed our own checks.
#[cold]
fn refused(error: Error) -> Status {
    if error == ENOMEM {
        // The device's queue is full, or has not seen yet that it is not.
        Status::NoMoreEntries
    } else {
        error.into()
    }
}
