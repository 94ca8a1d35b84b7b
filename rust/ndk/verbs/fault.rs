// SPDX-License-Identifier: GPL-2.0

//! The way from what is seen at a QP to its connector.

use crate::{
    sync::{
        new_irq_spinlock,
        IrqSpinLock, //
    },
    verbs::cq::WcStatus, //
};
use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc, //
    },
};

/// Who wants to know that a completion shows the connection broken.
pub(crate) trait FaultSink: Send + Sync {
    /// The connection broke. Any context; records and kicks only.
    fn connection_fault(self: Arc<Self>);

    /// The peer's first message overtook its word that the connection stands. Any context; records
    /// and kicks only.
    fn message_before_establishment(self: Arc<Self>);
}

/// How often a token of a PD may have become invalid without a request for it.
///
/// A peer's invalidation shows in the completion of a receive only, which names the token and not the MR,
/// and a registration that fails shows in a completion too. So an MR whose registration was followed by
/// none of these is registered for certain.
pub(crate) struct Invalidations(Atomic<u32>);

impl Invalidations {
    /// None so far.
    pub(crate) fn new() -> Self {
        Self(Atomic::new(0))
    }

    /// How many have shown; wraps.
    pub(crate) fn count(&self) -> u32 {
        self.0.load(Relaxed)
    }
}

/// The way from what a completion shows to those who have to know: the connector of the QP, and the PD.
#[pin_data]
pub(crate) struct FaultLine {
    invalidations: Arc<Invalidations>,
    #[pin]
    sink: IrqSpinLock<Option<Arc<dyn FaultSink>>>,
    /// The consumer or the provider flushes the QP itself: its flushed requests say nothing of the
    /// peer.
    flushed: Atomic<u32>,
}

impl FaultLine {
    /// A line that leads nowhere yet.
    pub(crate) fn new(invalidations: Arc<Invalidations>) -> impl PinInit<Self> {
        pin_init!(Self {
            invalidations,
            sink <- new_irq_spinlock!(None),
            flushed: Atomic::new(0),
        })
    }

    /// Connects the line, or cuts it.
    pub(crate) fn lead_to(&self, sink: Option<Arc<dyn FaultSink>>) {
        let old = core::mem::replace(&mut *self.sink.lock(), sink);
        // Dropped outside of the lock.
        drop(old);
    }

    /// A receive shows that the peer has invalidated a token.
    pub(crate) fn peer_invalidated(&self) {
        self.invalidations.0.fetch_add(1, Relaxed);
    }

    /// From here on flushed requests are our own doing.
    pub(crate) fn flush_is_ours(&self) {
        self.flushed.store(1, Relaxed);
    }

    /// A request failed. Any context.
    #[cold]
    pub(super) fn failed(&self, status: WcStatus) {
        // It may have been a registration, or an invalidation.
        self.invalidations.0.fetch_add(1, Relaxed);
        if status == WcStatus::Flushed && self.flushed.load(Relaxed) != 0 {
            return;
        }
        self.broken();
    }

    /// The connection is broken, by whatever was seen. Any context.
    pub(crate) fn broken(&self) {
        let sink = self.sink.lock().clone();
        if let Some(sink) = sink {
            sink.connection_fault();
        }
    }

    /// A message came before the connection was established. Any context.
    pub(crate) fn message_came_first(&self) {
        let sink = self.sink.lock().clone();
        if let Some(sink) = sink {
            sink.message_before_establishment();
        }
    }
}

#[kernel::macros::kunit_tests(ndk_fault)]
mod tests {
    use super::*;

    /// Counts what it hears.
    struct Ear {
        faults: Atomic<u32>,
        messages: Atomic<u32>,
    }

    impl FaultSink for Ear {
        fn connection_fault(self: Arc<Self>) {
            self.faults.add(1, Relaxed);
        }

        fn message_before_establishment(self: Arc<Self>) {
            self.messages.add(1, Relaxed);
        }
    }

    fn ear() -> Result<Arc<Ear>> {
        let ear = Ear {
            faults: Atomic::new(0),
            messages: Atomic::new(0),
        };
        Ok(Arc::new(ear, GFP_KERNEL)?)
    }

    fn line() -> Result<Arc<FaultLine>> {
        let invalidations = Arc::new(Invalidations::new(), GFP_KERNEL)?;
        Arc::pin_init(FaultLine::new(invalidations), GFP_KERNEL)
    }

    #[test]
    fn failures_are_faults_unless_we_flush() -> Result {
        let (line, ear) = (line()?, ear()?);
        line.lead_to(Some(ear.clone()));
        line.failed(WcStatus::Flushed);
        assert_eq!(ear.faults.load(Relaxed), 1);
        line.flush_is_ours();
        line.failed(WcStatus::Flushed);
        assert_eq!(ear.faults.load(Relaxed), 1);
        line.failed(WcStatus::RetryExceeded);
        assert_eq!(ear.faults.load(Relaxed), 2);
        assert_eq!(ear.messages.load(Relaxed), 0);
        Ok(())
    }

    #[test]
    fn a_line_that_was_cut_says_nothing() -> Result {
        let (line, ear) = (line()?, ear()?);
        line.broken();
        line.lead_to(Some(ear.clone()));
        line.message_came_first();
        assert_eq!(ear.messages.load(Relaxed), 1);
        line.lead_to(None);
        line.broken();
        line.message_came_first();
        assert_eq!(ear.faults.load(Relaxed), 0);
        assert_eq!(ear.messages.load(Relaxed), 1);
        Ok(())
    }
}
