// SPDX-License-Identifier: GPL-2.0

//! Memory regions and their tokens.
//!
//! # States (section 8.7)
//!
//! ```text
//!  normal:  Created ─Register─► Registering ─done─► Registered ─Deregister─► Deregistering ─done─► Created
//!                                    └─failed─► Created        ◄──────failed──────┘
//!
//!  fast:    Created ─Initialize─► Initializing ─done─► Initialized ─FastRegister posted─► Valid
//!                                    └─failed─► Created     ▲                               │
//!                                                           └── invalidated, or flushed ────┘
//! ```
//!
//! # Rules
//!
//! - Whether a region is normal or fast is fixed for its life (section 8.3).
//! - A fast region is followed in posting order: its remote token is readable as soon as the post has
//!   returned (section 8.6), and an invalidation counts when it is posted. Only the peer's invalidation
//!   counts when its receive is taken from the queue, before the consumer sees it (section 7.3).
//! - A post that the device refuses, or a request that is flushed, is taken back.
//! - A fast region can be initialized again, also with more pages; its old token dies with it.

use super::atomic::AtomicU32;
use super::flags;
use super::status::Status;

/// State of a memory region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Nothing is registered.
    Created,
    /// RegisterMr is pending.
    Registering,
    /// Registered.
    Registered,
    /// DeregisterMr is pending.
    Deregistering,
    /// InitializeFastRegisterMr is pending.
    Initializing,
    /// Ready for a fast registration; the token is not valid.
    Initialized,
    /// Fast registered.
    Valid,
}

impl State {
    /// Every state; its place is its number in the atomic word.
    pub const ALL: [State; 7] = [
        State::Created,
        State::Registering,
        State::Registered,
        State::Deregistering,
        State::Initializing,
        State::Initialized,
        State::Valid,
    ];

    /// The name that debugfs gives it.
    pub const fn name(self) -> &'static str {
        match self {
            State::Created => "created",
            State::Registering => "registering",
            State::Registered => "registered",
            State::Deregistering => "deregistering",
            State::Initializing => "initializing",
            State::Initialized => "initialized",
            State::Valid => "valid",
        }
    }

    const fn to_bits(self) -> u32 {
        match self {
            State::Created => 0,
            State::Registering => 1,
            State::Registered => 2,
            State::Deregistering => 3,
            State::Initializing => 4,
            State::Initialized => 5,
            State::Valid => 6,
        }
    }

    const fn from_bits(bits: u32) -> State {
        match bits {
            1 => State::Registering,
            2 => State::Registered,
            3 => State::Deregistering,
            4 => State::Initializing,
            5 => State::Initialized,
            6 => State::Valid,
            _ => State::Created,
        }
    }
}

/// What happens to a memory region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// RegisterMr.
    Register,
    /// The registration ended.
    RegisterDone {
        /// Whether it succeeded.
        success: bool,
    },
    /// DeregisterMr.
    Deregister {
        /// Whether windows are bound to the region.
        bound: bool,
    },
    /// The deregistration ended.
    DeregisterDone {
        /// Whether it succeeded.
        success: bool,
    },
    /// InitializeFastRegisterMr.
    Initialize,
    /// The initialization ended.
    InitializeDone {
        /// Whether it succeeded.
        success: bool,
    },
    /// FastRegister is posted.
    FastRegister,
    /// That post, or the request, failed.
    FastRegisterFailed,
    /// Invalidate, or a read with local invalidate, is posted.
    Invalidate,
    /// That post, or the request, failed.
    InvalidateFailed,
    /// A receive says that the peer has invalidated the token.
    RemoteInvalidated,
    /// Bind names the region.
    Bind,
    /// A token is asked for, or used in a request.
    UseToken,
}

/// The next state of a region, or why the event is refused.
pub const fn step(fast: bool, state: State, event: Event) -> Result<State, Status> {
    let next = match (state, event) {
        // Fixed for life.
        (
            _,
            Event::Register | Event::RegisterDone { .. } | Event::Deregister { .. } | Event::Bind,
        ) if fast => return Err(Status::InvalidDeviceRequest),
        (_, Event::Initialize | Event::FastRegister | Event::Invalidate) if !fast => {
            return Err(Status::InvalidDeviceRequest)
        }

        (State::Created, Event::Register) => State::Registering,
        (State::Registering, Event::RegisterDone { success: true }) => State::Registered,
        (State::Registering, Event::RegisterDone { success: false }) => State::Created,
        (State::Registered, Event::Deregister { bound: true }) => return Err(Status::DeviceBusy),
        (State::Registered, Event::Deregister { bound: false }) => State::Deregistering,
        (State::Deregistering, Event::DeregisterDone { success: true }) => State::Created,
        (State::Deregistering, Event::DeregisterDone { success: false }) => State::Registered,
        (State::Registered, Event::Bind) => State::Registered,

        (State::Created | State::Initialized | State::Valid, Event::Initialize) => {
            State::Initializing
        }
        (State::Initializing, Event::InitializeDone { success: true }) => State::Initialized,
        (State::Initializing, Event::InitializeDone { success: false }) => State::Created,
        (State::Initialized, Event::FastRegister) => State::Valid,
        (State::Valid, Event::FastRegisterFailed) => State::Initialized,
        (State::Valid, Event::Invalidate | Event::RemoteInvalidated) => State::Initialized,
        (State::Initialized, Event::InvalidateFailed) => State::Valid,
        // Late news about a region that has moved on.
        (
            state @ (State::Created | State::Initializing | State::Initialized),
            Event::FastRegisterFailed | Event::RemoteInvalidated,
        ) if fast => state,
        (
            state @ (State::Created | State::Initializing | State::Valid),
            Event::InvalidateFailed,
        ) if fast => state,

        (state @ (State::Registered | State::Initialized | State::Valid), Event::UseToken) => state,

        // Invalidating what is not valid, binding to what is not registered, two calls at once.
        _ => return Err(Status::InvalidDeviceRequest),
    };
    Ok(next)
}

/// The state of one memory region, which posts on several queue pairs may change at once.
pub struct Mr {
    word: AtomicU32,
    fast: bool,
}

impl Mr {
    /// A region, for fast registration or for RegisterMr.
    pub fn new(fast: bool) -> Self {
        Self {
            word: AtomicU32::new(State::Created.to_bits()),
            fast,
        }
    }

    /// Whether it is for fast registration.
    pub fn is_fast(&self) -> bool {
        self.fast
    }

    /// The state at this moment.
    pub fn state(&self) -> State {
        State::from_bits(self.word.load_acquire())
    }

    /// Applies an event; returns the state before it. On failure nothing has changed.
    pub fn apply(&self, event: Event) -> Result<State, Status> {
        let mut seen = self.word.load_relaxed();
        loop {
            let state = State::from_bits(seen);
            let next = step(self.fast, state, event)?;
            match self.word.compare_exchange(seen, next.to_bits()) {
                Ok(_) => return Ok(state),
                Err(now) => seen = now,
            }
        }
    }
}

/// What a region allows beyond local reads, which it always does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// Local writes.
    pub local_write: bool,
    /// Remote reads.
    pub remote_read: bool,
    /// Remote writes.
    pub remote_write: bool,
    /// It may be the sink of a read.
    pub read_sink: bool,
}

impl Access {
    /// From the flags of RegisterMr.
    pub fn from_mr_flags(bits: u32) -> Result<Self, Status> {
        flags::check_mr(bits)?;
        Ok(Self {
            local_write: flags::grants(bits, flags::MR_ALLOW_LOCAL_WRITE),
            remote_read: flags::grants(bits, flags::MR_ALLOW_REMOTE_READ),
            remote_write: flags::grants(bits, flags::MR_ALLOW_REMOTE_WRITE),
            read_sink: flags::grants(bits, flags::MR_RDMA_READ_SINK),
        })
    }

    /// From the flags of FastRegister or Bind, which `op` says.
    pub fn from_op_flags(op: flags::Op, bits: u32) -> Result<Self, Status> {
        op.check(bits)?;
        Ok(Self {
            local_write: flags::grants(bits, flags::ALLOW_LOCAL_WRITE),
            remote_read: flags::grants(bits, flags::ALLOW_REMOTE_READ),
            remote_write: flags::grants(bits, flags::ALLOW_REMOTE_WRITE),
            read_sink: flags::grants(bits, flags::RDMA_READ_SINK),
        })
    }

    /// Whether the peer gets any right.
    pub const fn is_remote(self) -> bool {
        self.remote_read || self.remote_write
    }

    /// Whether a window with `self` may be bound to a region with `region` (section 8.6, Bind): remote
    /// writes need a region that may be written.
    pub const fn check_bind(self, region: Access) -> Result<(), Status> {
        if self.remote_write && !region.local_write {
            Err(Status::AccessViolation)
        } else {
            Ok(())
        }
    }

    /// Whether a fast registration with `self` fits a region initialized with this RemoteAccess
    /// (section 8.6, FastRegister).
    pub const fn check_fast_register(self, remote_access: bool) -> Result<(), Status> {
        if self.is_remote() && !remote_access {
            Err(Status::AccessViolation)
        } else {
            Ok(())
        }
    }
}

/// The next key: the low eight bits count, and wrap; the others are the device's.
pub const fn next_key(key: u32) -> u32 {
    key & !0xff | key.wrapping_add(1) & 0xff
}

/// The numbers of a FastRegister call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FastRegister {
    /// How many pages are named.
    pub pages: u32,
    /// Offset of the first byte in the first page.
    pub first_byte: u32,
    /// How many bytes.
    pub length: u64,
    /// The name of the first byte.
    pub base: u64,
}

impl FastRegister {
    /// Checks them (section 8.6) for a region initialized for `max_pages` pages of `page_size` bytes, a
    /// power of two.
    pub fn check(&self, max_pages: u32, page_size: u32) -> Result<(), Status> {
        let within = || {
            let capacity = u64::from(self.pages)
                .checked_mul(u64::from(page_size))?
                .checked_sub(u64::from(self.first_byte))?;
            let offset = self.base.checked_rem(u64::from(page_size))?;
            let fits = self.pages != 0
                && self.pages <= max_pages
                && self.first_byte < page_size
                && self.length <= capacity
                && offset == u64::from(self.first_byte)
                && is_range(self.base, self.length);
            fits.then_some(())
        };
        within().ok_or(Status::InvalidParameter)
    }
}

/// Whether `length` bytes, at least one, at `base` do not run over the end of the address space.
pub const fn is_range(base: u64, length: u64) -> bool {
    length != 0 && base.checked_add(length.wrapping_sub(1)).is_some()
}

/// Checks that a window lies inside its region (section 8.6, Bind).
pub fn check_window(
    region_base: u64,
    region_length: u64,
    base: u64,
    length: u64,
) -> Result<(), Status> {
    let within = || {
        let offset = base.checked_sub(region_base)?;
        let room = region_length.checked_sub(offset)?;
        (is_range(base, length) && length <= room).then_some(())
    };
    within().ok_or(Status::InvalidParameter)
}
