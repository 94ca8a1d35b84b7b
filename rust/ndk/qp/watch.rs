// SPDX-License-Identifier: GPL-2.0

//! What a QP shows to the one who watches it ([`Watcher`]), and its end where the device has forgotten its requests.
//!
//! [`Watcher`]: crate::watcher::Watcher

use super::{
    Gate,
    Qp, //
};
use crate::{
    ctx::MaySleep,
    object::Held,
    state::stall::{
        Seen,
        Watch, //
    }, //
};
use kernel::sync::Arc;

impl Qp {
    /// What there is to see of requests that wait for the device.
    fn seen(&self, ctx: &MaySleep) -> Option<Seen> {
        let (oldest, reads) = self.send.oldest_waiting()?;
        let psn = self.lower.get(ctx).ok()?.send_psn(ctx).ok()?;
        Some(Seen { oldest, psn, reads })
    }

    /// Goes on with a watch, which ends where nothing waits, and where the queue has stalled: then it is flushed, and the
    /// connection ends.
    pub(super) fn look_after(self: Arc<Self>, mut watch: Watch, ctx: &MaySleep) -> Option<Watch> {
        // The device's QP is there until this ends: the close waits for it.
        let _held = Held::callback(&self).ok()?;
        // A connection that ends is drained, and that takes its time and no more.
        if self.gate() != Gate::All as u32 {
            return None;
        }
        let seen = self.seen(ctx)?;
        if !watch.look(Some(seen)) {
            return Some(watch);
        }
        if self.chain.waiting() != 0 {
            // NDKPI: a deferred request may as well be started at once. From now on it is up to the device.
            self.chain.push(ctx);
            return None;
        }
        self.initiator_cq.object().collect(ctx);
        if !watch.judge(self.seen(ctx)) {
            return Some(watch);
        }
        self.fail(ctx);
        self.chain.push(ctx);
        if self.chain.orphans() != 0 {
            self.quiesce(ctx);
        }
        self.line.broken();
        None
    }
}
