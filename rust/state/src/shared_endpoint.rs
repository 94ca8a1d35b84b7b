// SPDX-License-Identifier: GPL-2.0

//! A shared endpoint: a local address and port for any number of connectors.
//!
//! # States
//!
//! ```text
//!  Create       Close               quiet
//!  ──────► Open ─────────► Closing ─────────► Closed
//! ```
//!
//! There is no object before its address is taken ([`super::endpoint::share`]) and its placeholder bound: a create
//! that fails leaves nothing.
//!
//! # Rules (sections 4.1, 4.2, 5.7)
//!
//! - The *placeholder*, an id of the connection manager that never connects, keeps the address taken there as long as
//!   the endpoint keeps it taken here.
//! - Close is a dereference without side effects: the address stays busy, and connectors connected, until the last
//!   connector over it is closed. That count is the successor count of the endpoint's [`super::lifetime::Life`];
//!   [`Report::Quiet`] says that it and all else is over.
//! - When the device goes, the placeholder and the owner's part of the address go at once. Connectors over it give
//!   back theirs when they are closed.

use super::effects::Effects;
use super::status::Status;

/// State of a shared endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Usable.
    Open,
    /// Close waits for connectors and callbacks.
    Closing,
    /// Everything is given back.
    Closed,
}

/// What the consumer calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// GetSharedEndpointLocalAddress.
    QueryLocal,
    /// ConnectWithSharedEndpoint.
    Connect,
    /// Close.
    Close,
}

/// What the outside tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Report {
    /// The device is gone.
    DeviceRemoved,
    /// Closing, and no connector over it is left.
    Quiet,
}

/// What the caller has to do, in the order of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Destroy the placeholder.
    DestroyId,
    /// Put the owner's reference on the address: [`super::endpoint::release_owner`].
    ReleaseEndpoint,
    /// Put the handle reference.
    EndClose,
}

/// The effects of one step of a shared endpoint.
pub type List = Effects<Effect, 2>;

/// The state machine of one shared endpoint, kept under its lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SharedEndpoint {
    state: State,
    removed: bool,
}

impl Default for SharedEndpoint {
    fn default() -> Self {
        Self::new()
    }
}

impl SharedEndpoint {
    /// A shared endpoint whose address is taken and whose placeholder is bound.
    pub const fn new() -> Self {
        Self {
            state: State::Open,
            removed: false,
        }
    }

    /// The state.
    pub const fn state(&self) -> State {
        self.state
    }

    /// The consumer calls. Refused calls change nothing.
    pub fn call(&self, call: Call) -> Result<(SharedEndpoint, List), Status> {
        let mut next = *self;
        let mut todo = List::none();
        match (call, self.state) {
            // The consumer has promised not to (sections 2.5, 5.7).
            (_, State::Closing | State::Closed) => return Err(Status::InvalidDeviceState),
            (Call::Close, State::Open) => {
                next.state = State::Closing;
                todo.push(Effect::EndClose);
            }
            (Call::QueryLocal | Call::Connect, State::Open) if self.removed => {
                return Err(Status::DeviceRemoved)
            }
            (Call::QueryLocal | Call::Connect, State::Open) => {}
        }
        Ok((next, todo))
    }

    /// The outside tells something.
    pub fn report(&self, report: Report) -> (SharedEndpoint, List) {
        let mut next = *self;
        let mut todo = List::none();
        match (report, self.state) {
            (Report::DeviceRemoved, State::Open | State::Closing) => next.unbind(&mut todo),
            (Report::Quiet, State::Closing) => {
                next.state = State::Closed;
                next.unbind(&mut todo);
            }
            (Report::DeviceRemoved, State::Closed)
            | (Report::Quiet, State::Open | State::Closed) => {}
        }
        next.removed |= report == Report::DeviceRemoved;
        (next, todo)
    }

    /// Gives back the placeholder and the address, unless that went with the device.
    fn unbind(&mut self, todo: &mut List) {
        if !self.removed {
            todo.push(Effect::DestroyId);
            todo.push(Effect::ReleaseEndpoint);
        }
    }
}
