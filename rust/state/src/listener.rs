// SPDX-License-Identifier: GPL-2.0

//! A listener.
//!
//! # States
//!
//! ```text
//!            Listen               done                Close               quiet
//!  Created ─────────► Starting ─────────► Listening ─────────► Closing ─────────► Closed
//!     ▲                  │ failed
//!     └──────────────────┘
//! ```
//!
//! *Paused* is a flag of its own: it can be set before listening, and stays.
//!
//! # Rules (sections 4.1, 4.4, 5.6)
//!
//! - A paused, closing or full listener refuses as if nobody listened; nothing is queued.
//! - Full means: as many delivered connectors as the backlog allows wait for an answer.
//! - Close refuses from the first moment, but the endpoint stays busy, and the id alive to refuse on,
//!   until the last delivered connector is closed. That count is the successor count of the listener's
//!   [`super::lifetime::Life`]; [`Report::Quiet`] says that it and all else is over.

use super::effects::Effects;
use super::status::Status;
use core::ffi::CStr;

/// State of a listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Not listening.
    Created,
    /// Listen is pending.
    Starting,
    /// Listening.
    Listening,
    /// Close waits for connectors and callbacks.
    Closing,
    /// Everything is given back.
    Closed,
}

impl State {
    /// The name that traces and debugfs give it.
    pub const fn name(self) -> &'static CStr {
        match self {
            State::Created => c"created",
            State::Starting => c"starting",
            State::Listening => c"listening",
            State::Closing => c"closing",
            State::Closed => c"closed",
        }
    }
}

/// What the consumer calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// Listen. The endpoint has been reserved.
    Listen,
    /// ControlConnectEvents.
    Pause(bool),
    /// GetListenerLocalAddress.
    QueryLocal,
    /// Close.
    Close,
}

/// What the outside tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Report {
    /// The listen work succeeded.
    Started,
    /// It failed.
    Failed(Status),
    /// A delivered connector has been answered.
    Answered,
    /// The device is gone.
    DeviceRemoved,
    /// Closing, and no connector, callback or request is left.
    Quiet,
}

/// What the caller has to do, in the order of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Make an id, bind it, listen; report [`Report::Started`] or [`Report::Failed`].
    StartListen,
    /// Complete the pending Listen.
    CompleteRequest(Status),
    /// Destroy the id that listens.
    DestroyId,
    /// Put the listener's reference on its endpoint.
    ReleaseEndpoint,
    /// Put the handle reference.
    EndClose,
}

/// What to do with a peer's request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use = "a delivered connector is counted"]
pub enum Verdict {
    /// Deliver a connector; it counts as unanswered.
    Deliver,
    /// Refuse, as if nobody listened.
    Refuse,
}

/// The effects of one step of a listener.
pub type List = Effects<Effect, 4>;

/// The state machine of one listener, kept under the listener's lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Listener {
    state: State,
    paused: bool,
    /// Delivered connectors that wait for an answer.
    unanswered: u32,
    /// How many of them there may be.
    backlog: u32,
    /// Whether there is, or will be, an id and an endpoint.
    bound: bool,
    removed: bool,
}

impl Listener {
    /// A new listener that lets `backlog` connectors wait for an answer.
    pub const fn new(backlog: u32) -> Self {
        Self {
            state: State::Created,
            paused: false,
            unanswered: 0,
            backlog,
            bound: false,
            removed: false,
        }
    }

    /// The state.
    pub const fn state(&self) -> State {
        self.state
    }

    /// Whether connect events are paused.
    pub const fn is_paused(&self) -> bool {
        self.paused
    }

    /// Delivered connectors that wait for an answer.
    pub const fn unanswered(&self) -> u32 {
        self.unanswered
    }

    /// The consumer calls. On success Listen is pending, any other call is done.
    pub fn call(&self, call: Call) -> Result<(Listener, List), Status> {
        let mut next = *self;
        let mut todo = List::none();
        match (call, self.state) {
            // The consumer makes no call after Close (section 2.5).
            (_, State::Closing | State::Closed) => return Err(Status::InvalidDeviceState),
            (Call::Close, _) => {
                if self.state == State::Starting {
                    todo.push(Effect::CompleteRequest(Status::Cancelled));
                }
                next.state = State::Closing;
                todo.push(Effect::EndClose);
            }
            (Call::Pause(paused), _) => next.paused = paused,
            _ if self.removed => return Err(Status::DeviceRemoved),
            (Call::Listen, State::Created) => {
                next.state = State::Starting;
                next.bound = true;
                todo.push(Effect::StartListen);
            }
            (Call::QueryLocal, State::Listening) => {}
            (Call::Listen | Call::QueryLocal, _) => return Err(Status::InvalidDeviceState),
        }
        Ok((next, todo))
    }

    /// A peer's request arrives.
    pub fn incoming(&self) -> (Listener, Verdict) {
        let mut next = *self;
        if self.state != State::Listening
            || self.paused
            || self.removed
            || self.unanswered >= self.backlog
        {
            return (next, Verdict::Refuse);
        }
        // Below the backlog, so it does not saturate.
        next.unanswered = self.unanswered.saturating_add(1);
        (next, Verdict::Deliver)
    }

    /// The outside tells something.
    pub fn report(&self, report: Report) -> (Listener, List) {
        let mut next = *self;
        let mut todo = List::none();
        match (report, self.state) {
            (Report::Started, State::Starting) => {
                next.state = State::Listening;
                todo.push(Effect::CompleteRequest(Status::Success));
            }
            (Report::Failed(status), State::Starting) => {
                next.state = State::Created;
                // Before the completion, so that the consumer can listen on the address again in it.
                next.unbind(&mut todo);
                todo.push(Effect::CompleteRequest(status));
            }
            (Report::Answered, _) => {
                debug_assert!(self.unanswered != 0, "a connector was answered twice");
                next.unanswered = self.unanswered.saturating_sub(1);
            }
            // Where nothing is left, nothing is given back.
            (Report::DeviceRemoved, state) => {
                next.removed = true;
                if state == State::Starting {
                    next.state = State::Created;
                }
                next.unbind(&mut todo);
                if state == State::Starting {
                    todo.push(Effect::CompleteRequest(Status::DeviceRemoved));
                }
            }
            (Report::Quiet, State::Closing) => {
                next.state = State::Closed;
                next.unbind(&mut todo);
            }
            (Report::Started | Report::Failed(_) | Report::Quiet, _) => {}
        }
        (next, todo)
    }

    /// Gives back the id and the endpoint, if there are any.
    fn unbind(&mut self, todo: &mut List) {
        if core::mem::take(&mut self.bound) {
            todo.push(Effect::DestroyId);
            todo.push(Effect::ReleaseEndpoint);
        }
    }
}
