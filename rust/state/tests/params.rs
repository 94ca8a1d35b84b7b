// SPDX-License-Identifier: GPL-2.0

//! The module's parameters: ranges that hold what they are for.

#![cfg(not(loom))]

use ndk_state::params::*;
use ndk_state::status::Status;

const ALL: [Param; 5] = [
    CONNECT_TIMEOUT_MS,
    HOLD_TIMEOUT_MS,
    ACCEPT_TIMEOUT_MS,
    DISCONNECT_TIMEOUT_MS,
    LISTEN_BACKLOG,
];

#[test]
fn a_range_is_what_can_be_chosen() {
    for param in ALL {
        for good in [param.least, param.usual, param.most] {
            assert_eq!(param.check(good), Ok(()), "{}", param.name);
        }
        for bad in [0, param.least - 1, param.most + 1, u32::MAX] {
            let refused = param.check(bad);
            assert_eq!(refused, Err(Status::InvalidParameter), "{}", param.name);
        }
    }
}

// Proves: 5.3-ACCEPTED-timeout, 12-slow-consumer
#[test]
fn the_hold_ends_before_a_peer_gives_up_and_the_peer_waits_longer() {
    const { assert!(HOLD_TIMEOUT_MS.most < PEER_GIVES_UP_MS) };
    const { assert!(ACCEPT_TIMEOUT_MS.usual > HOLD_TIMEOUT_MS.usual) };
}
