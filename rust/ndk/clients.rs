// SPDX-License-Identifier: GPL-2.0

//! The adapters there are, and the consumers that want to know of them.
//!
//! A client is told by a work item of its own, which compares what there is with what the client was told. So the removal
//! of a device waits for no consumer, and no news can get lost for want of memory.

use crate::{
    adapter::Port,
    callback::ClientCalls,
    ctx::MaySleep,
    queues,
    state::status::Status,
    status::Result, //
    sync::{
        cancel_sync,
        sleep_work,
        SleepItem, //
    },
};
use kernel::{
    prelude::*,
    sync::{
        new_mutex,
        Arc,
        Mutex, //
    },
    workqueue::{
        new_work,
        Work, //
    },
};

struct Known {
    ports: KVec<Arc<Port>>,
    clients: KVec<Arc<Client>>,
}

kernel::sync::global_lock! {
    // SAFETY: `init` is called in module initialization, before anything else of this file.
    unsafe(uninit) static KNOWN: Mutex<Known> = Known {
        ports: KVec::new(),
        clients: KVec::new(),
    };
}

/// Makes the list.
///
/// # Safety
///
/// Called once, before everything else of this file.
pub(crate) unsafe fn init() {
    // SAFETY: By the requirements of this function.
    unsafe { KNOWN.init() };
}

impl Known {
    fn tell(&self) {
        for client in self.clients.iter() {
            // One that is queued already will see the change as well.
            queues::sleep().enqueue::<_, 0>(client.clone());
        }
    }
}

/// A port has come. Sleeps.
pub(crate) fn arrived(port: &Arc<Port>) -> Result<(), Error> {
    let mut known = KNOWN.lock();
    known.ports.push(port.clone(), GFP_KERNEL)?;
    known.tell();
    Ok(())
}

/// A port goes. Sleeps.
pub(crate) fn left(port: &Arc<Port>) {
    let mut known = KNOWN.lock();
    known.ports.retain(|other| !Arc::ptr_eq(other, port));
    known.tell();
}

/// The first port for which `matches` holds. Sleeps.
///
/// # Errors
///
/// `DeviceRemoved` when there is none.
pub(crate) fn find(mut matches: impl FnMut(&Port) -> bool) -> Result<Arc<Port>> {
    // Asking a port takes locks of the RDMA core, under which ports are added here.
    let mut ports = KVec::new();
    {
        let known = KNOWN.lock();
        ports.extend_from_slice(&known.ports, GFP_KERNEL)?;
    }
    let found = ports.iter().find(|port| matches(port)).cloned();
    found.ok_or(Status::DeviceRemoved)
}

/// A consumer that is told of adapters.
#[pin_data]
pub(crate) struct Client {
    #[pin]
    work: Work<Client, 0>,
    calls: ClientCalls,
    /// What the client was told of and not told the end of. Held over its callbacks, which so come one at a time.
    #[pin]
    told: Mutex<KVec<Arc<Port>>>,
}

sleep_work! { impl SleepItem<0> for Client { self.work } }

impl SleepItem<0> for Client {
    fn run(this: Arc<Self>, ctx: &MaySleep) {
        this.update(ctx);
    }
}

impl Client {
    /// Registers a consumer, and tells it of the adapters there are. Sleeps.
    pub(crate) fn register(calls: ClientCalls, ctx: &MaySleep) -> Result<Arc<Self>> {
        let client = Arc::pin_init(
            pin_init!(Self {
                work <- new_work!("Client::work"),
                calls,
                told <- new_mutex!(KVec::new()),
            }),
            GFP_KERNEL,
        )?;
        KNOWN.lock().clients.push(client.clone(), GFP_KERNEL)?;
        client.update(ctx);
        Ok(client)
    }

    /// Tells the consumer nothing any more. Sleeps until a callback that runs has returned.
    pub(crate) fn unregister(this: &Arc<Self>, ctx: &MaySleep) {
        KNOWN
            .lock()
            .clients
            .retain(|other| !Arc::ptr_eq(other, this));
        cancel_sync::<Self, 0>(this, ctx);
    }

    fn update(&self, ctx: &MaySleep) {
        let mut told = self.told.lock();
        while let Some(at) = {
            let known = KNOWN.lock();
            told.iter().position(|port| !contains(&known.ports, port))
        } {
            if let Ok(port) = told.remove(at) {
                self.calls.remove(&port, ctx);
            }
        }
        while let Some(port) = {
            let known = KNOWN.lock();
            known
                .ports
                .iter()
                .find(|port| !contains(&told, port))
                .cloned()
        } {
            if told.push(port.clone(), GFP_KERNEL).is_err() {
                return;
            }
            self.calls.add(&port, ctx);
        }
    }
}

fn contains(ports: &KVec<Arc<Port>>, port: &Arc<Port>) -> bool {
    ports.iter().any(|other| Arc::ptr_eq(other, port))
}
