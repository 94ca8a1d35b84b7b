// SPDX-License-Identifier: GPL-2.0

//! The timer of a connector: at most one runs at a time.

use super::{
    Connector,
    Inner,
    TIMER, //
};
use crate::{
    ctx::MaySleep,
    queues,
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

/// Time for a Connect, up to the peer's answer. The connection manager alone would try for a little more than a minute.
const CONNECT_MS: u32 = 60_000;

/// Time for the consumer to complete or reject what the peer has accepted. Less than the 69 s (16 replies 4.3 s apart) after
/// which a peer's connection manager gives up at the earliest, without telling.
const HOLD_MS: u32 = 60_000;

/// Time for the peer to complete what was accepted here. Longer than the hold, not to cut a slow consumer off.
const ESTABLISH_MS: u32 = 120_000;

/// Time for the peer's consumer to answer a Disconnect.
const DISCONNECT_MS: u32 = 30_000;

/// How long a timer may run without a look at it: the shortest there is. So whatever starts or stops, the work item of the timers
/// is queued once.
const TICK_MS: u32 = DISCONNECT_MS;

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
            Timer::Connect => CONNECT_MS,
            Timer::Hold => HOLD_MS,
            Timer::Establish => ESTABLISH_MS,
            Timer::Disconnect => DISCONNECT_MS,
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
        // The tick that is going on does not count.
        let delay = msecs_to_jiffies(alarm.left().min(TICK_MS)).saturating_add(1);
        queues::sleep().enqueue_delayed::<_, TIMER>(self.clone(), delay);
    }
}
