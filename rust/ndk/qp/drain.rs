// SPDX-License-Identifier: GPL-2.0

//! The end of a QP.
//!
//! [`Qp::quiesce`] is the flush of a disconnect and of a close: no post gets in any more, the device's QP goes to the error
//! state, a sentinel follows in the initiator queue, and when it and all receives came out every request that was accepted has
//! its completion in the CQ. If the consumer does not poll, the provider takes the completions out itself ([`Cq::collect`]).
//!
//! Receives in an SRQ are not the QP's, and stay. There it is the device that says when it takes no more of them for this QP, and
//! not every device does.
//!
//! [`Cq::collect`]: crate::cq::Cq::collect

use super::{
    End,
    Qp,
    Receives,
    Use,
    FLUSH, //
};
use crate::{
    ctx::MaySleep,
    queues,
    sync::{
        cancel_sync,
        SleepItem, //
    },
    verbs::{
        handle, qp,
        work::{
            Tag,
            WorkQueue, //
        },
        wr::SendWr,
    }, //
};
use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Acquire,
            Relaxed, //
        },
        Arc, //
    },
    time::{
        delay::fsleep,
        Delta,
        Instant,
        Monotonic, //
    }, //
};

/// How long a consumer that polls gets to take flushed completions out before the provider does.
const CONSUMER_DRAINS: Delta = Delta::from_millis(2);

/// How long the device may take to flush a QP before the QP is destroyed as it is.
const DEVICE_DRAINS: Delta = Delta::from_secs(5);

/// The same where a CQ of the QP has failed: it has lost completions, so that what is waited for may never come.
const DEVICE_DRAINS_UNTOLD: Delta = Delta::from_millis(500);

/// How long the device may take to say that it has used its last receive of an SRQ for a QP.
const LAST_RECEIVE: Delta = Delta::from_secs(1);

/// The same for a device that has passed it over in silence before.
const LAST_RECEIVE_UNTOLD: Delta = Delta::from_millis(10);

/// Pause between two looks while a QP drains.
const PAUSE: Delta = Delta::from_micros(100);

impl Qp {
    /// Whether every request has its completion in the hands of the consumer or in the stash.
    fn is_drained(&self) -> bool {
        self.send.in_flight() == 0 && self.receives.in_flight() == 0
    }

    /// Whether the device takes receives of an SRQ for this QP, as far as it has said by now.
    fn may_receive(&self, waited: Delta) -> bool {
        let Receives::Shared { ended, .. } = &self.receives else {
            return false;
        };
        // A QP that was never connected has no peer to receive from.
        if self.usage.load(Relaxed) != Use::Spent as u32 {
            return false;
        }
        let port = self.port();
        if ended.load(Acquire) {
            port.set_tells_last_receive(true);
            return false;
        }
        let patience = if port.tells_last_receive() {
            LAST_RECEIVE
        } else {
            LAST_RECEIVE_UNTOLD
        };
        if waited <= patience {
            return true;
        }
        port.set_tells_last_receive(false);
        false
    }

    /// Whether the device has completed every request that it took.
    fn is_device_done(&self) -> bool {
        self.send.is_done_but_for(self.chain.orphans()) && self.receives.in_flight() == 0
    }

    /// Brings the device's QP to its error state, where everything that is posted completes as flushed. Sleeps; may be called
    /// several times.
    pub(crate) fn fail(&self, ctx: &MaySleep) {
        if let Ok(lower) = self.lower.get(ctx) {
            fail(&mut self.end.lock(), &lower, ctx);
        }
    }

    /// Ends all posting and waits until the device has stopped with the QP: every accepted request then has its completion
    /// where the consumer will find it. Sleeps; may be called several times.
    ///
    /// A post that is made meanwhile may still be accepted, and is flushed like one that was made before.
    pub(crate) fn quiesce(&self, ctx: &MaySleep) {
        self.drain(ctx, handle::wait_for_readers);
    }

    /// [`Self::quiesce`], where `wait` returns when nobody is inside of a post.
    fn drain(&self, ctx: &MaySleep, wait: impl FnOnce(&MaySleep)) {
        let Ok(lower) = self.lower.get(ctx) else {
            return;
        };
        let mut end = self.end.lock();
        self.set_disconnected();
        self.line.flush_is_ours();
        fail(&mut end, &lower, ctx);
        // Receives are flushed one by one. Silent sends that succeeded before are not: they want a completion behind them.
        if !end.sentinel && self.send.in_flight() != 0 {
            end.sentinel = true;
            // After this the queue is ours.
            wait(ctx);
            self.chain.push(ctx);
            self.send.note_orphans(self.chain.orphans());
            post_sentinel(&self.send, |id| {
                lower.post_send(&SendWr::send(id, &[]).signaled())
            });
        }
        let begin = Instant::<Monotonic>::now();
        loop {
            let waited = begin.elapsed();
            let done = end.given_up || self.is_device_done();
            if done && !self.may_receive(waited) {
                break;
            }
            if !done {
                end.given_up = waited > self.patience();
                if waited > CONSUMER_DRAINS {
                    self.collect(ctx);
                }
            }
            fsleep(PAUSE);
        }
        if self.send.in_flight() != 0 && self.is_device_done() {
            self.initiator_cq.object().abandon(&self.send, ctx);
        }
    }

    /// How long the device is waited for.
    fn patience(&self) -> Delta {
        if self.cqs().any(|cq| cq.has_failed()) {
            DEVICE_DRAINS_UNTOLD
        } else {
            DEVICE_DRAINS
        }
    }

    fn collect(&self, ctx: &MaySleep) {
        self.cqs().for_each(|cq| cq.collect(ctx));
    }

    /// Drains and destroys the device's QP under a consumer that may be posting.
    pub(super) fn destroy_in_use(&self, ctx: &MaySleep) {
        self.quiesce(ctx);
        self.gather(ctx);
        let lower = self.lower.take(ctx);
        // A post that was on its way may have left something, which holds the device's QP.
        self.chain.push(ctx);
        drop(lower);
        self.bury(ctx);
    }

    /// Drains and destroys the device's QP after its close, when the registry does not revoke it either.
    pub(super) fn destroy_closed(this: &Arc<Self>, ctx: &MaySleep) {
        cancel_sync::<Self, FLUSH>(this, ctx);
        // NDKPI: a consumer that closes an object is not inside of a call on it, and makes none any more.
        this.drain(ctx, |_| ());
        this.gather(ctx);
        // SAFETY: The consumer does not look, as above. A connector that does would hold the QP, and its close would pend; so
        // would it for one who watches. The registry does not, by this function's condition. The work item that flushes has
        // ended, and the other one never looks.
        drop(unsafe { this.lower.take_unseen() });
        this.bury(ctx);
    }

    /// Takes out what the QP has received from an SRQ, before a device drops the completions of a QP that it destroys.
    fn gather(&self, ctx: &MaySleep) {
        if self.receives.srq().is_some() {
            self.receive_cq.object().collect(ctx);
        }
    }

    /// Reports what the device did not complete as cancelled. No completion of the QP is left in its CQs, so its SRQ can forget
    /// it: another QP may have its address from now on.
    fn bury(&self, ctx: &MaySleep) {
        if !self.is_drained() {
            self.collect(ctx);
            self.initiator_cq.object().abandon(&self.send, ctx);
        }
        match &self.receives {
            Receives::Own { queue, .. } if queue.in_flight() != 0 => {
                self.receive_cq.object().abandon(queue, ctx);
            }
            // It may have received until it was destroyed.
            Receives::Shared { ended, .. } if !ended.load(Acquire) => self.gather(ctx),
            _ => {}
        }
        self.leave_srq(ctx);
    }
}

/// [`Qp::fail`], by the one who has the end in hand. Once, since devices in software stop their work for it each time.
fn fail(end: &mut End, lower: &qp::Qp, ctx: &MaySleep) {
    // An error means that the device has stopped with it already.
    end.failed = end.failed || lower.to_err(ctx).is_ok();
}

/// Posts the last request of a queue. One that the device refuses is done without: the others are still flushed.
fn post_sentinel(queue: &WorkQueue, post: impl FnOnce(u64) -> Result) {
    if let Ok(reservation) = queue.reserve_sentinel() {
        let (id, _) = queue.fill(&reservation, Tag::sentinel(), core::ptr::null_mut());
        queue.publish(&reservation);
        if post(id).is_err() {
            queue.retract(&reservation);
        }
    }
}

/// Cancels everything that is outstanding on a QP, also what waits for its doorbell. Any context.
pub(crate) fn flush(qp: &Arc<Qp>) {
    qp.line.flush_is_ours();
    queues::sleep().enqueue::<Qp, FLUSH>(qp.clone());
}

impl SleepItem<FLUSH> for Qp {
    fn run(this: Arc<Self>, ctx: &MaySleep) {
        this.fail(ctx);
        this.chain.push(ctx);
        if this.chain.orphans() != 0 {
            this.quiesce(ctx);
        }
    }
}
