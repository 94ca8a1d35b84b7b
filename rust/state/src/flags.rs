// SPDX-License-Identifier: GPL-2.0

//! Flags of requests and of memory regions, and where each is valid (sections 6.6, 6.7, 8.6).
//!
//! Two of the values are traps: a printed page gives the read-with-local-invalidate flag the value of
//! the defer flag, while 0x100 is right; and "allow remote write" has two bits, so it is granted only
//! when both are set. One bit of the two alone is not a right, and is refused.

use super::status::Status;

/// Success makes no completion.
pub const SILENT_SUCCESS: u32 = 0x0000_0001;
/// Starts only after all earlier reads of the queue pair.
pub const READ_FENCE: u32 = 0x0000_0002;
/// The peer's receive completion is a solicited one.
pub const SEND_AND_SOLICIT_EVENT: u32 = 0x0000_0004;
/// Grants remote reads.
pub const ALLOW_REMOTE_READ: u32 = 0x0000_0008;
/// Grants local writes.
pub const ALLOW_LOCAL_WRITE: u32 = 0x0000_0010;
/// Grants remote writes; contains [`ALLOW_LOCAL_WRITE`].
pub const ALLOW_REMOTE_WRITE: u32 = 0x0000_0030;
/// The data is copied before the post returns.
pub const INLINE: u32 = 0x0000_0040;
/// The region may be the sink of a read.
pub const RDMA_READ_SINK: u32 = 0x0000_0080;
/// A read invalidates the token of its first segment.
pub const RDMA_READ_LOCAL_INVALIDATE: u32 = 0x0000_0100;
/// The request may wait for the next one that does not defer.
pub const DEFER: u32 = 0x0000_0200;

/// Region flag: local writes.
pub const MR_ALLOW_LOCAL_WRITE: u32 = 0x1;
/// Region flag: remote reads.
pub const MR_ALLOW_REMOTE_READ: u32 = 0x2;
/// Region flag: remote writes; contains [`MR_ALLOW_LOCAL_WRITE`].
pub const MR_ALLOW_REMOTE_WRITE: u32 = 0x5;
/// Region flag: the region may be the sink of a read.
pub const MR_RDMA_READ_SINK: u32 = 0x8;
/// All region flags.
const MR_ALL: u32 = MR_ALLOW_REMOTE_READ | MR_ALLOW_REMOTE_WRITE | MR_RDMA_READ_SINK;

/// Valid on every initiator request.
const COMMON: u32 = SILENT_SUCCESS | READ_FENCE | DEFER;

/// The initiator requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Send.
    Send,
    /// Send with remote invalidation.
    SendAndInvalidate,
    /// Bind of a memory window.
    Bind,
    /// Fast registration.
    FastRegister,
    /// Local invalidation.
    Invalidate,
    /// Read.
    Read,
    /// Write.
    Write,
}

impl Op {
    /// Every initiator request.
    pub const ALL: [Op; 7] = [
        Op::Send,
        Op::SendAndInvalidate,
        Op::Bind,
        Op::FastRegister,
        Op::Invalidate,
        Op::Read,
        Op::Write,
    ];

    /// The flags that this request takes.
    pub const fn valid_flags(self) -> u32 {
        match self {
            Op::Send | Op::SendAndInvalidate => COMMON | SEND_AND_SOLICIT_EVENT | INLINE,
            Op::Bind => COMMON | ALLOW_REMOTE_READ | ALLOW_REMOTE_WRITE,
            Op::FastRegister => {
                COMMON | ALLOW_REMOTE_READ | ALLOW_LOCAL_WRITE | ALLOW_REMOTE_WRITE | RDMA_READ_SINK
            }
            Op::Invalidate => COMMON,
            Op::Read => COMMON | RDMA_READ_LOCAL_INVALIDATE,
            Op::Write => COMMON | INLINE,
        }
    }

    /// Checks the flags of a request; [`Status::InvalidParameter`] for one that it does not take.
    pub const fn check(self, flags: u32) -> Result<(), Status> {
        if flags & !self.valid_flags() != 0 {
            return Err(Status::InvalidParameter);
        }
        let write = flags & ALLOW_REMOTE_WRITE;
        let whole = match self {
            // A window grants nothing locally, so its write right comes whole or not at all.
            Op::Bind => write == 0 || write == ALLOW_REMOTE_WRITE,
            _ => write == 0 || write == ALLOW_LOCAL_WRITE || write == ALLOW_REMOTE_WRITE,
        };
        if whole {
            Ok(())
        } else {
            Err(Status::InvalidParameter)
        }
    }
}

/// Checks the flags of a region; [`Status::InvalidParameter`] for one that does not exist.
pub const fn check_mr(flags: u32) -> Result<(), Status> {
    let write = flags & MR_ALLOW_REMOTE_WRITE;
    if flags & !MR_ALL != 0
        || !(write == 0 || write == MR_ALLOW_LOCAL_WRITE || write == MR_ALLOW_REMOTE_WRITE)
    {
        return Err(Status::InvalidParameter);
    }
    Ok(())
}

/// Whether all bits of `right` are granted by `flags`.
pub const fn grants(flags: u32, right: u32) -> bool {
    flags & right == right
}
