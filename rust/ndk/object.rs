// SPDX-License-Identifier: GPL-2.0

//! The one lifetime engine: creation, references and close of every object.
//!
//! # Vocabulary
//!
//! A *handle* is what the consumer got from a create call or from a connect event, and what its close gives back. An
//! object is an *antecedent* of its *successors*: of everything made from it or bound to it. A *request* is a call that
//! answered pending, a *callback* an event on its way to the consumer.
//!
//! # Rules (NDKPI: object lifetime requirements)
//!
//! - A close cannot fail. It starts whatever cancellation is needed itself, and waits for nothing the consumer would have
//!   to do on the object.
//! - It completes after every request of the object was completed and every callback of it has *returned*.
//! - It completes after the close of every successor has completed and *returned*. The close of an antecedent before its
//!   successors is legal and then pends.
//! - An object may be closed from inside any of its callbacks. So nothing here touches an object after a callback of it
//!   but through a reference of its own.
//!
//! # How
//!
//! [`Life`] counts the references by kind; [`Held`] is one such reference together with the memory. The one who drops
//! the last after the close takes the object through teardown (process context) and close completion (softirq). An
//! object owns its antecedents as [`Held`] fields, so they are let go with its memory, which is after the completion
//! returned.

use crate::{
    adapter::Adapter,
    callback::CloseCompletion,
    ctx::{
        MaySleep,
        Softirq, //
    },
    dispatch::{
        Shell,
        View, //
    },
    ffi,
    inventory::{
        Listed,
        Room, //
    },
    queues,
    state::{
        lifetime::{
            Closed,
            Kind,
            Last,
            Life, //
        }, //
    },
    status::Result,
    sync::{
        BhItem,
        SleepItem, //
    },
    trace,
    verbs::addr::SocketAddr, //
};
use core::ops::Deref;
use kernel::{
    alloc::Flags,
    fmt,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        SetOnce, //
    },
    workqueue::{
        new_work,
        HasWork,
        Work,
        WorkItem, //
    },
};

mod deferred;

pub(crate) use self::deferred::{
    create,
    defer, //
};

/// Work item of an object that tears it down.
pub(crate) const TEARDOWN: u64 = 0;

/// Work item of an object that calls its close completion.
pub(crate) const CLOSED: u64 = 1;

/// An object that consumers hold. Use [`object!`] to connect it with its work items.
pub(crate) trait Object:
    SleepItem<TEARDOWN>
    + BhItem<CLOSED>
    + WorkItem<TEARDOWN, Pointer = Arc<Self>>
    + WorkItem<CLOSED, Pointer = Arc<Self>>
    + HasWork<Self, TEARDOWN>
    + HasWork<Self, CLOSED>
    + Send
    + Sync
    + Sized
    + 'static
{
    /// What the C side sees of it.
    type Shell: View;

    /// What it starts with.
    fn head(&self) -> &Head<Self>;

    /// The instance that it belongs to. Objects of no instance stand in no list.
    fn root(&self) -> Option<&Adapter>;

    /// Says what there is to say of it beside what all objects have: ` name=value` for each thing. In any context, under the
    /// lock of the list of objects, so without a lock that is held when an object is made or torn down.
    fn describe(&self, _f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }

    /// Both ends of the connection that it is, if it is one. As [`Self::describe`].
    fn connection(&self) -> Option<(SocketAddr, SocketAddr)> {
        None
    }

    /// Starts to end what keeps the close waiting: pending requests, coming events.
    ///
    /// Called once, by the close, in any context.
    fn cancel(_this: &Arc<Self>) {}

    /// Has done what [`Self::cancel`] asked for, while something holds the object still. Any context.
    fn work_off(_this: &Arc<Self>) {}

    /// Destroys what is below the object. No reference but the engine's is left.
    fn teardown(_this: &Arc<Self>, _ctx: &MaySleep) {}
}

/// Connects an [`Object`] with the engine. The type is `repr(C)`, and its first field is its [`Head`], called `head`.
macro_rules! object {
    ($type:ty) => {
        $crate::sync::sleep_work! { impl SleepItem<0> for $type { self.head.teardown_work } }
        $crate::sync::bh_work! { impl BhItem<1> for $type { self.head.closed_work } }

        impl $crate::sync::SleepItem<0> for $type {
            fn run(this: ::kernel::sync::Arc<Self>, ctx: &$crate::ctx::MaySleep) {
                $crate::object::tear_down(this, ctx);
            }
        }

        impl $crate::sync::BhItem<1> for $type {
            fn run(this: ::kernel::sync::Arc<Self>, ctx: &$crate::ctx::Softirq) {
                $crate::object::complete_close(this, ctx);
            }
        }

        // A handle is a pointer to the head's shell and to the object.
        const _: () = assert!(::core::mem::offset_of!($type, head) == 0);
    };
}
pub(crate) use object;

/// The number of the next object.
static NEXT_NUMBER: Atomic<u64> = Atomic::new(1);

/// What every object starts with: what consumers see of it, and the engine's part.
#[pin_data]
#[repr(C)]
pub(crate) struct Head<T: Object> {
    /// Read by consumers, through the handle.
    _shell: Shell<T::Shell>,
    /// What traces and debugfs call it; no other object of this module had it before.
    number: u64,
    life: Life,
    /// What answers the close, from the close on.
    completion: SetOnce<CloseCompletion>,
    /// For [`object!`].
    #[pin]
    pub(crate) teardown_work: Work<T, TEARDOWN>,
    /// For [`object!`].
    #[pin]
    pub(crate) closed_work: Work<T, CLOSED>,
}

impl<T: Object> Head<T> {
    /// The head of an object whose handle is about to be given out.
    pub(crate) fn new(version: ffi::ndk_version) -> impl PinInit<Self> {
        pin_init!(Self {
            _shell: Shell::new(version),
            number: NEXT_NUMBER.fetch_add(1, Relaxed),
            life: Life::new(),
            completion: SetOnce::new(),
            teardown_work <- new_work!("ndk::Head::teardown_work"),
            closed_work <- new_work!("ndk::Head::closed_work"),
        })
    }

    /// What traces and debugfs call the object.
    #[inline]
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Whether nothing holds the object any more: its teardown runs, or is about to.
    pub(crate) fn is_quiet(&self) -> bool {
        self.life.is_quiet()
    }

    /// Whether the consumer has closed the object.
    pub(crate) fn is_closing(&self) -> bool {
        self.life.is_closing()
    }
}

/// A counted reference to an object, which keeps its close pending.
///
/// # Invariants
///
/// One reference of `kind` is counted in the object's [`Life`]; none is for a value that was parked.
pub(crate) struct Held<T: Object> {
    object: Arc<T>,
    kind: Option<Kind>,
}

impl<T: Object> Held<T> {
    /// A reference for a request that is about to pend.
    ///
    /// # Errors
    ///
    /// Fails when the object is being closed.
    pub(crate) fn request(object: &Arc<T>) -> Result<Self> {
        Self::new(object, Kind::Request)
    }

    /// A reference for an event that is about to be delivered.
    ///
    /// # Errors
    ///
    /// Fails when the object is being closed: then nothing is delivered.
    pub(crate) fn callback(object: &Arc<T>) -> Result<Self> {
        Self::new(object, Kind::Callback)
    }

    /// A reference for a successor, to be kept in it.
    ///
    /// # Errors
    ///
    /// Fails when the object is being closed.
    pub(crate) fn successor(object: &Arc<T>) -> Result<Self> {
        Self::new(object, Kind::Successor)
    }

    /// Leaves a reference for a successor counted without a value for it; [`Self::unpark`] has it back.
    pub(crate) fn park(mut self) -> Arc<T> {
        debug_assert!(self.kind == Some(Kind::Successor));
        self.kind = None;
        self.object.clone()
    }

    /// Undoes [`Self::park`], once for each.
    pub(crate) fn unpark(object: Arc<T>) -> Self {
        // INVARIANT: The reference is counted since `park`.
        Self {
            object,
            kind: Some(Kind::Successor),
        }
    }

    fn new(object: &Arc<T>, kind: Kind) -> Result<Self> {
        object.head().life.try_get(kind)?;
        // INVARIANT: `try_get` has just counted it.
        Ok(Self {
            object: object.clone(),
            kind: Some(kind),
        })
    }

    /// The object, with its memory.
    pub(crate) fn object(&self) -> &Arc<T> {
        &self.object
    }
}

impl<T: Object> Deref for Held<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.object
    }
}

impl<T: Object> Drop for Held<T> {
    fn drop(&mut self) {
        let Some(kind) = self.kind else {
            return;
        };
        if let Last::Yes = self.object.head().life.put(kind) {
            queues::sleep().enqueue::<T, TEARDOWN>(self.object.clone());
        }
    }
}

/// Closes an object, whose handle is given back with `this`.
///
/// Always pends: the completion is called in softirq, maybe before this returns. A second close of the same object, which
/// the interface forbids, changes nothing.
pub(crate) fn close<T: Object>(this: Arc<T>, completion: Option<CloseCompletion>) {
    if this.head().life.begin_close().is_err() {
        return;
    }
    trace::object_close(this.head().number, T::Shell::KIND);
    if let Some(completion) = completion {
        // The first close, so it is empty.
        this.head().completion.populate(completion);
    }
    // NDKPI: a close starts the cancellation itself, it does not wait for requests to time out.
    T::cancel(&this);
    match this.head().life.end_close() {
        Closed::AlreadyQuiet => {
            queues::sleep().enqueue::<T, TEARDOWN>(this);
        }
        // Whoever lets go last has it torn down.
        Closed::Pending => T::work_off(&this),
    }
}

/// Work item of process context: everything that held the object has let go.
pub(crate) fn tear_down<T: Object>(this: Arc<T>, ctx: &MaySleep) {
    T::teardown(&this, ctx);
    if let Some(adapter) = this.root() {
        adapter.port().inventory().leave(this.head().number);
    }
    queues::softirq().enqueue_now::<T, CLOSED>(this, ctx);
}

/// Work item of softirq context: the object's last callback.
pub(crate) fn complete_close<T: Object>(this: Arc<T>, ctx: &Softirq) {
    trace::object_closed(this.head().number, T::Shell::KIND);
    if let Some(completion) = this.head().completion.as_ref() {
        completion.call(ctx);
    }
    // NDKPI: the close of an antecedent completes after this callback returned. `this` owns the references to the
    // antecedents, and goes here.
}

/// Makes an object, and puts it on the list of those that consumers have. Any context that `flags` allows.
///
/// # Errors
///
/// Those of `make`, or `InsufficientResources`.
pub(crate) fn listed<T: Object>(
    flags: Flags,
    make: impl FnOnce() -> Result<Arc<T>>,
) -> Result<Arc<T>> {
    // First: what is made can only be closed.
    let room = Room::new(flags)?;
    let object = make()?;
    if let Some(adapter) = object.root() {
        let inventory = adapter.port().inventory();
        inventory.enter(room, object.head().number, object.clone());
    }
    Ok(object)
}

impl<T: Object> Listed for T {
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (adapter, consumer) = self
            .root()
            .map_or((0, "-"), |adapter| (adapter.number(), adapter.consumer()));
        let counts = self.head().life.counts();
        f.write_fmt(fmt!(
            "object={} type={} adapter={adapter} client={consumer} closing={} requests={} callbacks={} successors={}",
            self.head().number,
            kind_name(T::Shell::KIND),
            u32::from(counts.closing),
            counts.requests,
            counts.callbacks,
            counts.successors
        ))?;
        self.describe(f)?;
        f.write_str("\n")
    }

    fn connection(&self) -> Option<(SocketAddr, SocketAddr)> {
        Object::connection(self)
    }
}

/// An `enum ndk_object_type`, as traces write it.
fn kind_name(kind: u32) -> &'static str {
    match kind {
        ffi::ndk_object_type_NDK_OBJECT_ADAPTER => "adapter",
        ffi::ndk_object_type_NDK_OBJECT_QP => "qp",
        ffi::ndk_object_type_NDK_OBJECT_CQ => "cq",
        ffi::ndk_object_type_NDK_OBJECT_MR => "mr",
        ffi::ndk_object_type_NDK_OBJECT_MW => "mw",
        ffi::ndk_object_type_NDK_OBJECT_PD => "pd",
        ffi::ndk_object_type_NDK_OBJECT_SHARED_ENDPOINT => "shared_endpoint",
        ffi::ndk_object_type_NDK_OBJECT_CONNECTOR => "connector",
        ffi::ndk_object_type_NDK_OBJECT_LISTENER => "listener",
        ffi::ndk_object_type_NDK_OBJECT_SRQ => "srq",
        _ => "unknown",
    }
}

/// Gives the consumer its handle: a pointer that owns one count of the memory.
pub(crate) fn into_handle<T: Object>(object: Arc<T>) -> *mut T::Shell {
    trace::object_create(object.head().number, T::Shell::KIND);
    // The shell is what the object begins with.
    Arc::into_raw(object).cast_mut().cast()
}

#[kernel::macros::kunit_tests(ndk_object)]
mod tests {
    use super::*;
    use crate::sync::{
        new_irq_spinlock,
        IrqSpinLock, //
    };
    use kernel::{
        sync::{
            atomic::{
                Atomic,
                Relaxed, //
            },
            Completion, //
        },
        time::{
            delay::fsleep,
            Delta, //
        },
    };

    /// An object, which counts its teardowns.
    #[pin_data]
    #[repr(C)]
    struct Thing {
        #[pin]
        head: Head<Thing>,
        torn_down: Atomic<u32>,
        _parent: Option<Held<Thing>>,
    }

    object!(Thing);

    impl Object for Thing {
        type Shell = ffi::ndk_pd;

        fn head(&self) -> &Head<Self> {
            &self.head
        }

        fn root(&self) -> Option<&Adapter> {
            None
        }

        fn teardown(this: &Arc<Self>, _ctx: &MaySleep) {
            this.torn_down.add(1, Relaxed);
        }
    }

    impl Thing {
        fn new(parent: Option<Held<Thing>>) -> Result<Arc<Self>> {
            let version = ffi::ndk_version { major: 2, minor: 1 };
            let thing = Arc::pin_init(
                pin_init!(Self {
                    head <- Head::new(version),
                    torn_down: Atomic::new(0),
                    _parent: parent,
                }),
                GFP_KERNEL,
            )?;
            Ok(thing)
        }

        fn torn_down(&self) -> u32 {
            self.torn_down.load(Relaxed)
        }
    }

    /// The closes that completed, in order.
    struct Log(Arc<IrqSpinLock<KVec<u32>>>);

    impl Log {
        fn new() -> Result<Self> {
            let room = KVec::with_capacity(4, GFP_KERNEL)?;
            let log = Arc::pin_init(new_irq_spinlock!(room), GFP_KERNEL)?;
            Ok(Self(log))
        }

        /// Closes `thing`; what comes back is completed when the close is.
        fn close(&self, thing: &Arc<Thing>, number: u32) -> Result<Arc<Completion>> {
            let done = Arc::pin_init(Completion::new(), GFP_KERNEL)?;
            let (log, noted) = (self.0.clone(), done.clone());
            let completion = CloseCompletion::of_test(move || {
                let _ = log.lock().push_within_capacity(number);
                noted.complete_all();
            })?;
            close(thing.clone(), Some(completion));
            Ok(done)
        }

        /// Whether just these have completed, also a little later.
        fn is(&self, expected: &[u32]) -> bool {
            fsleep(Delta::from_millis(20));
            **self.0.lock() == *expected
        }
    }

    #[test]
    fn an_idle_object_closes_at_once() -> Result {
        let log = Log::new()?;
        let thing = Thing::new(None)?;
        assert!(!thing.head.is_closing());
        log.close(&thing, 1)?.wait_for_completion();
        assert!(thing.head.is_closing());
        assert_eq!(thing.torn_down(), 1);
        assert!(log.is(&[1]));
        Ok(())
    }

    /// Proves: 3.8, 3.10
    #[test]
    fn a_close_waits_until_a_callback_has_returned() -> Result {
        let log = Log::new()?;
        let thing = Thing::new(None)?;
        let first = Held::callback(&thing)?;
        let second = Held::callback(&thing)?;
        let done = log.close(&thing, 1)?;
        assert!(log.is(&[]));
        drop(first);
        assert!(log.is(&[]));
        assert_eq!(thing.torn_down(), 0);
        drop(second);
        done.wait_for_completion();
        assert_eq!(thing.torn_down(), 1);
        assert!(log.is(&[1]));
        Ok(())
    }

    /// Proves: 3.8
    #[test]
    fn a_close_waits_for_requests_and_lets_no_more_in() -> Result {
        let log = Log::new()?;
        let thing = Thing::new(None)?;
        let request = Held::request(&thing)?;
        let done = log.close(&thing, 1)?;
        assert!(Held::request(&thing).is_err());
        assert!(Held::callback(&thing).is_err());
        assert!(Held::successor(&thing).is_err());
        assert!(log.is(&[]));
        drop(request);
        done.wait_for_completion();
        assert!(log.is(&[1]));
        Ok(())
    }

    /// Proves: 3.5, 3.6
    #[test]
    fn an_antecedent_closes_after_its_successors() -> Result {
        let log = Log::new()?;
        let parent = Thing::new(None)?;
        let child = Thing::new(Some(Held::successor(&parent)?))?;
        let parent_done = log.close(&parent, 1)?;
        assert!(log.is(&[]));
        log.close(&child, 2)?.wait_for_completion();
        // The child's memory holds the parent.
        assert!(log.is(&[2]));
        drop(child);
        parent_done.wait_for_completion();
        assert!(log.is(&[2, 1]));
        Ok(())
    }

    #[test]
    fn a_second_close_changes_nothing() -> Result {
        let log = Log::new()?;
        let thing = Thing::new(None)?;
        log.close(&thing, 1)?.wait_for_completion();
        close(thing.clone(), None);
        assert!(log.is(&[1]));
        assert_eq!(thing.torn_down(), 1);
        Ok(())
    }
}
