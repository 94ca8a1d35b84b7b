// SPDX-License-Identifier: GPL-2.0

//! Network Direct for Linux: an in-kernel RDMA provider over the RDMA core.

use kernel::prelude::*;

mod ctx;
mod ffi;
mod sync;
mod verbs;

module! {
    type: Ndk,
    name: "ndk",
    authors: ["The ndk authors"],
    description: "Network Direct provider over the RDMA core",
    license: "GPL",
}

struct Ndk;

impl kernel::Module for Ndk {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        pr_info!("loaded\n");
        Ok(Ndk)
    }
}
