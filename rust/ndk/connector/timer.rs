// SPDX-License-Identifier: GPL-2.0

//! The timer of a connector: at most one runs at a time. How long it runs is chosen when the module is loaded ([`params`]).

use super::{
    Connector,
    Inner,
    TIMER, //
};
use crate::{
    ctx::MaySleep,
    params, queues,
    state::connector::{
        Report,
        Timer, //
    },
    sync::SleepItem,
};
use kernel::{
    sync::Arc,
    time::{
        msecs_to_jiffies,
        Delta,
        Instant,
        Monotonic,
        Msecs, //
    },
};

/// A timer that runs.
#[derive(Clone, Copy)]
pub(super) struct Alarm {
    timer: Timer,
    epoch: u32,
    due: Instant<Monotonic>,
}

impl Alarm {
    pub(super) fn new(timer: Timer, epoch: u32) -> Self {
        let ms = match timer {
            Timer::Connect => params::connect_timeout_ms(),
            Timer::Hold => params::hold_timeout_ms(),
            Timer::Establish => params::accept_timeout_ms(),
            Timer::Disconnect => params::disconnect_timeout_ms(),
        };
        Self {
            timer,
            epoch,
            due: Instant::now() + Delta::from_millis(i64::from(ms)),
        }
    }

    /// Milliseconds that are left.
    fn left(&self) -> Msecs {
        let left = self.due - Instant::now();
        Msecs::try_from(left.as_millis_ceil()).unwrap_or(0)
    }
}

impl SleepItem<TIMER> for Connector {
    fn run(this: Arc<Self>, _ctx: &MaySleep) {
        let mut inner = this.inner.lock();
        inner.ticking = false;
        let Some(alarm) = inner.alarm else {
            return;
        };
        if alarm.left() != 0 {
            this.tick(&mut inner);
            return;
        }
        inner.alarm = None;
        inner.report(alarm.epoch, Report::Expired(alarm.timer));
        this.wake(inner);
    }
}

impl Connector {
    /// Has the timer looked at in time.
    pub(super) fn tick(self: &Arc<Self>, inner: &mut Inner) {
        let Some(alarm) = inner.alarm.filter(|_| !inner.ticking) else {
            return;
        };
        inner.ticking = true;
        // Not longer than the shortest timer takes: so whatever starts or stops, the work item of the timers is queued once. The
        // tick that is going on does not count.
        let delay = msecs_to_jiffies(alarm.left().min(params::shortest_ms())).saturating_add(1);
        queues::sleep().enqueue_delayed::<_, TIMER>(self.clone(), delay);
    }
}
