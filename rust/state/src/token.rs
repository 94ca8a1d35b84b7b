// SPDX-License-Identifier: GPL-2.0

//! Memory regions, windows, and their tokens.
//!
//! # States (section 8.7)
//!
//! ```text
//!  normal:  Created ─Register─► Registering ─done─► Registered ─Deregister─► Deregistering ─done─► Created
//!                                    └─failed─► Created        ◄──────failed──────┘
//!
//!  fast:    Created ─Initialize─► Initializing ─done─► Initialized ─Initialize─► Initializing
//!                                    └─failed─► Created
//!
//!  registration:  Free ─posted─► Valid ─invalidation posted─► Ending ─done─► Free
//!                  ▲               │ ▲                          │ │
//!                  └──── peer ─────┘ └───────── failed ─────────┘ peer ─► Ended ─done or failed─► Free
//! ```
//!
//! # Rules
//!
//! - Whether a region is normal or fast is fixed for its life (section 8.3).
//! - A *registration* is what requests make and end: that of a fast region, or that by which a window shows
//!   part of a normal one. It is valid from its post on: its token is readable as soon as the post has
//!   returned (section 8.6).
//! - An invalidation takes the token away when it is posted, so that a second one is refused; but only when
//!   it has completed nobody reaches the memory any more, and what the device reads for the registration
//!   is free again. Until then a region counts as bound.
//! - The peer's invalidation counts when its receive is taken from the queue, before the consumer sees it
//!   (section 7.3).
//! - A post that the device refuses, or a request that fails, is taken back.
//! - A normal region with bound windows is not deregistered (section 8.7).
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
    /// Registered, with so many windows.
    Registered {
        /// Windows that are bound.
        windows: u32,
    },
    /// DeregisterMr is pending.
    Deregistering,
    /// InitializeFastRegisterMr is pending.
    Initializing,
    /// Ready for fast registrations.
    Initialized,
}

/// Windows of one region, at most.
pub const MAX_WINDOWS: u32 = (1 << 24) - 1;

impl State {
    /// The name that debugfs gives it.
    pub const fn name(self) -> &'static str {
        match self {
            State::Created => "created",
            State::Registering => "registering",
            State::Registered { .. } => "registered",
            State::Deregistering => "deregistering",
            State::Initializing => "initializing",
            State::Initialized => "initialized",
        }
    }

    const fn to_bits(self) -> u32 {
        match self {
            State::Created => 0,
            State::Registering => 1,
            State::Registered { windows } => 2 | (windows << 8),
            State::Deregistering => 3,
            State::Initializing => 4,
            State::Initialized => 5,
        }
    }

    const fn from_bits(bits: u32) -> State {
        match bits & 0xff {
            1 => State::Registering,
            2 => State::Registered { windows: bits >> 8 },
            3 => State::Deregistering,
            4 => State::Initializing,
            5 => State::Initialized,
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
    Deregister,
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
    /// FastRegister or Invalidate names the region.
    Request,
    /// A window is bound to the region.
    Bind,
    /// A window is bound to it no more.
    Unbind,
}

/// The next state of a region, or why the event is refused.
pub const fn step(fast: bool, state: State, event: Event) -> Result<State, Status> {
    let next = match (state, event) {
        // Fixed for life.
        (
            _,
            Event::Register
            | Event::RegisterDone { .. }
            | Event::Deregister
            | Event::Bind
            | Event::Unbind,
        ) if fast => return Err(Status::InvalidDeviceRequest),
        (_, Event::Initialize | Event::InitializeDone { .. } | Event::Request) if !fast => {
            return Err(Status::InvalidDeviceRequest)
        }

        (State::Created, Event::Register) => State::Registering,
        (State::Registering, Event::RegisterDone { success: true }) => {
            State::Registered { windows: 0 }
        }
        (State::Registering, Event::RegisterDone { success: false }) => State::Created,
        (State::Registered { windows: 0 }, Event::Deregister) => State::Deregistering,
        (State::Registered { .. }, Event::Deregister) => return Err(Status::DeviceBusy),
        (State::Deregistering, Event::DeregisterDone { success: true }) => State::Created,
        (State::Deregistering, Event::DeregisterDone { success: false }) => {
            State::Registered { windows: 0 }
        }
        (State::Registered { windows }, Event::Bind) => {
            if windows >= MAX_WINDOWS {
                return Err(Status::InsufficientResources);
            }
            State::Registered {
                windows: windows.saturating_add(1),
            }
        }
        (State::Registered { windows }, Event::Unbind) if windows != 0 => State::Registered {
            windows: windows.saturating_sub(1),
        },

        (State::Created | State::Initialized, Event::Initialize) => State::Initializing,
        (State::Initializing, Event::InitializeDone { success: true }) => State::Initialized,
        (State::Initializing, Event::InitializeDone { success: false }) => State::Created,
        (State::Initialized, Event::Request) => State::Initialized,

        // Binding to what is not registered, registering what is not initialized, two calls at once.
        _ => return Err(Status::InvalidDeviceRequest),
    };
    Ok(next)
}

/// Replaces what `word` holds by what `step` makes of it; returns both, or why not.
fn update(
    word: &AtomicU32,
    step: impl Fn(u32) -> Result<u32, Status>,
) -> Result<(u32, u32), Status> {
    let mut seen = word.load_relaxed();
    loop {
        let next = step(seen)?;
        match word.compare_exchange(seen, next) {
            Ok(_) => return Ok((seen, next)),
            Err(now) => seen = now,
        }
    }
}

/// The state of one memory region, which calls and posts on several queue pairs may change at once.
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
        update(&self.word, |bits| {
            step(self.fast, State::from_bits(bits), event).map(State::to_bits)
        })
        .map(|(before, _)| State::from_bits(before))
    }

    /// Whether an event is taken at this moment; changes nothing.
    pub fn check(&self, event: Event) -> Result<(), Status> {
        step(self.fast, self.state(), event).map(|_| ())
    }
}

/// How far a registration is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// There is none.
    Free,
    /// Its request is posted.
    Valid,
    /// The request that ends it is posted.
    Ending,
    /// It has ended otherwise, and that request is still to complete.
    Ended,
}

impl Phase {
    /// Every phase; its place is its number in the atomic word.
    pub const ALL: [Phase; 4] = [Phase::Free, Phase::Valid, Phase::Ending, Phase::Ended];

    const fn to_bits(self) -> u32 {
        match self {
            Phase::Free => 0,
            Phase::Valid => 1,
            Phase::Ending => 2,
            Phase::Ended => 3,
        }
    }

    const fn from_bits(bits: u32) -> Phase {
        match bits & 3 {
            1 => Phase::Valid,
            2 => Phase::Ending,
            3 => Phase::Ended,
            _ => Phase::Free,
        }
    }
}

/// What happens to a registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// The request that makes it is about to be posted.
    Make,
    /// That request was refused, or has failed.
    MakeFailed,
    /// The request that ends it is about to be posted.
    End,
    /// That request was refused, or has failed.
    EndFailed,
    /// That request succeeded.
    EndDone,
    /// A receive says that the peer has invalidated the token.
    PeerEnded,
}

/// The next phase of a registration, or why the step is refused.
pub const fn advance(phase: Phase, step: Step) -> Result<Phase, Status> {
    let next = match (phase, step) {
        (Phase::Free, Step::Make) => Phase::Valid,
        (Phase::Valid, Step::MakeFailed | Step::PeerEnded) => Phase::Free,
        (Phase::Ending, Step::MakeFailed | Step::PeerEnded) => Phase::Ended,
        (Phase::Valid, Step::End) => Phase::Ending,
        (Phase::Ending, Step::EndFailed) => Phase::Valid,
        (Phase::Ending, Step::EndDone) => Phase::Free,
        (Phase::Ended, Step::EndFailed | Step::EndDone) => Phase::Free,
        // Late news of what has moved on.
        (phase, Step::MakeFailed | Step::EndFailed | Step::EndDone | Step::PeerEnded) => phase,
        // Registering what is registered, invalidating what is not.
        (_, Step::Make | Step::End) => return Err(Status::InvalidDeviceRequest),
    };
    Ok(next)
}

/// A registration, as posts and completions on several queue pairs see it.
pub struct Registration {
    /// The phase, and above it the requests in flight for which the device reads our memory.
    word: AtomicU32,
}

/// One such request in the word.
const READER: u32 = 1 << 8;

impl Registration {
    /// One that is not made yet.
    pub fn new() -> Self {
        Self {
            word: AtomicU32::new(Phase::Free.to_bits()),
        }
    }

    /// How far it is at this moment.
    pub fn phase(&self) -> Phase {
        Phase::from_bits(self.word.load_acquire())
    }

    /// Whether the device may still read our memory for a request.
    pub fn is_read(&self) -> bool {
        self.word.load_acquire() >= READER
    }

    /// Makes it; `is_read` for a request whose completion [`Self::read`] will tell.
    pub fn make(&self, is_read: bool) -> Result<(), Status> {
        let reader = if is_read { READER } else { 0 };
        update(&self.word, |bits| {
            let next = advance(Phase::from_bits(bits), Step::Make)?;
            Ok((bits & !0xff).saturating_add(reader) | next.to_bits())
        })
        .map(|_| ())
    }

    /// The device is done with a request for which it read our memory.
    pub fn read(&self) {
        let _ = update(&self.word, |bits| {
            bits.checked_sub(READER).ok_or(Status::InternalError)
        });
    }

    /// Applies a step; returns whether nobody reaches the memory through it any more that did before. On
    /// failure nothing has changed.
    pub fn apply(&self, step: Step) -> Result<bool, Status> {
        let (before, after) = update(&self.word, |bits| {
            let next = advance(Phase::from_bits(bits), step)?;
            Ok(bits & !0xff | next.to_bits())
        })?;
        let phase = Phase::from_bits(after);
        Ok(phase == Phase::Free && Phase::from_bits(before) != Phase::Free)
    }
}

impl Default for Registration {
    fn default() -> Self {
        Self::new()
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
            // Less than a page, and so is what equals it.
            let offset = self.base.checked_rem(u64::from(page_size))?;
            let fits = self.pages != 0
                && self.pages <= max_pages
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

/// The pages of a region that a window touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowPages {
    /// Their places in the list of the region's pages.
    pub pages: core::ops::Range<usize>,
    /// Offset of the window's first byte in the first of them.
    pub first_byte: u32,
}

/// The pages of a window of `length` bytes, not 0, that begins `start` bytes after the beginning of the region's first page;
/// pages have `page_size` bytes, a power of two.
pub fn window_pages(start: u64, length: u64, page_size: u32) -> WindowPages {
    let size = u64::from(page_size).max(1);
    let place = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
    let first = start.checked_div(size).unwrap_or(0);
    let end = start.saturating_add(length).div_ceil(size);
    WindowPages {
        pages: place(first)..place(end),
        // CAST: Less than a page.
        first_byte: start.checked_rem(size).unwrap_or(0) as u32,
    }
}
