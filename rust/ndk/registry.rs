// SPDX-License-Identifier: GPL-2.0

//! What has to go when a device goes.
//!
//! A consumer holds a shell; what is below it on the device is registered here. When the device is removed everything
//! registered is revoked, in the order of [`Rank`], before the removal goes on. The shells stay, answer that the device is
//! gone, and are closed in the consumers' own time: no consumer can hold a removal up.

use crate::{
    ctx::MaySleep,
    state::status::Status,
    status::Result,
    sync::{
        new_irq_spinlock,
        IrqSpinLock, //
    },
};
use core::ptr;
use kernel::{
    alloc::Flags,
    prelude::*,
    rbtree::{
        RBTree,
        RBTreeNodeReservation, //
    },
    sync::Arc,
};

/// Order of revocation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    /// Connectors and listeners: nothing new comes, and consumers learn first that connections end.
    Connection,
    /// QPs: outstanding requests end.
    Qp,
    /// MRs and mapped buffers.
    Memory,
    /// PDs, with their registration QPs.
    Pd,
    /// CQs.
    Cq,
}

/// Something that lives on a device.
pub(crate) trait Lower: Send + Sync {
    /// When it goes.
    fn rank(&self) -> Rank;

    /// Destroys what is on the device, and ends what waits for it. Called at most once.
    fn revoke(self: Arc<Self>, ctx: &MaySleep);
}

type Key = (Rank, usize);

fn key<L: Lower>(lower: &L) -> Key {
    (lower.rank(), ptr::from_ref(lower).addr())
}

struct Members {
    tree: RBTree<Key, Arc<dyn Lower>>,
    closed: bool,
}

/// The members of one port.
#[pin_data]
pub(crate) struct Registry {
    #[pin]
    members: IrqSpinLock<Members>,
}

impl Registry {
    /// An empty registry.
    pub(crate) fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            members <- new_irq_spinlock!(Members {
                tree: RBTree::new(),
                closed: false,
            }),
        })
    }

    /// Adds a member, which stays until it is removed or revoked. Any context that `flags` allows.
    ///
    /// # Errors
    ///
    /// `DeviceRemoved` once revocation has begun; `InsufficientResources`.
    pub(crate) fn add<L: Lower + 'static>(&self, lower: &Arc<L>, flags: Flags) -> Result {
        let member: Arc<dyn Lower> = lower.clone();
        let node = RBTreeNodeReservation::new(flags)?.into_node(key(&**lower), member);
        let mut members = self.members.lock();
        if members.closed {
            drop(members);
            drop(node);
            return Err(Status::DeviceRemoved);
        }
        let replaced = members.tree.insert(node);
        drop(members);
        drop(replaced);
        Ok(())
    }

    /// Removes a member, if it is one. Any context.
    pub(crate) fn remove<L: Lower>(&self, lower: &L) {
        let node = self.members.lock().tree.remove_node(&key(lower));
        // Freed outside of the lock.
        drop(node);
    }

    /// Revokes all members; none can be added any more.
    pub(crate) fn revoke_all(&self, ctx: &MaySleep) {
        self.members.lock().closed = true;
        loop {
            let next = {
                let mut members = self.members.lock();
                let key = members.tree.keys().next().copied();
                key.and_then(|key| members.tree.remove_node(&key))
            };
            match next {
                Some(node) => {
                    let (_, lower) = node.to_key_value();
                    lower.revoke(ctx);
                }
                None => return,
            }
        }
    }
}
