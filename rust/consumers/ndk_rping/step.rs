// SPDX-License-Identifier: GPL-2.0

//! A request that is logged where it completes, and waited for until the session is stopped.

use crate::{
    client::{
        Done,
        Event,
        Then, //
    },
    session::Session,
};
use kernel::{
    new_spinlock_irq,
    prelude::*,
    sync::{
        Arc,
        SpinLockIrq, //
    }, //
};

/// How often a wait looks whether the session was stopped, in milliseconds.
const LOOK: u32 = 50;

#[pin_data]
struct Slot<T> {
    #[pin]
    done: Event,
    #[pin]
    value: SpinLockIrq<Option<Result<T>>>,
}

/// Logs the end of a request, and wakes whoever waits for it.
pub(crate) struct Logged<T> {
    slot: Arc<Slot<T>>,
    session: Arc<Session>,
    event: &'static str,
}

impl<T: Send + Unpin + 'static> Done<T> for Logged<T> {
    fn done(self, result: Result<T>) {
        let status = result.as_ref().map(|_| ()).map_err(|error| *error);
        self.session.log(self.event, status);
        *self.slot.value.lock() = Some(result);
        self.slot.done.set();
    }
}

/// Starts a request and waits for its end.
///
/// Gives up with `ECANCELED` when the session is stopped: the request goes on, and what it yields is dropped.
pub(crate) fn step<T: Send + Unpin + 'static>(
    session: &Arc<Session>,
    event: &'static str,
    start: impl FnOnce(Then<Logged<T>>),
) -> Result<T> {
    let slot = Arc::pin_init(
        pin_init!(Slot {
            done <- Event::new(),
            value <- new_spinlock_irq!(None),
        }),
        GFP_KERNEL,
    )?;
    start(Then(Logged {
        slot: slot.clone(),
        session: session.clone(),
        event,
    }));
    while !slot.done.wait_for(LOOK) {
        if session.is_stopped() {
            return Err(ECANCELED);
        }
    }
    let value = slot.value.lock().take();
    value.unwrap_or(Err(EIO))
}
