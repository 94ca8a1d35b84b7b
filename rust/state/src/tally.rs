// SPDX-License-Identifier: GPL-2.0

//! What the performance counters count (section 9.6).
//!
//! Attempts and connections are counted by the states that a connector goes through, traffic by what the device counts itself:
//! its drivers have names of their own for the same thing.
//!
//! # Rules
//!
//! - An attempt that ends without a connection is a failure, whoever ended it: the peer, the network, a timer, the consumer by a
//!   reject or a close. It is counted once.
//! - A connection is active as long as both ends are in it: until the peer is gone, or the consumer disconnects or closes.
//! - One that ends before the consumer ended it, other than by the peer's disconnect, has had an error.

use super::connector::{
    Connector,
    State, //
};

/// One thing to count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tally {
    /// A connection that this side asked for stands.
    Connect,
    /// A connection that the peer asked for stands.
    Accept,
    /// An attempt, of either side, has ended without a connection.
    ConnectFailure,
    /// A connection is not active any more.
    End {
        /// Whether an error ended it.
        error: bool,
    },
}

/// What a step of a connector, from the state `before`, is to be counted as.
pub fn of_step(before: State, connector: &Connector) -> Option<Tally> {
    let after = connector.state();
    match (before, after) {
        (State::Connected, State::Connected) => None,
        (State::Accepting, State::Connected) => Some(Tally::Accept),
        (_, State::Connected) => Some(Tally::Connect),
        (State::Connected, _) => Some(Tally::End {
            error: connector.is_broken(),
        }),
        (before, after) if is_attempt(before) && !is_attempt(after) => Some(Tally::ConnectFailure),
        _ => None,
    }
}

/// Whether a connection may still come of it.
const fn is_attempt(state: State) -> bool {
    matches!(
        state,
        State::Connecting(_)
            | State::Accepted
            | State::Completing
            | State::Incoming
            | State::Accepting
    )
}

/// What the device counts. The numbers are the counters' bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Traffic {
    /// Bytes received.
    InOctets = 26,
    /// Bytes sent.
    OutOctets = 27,
    /// Packets received.
    InFrames = 28,
    /// Packets sent.
    OutFrames = 29,
}

impl Traffic {
    /// All of them.
    pub const ALL: [Traffic; 4] = [
        Traffic::InOctets,
        Traffic::OutOctets,
        Traffic::InFrames,
        Traffic::OutFrames,
    ];

    /// Its bit in a mask of counters.
    pub const fn bit(self) -> u64 {
        1 << self as u32
    }

    /// Sets of counters the sum of which it is, by their names in drivers of Linux.
    const fn names(self) -> &'static [&'static [&'static str]] {
        match self {
            Traffic::InOctets => &[
                &["rcvd_bytes"],
                &["rx_roce_only_bytes"],
                &["rx_bytes"],
                &["rx_bytes_cnt"],
                &["ip4InOctets", "ip6InOctets"],
            ],
            Traffic::OutOctets => &[
                &["sent_bytes"],
                &["tx_roce_only_bytes"],
                &["tx_bytes"],
                &["tx_bytes_cnt"],
                &["ip4OutOctets", "ip6OutOctets"],
            ],
            Traffic::InFrames => &[
                &["rcvd_pkts"],
                &["rx_roce_only_pkts"],
                &["rx_pkts"],
                &["rx_packets"],
                &["rx_packets_cnt"],
                &["ip4InPkts", "ip6InPkts"],
            ],
            Traffic::OutFrames => &[
                &["sent_pkts"],
                &["tx_roce_only_pkts"],
                &["tx_pkts"],
                &["tx_packets"],
                &["tx_packets_cnt"],
                &["ip4OutPkts", "ip6OutPkts"],
            ],
        }
    }

    /// Its value, where the device has it. `value` says what the device has under a name.
    pub fn find(self, value: impl Fn(&str) -> Option<u64>) -> Option<u64> {
        self.names().iter().find_map(|set| {
            set.iter().try_fold(0u64, |sum, name| {
                value(name).map(|value| sum.wrapping_add(value))
            })
        })
    }
}
