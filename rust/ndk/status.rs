// SPDX-License-Identifier: GPL-2.0

//! Statuses at the edges of the provider: from the kernel's errors, and to the errnos of the API.
//!
//! The table itself is `state/status.rs`.

use crate::state::status::Status;
use kernel::{
    alloc::AllocError,
    error::{
        code,
        Error, //
    },
};

/// How a call of the provider ends.
pub(crate) type Result<T = (), E = Status> = core::result::Result<T, E>;

/// What pending calls return.
pub(crate) const PENDING: i32 = -Status::Pending.errno();

/// The negative errno of `status`.
pub(crate) fn to_errno(status: Status) -> i32 {
    -status.errno()
}

/// 0 or the negative errno of `result`.
pub(crate) fn of(result: Result) -> i32 {
    match result {
        Ok(()) => 0,
        Err(status) => to_errno(status),
    }
}

/// The answer of a call that pends unless it fails at once.
pub(crate) fn pending(result: Result) -> i32 {
    match result {
        Ok(()) => PENDING,
        Err(status) => to_errno(status),
    }
}

impl From<AllocError> for Status {
    fn from(_: AllocError) -> Self {
        Status::InsufficientResources
    }
}

/// What an error of the RDMA core means, where the caller knows no better.
impl From<Error> for Status {
    fn from(error: Error) -> Self {
        if error == code::EAGAIN || error == code::ENOSPC {
            return Status::InsufficientResources;
        }
        Status::from_errno(error.to_errno().saturating_neg()).unwrap_or(Status::InternalError)
    }
}
