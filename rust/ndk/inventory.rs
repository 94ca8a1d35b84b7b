// SPDX-License-Identifier: GPL-2.0

//! The objects of a port that have a handle, for those who look on.
//!
//! An object stands here from before its handle is given out until it has been torn down, which is before its close
//! completes. A look is taken under the lock of the list: it lasts as long as one object takes to be described, and nothing is
//! kept of the object afterwards.

use crate::{
    status::Result,
    sync::{
        new_irq_spinlock,
        IrqSpinLock, //
    },
    verbs::addr::SocketAddr, //
};
use kernel::{
    alloc::Flags,
    fmt,
    prelude::*,
    rbtree::{
        RBTree,
        RBTreeNodeReservation, //
    },
    sync::Arc, //
};

/// Something that stands in the list.
///
/// All functions are called under the lock of the list, with interrupts off.
pub(crate) trait Listed: Send + Sync {
    /// Writes one line about it.
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;

    /// Both ends of the connection that it is, if it is one.
    fn connection(&self) -> Option<(SocketAddr, SocketAddr)>;
}

/// Memory for one entry.
pub(crate) struct Room(RBTreeNodeReservation<u64, Arc<dyn Listed>>);

impl Room {
    /// Gets it.
    ///
    /// # Errors
    ///
    /// `InsufficientResources`.
    pub(crate) fn new(flags: Flags) -> Result<Self> {
        Ok(Self(RBTreeNodeReservation::new(flags)?))
    }
}

/// The objects of one port, by their numbers.
#[pin_data]
pub(crate) struct Inventory {
    #[pin]
    objects: IrqSpinLock<RBTree<u64, Arc<dyn Listed>>>,
}

impl Inventory {
    /// An empty list.
    pub(crate) fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            objects <- new_irq_spinlock!(RBTree::new()),
        })
    }

    /// Puts an object in. Any context.
    pub(crate) fn enter(&self, room: Room, number: u64, object: Arc<dyn Listed>) {
        let node = room.0.into_node(number, object);
        let replaced = self.objects.lock().insert(node);
        drop(replaced);
    }

    /// Takes an object out; nobody looks at it any more when this returns. Any context.
    pub(crate) fn leave(&self, number: u64) {
        let node = self.objects.lock().remove_node(&number);
        // Freed outside of the lock.
        drop(node);
    }

    /// Looks at the first object with a number greater than `after`. Any context.
    fn next<R>(&self, after: u64, look: impl FnOnce(&dyn Listed) -> R) -> Option<(u64, R)> {
        let objects = self.objects.lock();
        let cursor = objects.cursor_lower_bound(&after.checked_add(1)?)?;
        let (number, object) = cursor.current();
        Some((*number, look(&**object)))
    }

    /// Looks at one object after the other. Those that come and go meanwhile may be among them or not.
    pub(crate) fn each<'a, R: 'a>(
        &'a self,
        look: impl Fn(&dyn Listed) -> R + 'a,
    ) -> impl Iterator<Item = R> + 'a {
        let mut at = 0;
        core::iter::from_fn(move || {
            let (number, seen) = self.next(at, &look)?;
            at = number;
            Some(seen)
        })
    }

    /// Writes a line for each object.
    pub(crate) fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut at = 0;
        while let Some((number, shown)) = self.next(at, |object| object.show(f)) {
            shown?;
            at = number;
        }
        Ok(())
    }
}
