// SPDX-License-Identifier: GPL-2.0

//! Rules about numbers: read limits, private data, moderation, versions, sizes of answers.

use super::status::Status;

/// Checks a value against a limit of the adapter (section 8).
pub const fn check_limit(value: u32, limit: u32) -> Result<(), Status> {
    if value <= limit {
        Ok(())
    } else {
        Err(Status::InvalidParameter)
    }
}

/// Work requests that one request of the consumer can be: a window that is bound anew is two, and so is a read with local
/// invalidation where the device has no such request; with a barrier in front of that one, three.
const fn most_parts(barriers: bool) -> u32 {
    if barriers {
        3
    } else {
        2
    }
}

/// Work requests that the send queue of a device needs for `depth` requests of the consumer, on a device with or without
/// barriers: each can be several, and one is for the provider's sentinel.
pub const fn send_wrs(depth: u32, barriers: bool) -> u32 {
    depth.saturating_mul(most_parts(barriers)).saturating_add(1)
}

/// Initiator requests that a send queue of at most `wrs` work requests can hold; [`send_wrs`] the other way round.
pub const fn max_initiator_depth(wrs: u32, barriers: bool) -> u32 {
    let left = wrs.saturating_sub(1);
    if barriers {
        left / 3
    } else {
        left / 2
    }
}

/// Inbound and outbound read limits of one side of a connection.
///
/// The connection manager carries eight bits of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReadLimits {
    /// Reads of the peer that may be in progress.
    pub inbound: u8,
    /// Own reads that may be in progress.
    pub outbound: u8,
}

impl ReadLimits {
    /// What a consumer asks for, silently capped by what the adapter has (section 5.9).
    pub fn capped(inbound: u32, outbound: u32, max_inbound: u32, max_outbound: u32) -> Self {
        let cap = |wanted: u32, max: u32| u8::try_from(wanted.min(max)).unwrap_or(u8::MAX);
        Self {
            inbound: cap(inbound, max_inbound),
            outbound: cap(outbound, max_outbound),
        }
    }

    /// The effective limits, given the peer's as the peer sees them: what one side may send, the other
    /// has to take (section 5.9).
    pub fn effective(self, peer: ReadLimits) -> Self {
        Self {
            inbound: self.inbound.min(peer.outbound),
            outbound: self.outbound.min(peer.inbound),
        }
    }
}

/// Checks the length of private data (section 5.8), and returns it as the connection manager carries
/// it.
pub fn check_private_data(len: usize, max: u32) -> Result<u8, Status> {
    let len = u8::try_from(len).map_err(|_| Status::InvalidBufferSize)?;
    if u32::from(len) <= max {
        Ok(len)
    } else {
        Err(Status::InvalidBufferSize)
    }
}

/// How to answer a call that copies into the consumer's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Answer {
    /// How many bytes to copy.
    pub copy: usize,
    /// The size to hand back.
    pub size: usize,
    /// What the call returns.
    pub status: Status,
}

/// The answer of GetConnectionData for private data (section 8.9).
///
/// `buffer` says whether there is one, `len` is its length, and `required` the transport's capacity,
/// which is what the size means here: the peer may have sent less, and the tail is zero.
pub const fn connection_data(buffer: bool, len: usize, required: usize) -> Answer {
    let (copy, status) = match (buffer, len) {
        (false, 0) => (0, Status::Success),
        (false, _) => (0, Status::InvalidParameter),
        (true, len) if len >= required => (required, Status::Success),
        (true, len) => (len, Status::BufferTooSmall),
    };
    Answer {
        copy,
        size: required,
        status,
    }
}

/// The answer of QueryAdapterInfo (sections 6.1, 8.2).
///
/// `base` is the size of the structure as version 1 had it, `full` as it is now: a caller that has
/// room for the first only gets that prefix. A smaller buffer, or none, learns the full size.
pub const fn adapter_info(buffer: bool, len: usize, base: usize, full: usize) -> Answer {
    let copy = if !buffer || len < base {
        0
    } else if len < full {
        base
    } else {
        full
    };
    if copy == 0 {
        Answer {
            copy,
            size: full,
            status: Status::BufferTooSmall,
        }
    } else {
        Answer {
            copy,
            size: copy,
            status: Status::Success,
        }
    }
}

/// The answer of the functions that return an address (section 8.9): all of it or nothing.
pub const fn address(len: usize, required: usize) -> Answer {
    if len < required {
        Answer {
            copy: 0,
            size: required,
            status: Status::BufferTooSmall,
        }
    } else {
        Answer {
            copy: required,
            size: required,
            status: Status::Success,
        }
    }
}

/// Interrupt moderation of a completion queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Moderation {
    /// None.
    Off,
    /// At most so many microseconds of delay.
    Interval(u32),
    /// At most so many completions.
    Count(u32),
    /// Whichever comes first.
    Both {
        /// Microseconds.
        interval: u32,
        /// Completions.
        count: u32,
    },
}

/// The value that means "without limit" in both arguments of the moderation call.
pub const INFINITE: u32 = u32::MAX;

/// What the arguments of the moderation call mean for a queue of this depth (section 8.4).
pub const fn moderation(interval: u32, count: u32, depth: u32) -> Result<Moderation, Status> {
    let any_interval = interval == INFINITE;
    let any_count = count == INFINITE || count > depth;
    match (interval, count) {
        _ if any_interval && any_count => Err(Status::InvalidParameterMix),
        (0, _) | (_, 0 | 1) => Ok(Moderation::Off),
        _ if any_interval => Ok(Moderation::Count(count)),
        _ if any_count => Ok(Moderation::Interval(interval)),
        _ => Ok(Moderation::Both { interval, count }),
    }
}

/// A version of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// Must match.
    pub major: u16,
    /// A higher one contains all lower ones.
    pub minor: u16,
}

/// The version that is spoken after an open (section 9.1): the requested minor is the lowest that will
/// do, the provider answers with its highest.
pub const fn negotiate(requested: Version, provider: Version) -> Result<Version, Status> {
    if requested.major == provider.major && requested.minor <= provider.minor {
        Ok(provider)
    } else {
        Err(Status::BadVersion)
    }
}
