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
        // ENFILE is what a socket says for which there is no memory, and rxe has one for each QP.
        if [code::EAGAIN, code::ENOSPC, code::ENFILE].contains(&error) {
            return Status::InsufficientResources;
        }
        Status::from_errno(error.to_errno().saturating_neg()).unwrap_or(Status::InternalError)
    }
}

#[kernel::macros::kunit_tests(ndk_status)]
mod tests {
    use super::*;

    /// Proves: 6.11-statuses
    #[test]
    fn results_become_errnos() {
        assert_eq!(of(Ok(())), 0);
        assert_eq!(of(Err(Status::Cancelled)), code::ECANCELED.to_errno());
        assert_eq!(pending(Ok(())), code::EINPROGRESS.to_errno());
        assert_eq!(pending(Err(Status::DeviceRemoved)), code::ENODEV.to_errno());
        assert_eq!(PENDING, code::EINPROGRESS.to_errno());
        assert_eq!(to_errno(Status::Success), 0);
    }

    #[test]
    fn errors_of_the_kernel_become_statuses() {
        assert!(Status::from(code::EINVAL) == Status::InvalidParameter);
        assert!(Status::from(code::ENOMEM) == Status::InsufficientResources);
        assert!(Status::from(code::ENODEV) == Status::DeviceRemoved);
        assert!(Status::from(code::EADDRINUSE) == Status::SharingViolation);
        assert!(Status::from(AllocError) == Status::InsufficientResources);
    }

    #[test]
    fn to_the_rdma_core_no_room_is_a_lack_of_resources() {
        // As statuses they are others: a buffer that is too small, and nothing at all.
        assert!(Status::from(code::ENOSPC) == Status::InsufficientResources);
        assert!(Status::from(code::EAGAIN) == Status::InsufficientResources);
        assert!(Status::from(code::ENFILE) == Status::InsufficientResources);
    }

    #[test]
    fn what_the_interface_has_no_word_for_is_internal() {
        assert!(Status::from(code::EILSEQ) == Status::InternalError);
        assert!(Status::from(code::ESRCH) == Status::InternalError);
    }
}
