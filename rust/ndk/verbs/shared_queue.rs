// SPDX-License-Identifier: GPL-2.0

//! The queue of an SRQ: what the provider remembers of each posted receive, and how a completion finds it.
//!
//! As in [`super::work`], the work request id is the address of the receive's slot. But receives of one SRQ complete in any
//! order, on the CQs of all its QPs, so slots are free or not one by one ([`crate::state::srq`]), and the QP is known from the
//! completion only. The completion names it by a pointer, which is compared with those of the [`Member`]s and never followed:
//! a QP may be gone while its completions are still looked at. A member stays until the device has destroyed its QP and all
//! completions of it are taken out of the CQ.
//!
//! No lock where requests are posted or completions are taken.

use crate::{
    ctx::MaySleep,
    ffi,
    state::srq::{
        self as state,
        Alarm,
        Cell,
        Cells,
        Place,
        GROUPS, //
    },
    status::Result,
    sync::{
        new_irq_spinlock,
        IrqSpinLock, //
    },
    verbs::{
        cq::Wc,
        fault::FaultLine,
        handle::Handle,
        work::{
            self,
            Completed,
            Slot,
            Tag, //
        }, //
    },
};
use core::ffi::c_void;
use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        new_mutex,
        rcu,
        Arc,
        Mutex,
        SetOnce, //
    },
    time::{
        delay::fsleep,
        Delta, //
    },
};

/// Who wants to know that an SRQ runs low.
pub(crate) trait LowSink: Send + Sync {
    /// The notification is due. Any context; records and kicks only.
    fn low(self: Arc<Self>);
}

/// A place for one posted receive.
struct SharedSlot {
    slot: Slot,
    cell: Cell,
}

/// A QP that takes its receives from the SRQ.
struct Member {
    /// The address of its QP, as completions have it.
    key: usize,
    /// What the consumer gave with the QP.
    context: usize,
    line: Arc<FaultLine>,
    /// The QP is gone, and its completions are.
    gone: Atomic<bool>,
}

impl Member {
    fn is_gone(&self) -> bool {
        self.gone.load(Relaxed)
    }
}

/// Members, by their keys. No two that are not gone have the same one.
struct Members(KVVec<Arc<Member>>);

impl Members {
    fn living(&self) -> impl Iterator<Item = &Arc<Member>> {
        self.0.iter().filter(|member| !member.is_gone())
    }

    #[inline]
    fn find(&self, key: usize) -> Option<&Member> {
        let found = self.0.binary_search_by_key(&key, |member| member.key);
        let member = self.0.get(found.ok()?)?;
        Some(member)
    }

    /// Those that are not gone, and `more`.
    fn with(&self, more: Option<Arc<Member>>) -> Result<Arc<Self>> {
        let mut members = KVVec::with_capacity(self.0.len().saturating_add(1), GFP_KERNEL)?;
        let mut more = more;
        for member in self.living() {
            if let Some(new) = more.take_if(|new| new.key < member.key) {
                members.push(new, GFP_KERNEL)?;
            }
            members.push(member.clone(), GFP_KERNEL)?;
        }
        if let Some(new) = more {
            members.push(new, GFP_KERNEL)?;
        }
        Ok(Arc::new(Self(members), GFP_KERNEL)?)
    }
}

/// The receives of an SRQ.
///
/// # Invariants
///
/// - The `owner` of each slot points to this value, which lives in an [`Arc`].
/// - Group `n` has the slots that [`state::locate`] finds in it, or is not there yet.
/// - `members` is never empty.
#[pin_data]
pub(crate) struct SharedQueue {
    account: state::Srq,
    alarm: Alarm,
    groups: [SetOnce<KVVec<SharedSlot>>; GROUPS],
    /// Binary logarithm of the size of the first group.
    shift: u32,
    members: Handle<Members>,
    /// Held by the one who changes the members.
    #[pin]
    joining: Mutex<()>,
    #[pin]
    sink: IrqSpinLock<Option<Arc<dyn LowSink>>>,
}

// SAFETY: The pointers in the slots point to the value itself, and are only read.
unsafe impl Send for SharedQueue {}
// SAFETY: As above; all else is atomic, constant or under a lock.
unsafe impl Sync for SharedQueue {}

impl Cells for SharedQueue {
    #[inline]
    fn cell(&self, number: u32) -> Option<&Cell> {
        Some(&self.slot(number)?.cell)
    }
}

impl SharedQueue {
    /// A queue for `depth` receives, at least one, that notifies when it falls below `threshold` if that is not 0. Sleeps.
    pub(crate) fn new(depth: u32, threshold: u32) -> Result<Arc<Self>> {
        let members = Arc::new(Members(KVVec::new()), GFP_KERNEL)?;
        let handle = Handle::new();
        // Just made, so it is empty.
        drop(handle.set(members));
        let this = Arc::pin_init(
            pin_init!(Self {
                account: state::Srq::new(),
                alarm: Alarm::new(threshold),
                groups: [const { SetOnce::new() }; GROUPS],
                shift: depth.max(1).next_power_of_two().trailing_zeros(),
                members: handle,
                joining <- new_mutex!(()),
                sink <- new_irq_spinlock!(None),
            }),
            GFP_KERNEL,
        )?;
        this.grow(depth)?;
        this.account.set_room(depth)?;
        Ok(this)
    }

    #[inline]
    fn slot(&self, number: u32) -> Option<&SharedSlot> {
        let (group, place) = state::locate(number, self.shift);
        self.groups.get(group)?.as_ref()?.get(place)
    }

    /// Sees to it that there are slots for `depth` receives. Serialized by the caller; sleeps.
    pub(crate) fn grow(self: &Arc<Self>, depth: u32) -> Result {
        let owner = Arc::as_ptr(self).cast::<c_void>();
        let mut first: u32 = 0;
        for (number, group) in self.groups.iter().enumerate() {
            if first >= depth {
                break;
            }
            let count = state::group_size(number, self.shift);
            if group.as_ref().is_none() {
                let mut slots = KVVec::with_capacity(count as usize, GFP_KERNEL)?;
                for index in first..first.saturating_add(count) {
                    // INVARIANT: `self` lives in this `Arc`.
                    slots.push(
                        SharedSlot {
                            slot: Slot::new(owner, index, Tag::shared_receive()),
                            cell: Cell::new(),
                        },
                        GFP_KERNEL,
                    )?;
                }
                if group.populate(slots) {
                    self.account.add(first, count, &**self);
                }
            }
            first = first.saturating_add(count);
        }
        Ok(())
    }

    /// Changes the depth, for which there are slots.
    ///
    /// # Errors
    ///
    /// `BufferOverflow` with more receives outstanding.
    pub(crate) fn set_room(&self, depth: u32) -> Result {
        self.account.set_room(depth)
    }

    /// Receives that were posted and whose completion has not been taken.
    pub(crate) fn level(&self) -> u32 {
        self.account.level()
    }

    /// Whether it is to notify.
    pub(crate) fn alarm(&self) -> &Alarm {
        &self.alarm
    }

    /// Takes a place for one receive, and returns its work request id too. Serialized by the consumer.
    ///
    /// # Errors
    ///
    /// `NoMoreEntries` when the queue is full.
    #[inline]
    pub(crate) fn reserve(&self, context: *mut c_void) -> Result<(Place, u64)> {
        let place = self.account.reserve(self)?;
        let id = self.slot(place.number).map_or(0, |shared| {
            shared.slot.set_context(context);
            shared.slot.id()
        });
        self.account.publish(&place, self);
        Ok((place, id))
    }

    /// Takes back what the device refused.
    pub(crate) fn retract(&self, place: &Place) {
        self.account.retract(place, self);
    }

    /// Connects the way of the notification, or cuts it.
    pub(crate) fn lead_to(&self, sink: Option<Arc<dyn LowSink>>) {
        let old = core::mem::replace(&mut *self.sink.lock(), sink);
        // Dropped outside of the lock.
        drop(old);
    }

    /// The notification is due.
    #[cold]
    pub(crate) fn low(&self) {
        let sink = self.sink.lock().clone();
        if let Some(sink) = sink {
            sink.low();
        }
    }

    /// Adds a member: completions of the QP at `key` are for `context`, and go to `line` when they fail. Sleeps.
    pub(crate) fn join(
        &self,
        key: usize,
        context: usize,
        line: &Arc<FaultLine>,
        ctx: &MaySleep,
    ) -> Result {
        let member = Arc::new(
            Member {
                key,
                context,
                line: line.clone(),
                gone: Atomic::new(false),
            },
            GFP_KERNEL,
        )?;
        loop {
            let joining = self.joining.lock();
            let members = self.members.get(ctx)?;
            if members.living().any(|other| other.key == key) {
                // The device has destroyed that QP, or its address would not come again, and the member is about to leave.
                drop(joining);
                fsleep(Delta::from_micros(100));
                continue;
            }
            let grown = members.with(Some(member))?;
            drop(members);
            drop(self.members.swap(Some(grown), ctx));
            return Ok(());
        }
    }

    /// Removes a member, if it is one, none of whose completions is left. Returns whether it was one. Sleeps.
    pub(crate) fn leave(&self, line: &Arc<FaultLine>, ctx: &MaySleep) -> bool {
        let _joining = self.joining.lock();
        let Ok(members) = self.members.get(ctx) else {
            return false;
        };
        let Some(member) = members
            .living()
            .find(|member| Arc::ptr_eq(&member.line, line))
        else {
            return false;
        };
        member.gone.store(true, Relaxed);
        // Without memory it goes with the next change.
        if let Ok(rest) = members.with(None) {
            drop(members);
            drop(self.members.swap(Some(rest), ctx));
        }
        true
    }

    /// How many members there are. Any context.
    pub(crate) fn member_count(&self) -> u32 {
        let guard = rcu::read_lock();
        let count = self
            .members
            .access(&guard)
            .map_or(0, |members| members.living().count());
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// The SRQ failed, and its QPs with it. Any context.
    pub(crate) fn broken(&self) {
        let guard = rcu::read_lock();
        if let Ok(members) = self.members.access(&guard) {
            members.living().for_each(|member| member.line.broken());
        }
    }
}

/// Takes a completion to the receive that it ends. `None` when the consumer is not to see it.
///
/// # Safety
///
/// `slot` is one of a living [`SharedQueue`].
#[inline]
pub(super) unsafe fn retire(wc: &Wc, slot: &Slot) -> Option<Completed> {
    // SAFETY: By the type invariant of `SharedQueue`, which is alive by this function's requirements.
    let queue = unsafe { &*slot.owner().cast::<SharedQueue>() };
    let (context, level) = queue
        .account
        .retire(slot.index(), queue, || slot.context())?;
    if queue.alarm.retired(level) {
        queue.low();
    }
    let guard = rcu::read_lock();
    let members = queue.members.access(&guard).ok()?;
    let member = members.find(wc.qp());
    let mut completed = Completed {
        result: Ok(()),
        bytes: 0,
        qp_context: member.map_or(0, |member| member.context),
        request_context: context,
        operation: ffi::ndk_operation_type_NDK_OPERATION_RECEIVE,
        provider_error: 0,
        token: 0,
    };
    work::conclude(wc, &mut completed, member.map(|member| &*member.line));
    Some(completed)
}

#[kernel::macros::kunit_tests(ndk_shared_queue)]
mod tests {
    use super::*;
    use crate::{
        ffi::{
            ib_wc_status_IB_WC_LOC_LEN_ERR as TOO_LONG,
            ib_wc_status_IB_WC_SUCCESS as SUCCESS,
            ib_wc_status_IB_WC_WR_FLUSH_ERR as FLUSHED,
            ndk_operation_type_NDK_OPERATION_RECEIVE as RECEIVE,
            ndk_operation_type_NDK_OPERATION_RECEIVE_AND_INVALIDATE as RECEIVE_AND_INVALIDATE, //
        },
        state::status::Status,
    };

    fn post(queue: &SharedQueue, context: usize) -> Result<u64> {
        let (_, id) = queue.reserve(core::ptr::without_provenance_mut(context))?;
        Ok(id)
    }

    fn take(wc: &Wc) -> Option<Completed> {
        // SAFETY: Tests keep their queues while they complete receives of them.
        unsafe { work::retire(wc) }
    }

    /// A successful completion of a receive on the QP at `qp`.
    fn received(id: u64, qp: usize, bytes: u32) -> Option<Completed> {
        take(&Wc::of_test(id, SUCCESS, bytes).on_qp(qp))
    }

    // Proves: SRQ_RECEIVE.ok, CREATE_QP_WITH_SRQ.ok
    #[test]
    fn a_completion_finds_its_receive_and_its_qp() -> Result {
        let ctx = MaySleep::of_test();
        let queue = SharedQueue::new(4, 0)?;
        let lines = [
            FaultLine::of_test()?,
            FaultLine::of_test()?,
            FaultLine::of_test()?,
        ];
        for (key, line) in [0x300, 0x100, 0x200].into_iter().zip(&lines) {
            queue.join(key, key + 1, line, &ctx)?;
        }
        assert_eq!(queue.member_count(), 3);
        let ids = [post(&queue, 1)?, post(&queue, 2)?, post(&queue, 3)?];
        for (at, context, qp) in [(1, 2, 0x100), (0, 1, 0x300), (2, 3, 0x200)] {
            let completed = received(ids[at], qp, 8).ok_or(Status::InternalError)?;
            assert!(completed.result == Ok(()));
            assert_eq!(completed.request_context, context);
            assert_eq!(completed.qp_context, qp + 1);
            assert_eq!(completed.operation, RECEIVE);
            assert_eq!(completed.bytes, 8);
        }
        assert_eq!(queue.level(), 0);
        // One that comes twice is of no use.
        assert!(received(ids[0], 0x300, 8).is_none());
        Ok(())
    }

    #[test]
    fn failures_and_invalidations_are_told_as_on_a_queue_of_a_qp() -> Result {
        let ctx = MaySleep::of_test();
        let queue = SharedQueue::new(4, 0)?;
        queue.join(0x100, 7, &FaultLine::of_test()?, &ctx)?;
        let wc = Wc::of_test(post(&queue, 1)?, SUCCESS, 8).invalidating(0x1234);
        let completed = take(&wc.on_qp(0x100)).ok_or(Status::InternalError)?;
        assert_eq!(
            (completed.operation, completed.token),
            (RECEIVE_AND_INVALIDATE, 0x1234)
        );
        for (status, expected) in [
            (TOO_LONG, Status::BufferOverflow),
            (FLUSHED, Status::Cancelled),
        ] {
            let wc = Wc::of_test(post(&queue, 2)?, status, 0).on_qp(0x100);
            let completed = take(&wc).ok_or(Status::InternalError)?;
            assert!(completed.result == Err(expected));
            assert_eq!(completed.qp_context, 7);
            assert_eq!(completed.provider_error, status);
        }
        Ok(())
    }

    #[test]
    fn members_come_and_go() -> Result {
        let ctx = MaySleep::of_test();
        let queue = SharedQueue::new(1, 0)?;
        let lines = [FaultLine::of_test()?, FaultLine::of_test()?];
        queue.join(0x100, 1, &lines[0], &ctx)?;
        queue.join(0x200, 2, &lines[1], &ctx)?;
        queue.leave(&lines[0], &ctx);
        queue.leave(&lines[0], &ctx);
        assert_eq!(queue.member_count(), 1);
        // The address comes again with another QP.
        queue.join(0x100, 3, &lines[0], &ctx)?;
        let completed = received(post(&queue, 5)?, 0x100, 0).ok_or(Status::InternalError)?;
        assert_eq!(completed.qp_context, 3);
        let completed = received(post(&queue, 5)?, 0x200, 0).ok_or(Status::InternalError)?;
        assert_eq!(completed.qp_context, 2);
        Ok(())
    }

    // Proves: SRQ_RECEIVE.no-resources, MODIFY_SRQ.ok
    #[test]
    fn a_queue_grows_under_its_receives() -> Result {
        let queue = SharedQueue::new(3, 0)?;
        let first = [post(&queue, 1)?, post(&queue, 2)?, post(&queue, 3)?];
        assert!(post(&queue, 4).err() == Some(Status::NoMoreEntries));
        queue.grow(20)?;
        queue.set_room(20)?;
        for context in 4..=20 {
            post(&queue, context)?;
        }
        assert!(post(&queue, 21).err() == Some(Status::NoMoreEntries));
        assert!(queue.set_room(19) == Err(Status::BufferOverflow));
        let completed = received(first[1], 0, 0).ok_or(Status::InternalError)?;
        assert_eq!(completed.request_context, 2);
        assert!(queue.set_room(19) == Ok(()));
        Ok(())
    }

    /// Counts what it hears.
    struct Ear(Atomic<u32>);

    impl LowSink for Ear {
        fn low(self: Arc<Self>) {
            self.0.add(1, Relaxed);
        }
    }

    // Proves: SRQ_NOTIFICATION_CALLBACK.ok
    #[test]
    fn a_fall_below_the_threshold_is_told_once() -> Result {
        let queue = SharedQueue::new(4, 2)?;
        let ear = Arc::new(Ear(Atomic::new(0)), GFP_KERNEL)?;
        queue.lead_to(Some(ear.clone()));
        let mut ids = [0; 2];
        for id in &mut ids {
            let (place, posted) = queue.reserve(core::ptr::null_mut())?;
            *id = posted;
            assert_eq!(queue.alarm().posted(place.level), place.level == 2);
        }
        received(ids[0], 0, 0);
        assert_eq!(ear.0.load(Relaxed), 1);
        received(ids[1], 0, 0);
        assert_eq!(ear.0.load(Relaxed), 1);
        queue.lead_to(None);
        Ok(())
    }
}
