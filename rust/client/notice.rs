// SPDX-License-Identifier: GPL-2.0

//! How a consumer learns that a request is done.

use super::ffi;
use core::{
    cell::UnsafeCell,
    ffi::c_void,
    ptr::{
        self,
        NonNull, //
    },
};
use kernel::{
    error::to_result,
    ffi::c_int,
    prelude::*,
    sync::Completion, //
};

/// The value that says that a completion will be called.
pub(super) const PENDING: c_int = -(kernel::bindings::EINPROGRESS as c_int);

/// The answer in place of a slot that a dispatch table lacks.
pub(super) const MISSING: c_int = -(kernel::bindings::EOPNOTSUPP as c_int);

/// Calls a slot of an object's dispatch table.
///
/// Expands to a call of the slot, so it needs an `unsafe` block around it; the object must be valid.
macro_rules! dispatch {
    ($object:expr, $slot:ident($($arg:expr),* $(,)?) or $missing:expr) => {
        match (*(*$object).dispatch).$slot {
            Some(slot) => slot($($arg),*),
            None => $missing,
        }
    };
}
pub(super) use dispatch;

/// A way to learn of the end of a request, whose value is a `T`.
///
/// Implemented by [`Wait`] and [`Then`]; a consumer only passes them on.
pub(crate) trait Notice<T>: Sized {
    /// What the call returns.
    type Return;

    /// Starts a request whose completion carries a status; `finish` turns that into the value.
    fn request(
        self,
        start: impl FnOnce(ffi::ndk_request_completion_fn, *mut c_void) -> c_int,
        finish: impl FnOnce(Result) -> Result<T> + Send + 'static,
    ) -> Self::Return;

    /// Starts a create call; `finish` turns the object into the value.
    fn create<O>(
        self,
        start: impl FnOnce(ffi::ndk_create_completion_fn, *mut c_void, *mut *mut O) -> c_int,
        finish: impl FnOnce(Result<NonNull<O>>) -> Result<T> + Send + 'static,
    ) -> Self::Return;

    /// Starts a close, which cannot fail.
    fn close(
        self,
        start: impl FnOnce(ffi::ndk_close_completion_fn, *mut c_void) -> c_int,
        finish: impl FnOnce() -> T + Send + 'static,
    ) -> Self::Return;

    /// Ends a request that could not even be started.
    fn fail(self, error: Error) -> Self::Return;
}

/// Sleeps until the request is done. Process context only.
pub(crate) struct Wait;

#[pin_data]
struct Slot {
    #[pin]
    done: Completion,
    status: UnsafeCell<c_int>,
    object: UnsafeCell<*mut ffi::ndk_object_header>,
}

impl Slot {
    fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            done <- Completion::new(),
            status: UnsafeCell::new(0),
            object: UnsafeCell::new(ptr::null_mut()),
        })
    }

    fn context(self: Pin<&mut Self>) -> *mut c_void {
        let this: *const Self = &*self;
        this.cast_mut().cast()
    }
}

/// # Safety
///
/// `context` is a [`Slot`] whose owner waits for this call, which comes once.
unsafe extern "C" fn wake_create(
    context: *mut c_void,
    status: c_int,
    object: *mut ffi::ndk_object_header,
) {
    // SAFETY: The owner waits, so the slot is there and the cells are ours until `complete_all`.
    unsafe {
        let slot = &*context.cast::<Slot>();
        *slot.status.get() = status;
        *slot.object.get() = object;
        slot.done.complete_all();
    }
}

/// # Safety
///
/// As [`wake_create`].
unsafe extern "C" fn wake_request(context: *mut c_void, status: c_int) {
    // SAFETY: By this function's requirements.
    unsafe { wake_create(context, status, ptr::null_mut()) };
}

/// # Safety
///
/// As [`wake_create`].
unsafe extern "C" fn wake_close(context: *mut c_void) {
    // SAFETY: By this function's requirements.
    unsafe { wake_create(context, 0, ptr::null_mut()) };
}

/// Gives the object of a create call that ended with `status`.
fn created<O>(status: c_int, object: *mut O) -> Result<NonNull<O>> {
    to_result(status)?;
    NonNull::new(object).ok_or(EIO)
}

impl<T> Notice<T> for Wait {
    type Return = Result<T>;

    fn request(
        self,
        start: impl FnOnce(ffi::ndk_request_completion_fn, *mut c_void) -> c_int,
        finish: impl FnOnce(Result) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        kernel::task::might_sleep();
        pin_init::stack_pin_init!(let slot = Slot::new());
        let mut status = start(Some(wake_request), slot.as_mut().context());
        if status == PENDING {
            slot.done.wait_for_completion();
            // SAFETY: The completion is over, and it alone writes here.
            status = unsafe { *slot.status.get() };
        }
        finish(to_result(status))
    }

    fn create<O>(
        self,
        start: impl FnOnce(ffi::ndk_create_completion_fn, *mut c_void, *mut *mut O) -> c_int,
        finish: impl FnOnce(Result<NonNull<O>>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        kernel::task::might_sleep();
        pin_init::stack_pin_init!(let slot = Slot::new());
        let mut object = ptr::null_mut();
        let mut status = start(Some(wake_create), slot.as_mut().context(), &mut object);
        if status == PENDING {
            slot.done.wait_for_completion();
            // SAFETY: The completion is over, and it alone writes here.
            status = unsafe { *slot.status.get() };
            // SAFETY: As above.
            object = unsafe { *slot.object.get() }.cast();
        }
        finish(created(status, object))
    }

    fn close(
        self,
        start: impl FnOnce(ffi::ndk_close_completion_fn, *mut c_void) -> c_int,
        finish: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T> {
        kernel::task::might_sleep();
        pin_init::stack_pin_init!(let slot = Slot::new());
        if start(Some(wake_close), slot.as_mut().context()) == PENDING {
            slot.done.wait_for_completion();
        }
        Ok(finish())
    }

    fn fail(self, error: Error) -> Result<T> {
        Err(error)
    }
}

/// Takes the end of a request. Closures do; a type of its own can too.
pub(crate) trait Done<T>: Send + 'static {
    /// The request is done.
    fn done(self, result: Result<T>);
}

impl<T, F: FnOnce(Result<T>) + Send + 'static> Done<T> for F {
    fn done(self, result: Result<T>) {
        self(result);
    }
}

/// Calls a closure, or another [`Done`], once, when the request is done.
///
/// It runs in softirq context if the request was pending, else in the caller's before the call returns: hold no lock
/// that it takes. It gets `ENOMEM` when there is no memory to remember it.
pub(crate) struct Then<F>(pub(crate) F);

/// What is put away until the completion: how to make the value, and whom to give it to.
struct Call<F, G> {
    finish: F,
    then: G,
}

impl<F, G> Call<F, G> {
    /// Puts the call away, or gives it back if there is no memory.
    fn put_away(self) -> Result<*mut c_void, Self> {
        match KBox::<Self>::new_uninit(GFP_ATOMIC) {
            Ok(room) => Ok(KBox::into_raw(room.write(self)).cast()),
            Err(_) => Err(self),
        }
    }

    /// # Safety
    ///
    /// `context` comes from [`Call::put_away`] of the same type, and is given up.
    unsafe fn take_back(context: *mut c_void) -> Self {
        // SAFETY: By this function's requirements.
        KBox::into_inner(unsafe { KBox::from_raw(context.cast::<Self>()) })
    }
}

/// # Safety
///
/// `context` comes from [`Call::put_away`] of a `Call<F, G>`, and is given up.
unsafe extern "C" fn call_request<T, F, G>(context: *mut c_void, status: c_int)
where
    F: FnOnce(Result) -> Result<T>,
    G: Done<T>,
{
    // SAFETY: By this function's requirements.
    let call = unsafe { Call::<F, G>::take_back(context) };
    call.then.done((call.finish)(to_result(status)));
}

/// # Safety
///
/// As [`call_request`].
unsafe extern "C" fn call_create<O, T, F, G>(
    context: *mut c_void,
    status: c_int,
    object: *mut ffi::ndk_object_header,
) where
    F: FnOnce(Result<NonNull<O>>) -> Result<T>,
    G: Done<T>,
{
    // SAFETY: By this function's requirements.
    let call = unsafe { Call::<F, G>::take_back(context) };
    call.then
        .done((call.finish)(created(status, object.cast())));
}

/// # Safety
///
/// As [`call_request`].
unsafe extern "C" fn call_close<T, F, G>(context: *mut c_void)
where
    F: FnOnce() -> T,
    G: Done<T>,
{
    // SAFETY: By this function's requirements.
    let call = unsafe { Call::<F, G>::take_back(context) };
    call.then.done(Ok((call.finish)()));
}

fn start_request<T, F, G>(
    start: impl FnOnce(ffi::ndk_request_completion_fn, *mut c_void) -> c_int,
    call: Call<F, G>,
) where
    F: FnOnce(Result) -> Result<T>,
    G: Done<T>,
{
    match call.put_away() {
        Ok(context) => {
            let status = start(Some(call_request::<T, F, G>), context);
            if status != PENDING {
                // SAFETY: The call was put away above, and no completion comes.
                unsafe { call_request::<T, F, G>(context, status) };
            }
        }
        Err(call) => call.then.done((call.finish)(Err(ENOMEM))),
    }
}

fn start_create<O, T, F, G>(
    start: impl FnOnce(ffi::ndk_create_completion_fn, *mut c_void, *mut *mut O) -> c_int,
    call: Call<F, G>,
) where
    F: FnOnce(Result<NonNull<O>>) -> Result<T>,
    G: Done<T>,
{
    match call.put_away() {
        Ok(context) => {
            let mut object = ptr::null_mut();
            let status = start(Some(call_create::<O, T, F, G>), context, &mut object);
            if status != PENDING {
                // SAFETY: The call was put away above, and no completion comes.
                unsafe { call_create::<O, T, F, G>(context, status, object.cast()) };
            }
        }
        Err(call) => call.then.done((call.finish)(Err(ENOMEM))),
    }
}

/// Sends a close on its way although there is no memory to remember what follows it.
///
/// # Safety
///
/// Never called with a context.
unsafe extern "C" fn forget_close(_context: *mut c_void) {}

fn start_close<T, F, G>(
    start: impl FnOnce(ffi::ndk_close_completion_fn, *mut c_void) -> c_int,
    call: Call<F, G>,
) where
    F: FnOnce() -> T,
    G: Done<T>,
{
    match call.put_away() {
        Ok(context) => {
            if start(Some(call_close::<T, F, G>), context) != PENDING {
                // SAFETY: The call was put away above, and no completion comes.
                unsafe { call_close::<T, F, G>(context) };
            }
        }
        Err(call) => {
            start(Some(forget_close), ptr::null_mut());
            // What the callbacks use must outlive the close, of whose end nobody will hear.
            core::mem::forget(call.finish);
            call.then.done(Err(ENOMEM));
        }
    }
}

impl<T, G: Done<T>> Notice<T> for Then<G> {
    type Return = ();

    fn request(
        self,
        start: impl FnOnce(ffi::ndk_request_completion_fn, *mut c_void) -> c_int,
        finish: impl FnOnce(Result) -> Result<T> + Send + 'static,
    ) {
        start_request(
            start,
            Call {
                finish,
                then: self.0,
            },
        );
    }

    fn create<O>(
        self,
        start: impl FnOnce(ffi::ndk_create_completion_fn, *mut c_void, *mut *mut O) -> c_int,
        finish: impl FnOnce(Result<NonNull<O>>) -> Result<T> + Send + 'static,
    ) {
        start_create(
            start,
            Call {
                finish,
                then: self.0,
            },
        );
    }

    fn close(
        self,
        start: impl FnOnce(ffi::ndk_close_completion_fn, *mut c_void) -> c_int,
        finish: impl FnOnce() -> T + Send + 'static,
    ) {
        start_close(
            start,
            Call {
                finish,
                then: self.0,
            },
        );
    }

    fn fail(self, error: Error) {
        self.0.done(Err(error));
    }
}
