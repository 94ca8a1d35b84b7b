// SPDX-License-Identifier: GPL-2.0

//! Machines under every sequence of events, each watched by a model or a monitor that knows the rules and not the machine.

#![cfg(not(loom))]

mod arm;
mod endpoint;
#[path = "../common/explore.rs"]
mod explore;
mod lifetime;
mod patience;
mod queue;
mod shared_endpoint;
mod srq;
mod tally;
mod token;
