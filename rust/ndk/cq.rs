// SPDX-License-Identifier: GPL-2.0

//! Completion queues. How they are polled is `verbs/poll.rs`.
//!
//! # Notification
//!
//! The device calls in any context, on rxe with its lock held and interrupts off. So its handler only records and kicks; the
//! consumer is called from a softirq work item, which never runs twice at a time.
//!
//! A failed request answers an arm for solicited completions as well, and devices say so; rxe does not. On devices in software
//! the provider therefore looks for failures itself while a CQ is armed so, every [`WATCH_MS`].
//!
//! What it is made of on the device, and how that changes, is in `cq/lowers.rs`. Moderation is in `cq/moderation.rs`: the work
//! item lets a notification that is due wait for more.

use crate::{
    adapter::Adapter,
    callback::{
        CqNotification,
        CreateCompletion, //
    },
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
    queues,
    registry::{
        Lower,
        Rank, //
    },
    state::{
        arm::{
            Arm,
            ArmAction,
            ArmType,
            Fault,
            Lower as LowerArm,
            Placed, //
        },
        moderation::Moderation,
        resize::check_depth,
        status::Status, //
    },
    status::{
        self,
        Result, //
    },
    sync::{
        bh_work,
        cancel_delayed,
        new_irq_spinlock,
        sleep_work,
        Affinity,
        BhItem,
        IrqSpinLock,
        SleepItem, //
    },
    trace,
    verbs::{
        cq::{
            self,
            CqEvents, //
        },
        fault::{
            Collector,
            FaultLine, //
        },
        poll::{
            Found,
            Poller, //
        },
        work::WorkQueue, //
    }, //
};
use kernel::{
    fmt,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        new_mutex,
        Arc,
        ArcBorrow,
        Mutex, //
    },
    time::{
        hrtimer::{
            ArcHrTimerHandle,
            HrTimer, //
        },
        msecs_to_jiffies, //
    },
    workqueue::{
        new_delayed_work,
        new_work,
        DelayedWork,
        Work, //
    },
};

mod lowers;
mod moderation;

use self::lowers::Lowers;
pub(crate) use self::lowers::{
    resize,
    LowerCqs,
    On,
    Seats, //
};

/// Work item that calls the notification.
const NOTIFY: u64 = 2;

/// Work item that looks for failures.
const WATCH: u64 = 3;

/// Milliseconds after which a failed request answers an arm for solicited completions at the latest, where the device does
/// not say it.
const WATCH_MS: u32 = 10;

/// A completion queue.
#[pin_data]
#[repr(C)]
pub(crate) struct Cq {
    #[pin]
    head: Head<Cq>,
    #[pin]
    notify_work: Work<Cq, NOTIFY>,
    #[pin]
    watch_work: DelayedWork<Cq, WATCH>,
    arm: Arm,
    notification: CqNotification,
    /// Where the notification is to run.
    affinity: Affinity,
    moderation: Moderation,
    /// When the notification became due that waits for more, 0 for none. Of the work item alone.
    due_since: Atomic<u64>,
    /// Ends the wait.
    #[pin]
    timer: HrTimer<Cq>,
    /// What the timer was last started with. It holds the CQ.
    #[pin]
    started: IrqSpinLock<Option<ArcHrTimerHandle<Cq>>>,
    #[pin]
    poller: Poller,
    /// Whether it has failed, which is counted once.
    failed: Atomic<bool>,
    /// What is on the device. Who holds it changes that.
    #[pin]
    lowers: Mutex<Lowers>,
    /// Whether the device passes failures over in silence when it is armed for solicited completions.
    hides_failures: bool,
    /// QPs that use the CQ, to be told when it fails.
    #[pin]
    users: IrqSpinLock<KVec<Arc<FaultLine>>>,
    adapter: Held<Adapter>,
}

object!(Cq);

bh_work! { impl BhItem<2> for Cq { self.notify_work } }
sleep_work! { delayed impl SleepItem<3> for Cq { self.watch_work } }

impl Object for Cq {
    type Shell = ffi::ndk_cq;

    fn head(&self) -> &Head<Self> {
        &self.head
    }

    fn root(&self) -> Option<&Adapter> {
        Some(self.adapter.object())
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let armed = match self.arm.armed() {
            None => "no",
            Some(ArmType::Errors) => "errors",
            Some(ArmType::Solicited) => "solicited",
            Some(ArmType::Any) => "any",
        };
        let qps = self.users.lock().len();
        let (depth, stashed) = (self.poller.depth(), self.poller.stashed());
        f.write_fmt(fmt!(
            " depth={depth} armed={armed} qps={qps} stashed={stashed}"
        ))
    }

    fn cancel(this: &Arc<Self>) {
        this.arm.close();
        cancel_delayed::<_, WATCH>(this);
    }

    fn teardown(this: &Arc<Self>, ctx: &MaySleep) {
        this.stop_timer();
        this.adapter().port().registry().remove(&**this);
        this.clone().revoke(ctx);
    }
}

impl Lower for Cq {
    fn rank(&self) -> Rank {
        Rank::Cq
    }

    fn revoke(self: Arc<Self>, ctx: &MaySleep) {
        self.take_lowers(ctx);
        // NDKPI: a CQ that failed for good says so once. After a close there is nobody to tell.
        if self.arm.fault(Fault::Fatal) {
            kick(&self);
        }
    }
}

impl CqEvents for Cq {
    fn completion(this: ArcBorrow<'_, Self>) {
        // The device has compared the completion with what it was armed for.
        if this.arm.completion(Placed::Solicited) {
            kick(&this.into());
        }
    }

    fn failed(this: ArcBorrow<'_, Self>) {
        // Verbs devices report nothing but overruns here.
        if this.overrun() {
            kick(&this.into());
        }
    }
}

impl Collector for Cq {
    fn collect_now(self: Arc<Self>, ctx: &MaySleep) {
        self.collect(ctx);
    }
}

fn kick(cq: &Arc<Cq>) {
    queues::softirq().enqueue_near::<Cq, NOTIFY>(cq.clone(), cq.affinity);
}

impl BhItem<NOTIFY> for Cq {
    fn run(this: Arc<Self>, ctx: &Softirq) {
        // NDKPI: a close waits for a notification that runs, and none runs after it.
        let Ok(held) = Held::callback(&this) else {
            return;
        };
        if this.waits_for_more() {
            return;
        }
        let Some(status) = this.arm.begin_callback() else {
            return;
        };
        let result = match status {
            Status::Success => Ok(()),
            status => Err(status),
        };
        let (number, shown) = (this.head.number(), status::of(result));
        trace::notify_begin(number, shown);
        this.notification.call(ctx, result);
        trace::notify_end(number, shown);
        // NDKPI: notifications of one CQ never overlap; what came due meanwhile comes now.
        if this.arm.end_callback() {
            kick(&this);
        }
        drop(held);
    }
}

impl SleepItem<WATCH> for Cq {
    fn run(this: Arc<Self>, ctx: &MaySleep) {
        // What failed answers the arm on its way into the stash.
        let gone = this.adapter.port().is_gone();
        let go_on = || this.arm.armed() == Some(ArmType::Solicited) && !gone;
        if this.poller.look(ctx, |found| this.found(found), go_on) {
            queues::sleep().enqueue_delayed::<_, WATCH>(this.clone(), msecs_to_jiffies(WATCH_MS));
        }
    }
}

/// Creates a CQ; `completion` brings it. Any context.
///
/// # Errors
///
/// `InvalidParameter` for a depth of 0 or over the limit, `InsufficientResources`, `DeviceRemoved`.
pub(crate) fn create(
    adapter: &Arc<Adapter>,
    depth: u32,
    notification: CqNotification,
    affinity: i32,
    completion: CreateCompletion,
) -> Result {
    check_depth(depth, adapter.port().limits().max_cq_depth)?;
    drop(adapter.port().enter()?);
    object::create(adapter, completion, move |adapter, ctx| {
        Cq::new(
            adapter.object(),
            depth,
            notification,
            Affinity::new(affinity),
            ctx,
        )
    })
}

impl Cq {
    fn new(
        adapter: &Arc<Adapter>,
        depth: u32,
        notification: CqNotification,
        affinity: Affinity,
        ctx: &MaySleep,
    ) -> Result<Arc<Self>> {
        let port = adapter.port();
        let device = port.enter()?;
        let held = Held::successor(adapter)?;
        let hides_failures = device.is_virtual_dma() && !device.ignores_solicited();
        let cq = Arc::pin_init(
            try_pin_init!(Self {
                head <- Head::new(adapter.version()),
                notify_work <- new_work!("Cq::notify_work"),
                watch_work <- new_delayed_work!("Cq::watch_work"),
                arm: Arm::new(),
                notification,
                affinity,
                moderation: Moderation::new(),
                due_since: Atomic::new(0),
                timer <- HrTimer::new(),
                started <- new_irq_spinlock!(None),
                poller <- Poller::new(depth),
                failed: Atomic::new(false),
                lowers <- new_mutex!(Lowers::new()),
                hides_failures,
                users <- new_irq_spinlock!(KVec::new()),
                adapter: held,
            }? Error),
            GFP_KERNEL,
        )?;
        cq.first_lower(device, ctx)?;
        // Last: what is registered can be revoked at once.
        if let Err(status) = port.registry().add(&cq, GFP_KERNEL) {
            // The device's CQ and this one hold each other.
            cq.take_lowers(ctx);
            return Err(status);
        }
        Ok(cq)
    }

    /// The adapter it was made from.
    pub(crate) fn adapter(&self) -> &Arc<Adapter> {
        self.adapter.object()
    }

    /// Arms the CQ for one notification. Any context; serialized by the consumer with polls.
    pub(crate) fn arm(self: ArcBorrow<'_, Self>, kind: ArmType) {
        let shown = match kind {
            ArmType::Errors => ffi::ndk_cq_notify_NDK_CQ_NOTIFY_ERRORS,
            ArmType::Solicited => ffi::ndk_cq_notify_NDK_CQ_NOTIFY_SOLICITED,
            ArmType::Any => ffi::ndk_cq_notify_NDK_CQ_NOTIFY_ANY,
        };
        trace::arm(self.head.number(), shown);
        // Before anything can answer the arm.
        if self.moderation.get().count().is_some() && kind != ArmType::Errors {
            self.poller.hold();
        }
        let kicked = match self.arm.arm(kind) {
            ArmAction::ArmLower(lower) => {
                self.arm_lower(lower) || {
                    self.watch(lower);
                    false
                }
            }
            ArmAction::FireNow => true,
            ArmAction::Nothing => false,
        };
        if kicked {
            kick(&self.into());
        }
    }

    /// Arms the device's CQ, and says whether what is there already is an answer.
    ///
    /// NDKPI: completions that came after the last notification answer an arm at once, older ones may. Verbs tell neither
    /// which are which nor which were solicited, so all of them answer.
    fn arm_lower(&self, what: LowerArm) -> bool {
        let arm = match what {
            LowerArm::Any => cq::Arm::Any,
            LowerArm::Solicited => cq::Arm::Solicited,
        };
        self.poller.req_notify(arm) && self.arm.completion(Placed::Solicited)
    }

    /// Starts to look for failures where the device would not tell. The consumer, who arms, does not poll meanwhile.
    fn watch(self: ArcBorrow<'_, Self>, what: LowerArm) {
        if self.hides_failures && what == LowerArm::Solicited {
            self.poller.watch();
            queues::sleep().enqueue_delayed::<_, WATCH>(self.into(), msecs_to_jiffies(WATCH_MS));
        }
    }

    /// What traces and debugfs call it.
    #[inline]
    pub(crate) fn number(&self) -> u64 {
        self.head.number()
    }

    /// For polls by the consumer.
    #[inline]
    pub(crate) fn poller(&self) -> &Poller {
        &self.poller
    }

    /// Whether it has failed, and so has lost completions.
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.load(Relaxed)
    }

    /// There was no room for a completion. Returns whether to kick.
    ///
    /// NDKPI: more completions queued than the depth is the consumer's fault. It ends the CQ, which is told once, and its QPs.
    fn overrun(&self) -> bool {
        if !self.failed.xchg(true, Relaxed) {
            self.adapter.port().counters().cq_error();
        }
        for line in self.users.lock().iter() {
            line.broken();
        }
        self.arm.fault(Fault::Overrun)
    }

    /// Something came into the stash.
    fn found(self: &Arc<Self>, found: Found) {
        let due = match found {
            Found::Success => self.arm.completion(Placed::Plain),
            Found::Failure => self.arm.completion(Placed::Failed),
            Found::Overrun => self.overrun(),
        };
        if due {
            kick(self);
        }
    }

    /// As [`Self::collect`], of several CQs. Sleeps.
    pub(crate) fn collect_all(cqs: &[Arc<Self>], ctx: &MaySleep) {
        let pollers = cqs.iter().map(|cq| &cq.poller);
        Poller::collect_all(pollers, ctx, |number, found| {
            if let Some(cq) = cqs.get(number) {
                cq.found(found);
            }
        });
    }

    /// Takes what the device has for the consumer, so that it is accounted for. Sleeps.
    pub(crate) fn collect(self: &Arc<Self>, ctx: &MaySleep) {
        self.poller.collect(ctx, |found| self.found(found));
    }

    /// As [`Self::collect`], until the consumer polls next. Sleeps.
    pub(crate) fn collect_and_stay(self: &Arc<Self>, ctx: &MaySleep) {
        self.poller.collect_and_stay(ctx, |found| self.found(found));
    }

    /// As [`Self::collect`], in any context, after a [`Self::collect_and_stay`]. Returns whether that still holds.
    #[cold]
    pub(crate) fn collect_if_diverted(self: &Arc<Self>) -> bool {
        self.poller.collect_if_diverted(|found| self.found(found))
    }

    /// Reports what is left in the queue of a QP that the device has destroyed. Sleeps.
    pub(crate) fn abandon(self: &Arc<Self>, queue: &Arc<WorkQueue>, ctx: &MaySleep) {
        self.poller.abandon(queue, ctx, |found| self.found(found));
    }
}
