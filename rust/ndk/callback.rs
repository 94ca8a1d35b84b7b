// SPDX-License-Identifier: GPL-2.0

//! The consumer's callbacks: function and context in one, called in softirq context only.
//!
//! [`Softirq`] is the right to call one. No lock of the provider is held over a call: the consumer may call back into
//! the provider from it, up to closing the object at hand.

use crate::{
    adapter::Port,
    ctx::{
        MaySleep,
        Softirq, //
    },
    ffi,
    status::{
        self,
        Result, //
    },
};
use core::{
    ffi::c_void,
    ptr::{
        self,
        NonNull, //
    },
};

macro_rules! callbacks {
    ($(
        $(#[$doc:meta])*
        $name:ident($($arg:ident: $type:ty),*) of $ffi:ident;
    )*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $name {
            function: unsafe extern "C" fn(*mut c_void $(, $type)*),
            context: *mut c_void,
        }

        // SAFETY: The context is the consumer's; here it is only carried, and consumers are called in any thread.
        unsafe impl Send for $name {}

        // SAFETY: As above.
        unsafe impl Sync for $name {}

        impl $name {
            /// Takes what the consumer gave; `None` for no function.
            ///
            /// # Safety
            ///
            /// The function may be called with `context` until the object that it belongs to is closed, or once where
            /// it answers a call.
            pub(crate) unsafe fn new(function: ffi::$ffi, context: *mut c_void) -> Option<Self> {
                Some(Self {
                    function: function?,
                    context,
                })
            }

            fn invoke(self, _ctx: &Softirq $(, $arg: $type)*) {
                // SAFETY: By the requirements of `new`.
                unsafe { (self.function)(self.context $(, $arg)*) }
            }
        }
    )* };
}

callbacks! {
    /// End of a create call that was pending.
    CreateCompletion(status: i32, object: *mut ffi::ndk_object_header) of ndk_create_completion_fn;

    /// End of a request that was pending.
    RequestCompletion(status: i32) of ndk_request_completion_fn;

    /// End of a close that was pending, and the object's last callback.
    CloseCompletion() of ndk_close_completion_fn;

    /// An armed CQ has what it was armed for.
    CqNotification(status: i32) of ndk_cq_notification_fn;

    /// An SRQ fell below its threshold, or failed.
    SrqNotification(status: i32) of ndk_srq_notification_fn;

    /// A listener has an incoming connection.
    ConnectEvent(connector: *mut ffi::ndk_connector) of ndk_connect_event_fn;

    /// A connection ended other than by us.
    PlainDisconnectEvent() of ndk_disconnect_event_fn;

    /// A connection ended other than by us, with a reason.
    DisconnectEventEx(reason: u32) of ndk_disconnect_event_ex_fn;
}

impl CreateCompletion {
    /// Hands over the new object, or says why there is none.
    pub(crate) fn call(self, ctx: &Softirq, result: Result<*mut ffi::ndk_object_header>) {
        match result {
            Ok(object) => self.invoke(ctx, 0, object),
            Err(status) => self.invoke(ctx, status::to_errno(status), ptr::null_mut()),
        }
    }
}

impl RequestCompletion {
    /// Says how the request ended.
    pub(crate) fn call(self, ctx: &Softirq, result: Result) {
        self.invoke(ctx, status::of(result));
    }
}

impl CloseCompletion {
    /// One that calls `f`.
    #[cfg(CONFIG_KUNIT = "y")]
    pub(crate) fn of_test<F: FnOnce() + Send + 'static>(f: F) -> Result<Self> {
        use kernel::prelude::*;

        /// # Safety
        ///
        /// `f` is a box that was made into a pointer, and comes here once.
        unsafe extern "C" fn call<F: FnOnce()>(f: *mut c_void) {
            // SAFETY: By the requirements of this function.
            KBox::into_inner(unsafe { KBox::from_raw(f.cast::<F>()) })();
        }
        Ok(Self {
            function: call::<F>,
            context: KBox::into_raw(KBox::new(f, GFP_KERNEL)?).cast(),
        })
    }

    /// Says that the object is gone.
    pub(crate) fn call(self, ctx: &Softirq) {
        self.invoke(ctx);
    }
}

impl CqNotification {
    /// Says that completions are there, or how the CQ failed.
    pub(crate) fn call(self, ctx: &Softirq, result: Result) {
        self.invoke(ctx, status::of(result));
    }
}

impl SrqNotification {
    /// Says that receives are wanted, or how the SRQ failed.
    pub(crate) fn call(self, ctx: &Softirq, result: Result) {
        self.invoke(ctx, status::of(result));
    }
}

impl ConnectEvent {
    /// Gives the new connector to the consumer.
    pub(crate) fn call(self, ctx: &Softirq, connector: *mut ffi::ndk_connector) {
        self.invoke(ctx, connector);
    }
}

/// The disconnect event in the form that the consumer chose.
#[derive(Clone, Copy)]
pub(crate) enum DisconnectEvent {
    /// Without a reason.
    Plain(PlainDisconnectEvent),
    /// With a reason (since 2.1).
    Ex(DisconnectEventEx),
}

impl DisconnectEvent {
    /// Takes an event without a reason; `None` for no function.
    ///
    /// # Safety
    ///
    /// As for [`PlainDisconnectEvent::new`].
    pub(crate) unsafe fn plain(
        function: ffi::ndk_disconnect_event_fn,
        context: *mut c_void,
    ) -> Option<Self> {
        // SAFETY: By the requirements of this function.
        unsafe { PlainDisconnectEvent::new(function, context) }.map(Self::Plain)
    }

    /// Takes an event with a reason; `None` for no function.
    ///
    /// # Safety
    ///
    /// As for [`DisconnectEventEx::new`].
    pub(crate) unsafe fn ex(
        function: ffi::ndk_disconnect_event_ex_fn,
        context: *mut c_void,
    ) -> Option<Self> {
        // SAFETY: By the requirements of this function.
        unsafe { DisconnectEventEx::new(function, context) }.map(Self::Ex)
    }

    /// Tells that the connection is gone; `reason` is 0 for none.
    pub(crate) fn call(self, ctx: &Softirq, reason: u32) {
        match self {
            Self::Plain(event) => event.invoke(ctx),
            Self::Ex(event) => event.invoke(ctx, reason),
        }
    }
}

/// The functions of a client of the adapters. Unlike all others they are called in process context.
pub(crate) struct ClientCalls(NonNull<ffi::ndk_client>);

// SAFETY: The structure is the consumer's, which lets the provider read it until it unregisters; its functions are called in
// any thread.
unsafe impl Send for ClientCalls {}

// SAFETY: As above.
unsafe impl Sync for ClientCalls {}

impl ClientCalls {
    /// Takes what the consumer registers.
    ///
    /// # Safety
    ///
    /// `client` is valid, and its functions may be called, until the value is dropped.
    pub(crate) unsafe fn new(client: NonNull<ffi::ndk_client>) -> Self {
        Self(client)
    }

    /// Tells that an adapter has come.
    pub(crate) fn add(&self, port: &Port, ctx: &MaySleep) {
        // SAFETY: By the requirements of `new`.
        let function = unsafe { (*self.0.as_ptr()).add };
        self.call(function, port, ctx);
    }

    /// Tells that an adapter has gone.
    pub(crate) fn remove(&self, port: &Port, ctx: &MaySleep) {
        // SAFETY: By the requirements of `new`.
        let function = unsafe { (*self.0.as_ptr()).remove };
        self.call(function, port, ctx);
    }

    fn call(
        &self,
        function: Option<unsafe extern "C" fn(*mut ffi::ndk_client, *const ffi::ndk_adapter_desc)>,
        port: &Port,
        ctx: &MaySleep,
    ) {
        let Some(function) = function else {
            return;
        };
        // None when the interface has gone.
        let net = port.net(ctx).ok();
        let (name, ifindex) = port.listed_as();
        let desc = ffi::ndk_adapter_desc {
            device: *name,
            port: port.number(),
            ifindex,
            net: net.as_ref().map_or(ptr::null_mut(), |net| net.as_raw()),
        };
        // SAFETY: By the requirements of `new`; `desc` and the namespace stay during the call.
        unsafe { function(self.0.as_ptr(), &raw const desc) };
    }
}
