// SPDX-License-Identifier: GPL-2.0

//! Numbers that whoever loads the module may choose: what they are without a choice, and what they can be.
//!
//! A value out of its range is refused, not adapted: a module that runs does what it was told.

use super::status::Status;

/// A number to choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its name.
    pub name: &'static str,
    /// The least that it can be.
    pub least: u32,
    /// The most that it can be.
    pub most: u32,
    /// What it is if nobody chooses.
    pub usual: u32,
}

impl Param {
    /// Whether it can be `value`.
    pub const fn check(&self, value: u32) -> Result<(), Status> {
        if value < self.least || value > self.most {
            return Err(Status::InvalidParameter);
        }
        Ok(())
    }
}

/// Shortest time, in milliseconds: enough for a work item on a machine that is busy.
const SHORTEST_MS: u32 = 100;

/// Longest time, in milliseconds.
const LONGEST_MS: u32 = 600_000;

/// After so many milliseconds at the earliest a peer's connection manager gives up on a reply that it has sent, without
/// telling: 16 replies 4.3 s apart.
pub const PEER_GIVES_UP_MS: u32 = 68_719;

/// Milliseconds for a Connect, up to the peer's answer. The connection manager alone would try for a little more than a minute.
pub const CONNECT_TIMEOUT_MS: Param = Param {
    name: "connect_timeout_ms",
    least: SHORTEST_MS,
    most: LONGEST_MS,
    usual: 60_000,
};

/// Milliseconds for the consumer to complete or reject what the peer has accepted: less than [`PEER_GIVES_UP_MS`], or both sides
/// would not agree that there is no connection.
pub const HOLD_TIMEOUT_MS: Param = Param {
    name: "hold_timeout_ms",
    least: SHORTEST_MS,
    most: 65_000,
    usual: 60_000,
};

/// Milliseconds for the peer to complete what was accepted here: longer than the usual hold, not to cut a slow consumer off.
pub const ACCEPT_TIMEOUT_MS: Param = Param {
    name: "accept_timeout_ms",
    least: SHORTEST_MS,
    most: LONGEST_MS,
    usual: 120_000,
};

/// Milliseconds for the peer's consumer to answer a Disconnect.
pub const DISCONNECT_TIMEOUT_MS: Param = Param {
    name: "disconnect_timeout_ms",
    least: SHORTEST_MS,
    most: LONGEST_MS,
    usual: 30_000,
};

/// Connections that may wait at a listener for its consumer's answer. A peer's connection manager waits a minute at least, so a
/// consumer that falls behind by more than the usual number will not catch up.
pub const LISTEN_BACKLOG: Param = Param {
    name: "listen_backlog",
    least: 1,
    most: 65_535,
    usual: 256,
};
