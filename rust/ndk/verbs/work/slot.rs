// SPDX-License-Identifier: GPL-2.0

//! A place for a posted request, and what is in it.

use crate::{
    ffi,
    state::{
        atomic::{
            AtomicU32,
            AtomicUsize, //
        },
        queue::Request, //
    },
    verbs::wr::FIRST_OF_TWO,
};
use core::{
    ffi::c_void,
    mem::align_of, //
};

/// What a posted request is, as far as its completion must know.
#[derive(Clone, Copy)]
pub(crate) struct Tag(u32);

impl Tag {
    const SILENT: u32 = 1 << 16;
    const SENTINEL: u32 = 1 << 17;
    const SHARED: u32 = 1 << 18;
    const TOKEN: u32 = 1 << 19;
    const COUNTED: u32 = 1 << 20;

    /// A request of type `operation` (an `enum ndk_operation_type`).
    pub(crate) const fn new(operation: u32, silent: bool) -> Self {
        Self(operation | if silent { Self::SILENT } else { 0 })
    }

    /// The tag of a slot without a request.
    pub(super) const fn none() -> Self {
        Self(0)
    }

    /// The same as [`Self::new`], of a request that makes or ends the registration of the token in its slot; `counted` as in
    /// [`crate::verbs::fault::Ended`].
    pub(crate) const fn of_token(self, counted: bool) -> Self {
        Self(self.0 | Self::TOKEN | if counted { Self::COUNTED } else { 0 })
    }

    /// The provider's own last request.
    pub(crate) const fn sentinel() -> Self {
        Self(Self::SENTINEL)
    }

    /// A receive that was posted to an SRQ.
    pub(in crate::verbs) const fn shared_receive() -> Self {
        Self(ffi::ndk_operation_type_NDK_OPERATION_RECEIVE | Self::SHARED)
    }

    pub(super) fn is_shared(self) -> bool {
        self.0 & Self::SHARED != 0
    }

    pub(super) fn is_sentinel(self) -> bool {
        self.0 & Self::SENTINEL != 0
    }

    pub(super) fn is_silent(self) -> bool {
        self.0 & Self::SILENT != 0
    }

    pub(super) fn request(self, wr_id: u64) -> Request {
        if wr_id & FIRST_OF_TWO != 0 {
            Request::First
        } else if self.is_sentinel() {
            Request::Sentinel
        } else {
            Request::Last {
                silent: self.is_silent(),
            }
        }
    }

    /// What it was made with.
    pub(super) fn operation(self) -> u32 {
        self.0 & 0xffff
    }

    /// Whether it is one of [`Self::of_token`], and then whether that was `counted`.
    pub(super) fn token(self) -> Option<bool> {
        (self.0 & Self::TOKEN != 0).then_some(self.0 & Self::COUNTED != 0)
    }
}

/// A place for one posted request.
///
/// The poster writes it before it publishes the request, the poller reads it after; relaxed
/// accesses will do.
pub(in crate::verbs) struct Slot {
    /// The [`super::WorkQueue`] it belongs to, or the [`crate::verbs::shared_queue::SharedQueue`] where the tag says so.
    owner: *const c_void,
    context: AtomicUsize,
    index: AtomicU32,
    tag: AtomicU32,
    /// For a tag that says so.
    token: AtomicU32,
}

impl Slot {
    /// A slot of no request.
    pub(in crate::verbs) fn new(owner: *const c_void, index: u32, tag: Tag) -> Self {
        Self {
            owner,
            context: AtomicUsize::new(0),
            index: AtomicU32::new(index),
            tag: AtomicU32::new(tag.0),
            token: AtomicU32::new(0),
        }
    }

    /// What it was made with.
    #[inline]
    pub(in crate::verbs) fn owner(&self) -> *const c_void {
        self.owner
    }

    /// The index it was made with or has been given.
    #[inline]
    pub(in crate::verbs) fn index(&self) -> u32 {
        self.index.load_relaxed()
    }

    /// What the consumer gave with the request.
    #[inline]
    pub(in crate::verbs) fn context(&self) -> usize {
        self.context.load_relaxed()
    }

    /// What its request is.
    #[inline]
    pub(super) fn tag(&self) -> Tag {
        Tag(self.tag.load_relaxed())
    }

    /// The token that it was given, where its tag says so.
    #[inline]
    pub(super) fn token(&self) -> u32 {
        self.token.load_relaxed()
    }

    /// Notes what the consumer gives with the request.
    #[inline]
    pub(in crate::verbs) fn set_context(&self, context: *mut c_void) {
        self.context.store_relaxed(context.expose_provenance());
    }

    /// Notes what its request is, and its index.
    #[inline]
    pub(super) fn set_request(&self, index: u32, tag: Tag) {
        self.index.store_relaxed(index);
        self.tag.store_relaxed(tag.0);
    }

    /// Notes a token, for a tag of [`Tag::of_token`].
    #[inline]
    pub(super) fn set_token(&self, token: u32) {
        self.token.store_relaxed(token);
    }

    /// The work request id of its request.
    #[inline]
    pub(in crate::verbs) fn id(&self) -> u64 {
        (&raw const *self).expose_provenance() as u64
    }
}

const _: () = assert!(align_of::<Slot>() as u64 > FIRST_OF_TWO);

/// A place in a queue that was reserved for a request: no request at it is outstanding, and no other one is being posted there.
pub(crate) struct Place(pub(super) usize);

impl Place {
    /// Its number, from 0.
    #[inline]
    pub(crate) fn number(&self) -> usize {
        self.0
    }
}
