// SPDX-License-Identifier: GPL-2.0

//! The CQs on the device below a CQ, the QPs on each of them, and the change of its depth.
//!
//! Verbs cannot resize a CQ of the kernel's. So a CQ is a list of them, and almost always a list of one. While no QP is on the
//! newest, a new one takes its place. Else a new one is added, which QPs created from then on use; one that its last QP has
//! left is destroyed. Both queues of a QP that share a CQ are on the same one, and stay there, so their order is kept. To
//! become smaller is a matter of numbers. What may be done is decided in `rust/state/src/resize.rs`.

use super::Cq;
use crate::{
    adapter::CQ_RESERVE,
    callback::RequestCompletion,
    ctx::MaySleep,
    object::{
        self,
        Held, //
    },
    state::{
        arm::ArmType,
        resize::{
            check_depth,
            plan,
            Lower as Room,
            Plan, //
        },
        status::Status, //
    },
    status::Result,
    verbs::{
        cq,
        device::DeviceRef,
        fault::FaultLine, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// A CQ on the device.
struct Lower {
    number: u32,
    cq: Arc<cq::Cq>,
    room: Room,
}

/// The CQs on the device.
pub(super) struct Lowers {
    /// The last is the newest. Empty when the device is gone.
    list: KVec<Lower>,
    /// Number of the next one.
    next: u32,
}

impl Lowers {
    /// None yet.
    pub(super) fn new() -> Self {
        Self {
            list: KVec::new(),
            next: 0,
        }
    }

    /// Takes a new one in, which has room in the list.
    fn push(&mut self, cq: Arc<cq::Cq>) {
        let lower = Lower {
            number: self.next,
            room: Room::unused(cq.holds()),
            cq,
        };
        self.next = self.next.wrapping_add(1);
        let _ = self.list.push_within_capacity(lower);
    }

    /// The CQs of these members of the list, for polls.
    fn copy(members: &[Lower], wanted: impl Fn(&Lower) -> bool) -> Result<KVec<Arc<cq::Cq>>> {
        let mut copy = KVec::with_capacity(members.len(), GFP_KERNEL)?;
        for lower in members.iter().filter(|lower| wanted(lower)) {
            let _ = copy.push_within_capacity(lower.cq.clone());
        }
        Ok(copy)
    }
}

/// The place of a QP on a CQ.
struct Seat {
    cq: Arc<Cq>,
    number: u32,
    promised: u32,
}

impl Seat {
    /// Puts a QP that may have `promised` completions on the newest CQ on the device. Sleeps.
    fn take(cq: &Arc<Cq>, promised: u32, line: &Arc<FaultLine>) -> Result<(Self, Arc<cq::Cq>)> {
        let mut lowers = cq.lowers.lock();
        let newest = lowers.list.last_mut().ok_or(Status::DeviceRemoved)?;
        cq.attach(line)?;
        newest.room.sit(promised);
        let seat = Self {
            cq: cq.clone(),
            number: newest.number,
            promised,
        };
        Ok((seat, newest.cq.clone()))
    }

    /// The QP is gone. Sleeps.
    fn leave(self, line: &Arc<FaultLine>, ctx: &MaySleep) {
        self.cq.detach(line);
        self.cq.left(self.number, self.promised, ctx);
    }
}

/// The places of a QP on its CQs.
///
/// They are to be given back with [`Self::leave`] when the QP on the device is gone.
pub(crate) struct Seats {
    initiator: Seat,
    /// Where it is another CQ.
    receive: Option<Seat>,
    line: Arc<FaultLine>,
}

/// A CQ of a QP, and how many completions may come from the queue that the QP has on it.
pub(crate) struct On<'a> {
    /// The CQ.
    pub(crate) cq: &'a Arc<Cq>,
    /// The depth of the queue.
    pub(crate) promised: u32,
}

/// The CQs on the device for the two queues of a QP.
pub(crate) struct LowerCqs {
    /// Of initiator requests.
    pub(crate) initiator: Arc<cq::Cq>,
    /// Of receives.
    pub(crate) receive: Arc<cq::Cq>,
}

impl Seats {
    /// Puts a QP on its CQs, which tell `line` when they fail. Sleeps.
    ///
    /// # Errors
    ///
    /// `DeviceRemoved`, `InsufficientResources`.
    pub(crate) fn take(
        initiator: &On<'_>,
        receive: &On<'_>,
        line: &Arc<FaultLine>,
        ctx: &MaySleep,
    ) -> Result<(Self, LowerCqs)> {
        let one = Arc::ptr_eq(initiator.cq, receive.cq);
        let of_both = initiator.promised.saturating_add(receive.promised);
        let promised = if one { of_both } else { initiator.promised };
        let (seat, lower) = Seat::take(initiator.cq, promised, line)?;
        let mut seats = Self {
            initiator: seat,
            receive: None,
            line: line.clone(),
        };
        let mut lowers = LowerCqs {
            receive: lower.clone(),
            initiator: lower,
        };
        if !one {
            match Seat::take(receive.cq, receive.promised, line) {
                Ok((seat, lower)) => {
                    seats.receive = Some(seat);
                    lowers.receive = lower;
                }
                Err(status) => {
                    seats.leave(ctx);
                    return Err(status);
                }
            }
        }
        Ok((seats, lowers))
    }

    /// The QP on the device is gone. Sleeps.
    pub(crate) fn leave(self, ctx: &MaySleep) {
        self.initiator.leave(&self.line, ctx);
        if let Some(seat) = self.receive {
            seat.leave(&self.line, ctx);
        }
    }
}

/// Changes the depth of a CQ; `completion` tells how it went. Any context.
///
/// # Errors
///
/// `InvalidParameter` for a depth of 0 or over the limit, `InsufficientResources`, `DeviceRemoved`; and to `completion`
/// `BufferOverflow` below what is queued.
pub(crate) fn resize(cq: &Arc<Cq>, depth: u32, completion: RequestCompletion) -> Result {
    let port = cq.adapter().port();
    check_depth(depth, port.limits().max_cq_depth)?;
    drop(port.enter()?);
    let held = Held::request(cq)?;
    object::defer(
        move |ctx| (held.object().resize(depth, ctx), held),
        move |ctx, (result, held)| {
            completion.call(ctx, result);
            // A request of the CQ until its callback has returned.
            drop(held);
        },
    )
}

impl Cq {
    fn make_lower(
        self: &Arc<Self>,
        device: DeviceRef,
        depth: u32,
        ctx: &MaySleep,
    ) -> Result<Arc<cq::Cq>> {
        let depth = depth.saturating_add(CQ_RESERVE);
        let vector = self.affinity.vector();
        let lower = cq::Cq::new(ctx, device, depth, vector, self.clone())?;
        Ok(Arc::new(lower, GFP_KERNEL)?)
    }

    /// Makes what a new CQ has on the device. Sleeps.
    pub(super) fn first_lower(self: &Arc<Self>, device: DeviceRef, ctx: &MaySleep) -> Result {
        let lower = self.make_lower(device, self.poller.depth(), ctx)?;
        let mut lowers = self.lowers.lock();
        lowers.list.reserve(1, GFP_KERNEL)?;
        drop(self.poller.lower().set(lower.clone()));
        lowers.push(lower);
        Ok(())
    }

    /// Destroys what is on the device. Its QPs are gone. Sleeps.
    pub(super) fn take_lowers(&self, ctx: &MaySleep) {
        let mut lowers = self.lowers.lock();
        self.poller.take_lowers(ctx);
        lowers.list.clear();
    }

    fn resize(self: &Arc<Self>, depth: u32, ctx: &MaySleep) -> Result {
        let mut lowers = self.lowers.lock();
        let Some((newest, older)) = lowers.list.split_last() else {
            return Err(Status::DeviceRemoved);
        };
        let plan = plan(
            depth,
            CQ_RESERVE,
            newest.room,
            older.iter().map(|lower| lower.room),
        )?;
        // All that can fail comes first.
        let mut made = None;
        if plan != Plan::Keep {
            let device = self.adapter().port().enter()?;
            made = Some(self.make_lower(device, depth, ctx)?);
            lowers.list.reserve(1, GFP_KERNEL)?;
        }
        let mut before = None;
        if plan == Plan::Add {
            let copy = Lowers::copy(&lowers.list, |_| true)?;
            before = Some(Arc::new(copy, GFP_KERNEL)?);
        }
        let deeper = depth >= self.poller.depth();
        if !deeper {
            self.poller.shrink(depth, ctx, |found| self.found(found))?;
        }
        if let Some(lower) = made {
            match before {
                Some(before) => self.poller.add_lower(lower.clone(), before, ctx),
                None => {
                    // Nobody uses it. What is left in it all the same is the consumer's.
                    self.collect(ctx);
                    self.poller.replace_lower(lower.clone(), ctx);
                    drop(lowers.list.pop());
                }
            }
            self.arm_new(&lower);
            lowers.push(lower);
        }
        if deeper {
            self.poller.deepen(depth);
        }
        Ok(())
    }

    /// What the consumer armed before there was this CQ on the device holds for it as well. Nothing can be in it yet.
    fn arm_new(&self, lower: &cq::Cq) {
        let arm = match self.arm.armed() {
            None | Some(ArmType::Errors) => return,
            Some(ArmType::Solicited) if !self.arm.is_held() => cq::Arm::Solicited,
            Some(_) => cq::Arm::Any,
        };
        lower.req_notify(arm);
    }

    /// Has a QP told when the CQ fails. Sleeps.
    fn attach(&self, line: &Arc<FaultLine>) -> Result {
        loop {
            let mut users = self.users.lock();
            let wanted = users.len().saturating_add(1);
            if wanted <= users.capacity() {
                let _ = users.push_within_capacity(line.clone());
                return Ok(());
            }
            drop(users);
            let mut bigger = KVec::with_capacity(wanted.next_power_of_two(), GFP_KERNEL)?;
            let mut users = self.users.lock();
            // Somebody else was faster.
            if users.len() >= bigger.capacity() || users.len() < users.capacity() {
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
    fn detach(&self, line: &Arc<FaultLine>) {
        self.users.lock().retain(|other| !Arc::ptr_eq(other, line));
    }

    /// A QP has left.
    fn left(self: &Arc<Self>, number: u32, promised: u32, ctx: &MaySleep) {
        let mut lowers = self.lowers.lock();
        let Some((newest, older)) = lowers.list.split_last_mut() else {
            return;
        };
        if newest.number == number {
            newest.room.leave(promised);
            return;
        }
        let Some(lower) = older.iter_mut().find(|lower| lower.number == number) else {
            return;
        };
        lower.room.leave(promised);
        if lower.room.users == 0 {
            self.forget_unused(&mut lowers, ctx);
        }
    }

    /// Destroys the older CQs on the device that nobody is on any more. Without memory they stay until the next occasion.
    fn forget_unused(self: &Arc<Self>, lowers: &mut Lowers, ctx: &MaySleep) {
        let Some((newest, older)) = lowers.list.split_last() else {
            return;
        };
        let in_use = |lower: &Lower| lower.room.users != 0;
        let kept = if older.iter().any(in_use) {
            let kept = Lowers::copy(older, in_use);
            let Some(kept) = kept.ok().and_then(|kept| Arc::new(kept, GFP_KERNEL).ok()) else {
                return;
            };
            Some(kept)
        } else {
            None
        };
        let newest = newest.number;
        // What is left in them all the same is the consumer's.
        self.collect(ctx);
        self.poller.keep_older(kept, ctx);
        lowers
            .list
            .retain(|lower| lower.number == newest || in_use(lower));
    }
}
