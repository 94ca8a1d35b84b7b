// SPDX-License-Identifier: GPL-2.0

//! Network Direct for Linux: an in-kernel RDMA provider over the RDMA core.

use kernel::{
    c_str,
    prelude::*, //
};

mod adapter;
mod callback;
mod clients;
mod connector;
mod cq;
mod debugfs;
mod dispatch;
mod endpoint;
mod exports;
mod ffi;
mod inventory;
mod lam;
mod listener;
mod mr;
mod mw;
mod object;
mod params;
mod pd;
mod qp;
mod queues;
mod registrar;
mod registration;
mod registry;
mod shared_endpoint;
mod srq;
#[path = "../state/src/lib.rs"]
mod state;
mod stats;
mod status;
mod verbs;
mod watcher;

use self::ffi::{
    ctx,
    sync,
    trace, //
};

module! {
    type: Ndk,
    name: "ndk",
    authors: ["The ndk authors"],
    description: "Network Direct provider over the RDMA core",
    license: "GPL",
    params: {
        connect_timeout_ms: u32 {
            default: crate::state::params::CONNECT_TIMEOUT_MS.usual,
            description: "Time for a connect, up to the peer's answer, in ms (100 to 600000, default 60000)",
        },
        hold_timeout_ms: u32 {
            default: crate::state::params::HOLD_TIMEOUT_MS.usual,
            description: "Time for a consumer to complete a connect that the peer accepted, in ms (100 to 65000, default 60000)",
        },
        accept_timeout_ms: u32 {
            default: crate::state::params::ACCEPT_TIMEOUT_MS.usual,
            description: "Time for the peer to complete what was accepted, in ms (100 to 600000, default 120000)",
        },
        disconnect_timeout_ms: u32 {
            default: crate::state::params::DISCONNECT_TIMEOUT_MS.usual,
            description: "Time for the peer to answer a disconnect, in ms (100 to 600000, default 30000)",
        },
        listen_backlog: u32 {
            default: crate::state::params::LISTEN_BACKLOG.usual,
            description: "Connections that may wait at a listener for an answer (1 to 65535, default 256)",
        },
    },
}

/// The module. Its fields are dropped in their order: first the devices go, then the queues that took them away.
#[pin_data]
struct Ndk {
    #[pin]
    _devices: verbs::device::Registration<adapter::Provider>,
    _debugfs: debugfs::Root,
    _queues: queues::Owner,
}

impl kernel::InPlaceModule for Ndk {
    fn init(_module: &'static ThisModule) -> impl PinInit<Self, Error> {
        // SAFETY: Once, before all else.
        unsafe {
            clients::init();
            debugfs::init();
        };
        try_pin_init!(Self {
            // SAFETY: Modules are initialized once, and nothing before this makes a queue.
            _queues: params::check().and_then(|()| unsafe { queues::Owner::new() })?,
            _debugfs: debugfs::Root::new(),
            _devices <- verbs::device::Registration::new(c_str!("ndk")),
        })
    }
}
