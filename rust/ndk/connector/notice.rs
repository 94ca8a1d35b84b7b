// SPDX-License-Identifier: GPL-2.0

//! What a connector tells its consumer. One work item in softirq, so one thing after the other: a connection is established
//! before it is disconnected.

use super::{
    Connector,
    Inner,
    Request,
    NOTIFY, //
};
use crate::{
    callback::{
        ConnectEvent,
        DisconnectEvent, //
    },
    ctx::Softirq,
    listener::Listener,
    object::{
        self,
        Held,
        Object, //
    },
    status::Result,
    sync::BhItem,
};
use kernel::sync::Arc;

/// A reason to give a vendor's own reasons for the end of a connection; there is none.
const NO_REASON: u32 = 0;

/// A connection came in: the connect event.
pub(super) struct Arrival {
    /// Keeps the close of the listener waiting until the event has returned.
    pub(super) listener: Held<Listener>,
    pub(super) event: ConnectEvent,
}

/// One call of the consumer.
enum Notice {
    Arrived(Arrival),
    Finished(Request, Result),
    Disconnected(DisconnectEvent, Held<Connector>),
}

impl Inner {
    /// What to tell next, and whether there is more.
    fn notice(&mut self) -> (Option<Notice>, bool) {
        let next = self.next_notice();
        (next, self.finished.is_some() || self.disconnected.is_some())
    }

    fn next_notice(&mut self) -> Option<Notice> {
        if let Some(arrival) = self.arrival.take() {
            return Some(Notice::Arrived(arrival));
        }
        // NDKPI: no disconnect event before the connection is known to be established. A completion of the disconnect itself
        // finds no event, since its call has withdrawn it.
        if let Some((request, result)) = self.finished.take() {
            return Some(Notice::Finished(request, result));
        }
        let held = self.disconnected.take()?;
        Some(Notice::Disconnected(self.disconnect_event?, held))
    }
}

impl BhItem<NOTIFY> for Connector {
    fn run(this: Arc<Self>, ctx: &Softirq) {
        let mut more = true;
        while more {
            let notice;
            (notice, more) = this.inner.lock().notice();
            // Each reference goes after its callback has returned: only then may a close complete.
            match notice {
                None => {}
                Some(Notice::Arrived(Arrival { listener, event })) => {
                    if listener.head().is_closing() {
                        // NDKPI: requests in flight are refused as soon as the listener is closed.
                        object::close(this.clone(), None);
                    } else {
                        event.call(ctx, object::into_handle(this.clone()));
                    }
                    drop(listener);
                }
                Some(Notice::Finished(request, result)) => {
                    request.completion.call(ctx, result);
                    drop(request.connector);
                }
                Some(Notice::Disconnected(event, held)) => {
                    event.call(ctx, NO_REASON);
                    drop(held);
                }
            }
        }
    }
}
