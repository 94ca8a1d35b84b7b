// SPDX-License-Identifier: GPL-2.0

//! Interrupt moderation of a CQ, in software, the same on every device.
//!
//! The work item that calls the notification asks [`Cq::waits_for_more`] first. Where the interval alone decides, a timer is
//! all it takes. Where completions are counted, verbs have no way to ask how many a CQ holds. So from the arm on polls of such a
//! CQ are diverted ([`Poller::hold`]), the work item takes what the device has into the stash, which counts it exactly, and arms
//! the device's CQ for the next completion. What is in the stash is visible to the consumer all the while.
//!
//! [`Poller::hold`]: crate::verbs::poll::Poller::hold

use super::{
    kick,
    Cq, //
};
use crate::{
    state::{
        arm::Placed,
        moderation::{
            Setting,
            Verdict, //
        },
        status::Status, //
    },
    status::Result,
    verbs::{
        cq::Arm,
        poll::Found, //
    }, //
};
use kernel::{
    alloc::flags::GFP_ATOMIC,
    impl_has_hr_timer,
    sync::{
        atomic::Relaxed,
        Arc,
        ArcBorrow, //
    },
    time::{
        hrtimer::{
            HrTimerCallback,
            HrTimerCallbackContext,
            HrTimerExpires,
            HrTimerPointer,
            HrTimerRestart,
            RelativeSoftMode, //
        },
        Delta,
        Instant,
        Monotonic, //
    }, //
};

impl_has_hr_timer! {
    impl HasHrTimer<Self> for Cq {
        mode: RelativeSoftMode<Monotonic>, field: self.timer
    }
}

impl HrTimerCallback for Cq {
    type Pointer<'a> = Arc<Self>;

    fn run(this: ArcBorrow<'_, Self>, _ctx: HrTimerCallbackContext<'_, Self>) -> HrTimerRestart {
        kick(&this.into());
        HrTimerRestart::NoRestart
    }
}

/// Nanoseconds of the clock that waits are measured with.
fn now() -> u64 {
    // Never negative.
    u64::try_from(Instant::<Monotonic>::now().as_nanos()).unwrap_or(0)
}

impl Cq {
    /// Has notifications wait for more completions, up to `interval` microseconds or `count` of them. Any context; serialized by
    /// the consumer with itself.
    ///
    /// # Errors
    ///
    /// `InvalidParameterMix` where neither would end a wait, `InsufficientResources`, `DeviceRemoved`.
    pub(crate) fn moderate(self: &Arc<Self>, interval: u32, count: u32) -> Result {
        let setting = Setting::new(interval, count, self.poller.depth())?;
        if self.adapter().port().is_gone() {
            return Err(Status::DeviceRemoved);
        }
        if let Some(count) = setting.count() {
            self.poller.reserve(count, GFP_ATOMIC)?;
        }
        self.moderation.set(setting);
        // NDKPI: the latest setting wins, also over a notification that waits.
        if self.arm.is_held() {
            kick(self);
        }
        Ok(())
    }

    /// Whether nothing is to be called now. By the work item only.
    pub(super) fn waits_for_more(self: &Arc<Self>) -> bool {
        let setting = self.moderation.get();
        if !setting.is_off() {
            // From here on whatever comes kicks.
            while self.arm.hold() {
                match self.look(setting) {
                    Look::Again => {}
                    Look::Wait => return true,
                    Look::Call => break,
                }
            }
        }
        if self.due_since.load(Relaxed) != 0 {
            self.due_since.store(0, Relaxed);
            self.stop_timer();
        }
        self.poller.release();
        false
    }

    /// Looks whether a notification that is held back still has to wait.
    fn look(self: &Arc<Self>, setting: Setting) -> Look {
        let begins = self.due_since.load(Relaxed) == 0;
        let mut counted = 0;
        if setting.count().is_some() {
            if begins {
                self.poller.begin_count();
            }
            // An arm that is older than the setting is answered without.
            let Some(count) = self.poller.count(|found| self.seen(found)) else {
                return Look::Call;
            };
            // A failure or a fault among them is not held back.
            if !self.arm.hold() {
                return Look::Call;
            }
            if begins && count == 0 {
                return self.take_back();
            }
            counted = count;
        }
        let now = now();
        if begins {
            self.due_since.store(now.max(1), Relaxed);
        }
        let since = self.due_since.load(Relaxed);
        match setting.judge(since, now, counted, self.poller.depth()) {
            Verdict::Fire => Look::Call,
            Verdict::Wait(end) => {
                self.start_timer(end.map(|end| end.saturating_sub(now)));
                if setting.count().is_some() && self.poller.req_notify_device(Arm::Any) {
                    Look::Again
                } else {
                    Look::Wait
                }
            }
        }
    }

    /// What the device notified for is none of the consumer's completions: the arm goes on.
    fn take_back(&self) -> Look {
        match self.arm.withdraw() {
            // Something happened meanwhile.
            None => Look::Again,
            Some(lower) => {
                if self.arm_lower(lower) {
                    Look::Again
                } else {
                    Look::Wait
                }
            }
        }
    }

    /// Something came into the stash, and the work item is looking already.
    fn seen(&self, found: Found) {
        match found {
            Found::Success => {}
            // Not held back.
            Found::Failure => {
                self.arm.completion(Placed::Failed);
            }
            Found::Overrun => {
                self.overrun();
            }
        }
    }

    /// Has the work item run after so many nanoseconds, or not by itself.
    fn start_timer(self: &Arc<Self>, after: Option<u64>) {
        self.stop_timer();
        if let Some(after) = after {
            let after = Delta::from_nanos(i64::try_from(after).unwrap_or(i64::MAX));
            let handle = self.clone().start(after);
            *self.started.lock() = Some(handle);
        }
    }

    /// Stops the timer. It may have to wait for its handler, which only kicks.
    pub(super) fn stop_timer(&self) {
        let old = self.started.lock().take();
        drop(old);
    }
}

/// What becomes of a notification that is held back.
enum Look {
    /// Something came meanwhile.
    Again,
    /// It waits on.
    Wait,
    /// It is to be called.
    Call,
}
