// SPDX-License-Identifier: GPL-2.0

//! Calls that answer pending: what sleeps is done by a work item, and the consumer hears of it in softirq.

use super::{
    into_handle,
    listed,
    Held,
    Object, //
};
use crate::{
    callback::CreateCompletion,
    ctx::{
        MaySleep,
        Softirq, //
    },
    queues,
    state::status::Status,
    status::Result,
    sync::{
        bh_work,
        new_irq_spinlock,
        sleep_work,
        BhItem,
        IrqSpinLock,
        SleepItem, //
    },
};
use kernel::{
    alloc::flags::GFP_ATOMIC,
    prelude::*,
    sync::Arc,
    workqueue::{
        new_work,
        Work, //
    },
};

/// Sleeping work on behalf of a call that answered pending, and what is called in softirq when it is done.
#[pin_data]
struct Deferred<W, D, R> {
    #[pin]
    sleep_work: Work<Deferred<W, D, R>, 0>,
    #[pin]
    done_work: Work<Deferred<W, D, R>, 1>,
    #[pin]
    step: IrqSpinLock<Step<W, D, R>>,
}

enum Step<W, D, R> {
    Work(W, D),
    Done(D, R),
    Over,
}

// Nothing in it is pinned: the closures are moved out to be called.
impl<W, D, R> Unpin for Step<W, D, R> {}

impl<W, D, R> Deferred<W, D, R> {
    fn take(&self) -> Step<W, D, R> {
        core::mem::replace(&mut *self.step.lock(), Step::Over)
    }
}

sleep_work! {
    impl{W: FnOnce(&MaySleep) -> R + Send + 'static, D: FnOnce(&Softirq, R) + Send + 'static, R: Send + 'static}
    SleepItem<0> for Deferred<W, D, R> { self.sleep_work }
}

bh_work! {
    impl{W: FnOnce(&MaySleep) -> R + Send + 'static, D: FnOnce(&Softirq, R) + Send + 'static, R: Send + 'static}
    BhItem<1> for Deferred<W, D, R> { self.done_work }
}

impl<W, D, R> SleepItem<0> for Deferred<W, D, R>
where
    W: FnOnce(&MaySleep) -> R + Send + 'static,
    D: FnOnce(&Softirq, R) + Send + 'static,
    R: Send + 'static,
{
    fn run(this: Arc<Self>, ctx: &MaySleep) {
        if let Step::Work(work, done) = this.take() {
            let result = work(ctx);
            *this.step.lock() = Step::Done(done, result);
            queues::softirq().enqueue_now::<Self, 1>(this, ctx);
        }
    }
}

impl<W, D, R> BhItem<1> for Deferred<W, D, R>
where
    W: FnOnce(&MaySleep) -> R + Send + 'static,
    D: FnOnce(&Softirq, R) + Send + 'static,
    R: Send + 'static,
{
    fn run(this: Arc<Self>, ctx: &Softirq) {
        if let Step::Done(done, result) = this.take() {
            done(ctx, result);
        }
    }
}

/// Has `work` done in process context and then `done` called in softirq, for a call that answers pending.
///
/// # Errors
///
/// Fails without memory; then neither is called.
pub(crate) fn defer<W, D, R>(work: W, done: D) -> Result
where
    W: FnOnce(&MaySleep) -> R + Send + 'static,
    D: FnOnce(&Softirq, R) + Send + 'static,
    R: Send + 'static,
{
    let item = Arc::pin_init(
        pin_init!(Deferred {
            sleep_work <- new_work!("ndk::Deferred::sleep_work"),
            done_work <- new_work!("ndk::Deferred::done_work"),
            step <- new_irq_spinlock!(Step::Work(work, done)),
        }),
        GFP_ATOMIC,
    )?;
    queues::sleep().enqueue::<_, 0>(item);
    Ok(())
}

/// Creates an object below `parent` in process context, and hands it to the consumer in softirq.
///
/// # Errors
///
/// Fails without memory or when `parent` is being closed; then `completion` is not called.
pub(crate) fn create<P, T, F>(parent: &Arc<P>, completion: CreateCompletion, make: F) -> Result
where
    P: Object,
    T: Object,
    F: FnOnce(&Held<P>, &MaySleep) -> Result<Arc<T>> + Send + 'static,
{
    let parent = Held::request(parent)?;
    defer(
        move |ctx| (listed(GFP_KERNEL, || make(&parent, ctx)), parent),
        move |ctx, (made, parent)| {
            match made {
                // NDKPI: with a pending create the object travels in the completion alone.
                Ok(object) => completion.call(ctx, Ok(into_handle(object).cast())),
                // What kept it from being made was the close of its parent: a request that a close cancelled.
                Err(Status::InvalidDeviceState) if parent.head().is_closing() => {
                    completion.call(ctx, Err(Status::Cancelled));
                }
                Err(status) => completion.call(ctx, Err(status)),
            }
            // A request of the parent until its callback has returned.
            drop(parent);
        },
    )
}

#[kernel::macros::kunit_tests(ndk_deferred)]
mod tests {
    use super::*;
    use kernel::sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Completion, //
    };

    /// Proves: 2.2-callbacks-softirq
    #[test]
    fn deferred_work_ends_in_softirq() -> Result {
        let done = Arc::pin_init(Completion::new(), GFP_KERNEL)?;
        let value = Arc::new(Atomic::new(0), GFP_KERNEL)?;
        let (noted, result) = (done.clone(), value.clone());
        defer(
            |_: &MaySleep| 7,
            move |_: &Softirq, seven| {
                result.store(seven, Relaxed);
                noted.complete_all();
            },
        )?;
        done.wait_for_completion();
        assert_eq!(value.load(Relaxed), 7);
        Ok(())
    }
}
