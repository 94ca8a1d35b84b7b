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
mod dispatch;
mod endpoint;
mod exports;
mod ffi;
mod lam;
mod listener;
mod mr;
mod object;
mod pd;
mod qp;
mod queues;
mod registrar;
mod registry;
mod shared_endpoint;
#[path = "../state/src/lib.rs"]
mod state;
mod status;
mod verbs;

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
}

/// The module. Its fields are dropped in their order: first the devices go, then the queues that took them away.
#[pin_data]
struct Ndk {
    #[pin]
    _devices: verbs::device::Registration<adapter::Provider>,
    _queues: queues::Owner,
}

impl kernel::InPlaceModule for Ndk {
    fn init(_module: &'static ThisModule) -> impl PinInit<Self, Error> {
        // SAFETY: Once, before all else.
        unsafe { clients::init() };
        try_pin_init!(Self {
            _queues: queues::Owner::new()?,
            _devices <- verbs::device::Registration::new(c_str!("ndk")),
        })
    }
}
