// SPDX-License-Identifier: GPL-2.0

//! The one table of statuses.
//!
//! A status has a name, the Linux error number that carries it through the C interface, and the NT
//! status number that names it in NDKPI (section 6.11). All three are one to one, so a status survives
//! the way through any of them.

/// Declares [`Status`] and its views from the one table.
macro_rules! statuses {
    ($( $(#[$doc:meta])* $variant:ident, $name:literal, $errno:literal, $ntstatus:literal; )+) => {
        /// Outcome of a call or of a request.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Status {
            $( $(#[$doc])* $variant, )+
        }

        impl Status {
            /// Every status, in the order of the table.
            pub const ALL: &'static [Status] = &[ $( Status::$variant, )+ ];

            /// The positive Linux error number; 0 for success.
            pub const fn errno(self) -> i32 {
                match self { $( Status::$variant => $errno, )+ }
            }

            /// The NT status number.
            pub const fn ntstatus(self) -> u32 {
                match self { $( Status::$variant => $ntstatus, )+ }
            }

            /// The NDK name, without a prefix.
            pub const fn name(self) -> &'static str {
                match self { $( Status::$variant => $name, )+ }
            }

            /// The status that a positive Linux error number stands for, if any.
            pub const fn from_errno(errno: i32) -> Option<Status> {
                match errno { $( $errno => Some(Status::$variant), )+ _ => None }
            }

            /// The status with this NT number, if any.
            pub const fn from_ntstatus(number: u32) -> Option<Status> {
                match number { $( $ntstatus => Some(Status::$variant), )+ _ => None }
            }
        }
    };
}

statuses! {
    /// Done.
    Success, "SUCCESS", 0, 0x0000_0000;
    /// Accepted; the completion callback brings the outcome (`EINPROGRESS`).
    Pending, "PENDING", 115, 0x0000_0103;
    /// A queue or a buffer overran (`EOVERFLOW`).
    BufferOverflow, "BUFFER_OVERFLOW", 75, 0x8000_0005;
    /// Windows are still bound (`EBUSY`).
    DeviceBusy, "DEVICE_BUSY", 16, 0x8000_0011;
    /// The work queue is full (`ENOBUFS`).
    NoMoreEntries, "NO_MORE_ENTRIES", 105, 0x8000_001A;
    /// More rights were asked for than there are (`EACCES`).
    AccessViolation, "ACCESS_VIOLATION", 13, 0xC000_0005;
    /// An argument is out of its limits (`EINVAL`).
    InvalidParameter, "INVALID_PARAMETER", 22, 0xC000_000D;
    /// A malformed request, for instance invalidating what is not valid (`EBADRQC`).
    InvalidDeviceRequest, "INVALID_DEVICE_REQUEST", 56, 0xC000_0010;
    /// The buffer is smaller than the answer (`ENOSPC`).
    BufferTooSmall, "BUFFER_TOO_SMALL", 28, 0xC000_0023;
    /// Each argument is valid, their combination is not (`EDOM`).
    InvalidParameterMix, "INVALID_PARAMETER_MIX", 33, 0xC000_0030;
    /// Too many segments or too much data (`EMSGSIZE`).
    DataOverrun, "DATA_OVERRUN", 90, 0xC000_003C;
    /// The local address is in use (`EADDRINUSE`).
    SharingViolation, "SHARING_VIOLATION", 98, 0xC000_0043;
    /// Out of memory or of device resources (`ENOMEM`).
    InsufficientResources, "INSUFFICIENT_RESOURCES", 12, 0xC000_009A;
    /// Establishment, disconnect or a work request took too long (`ETIMEDOUT`).
    IoTimeout, "IO_TIMEOUT", 110, 0xC000_00B5;
    /// The adapter cannot do it (`EOPNOTSUPP`).
    NotSupported, "NOT_SUPPORTED", 95, 0xC000_00BB;
    /// Fatal error of the object (`EIO`).
    InternalError, "INTERNAL_ERROR", 5, 0xC000_00E5;
    /// The request was flushed or its object closed (`ECANCELED`).
    Cancelled, "CANCELLED", 125, 0xC000_0120;
    /// The remote memory does not allow it (`EREMOTEIO`).
    RemoteResources, "REMOTE_RESOURCES", 121, 0xC000_013D;
    /// The local address does not belong to the adapter (`EADDRNOTAVAIL`).
    InvalidAddress, "INVALID_ADDRESS", 99, 0xC000_0141;
    /// The object is in a state that does not allow the call (`EBADFD`).
    InvalidDeviceState, "INVALID_DEVICE_STATE", 77, 0xC000_0184;
    /// Private data is too long (`E2BIG`).
    InvalidBufferSize, "INVALID_BUFFER_SIZE", 7, 0xC000_0206;
    /// All ports of the range are taken (`EUSERS`).
    TooManyAddresses, "TOO_MANY_ADDRESSES", 87, 0xC000_0209;
    /// The same pair of addresses is already connected (`EEXIST`).
    AddressAlreadyExists, "ADDRESS_ALREADY_EXISTS", 17, 0xC000_020A;
    /// The connection was disconnected (`ESHUTDOWN`).
    ConnectionDisconnected, "CONNECTION_DISCONNECTED", 108, 0xC000_020C;
    /// The peer rejected, or nobody listens (`ECONNREFUSED`).
    ConnectionRefused, "CONNECTION_REFUSED", 111, 0xC000_0236;
    /// Not connected, or not connecting (`ENOTCONN`).
    ConnectionInvalid, "CONNECTION_INVALID", 107, 0xC000_023A;
    /// Already connected, or connecting (`EISCONN`).
    ConnectionActive, "CONNECTION_ACTIVE", 106, 0xC000_023B;
    /// No route to the network (`ENETUNREACH`).
    NetworkUnreachable, "NETWORK_UNREACHABLE", 101, 0xC000_023C;
    /// No route to the host (`EHOSTUNREACH`).
    HostUnreachable, "HOST_UNREACHABLE", 113, 0xC000_023D;
    /// The peer gave up the establishment (`ECONNABORTED`).
    ConnectionAborted, "CONNECTION_ABORTED", 103, 0xC000_0241;
    /// The adapter is gone (`ENODEV`).
    DeviceRemoved, "DEVICE_REMOVED", 19, 0xC000_02B6;
    /// More than this adapter can do (`ERANGE`).
    ImplementationLimit, "IMPLEMENTATION_LIMIT", 34, 0xC000_042B;
    /// The interface version is not spoken (`EPROTONOSUPPORT`).
    BadVersion, "BAD_VERSION", 93, 0xC001_0004;
    /// The adapter is disabled (`ENETDOWN`).
    AdapterNotReady, "ADAPTER_NOT_READY", 100, 0xC001_0011;
}

impl Status {
    /// Whether it stands for a failure; neither success nor pending is one.
    pub const fn is_failure(self) -> bool {
        !matches!(self, Status::Success | Status::Pending)
    }

    /// Whether a connector whose Connect ended so may be used for another Connect (section 5.3,
    /// note 1).
    pub const fn is_retryable(self) -> bool {
        matches!(
            self,
            Status::NetworkUnreachable
                | Status::HostUnreachable
                | Status::ConnectionRefused
                | Status::IoTimeout
        )
    }
}
