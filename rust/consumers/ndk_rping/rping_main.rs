// SPDX-License-Identifier: GPL-2.0

//! The rping of rdmacm-utils as a kernel consumer: server and client, over the Rust client API.
//!
//! Driven through debugfs, directory `ndk_rping`. A command written to `ctl` works in the writer's network namespace:
//!
//! ```text
//! server addr=IP [port=7174] [count=N] [size=65535] [hold=MS] [data=TEXT] [reject=TEXT]
//! client addr=IP dst=IP [port=7174] [source=PORT] [shared=true] [count=1] [size=64] [hold=MS] [data=TEXT] [reject=TEXT]
//! wait [ms=MS]        until no client runs
//! pause id=N          the server refuses connections
//! resume id=N         and takes them again
//! stop [id=N]         a server, or everything; returns when it is gone
//! clear               forget sessions that have ended, and the log
//! ```
//!
//! `hold` delays the answer to a connection: accept at the server, complete connect at the client. With `reject` it is a reject
//! with that private data. A server goes on after `count` rounds of a connection, which it then ends; a client needs a count,
//! and compares every byte. `status` has one line for each server and session, `log` one for each event of a connection: when,
//! what, in which context. `adapters` has one for each adapter there is, with its limits.

use kernel::{
    debugfs::{
        Dir,
        File, //
    },
    prelude::*,
    sync::Arc, //
};

mod adapters;
#[path = "../../client/client.rs"]
mod client;
mod command;
mod log;
mod ping;
mod registry;
mod session;
mod step;

use registry::Registry;

module! {
    type: Rping,
    name: "ndk_rping",
    authors: ["The ndk authors"],
    description: "rping over ndk, server and client",
    license: "GPL",
    imports_ns: ["NDK"],
}

#[pin_data(PinnedDrop)]
struct Rping {
    // Files first: when they are gone, no command comes.
    #[pin]
    ctl: File<Arc<Registry>>,
    #[pin]
    status: File<Arc<Registry>>,
    #[pin]
    log: File<Arc<Registry>>,
    #[pin]
    adapters: File<()>,
    _dir: Dir,
    registry: Arc<Registry>,
}

impl kernel::InPlaceModule for Rping {
    fn init(_module: &'static ThisModule) -> impl PinInit<Self, Error> {
        pin_init::pin_init_scope(|| {
            let registry = Registry::new()?;
            let dir = Dir::new(c"ndk_rping");
            Ok(try_pin_init!(Self {
                ctl <- dir.write_callback_file(c"ctl", registry.clone(), &command::write),
                status <- dir.read_callback_file(c"status", registry.clone(), &Registry::show),
                log <- dir.read_callback_file(c"log", registry.clone(), &Registry::show_log),
                adapters <- dir.read_callback_file(c"adapters", (), &adapters::show),
                _dir: dir.clone(),
                registry,
            }))
        })
    }
}

#[pinned_drop]
impl PinnedDrop for Rping {
    fn drop(self: Pin<&mut Self>) {
        self.registry.shut_down();
    }
}
