// SPDX-License-Identifier: GPL-2.0

//! The CQs on the device change under polls and arms.
//!
//! Who changes them excludes others who do. A poll or an arm that sees the newest CQ sees also that there are older ones, since
//! that is written down before.

use super::{
    Found,
    Poller,
    MANY, //
};
use crate::{
    ctx::MaySleep,
    state::status::Status,
    status::Result,
    verbs::{
        cq::Cq,
        handle, //
    }, //
};
use kernel::{
    prelude::*,
    sync::{
        atomic::Relaxed,
        Arc, //
    },
};

impl Poller {
    /// Puts `newest` in the place of the CQ for new QPs. `older` has that one, and those before it. Sleeps.
    pub(crate) fn add_lower(&self, newest: Arc<Cq>, older: Arc<KVec<Arc<Cq>>>, ctx: &MaySleep) {
        drop(self.older.swap(Some(older), ctx));
        self.set_mode(&mut self.stash.lock(), MANY);
        drop(self.lower.swap(Some(newest), ctx));
    }

    /// Puts `newest` in the place of the CQ for new QPs, which nobody uses. Sleeps.
    pub(crate) fn replace_lower(&self, newest: Arc<Cq>, ctx: &MaySleep) {
        drop(self.lower.swap(Some(newest), ctx));
    }

    /// Keeps of the older CQs only these. Sleeps.
    pub(crate) fn keep_older(&self, older: Option<Arc<KVec<Arc<Cq>>>>, ctx: &MaySleep) {
        let last = older.is_none();
        drop(self.older.swap(older, ctx));
        if last {
            self.clear_mode(&mut self.stash.lock(), MANY);
        }
    }

    /// Takes all CQs away, for good. Sleeps.
    pub(crate) fn take_lowers(&self, ctx: &MaySleep) {
        drop(self.lower.swap(None, ctx));
        self.keep_older(None, ctx);
    }

    /// Allows more completions.
    pub(crate) fn deepen(&self, depth: u32) {
        let _stash = self.stash.lock();
        self.depth.store(depth, Relaxed);
    }

    /// Allows fewer completions, where no more than that are there. Tells `note` what it finds. Sleeps.
    ///
    /// # Errors
    ///
    /// `BufferOverflow`.
    pub(crate) fn shrink(&self, depth: u32, ctx: &MaySleep, note: impl Fn(Found)) -> Result {
        self.divert();
        handle::wait_for_readers(ctx);
        self.stash.lock().settled = true;
        self.take_all(ctx, note);
        let mut stash = self.stash.lock();
        // NDKPI: not below what is queued.
        let fits = stash.queued() <= depth as usize;
        if fits {
            self.depth.store(depth, Relaxed);
        }
        stash.collectors = stash.collectors.saturating_sub(1);
        self.direct_again(&mut stash);
        if fits {
            Ok(())
        } else {
            Err(Status::BufferOverflow)
        }
    }
}
