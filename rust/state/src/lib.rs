// SPDX-License-Identifier: GPL-2.0

//! The decisions of ndk, without their effects.
//!
//! Every rule of the interface that can be got wrong by an interleaving or by a table row is a state
//! machine here: it takes an event and answers with the next state and what has to be done. Doing it
//! is the business of the caller, who owns the locks, the work queues and the device. Nothing in this
//! folder knows a kernel type, allocates, sleeps or is unsafe.
//!
//! The same files are compiled twice:
//!
//! - in `ndk.ko`, as the module `state` (`--cfg MODULE`);
//! - on a host, as the crate `ndk-state`, where property tests, exhaustive walks and loom run.
//!
//! So the files name each other through `super::`, and crate-level attributes are conditional.
//!
//! There are two shapes. What is touched on the data path or from several contexts at once is a small
//! struct over one atomic word, shared by reference ([`lifetime::Life`], [`arm::Arm`], [`moderation::Moderation`],
//! [`queue::Ring`], [`srq::Srq`], [`token::Mr`]). What is decided under a lock of its object is a plain `Copy` value
//! whose methods return the next value and a list of [`effects::Effects`]
//! ([`connector::Connector`], [`listener::Listener`], [`shared_endpoint::SharedEndpoint`]).
//!
//! "Section n" in these files is a section of the project's NDKPI reference.

#![cfg_attr(not(MODULE), no_std)]
#![forbid(unsafe_code)]
#![warn(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]
#![cfg_attr(
    MODULE,
    allow(
        dead_code,
        reason = "the host's tests look at more than the module does, and know the machines of objects it has not got"
    ),
    allow(
        unreachable_pub,
        reason = "in the module this is a private module; on the host it is the public face of a crate"
    )
)]

pub mod arm;
pub mod atomic;
pub mod chain;
pub mod connector;
pub mod effects;
pub mod endpoint;
pub mod flags;
pub mod lifetime;
pub mod limits;
pub mod listener;
pub mod moderation;
pub mod params;
pub mod patience;
pub mod queue;
pub mod resize;
pub mod shared_endpoint;
pub mod srq;
pub mod stall;
pub mod status;
pub mod tally;
pub mod token;
