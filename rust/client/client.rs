// SPDX-License-Identifier: GPL-2.0

//! Safe Rust API for kernel consumers, over `include/ndk/ndk.h`.
//!
//! A consumer takes this file as a module of its crate:
//!
//! ```ignore
//! #[path = "../../client/client.rs"]
//! mod client;
//! ```
//!
//! and imports the symbol namespace `NDK`. Three rules carry the whole API:
//!
//! - **A handle owns its object.** Dropping it starts the close, in any context and in any order: what the object's callbacks
//!   use lives on until the close has completed. [`Adapter`] alone sleeps when dropped, until everything opened through it is
//!   closed, so a module that drops its adapters last can be unloaded.
//! - **A request that can be pending takes a [`Notice`]**: [`Wait`] sleeps and returns the result, [`Then`] calls a closure with
//!   it, in softirq context or, if the request did not pend, before the call returns.
//! - **The data path needs exclusive references.** A CQ belongs to one [`Handler`]; whoever holds its [`Queue`] may poll, arm
//!   and reach the handler, and with it the QPs that the handler owns. No lock, no allocation, no reference count.

#![allow(
    dead_code,
    reason = "every consumer compiles the whole, and uses what it needs"
)]

mod adapter;
mod addr;
mod buffer;
mod connector;
mod cq;
mod ffi;
mod flags;
mod listener;
mod mr;
mod mw;
mod notice;
mod owned;
mod pd;
mod qp;
mod query;
mod shared_endpoint;
mod srq;
mod task;

#[allow(unused_imports, reason = "as above")]
pub(crate) use {
    adapter::{
        adapters,
        Adapter,
        AdapterInfo,
        Found,
        Net,
        Target, //
    },
    addr::RawAddr,
    buffer::Buffer,
    connector::{
        AcceptParams,
        ConnectParams,
        ConnectionData,
        Connector,
        SharedConnectParams, //
    },
    cq::{
        Batch,
        Cq,
        Handler,
        Notify,
        Operation,
        Queue,
        WorkResult, //
    },
    flags::{
        MrFlags,
        OpFlags, //
    },
    listener::{
        Listener,
        OnConnect, //
    },
    mr::{
        FastMr,
        Lam,
        Mr,
        Region,
        Sge, //
    },
    mw::Mw,
    notice::{
        Done,
        Notice,
        Then,
        Wait, //
    },
    pd::Pd,
    qp::{
        Qp,
        QpParams, //
    },
    query::{
        capabilities,
        connections,
        counters,
        local_endpoints,
        Capabilities,
        Connection,
        Counters,
        LocalEndpoint, //
    },
    shared_endpoint::SharedEndpoint,
    srq::{
        OnLow,
        Srq,
        SrqParams, //
    },
    task::{
        in_softirq,
        Event,
        Keeper,
        Promise,
        Tasks, //
    },
};
