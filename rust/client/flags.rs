// SPDX-License-Identifier: GPL-2.0

//! Typed flags.

use super::ffi;
use core::ops::BitOr;

/// Flags of a request on a QP. What a request does not take it refuses with `EINVAL`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct OpFlags(u32);

impl OpFlags {
    /// None.
    pub(crate) const NONE: Self = Self(0);
    /// No result if the request succeeds.
    pub(crate) const SILENT_SUCCESS: Self = Self(ffi::NDK_OP_FLAG_SILENT_SUCCESS);
    /// Starts after every read posted before it is done.
    pub(crate) const READ_FENCE: Self = Self(ffi::NDK_OP_FLAG_READ_FENCE);
    /// Answers the peer's CQ if it is armed for solicited receives.
    pub(crate) const SOLICIT: Self = Self(ffi::NDK_OP_FLAG_SEND_AND_SOLICIT_EVENT);
    /// The registration lets the peer read.
    pub(crate) const ALLOW_REMOTE_READ: Self = Self(ffi::NDK_OP_FLAG_ALLOW_REMOTE_READ);
    /// The registration can be the target of local requests.
    pub(crate) const ALLOW_LOCAL_WRITE: Self = Self(ffi::NDK_OP_FLAG_ALLOW_LOCAL_WRITE);
    /// The registration lets the peer write.
    pub(crate) const ALLOW_REMOTE_WRITE: Self = Self(ffi::NDK_OP_FLAG_ALLOW_REMOTE_WRITE);
    /// The registration is the sink of reads.
    pub(crate) const READ_SINK: Self = Self(ffi::NDK_OP_FLAG_RDMA_READ_SINK);
    /// The registration that is the read's sink ends with it.
    pub(crate) const READ_LOCAL_INVALIDATE: Self =
        Self(ffi::NDK_OP_FLAG_RDMA_READ_LOCAL_INVALIDATE);
    /// More is to come: the device need not be told yet.
    pub(crate) const DEFER: Self = Self(ffi::NDK_OP_FLAG_DEFER);
    /// Data is read during the call. Only with a slice, see [`super::Qp::send_inline`].
    pub(super) const INLINE: Self = Self(ffi::NDK_OP_FLAG_INLINE);

    #[inline]
    pub(super) fn raw(self) -> u32 {
        self.0
    }

    /// Whether nothing of `other` is set.
    #[inline]
    pub(crate) fn lacks(self, other: Self) -> bool {
        self.0 & other.0 == 0
    }
}

impl BitOr for OpFlags {
    type Output = Self;

    #[inline]
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Rights of a registration.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct MrFlags(u32);

impl MrFlags {
    /// Local requests may read: always so.
    pub(crate) const LOCAL_READ: Self = Self(ffi::NDK_MR_FLAG_ALLOW_LOCAL_READ);
    /// Local requests may write.
    pub(crate) const LOCAL_WRITE: Self = Self(ffi::NDK_MR_FLAG_ALLOW_LOCAL_WRITE);
    /// The peer may read.
    pub(crate) const REMOTE_READ: Self = Self(ffi::NDK_MR_FLAG_ALLOW_REMOTE_READ);
    /// The peer may write, and so may local requests.
    pub(crate) const REMOTE_WRITE: Self = Self(ffi::NDK_MR_FLAG_ALLOW_REMOTE_WRITE);
    /// May be the sink of reads.
    pub(crate) const READ_SINK: Self = Self(ffi::NDK_MR_FLAG_RDMA_READ_SINK);

    #[inline]
    pub(super) fn raw(self) -> u32 {
        self.0
    }
}

impl BitOr for MrFlags {
    type Output = Self;

    #[inline]
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
