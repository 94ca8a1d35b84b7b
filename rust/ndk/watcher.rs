// SPDX-License-Identifier: GPL-2.0

//! Requests that a device forgets.
//!
//! NDKPI: every request that was accepted has a result. rxe can stop with a queue for good and not say so (`limits.rst`). On
//! such a device somebody looks at all QPs of a port every [`LOOK_MS`] while there are any, and ends the connections whose
//! requests have not moved for long. What was seen is kept here, and only of QPs in which something waits.

use crate::{
    ctx::MaySleep,
    queues,
    registry::{
        Rank,
        Registry, //
    },
    state::stall::{
        Watch,
        LOOK_MS, //
    },
    sync::{
        cancel_delayed_sync,
        new_irq_spinlock,
        sleep_work,
        IrqSpinLock,
        SleepItem, //
    }, //
};
use kernel::{
    prelude::*,
    sync::{
        new_mutex,
        Arc,
        Mutex, //
    },
    time::msecs_to_jiffies,
    workqueue::{
        new_delayed_work,
        DelayedWork, //
    }, //
};

/// Work item that looks.
const LOOK: u64 = 0;

/// One who looks at the QPs of a port.
#[pin_data]
pub(crate) struct Watcher {
    #[pin]
    work: DelayedWork<Watcher, LOOK>,
    registry: Arc<Registry>,
    /// What was seen of QPs in which something waits, by their places, which go up. Of the work item alone.
    #[pin]
    watches: Mutex<KVVec<(usize, Watch)>>,
    #[pin]
    stopped: IrqSpinLock<bool>,
}

sleep_work! { delayed impl SleepItem<0> for Watcher { self.work } }

impl Watcher {
    /// One for the QPs in a registry. Sleeps.
    pub(crate) fn new(registry: Arc<Registry>) -> Result<Arc<Self>> {
        Arc::pin_init(
            pin_init!(Self {
                work <- new_delayed_work!("Watcher::work"),
                registry,
                watches <- new_mutex!(KVVec::new()),
                stopped <- new_irq_spinlock!(false),
            }),
            GFP_KERNEL,
        )
    }

    /// Has a look taken in time: there are QPs. Any context.
    pub(crate) fn start(self: &Arc<Self>) {
        let stopped = self.stopped.lock();
        if !*stopped {
            let delay = msecs_to_jiffies(LOOK_MS);
            queues::sleep().enqueue_delayed::<_, LOOK>(self.clone(), delay);
        }
    }

    /// Ends it for good. Sleeps, while a look is going on.
    pub(crate) fn stop(self: &Arc<Self>, ctx: &MaySleep) {
        // After this none is queued.
        *self.stopped.lock() = true;
        cancel_delayed_sync::<_, LOOK>(self, ctx);
    }
}

impl SleepItem<LOOK> for Watcher {
    fn run(this: Arc<Self>, ctx: &MaySleep) {
        let mut watches = this.watches.lock();
        let mut kept = KVVec::new();
        let mut any = false;
        this.registry.each(Rank::Qp, |place, qp| {
            any = true;
            let before = watches.binary_search_by_key(&place, |(place, _)| *place);
            let before = before.ok().and_then(|at| watches.get(at));
            let watch = before.map_or(Watch::new(), |(_, watch)| *watch);
            if let Some(watch) = qp.look(watch, ctx) {
                // Where there is no memory it begins anew next time.
                let _ = kept.push((place, watch), GFP_KERNEL);
            }
        });
        *watches = kept;
        drop(watches);
        if any {
            this.start();
        }
    }
}
