// SPDX-License-Identifier: GPL-2.0

//! Completion queues.
//!
//! # Polling
//!
//! The consumer polls the device's CQ directly, without a lock: it serializes polls and arms of one CQ. The provider itself
//! has to take completions out as well, to see that a QP is drained or to get at silent ones, whether the consumer polls or
//! not. It then *diverts* the CQ: the consumer's polls take a lock and look at a *stash* first, into which the provider puts
//! what it finds. When the stash is empty and the provider has finished, polls go directly again. Order is kept: what is in
//! the stash came before what is on the device, and the switch waits for polls that were on their way.
//!
//! # Notification
//!
//! The device calls in any context, on rxe with its lock held and interrupts off. So its handler only records and kicks; the
//! consumer is called from a softirq work item, which never runs twice at a time.
//!
//! A failed request answers an arm for solicited completions as well, and devices say so; rxe does not. On devices in software
//! the provider therefore looks for failures itself while a CQ is armed so, every [`WATCH_MS`].

use crate::{
    adapter::{
        Adapter,
        CQ_RESERVE, //
    },
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
        BhItem,
        IrqSpinLock,
        SleepItem, //
    },
    verbs::{
        cq::{
            self,
            CqEvents,
            BATCH, //
        },
        handle::{
            self,
            Handle, //
        },
        work::{
            self,
            Completed,
            FaultLine,
            WorkQueue, //
        },
    }, //
};
use kernel::{
    alloc::flags::GFP_ATOMIC,
    prelude::*,
    sync::{
        atomic::{
            Acquire,
            Atomic,
            Release, //
        },
        rcu,
        Arc,
        ArcBorrow, //
    },
    time::{
        delay::fsleep,
        msecs_to_jiffies,
        Delta, //
    },
    workqueue::{
        new_delayed_work,
        new_work,
        DelayedWork,
        Work, //
    },
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
    depth: u32,
    lower: Handle<cq::Cq>,
    /// Whether the device passes failures over in silence when it is armed for solicited completions.
    hides_failures: bool,
    /// Whether polls go by the stash.
    diverted: Atomic<bool>,
    #[pin]
    stash: IrqSpinLock<Stash>,
    /// QPs that use the CQ, to be told when it fails.
    #[pin]
    users: IrqSpinLock<KVec<Arc<FaultLine>>>,
    adapter: Held<Adapter>,
}

object!(Cq);

bh_work! { impl BhItem<2> for Cq { self.notify_work } }
sleep_work! { delayed impl SleepItem<3> for Cq { self.watch_work } }

/// Completions that the provider took out for the consumer, oldest first.
struct Stash {
    entries: KVVec<Completed>,
    /// Entries that were handed out already.
    taken: usize,
    /// How many in the provider need polls diverted.
    collectors: u32,
    /// Whether the watch for failures is one of them.
    watched: bool,
    /// Queues of destroyed QPs that the device may still have completions of.
    graveyard: KVec<Arc<WorkQueue>>,
}

impl Stash {
    fn is_empty(&self) -> bool {
        self.taken >= self.entries.len()
    }

    fn next(&mut self) -> Option<&Completed> {
        let at = self.taken;
        if at >= self.entries.len() {
            return None;
        }
        self.taken = at.saturating_add(1);
        self.entries.get(at)
    }

    /// Makes room, and says how many fit.
    fn tidy(&mut self) -> usize {
        if self.is_empty() {
            self.entries.clear();
            self.taken = 0;
        }
        self.entries.capacity().saturating_sub(self.entries.len())
    }
}

/// The two forms in which a consumer takes results.
pub(crate) trait ResultRecord: Sized {
    /// The C structure for a completion.
    fn from_completed(completed: &Completed) -> Self;
}

impl ResultRecord for ffi::ndk_result {
    #[inline]
    fn from_completed(completed: &Completed) -> Self {
        Self {
            status: status::of(completed.result),
            bytes_transferred: completed.bytes,
            qp_context: core::ptr::with_exposed_provenance_mut(completed.qp_context),
            request_context: core::ptr::with_exposed_provenance_mut(completed.request_context),
        }
    }
}

impl ResultRecord for ffi::ndk_result_ex {
    #[inline]
    fn from_completed(completed: &Completed) -> Self {
        Self {
            status: status::of(completed.result),
            bytes_transferred: completed.bytes,
            qp_context: core::ptr::with_exposed_provenance_mut(completed.qp_context),
            request_context: core::ptr::with_exposed_provenance_mut(completed.request_context),
            type_: completed.operation,
            provider_error_code: completed.provider_error,
            type_specific: u64::from(completed.token),
        }
    }
}

/// Where results go: the consumer's array, from its start.
pub(crate) struct Sink<R> {
    next: *mut R,
    room: u32,
    taken: u32,
}

impl<R: ResultRecord> Sink<R> {
    /// # Safety
    ///
    /// `first` is writable for `room` elements while the value lives.
    pub(crate) unsafe fn new(first: *mut R, room: u32) -> Self {
        Self {
            next: first,
            room,
            taken: 0,
        }
    }

    #[inline]
    fn left(&self) -> u32 {
        self.room - self.taken
    }

    #[inline]
    fn put(&mut self, completed: &Completed) {
        if self.taken == self.room {
            return;
        }
        // SAFETY: There is room for one more, by the requirements of `new`.
        unsafe {
            self.next.write(R::from_completed(completed));
            self.next = self.next.add(1);
        }
        self.taken += 1;
    }
}

impl Object for Cq {
    type Shell = ffi::ndk_cq;

    fn head(&self) -> &Head<Self> {
        &self.head
    }

    fn cancel(this: &Arc<Self>) {
        this.arm.close();
        cancel_delayed::<_, WATCH>(this);
    }

    fn teardown(this: &Arc<Self>, ctx: &MaySleep) {
        this.adapter().port().registry().remove(&**this);
        this.clone().revoke(ctx);
    }
}

impl Lower for Cq {
    fn rank(&self) -> Rank {
        Rank::Cq
    }

    fn revoke(self: Arc<Self>, ctx: &MaySleep) {
        drop(self.lower.take(ctx));
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
        // NDKPI: the consumer is told once, with the overrun status; verbs devices report nothing but overruns here.
        if this.arm.fault(Fault::Overrun) {
            kick(&this.into());
        }
        for line in this.users.lock().iter() {
            line.broken();
        }
    }
}

fn kick(cq: &Arc<Cq>) {
    queues::softirq().enqueue::<Cq, NOTIFY>(cq.clone());
}

impl BhItem<NOTIFY> for Cq {
    fn run(this: Arc<Self>, ctx: &Softirq) {
        // NDKPI: a close waits for a notification that runs, and none runs after it.
        let Ok(held) = Held::callback(&this) else {
            return;
        };
        let Some(status) = this.arm.begin_callback() else {
            return;
        };
        let result = match status {
            Status::Success => Ok(()),
            status => Err(status),
        };
        this.notification.call(ctx, result);
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
        this.take_all(ctx);
        let mut stash = this.stash.lock();
        if this.arm.armed() == Some(ArmType::Solicited) {
            drop(stash);
            queues::sleep().enqueue_delayed::<_, WATCH>(this.clone(), msecs_to_jiffies(WATCH_MS));
            return;
        }
        stash.watched = false;
        stash.collectors = stash.collectors.saturating_sub(1);
        this.direct_again(&stash);
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
    if depth == 0 || depth > adapter.port().limits().max_cq_depth {
        return Err(Status::InvalidParameter);
    }
    drop(adapter.port().enter()?);
    object::create(adapter, completion, move |adapter, ctx| {
        Cq::new(adapter.object(), depth, notification, affinity, ctx)
    })
}

impl Cq {
    fn new(
        adapter: &Arc<Adapter>,
        depth: u32,
        notification: CqNotification,
        affinity: i32,
        ctx: &MaySleep,
    ) -> Result<Arc<Self>> {
        let port = adapter.port();
        let device = port.enter()?;
        let held = Held::successor(adapter)?;
        let hides_failures = device.is_virtual_dma();
        let cq = Arc::pin_init(
            pin_init!(Self {
                head <- Head::new(adapter.version()),
                notify_work <- new_work!("Cq::notify_work"),
                watch_work <- new_delayed_work!("Cq::watch_work"),
                arm: Arm::new(),
                notification,
                depth,
                lower: Handle::new(),
                hides_failures,
                diverted: Atomic::new(false),
                stash <- new_irq_spinlock!(Stash {
                    entries: KVVec::new(),
                    taken: 0,
                    collectors: 0,
                    watched: false,
                    graveyard: KVec::new(),
                }),
                users <- new_irq_spinlock!(KVec::new()),
                adapter: held,
            }),
            GFP_KERNEL,
        )?;
        // A preference, which is honoured as far as the device spreads its vectors over CPUs.
        let vector = u32::try_from(affinity).unwrap_or(0);
        let lower = cq::Cq::new(
            ctx,
            device,
            depth.saturating_add(CQ_RESERVE),
            vector,
            cq.clone(),
        )?;
        let lower = Arc::new(lower, GFP_KERNEL)?;
        drop(cq.lower.set(lower));
        // Last: what is registered can be revoked at once.
        if let Err(status) = port.registry().add(&cq, GFP_KERNEL) {
            // The device's CQ and this one hold each other.
            drop(cq.lower.take(ctx));
            return Err(status);
        }
        Ok(cq)
    }

    /// The adapter it was made from.
    pub(crate) fn adapter(&self) -> &Arc<Adapter> {
        self.adapter.object()
    }

    /// The CQ on the device. Sleeps.
    ///
    /// # Errors
    ///
    /// `DeviceRemoved`.
    pub(crate) fn lower(&self, ctx: &MaySleep) -> Result<Arc<cq::Cq>> {
        self.lower.get(ctx)
    }

    /// Has a QP told when the CQ fails. Sleeps.
    pub(crate) fn attach(&self, line: &Arc<FaultLine>) -> Result {
        loop {
            let wanted = self.users.lock().len().saturating_add(1);
            let mut bigger = KVec::with_capacity(wanted.next_power_of_two(), GFP_KERNEL)?;
            let mut users = self.users.lock();
            if users.len() < users.capacity() {
                let _ = users.push_within_capacity(line.clone());
                return Ok(());
            }
            if users.len() >= bigger.capacity() {
                continue;
            }
            while let Some(user) = users.pop() {
                let _ = bigger.push_within_capacity(user);
            }
            let _ = bigger.push_within_capacity(line.clone());
            let old = core::mem::replace(&mut *users, bigger);
            drop(users);
            drop(old);
            return Ok(());
        }
    }

    /// Undoes [`Self::attach`].
    pub(crate) fn detach(&self, line: &Arc<FaultLine>) {
        self.users.lock().retain(|other| !Arc::ptr_eq(other, line));
    }

    /// Arms the CQ for one notification. Any context; serialized by the consumer with polls.
    pub(crate) fn arm(self: ArcBorrow<'_, Self>, kind: ArmType) {
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
        let guard = rcu::read_lock();
        let missed = self.lower.access(&guard).is_ok_and(|lower| {
            lower.req_notify(match what {
                LowerArm::Any => cq::Arm::Any,
                LowerArm::Solicited => cq::Arm::Solicited,
            })
        });
        let stashed = self.diverted.load(Acquire) && !self.stash.lock().is_empty();
        (missed || stashed) && self.arm.completion(Placed::Solicited)
    }

    /// Starts to look for failures where the device would not tell. The consumer, who arms, does not poll meanwhile: so from
    /// here on all polls are diverted, and nobody has to be waited for.
    fn watch(self: ArcBorrow<'_, Self>, what: LowerArm) {
        if !self.hides_failures || what != LowerArm::Solicited {
            return;
        }
        let mut stash = self.stash.lock();
        if !stash.watched {
            stash.watched = true;
            stash.collectors = stash.collectors.saturating_add(1);
            self.diverted.store(true, Release);
        }
        drop(stash);
        queues::sleep().enqueue_delayed::<_, WATCH>(self.into(), msecs_to_jiffies(WATCH_MS));
    }

    /// Takes results. Any context; serialized by the consumer with arms.
    ///
    /// # Safety
    ///
    /// `results` is writable for `count` elements.
    #[inline]
    pub(crate) unsafe fn poll<R: ResultRecord>(&self, results: *mut R, count: u32) -> u32 {
        // SAFETY: By the requirements of this function.
        let mut sink = unsafe { Sink::new(results, count) };
        let guard = rcu::read_lock();
        if self.diverted.load(Acquire) {
            self.poll_diverted(&mut sink, &guard);
        } else if let Ok(lower) = self.lower.access(&guard) {
            // SAFETY: The consumer serializes polls, and the provider's own divert them and wait for this section.
            unsafe { drain(lower, &mut sink) };
        }
        sink.taken
    }

    #[cold]
    fn poll_diverted<R: ResultRecord>(&self, sink: &mut Sink<R>, guard: &rcu::Guard) {
        let mut stash = self.stash.lock();
        while sink.left() > 0 {
            match stash.next() {
                Some(completed) => sink.put(completed),
                None => break,
            }
        }
        if stash.is_empty() {
            stash.tidy();
            if let Ok(lower) = self.lower.access(guard) {
                // SAFETY: The lock of the stash excludes the provider's polls, and the consumer serializes its own.
                unsafe { drain(lower, sink) };
            }
            self.direct_again(&stash);
        }
    }

    /// Lets polls go directly when nothing is against it.
    fn direct_again(&self, stash: &Stash) {
        if stash.collectors == 0 && stash.is_empty() {
            self.diverted.store(false, Release);
        }
    }

    /// Takes what the device has for the consumer into the stash, so that it is accounted for. Sleeps.
    pub(crate) fn collect(self: &Arc<Self>, ctx: &MaySleep) {
        self.collect_and_stay(ctx);
        self.direct_again(&self.stash.lock());
    }

    /// As [`Self::collect`], and leaves polls diverted until the consumer polls next. Sleeps.
    pub(crate) fn collect_and_stay(self: &Arc<Self>, ctx: &MaySleep) {
        {
            let mut stash = self.stash.lock();
            stash.collectors = stash.collectors.saturating_add(1);
            self.diverted.store(true, Release);
        }
        // From here on every poll takes the lock.
        handle::wait_for_readers(ctx);
        self.take_all(ctx);
        let mut stash = self.stash.lock();
        stash.collectors = stash.collectors.saturating_sub(1);
    }

    /// As [`Self::collect`], in any context, where polls are diverted already. Returns whether they were.
    #[cold]
    pub(crate) fn collect_if_diverted(self: &Arc<Self>) -> bool {
        let guard = rcu::read_lock();
        let mut stash = self.stash.lock();
        if !self.diverted.load(Acquire) {
            return false;
        }
        let Ok(lower) = self.lower.access(&guard) else {
            return false;
        };
        loop {
            // Without memory what fits is taken.
            if stash.tidy() < BATCH {
                let _ = stash.entries.reserve(BATCH, GFP_ATOMIC);
            }
            let want = stash.tidy().min(BATCH);
            let found = lower.poll_each(want, |wc| {
                // SAFETY: Polls are exclusive under this lock while they are diverted. Work queues live as long as the device
                // may have completions of them.
                if let Some(completed) = unsafe { work::retire(wc) } {
                    self.put(&mut stash, completed);
                }
            });
            if found < want || want == 0 {
                return true;
            }
        }
    }

    /// Moves all that the device has into the stash. Polls are diverted. Sleeps.
    fn take_all(self: &Arc<Self>, ctx: &MaySleep) {
        let lower = self.lower.get(ctx);
        loop {
            self.make_room(BATCH, ctx);
            let mut stash = self.stash.lock();
            if stash.tidy() < BATCH {
                continue;
            }
            let found = lower.as_ref().map_or(0, |lower| {
                lower.poll_each(BATCH, |wc| {
                    // SAFETY: Polls are exclusive under this lock, as above. Work queues live as long as the device may have
                    // completions of them.
                    if let Some(completed) = unsafe { work::retire(wc) } {
                        self.put(&mut stash, completed);
                    }
                })
            });
            if found < BATCH {
                return;
            }
        }
    }

    /// Reports what is left in the queue of a QP that the device has destroyed, and keeps the queue until the CQ goes. Sleeps.
    pub(crate) fn abandon(self: &Arc<Self>, queue: &Arc<WorkQueue>, ctx: &MaySleep) {
        loop {
            let wanted = queue.in_flight() as usize;
            self.make_room(wanted, ctx);
            let mut stash = self.stash.lock();
            if stash.tidy() < wanted || stash.graveyard.len() >= stash.graveyard.capacity() {
                continue;
            }
            queue.abandon(|completed| self.put(&mut stash, completed));
            let _ = stash.graveyard.push_within_capacity(queue.clone());
            if !stash.is_empty() {
                self.diverted.store(true, Release);
            }
            return;
        }
    }

    /// Puts one completion into the stash, which has room.
    fn put(self: &Arc<Self>, stash: &mut Stash, completed: Completed) {
        // NDKPI: more completions queued than the depth is the consumer's fault, and ends the CQ.
        let queued = stash.entries.len().saturating_sub(stash.taken);
        if queued >= self.depth as usize {
            if self.arm.fault(Fault::Overrun) {
                kick(self);
            }
            return;
        }
        let placed = match completed.result {
            Ok(()) => Placed::Plain,
            Err(_) => Placed::Solicited,
        };
        let _ = stash.entries.push_within_capacity(completed);
        if self.arm.completion(placed) {
            kick(self);
        }
    }

    /// Gives the stash room for `more` completions and one dead queue. It cannot fail: completions are not to get lost.
    fn make_room(&self, more: usize, ctx: &MaySleep) {
        loop {
            let (used, graves) = {
                let mut stash = self.stash.lock();
                let room = stash.tidy();
                if room >= more && stash.graveyard.len() < stash.graveyard.capacity() {
                    return;
                }
                (stash.entries.len(), stash.graveyard.len())
            };
            let entries = KVVec::with_capacity(used.saturating_add(more), GFP_KERNEL);
            let graveyard = KVec::with_capacity(graves.saturating_add(4), GFP_KERNEL);
            let (Ok(mut entries), Ok(mut graveyard)) = (entries, graveyard) else {
                ctx.check();
                fsleep(Delta::from_millis(1));
                continue;
            };
            let mut stash = self.stash.lock();
            let taken = stash.taken;
            if stash.entries.len() > used || stash.graveyard.len() > graves {
                continue;
            }
            for completed in stash.entries.drain_all().skip(taken) {
                let _ = entries.push_within_capacity(completed);
            }
            stash.taken = 0;
            for queue in stash.graveyard.drain_all() {
                let _ = graveyard.push_within_capacity(queue);
            }
            let old = (
                core::mem::replace(&mut stash.entries, entries),
                core::mem::replace(&mut stash.graveyard, graveyard),
            );
            drop(stash);
            drop(old);
            return;
        }
    }
}

/// Takes completions from the device until there is no room or nothing left.
///
/// # Safety
///
/// The caller excludes other polls of `lower`.
#[inline]
unsafe fn drain<R: ResultRecord>(lower: &cq::Cq, sink: &mut Sink<R>) {
    while sink.left() > 0 {
        let want = BATCH.min(sink.left() as usize);
        let found = lower.poll_each(want, |wc| {
            // SAFETY: By the requirements of this function. Work queues live as long as the device may have completions of
            // them.
            if let Some(completed) = unsafe { work::retire(wc) } {
                sink.put(&completed);
            }
        });
        if found < want {
            return;
        }
    }
}
