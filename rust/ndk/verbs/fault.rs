// SPDX-License-Identifier: GPL-2.0

//! The way from what is seen at a QP to its connector.

use crate::{
    ctx::MaySleep,
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

/// How a request that makes or ends a registration has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ended {
    /// Whether it makes one, or ends one.
    pub(crate) makes: bool,
    /// Whether it succeeded.
    pub(crate) success: bool,
    /// Whether the device has read our memory for it, and somebody counts on this to know that it is done.
    pub(crate) counted: bool,
}

/// Who keeps account of the tokens of a PD.
pub(crate) trait Tokens: Send + Sync {
    /// A receive shows that the peer has invalidated a token. Returns whether it was one that the peer could invalidate. Any
    /// context.
    fn peer_invalidated(&self, token: u32) -> bool;

    /// A request has ended that makes or ends the registration of a token. Any context.
    fn request_ended(&self, token: u32, ended: Ended);
}

/// Who can take completions out that nobody polls for.
pub(crate) trait Collector: Send + Sync {
    /// Takes out what is there. Sleeps.
    fn collect_now(self: Arc<Self>, ctx: &MaySleep);
}

/// The way from what a completion shows to those who have to know: the connector of the QP, and the PD.
#[pin_data]
pub(crate) struct FaultLine {
    tokens: Arc<dyn Tokens>,
    #[pin]
    sink: IrqSpinLock<Option<Arc<dyn FaultSink>>>,
    /// Where the completions of the initiator queue are, while the QP lives.
    #[pin]
    collector: IrqSpinLock<Option<Arc<dyn Collector>>>,
    /// The consumer or the provider flushes the QP itself: its flushed requests say nothing of the
    /// peer.
    flushed: Atomic<u32>,
}

impl FaultLine {
    /// A line that leads nowhere yet.
    pub(crate) fn new(tokens: Arc<dyn Tokens>) -> impl PinInit<Self> {
        pin_init!(Self {
            tokens,
            sink <- new_irq_spinlock!(None),
            collector <- new_irq_spinlock!(None),
            flushed: Atomic::new(0),
        })
    }

    /// Connects the line, or cuts it.
    pub(crate) fn lead_to(&self, sink: Option<Arc<dyn FaultSink>>) {
        let old = core::mem::replace(&mut *self.sink.lock(), sink);
        // Dropped outside of the lock.
        drop(old);
    }

    /// Tells who collects, or that nobody does any more.
    pub(crate) fn collect_by(&self, collector: Option<Arc<dyn Collector>>) {
        let old = core::mem::replace(&mut *self.collector.lock(), collector);
        // As above.
        drop(old);
    }

    /// Takes completions out that nobody polls for. Sleeps.
    pub(crate) fn collect(&self, ctx: &MaySleep) {
        let collector = self.collector.lock().clone();
        if let Some(collector) = collector {
            collector.collect_now(ctx);
        }
    }

    /// The tokens of the PD.
    #[inline]
    pub(super) fn tokens(&self) -> &dyn Tokens {
        &*self.tokens
    }

    /// From here on flushed requests are our own doing.
    pub(crate) fn flush_is_ours(&self) {
        self.flushed.store(1, Relaxed);
    }

    /// Whether they are.
    #[cold]
    pub(super) fn is_flush_ours(&self) -> bool {
        self.flushed.load(Relaxed) != 0
    }

    /// A request failed. Any context.
    #[cold]
    pub(super) fn failed(&self, status: WcStatus) {
        if status == WcStatus::Flushed && self.is_flush_ours() {
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

    /// A line for tests, of a PD without tokens.
    #[cfg(CONFIG_KUNIT = "y")]
    pub(crate) fn of_test() -> Result<Arc<Self>> {
        struct NoTokens;

        impl Tokens for NoTokens {
            fn peer_invalidated(&self, _token: u32) -> bool {
                true
            }

            fn request_ended(&self, _token: u32, _ended: Ended) {}
        }

        let tokens = Arc::new(NoTokens, GFP_KERNEL)?;
        Arc::pin_init(Self::new(tokens), GFP_KERNEL)
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

    #[test]
    fn failures_are_faults_unless_we_flush() -> Result {
        let (line, ear) = (FaultLine::of_test()?, ear()?);
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
        let (line, ear) = (FaultLine::of_test()?, ear()?);
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
