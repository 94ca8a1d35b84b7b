// SPDX-License-Identifier: GPL-2.0

//! What has to go when a device goes.
//!
//! A consumer holds a shell; what is below it on the device is registered here. When the device is removed everything
//! registered is revoked, in the order of [`Rank`], before the removal goes on. The shells stay, answer that the device is
//! gone, and are closed in the consumers' own time: no consumer can hold a removal up.

use crate::{
    ctx::MaySleep,
    state::{
        stall::Watch,
        status::Status, //
    },
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
    /// SRQs.
    Srq,
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

    /// Looks whether the device goes on with what is there, which was seen before as `watch` says, and ends what does not.
    /// Returns what to go on with where something waits for the device.
    fn look(self: Arc<Self>, _watch: Watch, _ctx: &MaySleep) -> Option<Watch> {
        None
    }
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

    /// Removes a member. Any context. Returns whether it was one; if not, it may be being revoked.
    pub(crate) fn remove<L: Lower>(&self, lower: &L) -> bool {
        let node = self.members.lock().tree.remove_node(&key(lower));
        // Freed outside of the lock.
        node.is_some()
    }

    /// Calls `f` with the members of a rank and their places, which go up. Members come and go meanwhile.
    pub(crate) fn each(&self, rank: Rank, mut f: impl FnMut(usize, Arc<dyn Lower>)) {
        let mut from = (rank, 0);
        loop {
            let next = {
                let members = self.members.lock();
                let cursor = members.tree.cursor_lower_bound(&from);
                cursor.map(|cursor| {
                    let (key, lower) = cursor.current();
                    (*key, lower.clone())
                })
            };
            match next {
                Some(((found, place), lower)) if found == rank => {
                    f(place, lower);
                    from = (rank, place.saturating_add(1));
                }
                _ => return,
            }
        }
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

#[kernel::macros::kunit_tests(ndk_registry)]
mod tests {
    use super::*;

    /// Revoked members, in order.
    type Log = IrqSpinLock<KVec<u32>>;

    /// What a member does when it is revoked.
    enum Then {
        Nothing,
        Removes(Arc<Member>),
        Adds(Arc<Member>),
    }

    struct Member {
        rank: Rank,
        number: u32,
        then: Then,
        registry: Arc<Registry>,
        log: Arc<Log>,
    }

    impl Lower for Member {
        fn rank(&self) -> Rank {
            self.rank
        }

        fn revoke(self: Arc<Self>, _ctx: &MaySleep) {
            let _ = self.log.lock().push_within_capacity(self.number);
            match &self.then {
                Then::Nothing => {}
                Then::Removes(other) => {
                    self.registry.remove(&**other);
                }
                Then::Adds(other) => {
                    if self.registry.add(other, GFP_KERNEL) == Err(Status::DeviceRemoved) {
                        let _ = self.log.lock().push_within_capacity(0);
                    }
                }
            }
        }
    }

    struct World {
        registry: Arc<Registry>,
        log: Arc<Log>,
    }

    impl World {
        fn new() -> Result<Self> {
            let room = KVec::with_capacity(16, GFP_KERNEL)?;
            Ok(Self {
                registry: Arc::pin_init(Registry::new(), GFP_KERNEL)?,
                log: Arc::pin_init(new_irq_spinlock!(room), GFP_KERNEL)?,
            })
        }

        fn member(&self, rank: Rank, number: u32, then: Then) -> Result<Arc<Member>> {
            let member = Member {
                rank,
                number,
                then,
                registry: self.registry.clone(),
                log: self.log.clone(),
            };
            Ok(Arc::new(member, GFP_KERNEL)?)
        }

        fn add(&self, rank: Rank, number: u32) -> Result<Arc<Member>> {
            let member = self.member(rank, number, Then::Nothing)?;
            self.registry.add(&member, GFP_KERNEL)?;
            Ok(member)
        }

        fn revoked(&self, expected: &[u32]) -> bool {
            self.registry.revoke_all(&MaySleep::of_test());
            let log = self.log.lock();
            **log == *expected
        }
    }

    #[test]
    fn members_go_in_the_order_of_their_ranks() -> Result {
        let world = World::new()?;
        world.add(Rank::Cq, 5)?;
        world.add(Rank::Memory, 3)?;
        world.add(Rank::Connection, 1)?;
        world.add(Rank::Pd, 4)?;
        world.add(Rank::Qp, 2)?;
        assert!(world.revoked(&[1, 2, 3, 4, 5]));
        Ok(())
    }

    #[test]
    fn members_of_a_rank_are_found_in_order() -> Result {
        let world = World::new()?;
        world.add(Rank::Cq, 4)?;
        for number in 1..4 {
            world.add(Rank::Qp, number)?;
        }
        world.add(Rank::Connection, 5)?;
        let (mut count, mut last) = (0, 0);
        world.registry.each(Rank::Qp, |place, lower| {
            assert!(place > last && lower.rank() == Rank::Qp);
            count += 1;
            last = place;
        });
        assert_eq!(count, 3);
        world.registry.each(Rank::Srq, |_, _| count += 1);
        assert_eq!(count, 3);
        world.registry.revoke_all(&MaySleep::of_test());
        Ok(())
    }

    #[test]
    fn one_that_was_removed_is_not_revoked() -> Result {
        let world = World::new()?;
        world.add(Rank::Qp, 1)?;
        let gone = world.add(Rank::Qp, 2)?;
        assert!(world.registry.remove(&*gone));
        // To remove what is no member changes nothing.
        assert!(!world.registry.remove(&*gone));
        assert!(world.revoked(&[1]));
        Ok(())
    }

    #[test]
    fn nothing_comes_after_the_revocation() -> Result {
        let world = World::new()?;
        assert!(world.revoked(&[]));
        assert!(world.add(Rank::Pd, 1).err() == Some(Status::DeviceRemoved));
        assert!(world.revoked(&[]));
        Ok(())
    }

    #[test]
    fn one_can_be_removed_while_others_are_revoked() -> Result {
        let world = World::new()?;
        let other = world.add(Rank::Cq, 2)?;
        let first = world.member(Rank::Connection, 1, Then::Removes(other))?;
        world.registry.add(&first, GFP_KERNEL)?;
        assert!(world.revoked(&[1]));
        Ok(())
    }

    #[test]
    fn none_can_be_added_while_others_are_revoked() -> Result {
        let world = World::new()?;
        let late = world.member(Rank::Cq, 2, Then::Nothing)?;
        let first = world.member(Rank::Connection, 1, Then::Adds(late))?;
        world.registry.add(&first, GFP_KERNEL)?;
        assert!(world.revoked(&[1, 0]));
        Ok(())
    }
}
