// SPDX-License-Identifier: GPL-2.0

//! The module's two work queues: one whose items sleep, one whose items run in softirq context.
//!
//! Consumers may call from softirq or under a spinlock, so whatever sleeps goes to [`sleep`]; consumers are called from
//! [`softirq`] only.

use crate::sync::{
    BhQueue,
    SleepQueue, //
};
use core::{
    ptr,
    sync::atomic::{
        AtomicPtr,
        Ordering, //
    },
};
use kernel::{
    c_str,
    prelude::*,
    sync::Arc, //
};

struct Queues {
    // Dropped first: its items hand over to the other queue. Ids of the connection manager have a count as well, and are
    // gone with the devices before.
    sleep: Arc<SleepQueue>,
    softirq: BhQueue,
}

static QUEUES: AtomicPtr<Queues> = AtomicPtr::new(ptr::null_mut());

/// Owns the queues; the module keeps it, and drops it last.
///
/// # Invariants
///
/// While a value exists, `QUEUES` points to what `_queues` owns.
pub(crate) struct Owner {
    _queues: KBox<Queues>,
}

impl Owner {
    /// Makes the queues. Process context.
    ///
    /// # Safety
    ///
    /// Called once, before anything else of the module.
    pub(crate) unsafe fn new() -> Result<Self> {
        let mut queues = KBox::new(
            Queues {
                sleep: Arc::new(SleepQueue::new(c_str!("ndk"))?, GFP_KERNEL)?,
                // SAFETY: This function is called once.
                softirq: unsafe { BhQueue::new() }?,
            },
            GFP_KERNEL,
        )?;
        QUEUES.store(&raw mut *queues, Ordering::Release);
        // INVARIANT: Just stored.
        Ok(Self { _queues: queues })
    }
}

fn queues() -> &'static Queues {
    // SAFETY: The module makes the queues before anything that uses them, and drops their owner when no object, no client
    // and no registration is left. What still runs then runs on the queues, and dropping them waits for it.
    unsafe { &*QUEUES.load(Ordering::Acquire) }
}

/// The queue whose items sleep.
pub(crate) fn sleep() -> &'static Arc<SleepQueue> {
    &queues().sleep
}

/// The queue whose items call consumers.
pub(crate) fn softirq() -> &'static BhQueue {
    &queues().softirq
}
