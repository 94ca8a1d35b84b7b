// SPDX-License-Identifier: GPL-2.0

//! Registrations that requests make and end: those of fast MRs, and those by which windows show a part of an MR.
//!
//! What is decided is `state/token.rs`. A registration lives on an MR of the device. Each object has two of them, which take
//! turns: an invalidation that is posted lets the next registration follow at once, and yet the device's MR is mapped anew only
//! when the old rights have ended for certain. A peer with the old token never sees the new memory.

use crate::{
    ctx::MaySleep,
    mr::{
        Mr,
        Window, //
    },
    pd::Pd,
    state::{
        status::Status,
        token::{
            self,
            Phase,
            Step, //
        },
    },
    status::Result,
    verbs::{
        chain::Chain,
        fault::{
            Ended,
            Tokens, //
        },
        handle::{
            self,
            Handle,
            Parking, //
        },
        mr::{
            FastMr,
            MrMapping, //
        },
        tokens::TokenMap, //
    },
};
use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Acquire,
            Atomic,
            Full,
            Relaxed,
            Release, //
        },
        rcu,
        Arc,
        ArcBorrow, //
    },
    time::{
        delay::fsleep,
        Delta,
        Instant,
        Monotonic, //
    },
};

/// How long a device may go on reading our memory for a request before its MR is destroyed all the same.
const DEVICE_READS: Delta = Delta::from_secs(5);

/// How long a consumer that polls gets to take a completion out before the provider does.
const CONSUMER_POLLS: Delta = Delta::from_millis(2);

/// Pause between two looks.
const PAUSE: Delta = Delta::from_micros(100);

/// One registration, made or not.
pub(crate) struct Registration {
    lower: FastMr,
    life: token::Registration,
    /// The MR of which a window shows a part: a [`Window`], parked.
    region: Parking<Mr>,
    /// The token of the other registration that the request that made this one has ended; 0 for none.
    replaces: Atomic<u32>,
}

impl Registration {
    fn new(pd: &Pd, pages: u32, ctx: &MaySleep) -> Result<Arc<Self>> {
        let registration = Self {
            lower: FastMr::new(ctx, pd.lower(ctx)?, pages)?,
            life: token::Registration::new(),
            region: Parking::new(),
            replaces: Atomic::new(0),
        };
        Ok(Arc::new(registration, GFP_KERNEL)?)
    }

    /// The token for the peer.
    pub(crate) fn remote_token(&self) -> u32 {
        self.lower.rkey()
    }

    /// The token for SGEs.
    pub(crate) fn local_token(&self) -> u32 {
        self.lower.lkey()
    }

    /// Pages that fit.
    pub(crate) fn max_pages(&self) -> u32 {
        self.lower.max_pages()
    }

    /// Makes it: gives `map` the right to map memory, and then `post` the device's MR with its new key. Where either fails
    /// nothing has happened but that the key is another. `is_read` as in [`token::Registration::make`]. Any context.
    pub(crate) fn make(
        &self,
        chain: &Arc<Chain>,
        is_read: bool,
        map: impl FnOnce(&mut MrMapping<'_>) -> Result,
        post: impl FnOnce(&FastMr) -> Result,
    ) -> Result {
        let mut claim = self.lower.claim().ok_or(Status::InvalidDeviceRequest)?;
        self.life.make(is_read)?;
        let mapped = map(&mut claim).map(|()| {
            claim.next_key();
            claim.set_user(chain);
        });
        // What the device reads is as it is to be read; a request that names it may be posted.
        drop(claim);
        let posted = mapped.and_then(|()| post(&self.lower));
        if posted.is_err() {
            if is_read {
                self.life.read();
            }
            self.apply(Step::MakeFailed);
        }
        posted
    }

    /// Ends it: gives `post` its token. Any context.
    ///
    /// # Errors
    ///
    /// `InvalidDeviceRequest` where it is not made; those of `post`.
    pub(crate) fn end(&self, post: impl FnOnce(u32) -> Result) -> Result {
        self.life.apply(Step::End)?;
        let posted = post(self.lower.rkey());
        if posted.is_err() {
            self.apply(Step::EndFailed);
        }
        posted
    }

    /// Notes that it is to show a part of an MR, and what the same request ends.
    pub(crate) fn show(&self, window: Window, replaces: u32) {
        self.replaces.store(replaces, Relaxed);
        if let Some(region) = window.park() {
            // One that is free shows nothing, so there was nothing.
            drop(self.region.put(region));
        }
    }

    /// A step that no phase refuses.
    fn apply(&self, step: Step) {
        if let Ok(true) = self.life.apply(step) {
            self.hide();
        }
    }

    /// The window shows nothing any more.
    fn hide(&self) {
        if let Some(region) = self.region.take() {
            drop(Window::unpark(region));
        }
    }

    /// Takes it off the device; nobody else has it any more. Sleeps.
    fn destroy(this: Arc<Self>, ctx: &MaySleep) {
        ctx.check();
        let region = this.region.take();
        // The rights before the memory behind them: a region that nobody shows may be deregistered.
        drop(this);
        if let Some(region) = region {
            drop(Window::unpark(region));
        }
    }

    /// Waits until the device does not read our memory any more for requests that name it. Sleeps.
    fn settle(&self, ctx: &MaySleep) {
        let begin = Instant::<Monotonic>::now();
        let user = self.lower.user(ctx);
        if let Some(chain) = &user {
            chain.push(ctx);
        }
        while self.life.is_read() && begin.elapsed() < DEVICE_READS {
            if begin.elapsed() > CONSUMER_POLLS {
                if let Some(chain) = &user {
                    chain.hasten(ctx);
                }
            }
            fsleep(PAUSE);
        }
    }
}

/// The registrations of one object.
pub(crate) struct Twins {
    both: [Handle<Registration>; 2],
    /// The one that was made last.
    current: Atomic<u32>,
}

impl Twins {
    /// None yet.
    pub(crate) fn new() -> Self {
        Self {
            both: [Handle::new(), Handle::new()],
            current: Atomic::new(0),
        }
    }

    /// Makes both on the device, for up to `pages` pages. Where that fails [`Self::destroy`] takes away what was made. Sleeps.
    pub(crate) fn create(&self, pd: &Pd, pages: u32, ctx: &MaySleep) -> Result {
        for place in &self.both {
            let registration = Registration::new(pd, pages, ctx)?;
            let token = registration.remote_token();
            place
                .set(registration.clone())
                .map_err(|_| Status::InvalidDeviceRequest)?;
            pd.registrations().map.insert(token, registration, ctx)?;
        }
        Ok(())
    }

    /// Takes both off the device, with whatever rights are left. Sleeps.
    pub(crate) fn destroy(&self, pd: &Pd, ctx: &MaySleep) {
        for place in &self.both {
            // After this no post looks at it.
            let Some(registration) = place.take(ctx) else {
                continue;
            };
            registration.settle(ctx);
            let token = registration.remote_token();
            let listed = pd.registrations().map.remove(token, ctx);
            // Completions may look at it still.
            handle::wait_for_readers(ctx);
            drop(listed);
            Registration::destroy(registration, ctx);
        }
    }

    /// The one that was made last. Any context.
    ///
    /// # Errors
    ///
    /// `DeviceRemoved` where there is none.
    #[inline]
    pub(crate) fn current<'a>(
        &'a self,
        guard: &'a rcu::Guard,
    ) -> Result<ArcBorrow<'a, Registration>> {
        let [first, second] = &self.both;
        match self.current.load(Acquire) {
            0 => first.borrow(guard),
            _ => second.borrow(guard),
        }
    }

    /// Whether there is one that is valid. Any context.
    pub(crate) fn is_valid(&self) -> bool {
        let guard = rcu::read_lock();
        self.current(&guard)
            .is_ok_and(|registration| registration.life.phase() == Phase::Valid)
    }

    /// One that can be made, which is the current one from here on, and the one that was. Any context.
    ///
    /// # Errors
    ///
    /// `NoMoreEntries` while invalidations of both are on their way; `DeviceRemoved` where there are none.
    pub(crate) fn spare<'a>(&'a self, guard: &'a rcu::Guard) -> Result<Spare<'a>> {
        let before = self.current.load(Acquire);
        let current = self.current(guard)?;
        let [first, second] = &self.both;
        let other = if before == 0 { second } else { first }.borrow(guard)?;
        let is_free = |registration: &Registration| registration.life.phase() == Phase::Free;
        let (next, registration) = if is_free(&current) {
            (before, current)
        } else if is_free(&other) {
            (before ^ 1, other)
        } else {
            return Err(Status::NoMoreEntries);
        };
        Ok(Spare {
            twins: self,
            registration,
            next,
            current,
            before,
        })
    }
}

/// A registration that can be made.
pub(crate) struct Spare<'a> {
    twins: &'a Twins,
    registration: ArcBorrow<'a, Registration>,
    next: u32,
    current: ArcBorrow<'a, Registration>,
    before: u32,
}

impl Spare<'_> {
    /// The one to make.
    pub(crate) fn registration(&self) -> &Registration {
        &self.registration
    }

    /// The one that is current, where it is valid.
    pub(crate) fn valid(&self) -> Option<&Registration> {
        (self.current.life.phase() == Phase::Valid).then_some(&*self.current)
    }

    /// Has it be the current one while `make` makes it, and from then on unless that fails.
    pub(crate) fn take(&self, make: impl FnOnce(&Registration) -> Result) -> Result {
        self.twins.current.store(self.next, Release);
        let made = make(&self.registration);
        if made.is_err() {
            self.twins.current.store(self.before, Release);
        }
        made
    }
}

/// The registrations of a PD by their tokens.
#[pin_data]
pub(crate) struct Registrations {
    #[pin]
    map: TokenMap<Registration>,
}

impl Registrations {
    /// None yet.
    pub(crate) fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            map <- TokenMap::new(),
        })
    }

    /// Ends the registration of the local token `token`: calls `post`. Any context.
    ///
    /// # Errors
    ///
    /// `InvalidDeviceRequest` where the token is not that of one; those of `post`.
    pub(crate) fn end_local(&self, token: u32, post: impl FnOnce() -> Result) -> Result {
        let guard = rcu::read_lock();
        self.map
            .get(token, &guard)
            .filter(|registration| registration.local_token() == token)
            .ok_or(Status::InvalidDeviceRequest)?
            .end(|_| post())
    }
}

impl Tokens for Registrations {
    fn peer_invalidated(&self, token: u32) -> bool {
        let guard = rcu::read_lock();
        let Some(registration) = self.map.get(token, &guard) else {
            return false;
        };
        // Some devices let a peer invalidate what is not valid.
        let known = registration.remote_token() == token
            && matches!(registration.life.phase(), Phase::Valid | Phase::Ending);
        if known {
            registration.apply(Step::PeerEnded);
        }
        known
    }

    fn request_ended(&self, token: u32, ended: Ended) {
        let guard = rcu::read_lock();
        let Some(registration) = self.map.get(token, &guard) else {
            return;
        };
        if ended.makes && ended.counted {
            registration.life.read();
        }
        if registration.remote_token() != token {
            return;
        }
        if ended.makes {
            // One request has ended the other registration and made this one.
            let replaced = registration.replaces.xchg(0, Full);
            if replaced != 0 {
                self.request_ended(
                    replaced,
                    Ended {
                        makes: false,
                        ..ended
                    },
                );
            }
        }
        match (ended.makes, ended.success) {
            // It counts since it was posted.
            (true, true) => {}
            (true, false) => registration.apply(Step::MakeFailed),
            (false, true) => registration.apply(Step::EndDone),
            (false, false) => registration.apply(Step::EndFailed),
        }
    }
}
