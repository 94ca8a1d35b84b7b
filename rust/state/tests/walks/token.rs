// SPDX-License-Identifier: GPL-2.0

//! A memory region with two windows: calls, posts, completions, the peer and a broken connection, in every order.

use super::explore::{explore, World, TO_THE_END};
use ndk_state::status::Status;
use ndk_state::token::{Event, Mr, Phase, Registration, State, Step};

#[derive(Clone, Copy, Debug)]
enum Input {
    Register,
    Registered(bool),
    Deregister,
    Deregistered(bool),
    /// A bind of a window; false where the device refuses the post.
    Bind(usize, bool),
    Invalidate(usize, bool),
    /// The device does the oldest request.
    Complete,
    /// The peer invalidates a window.
    Peer(usize),
    Break,
}

const INPUTS: [Input; 18] = [
    Input::Register,
    Input::Registered(true),
    Input::Registered(false),
    Input::Deregister,
    Input::Deregistered(true),
    Input::Deregistered(false),
    Input::Bind(0, true),
    Input::Bind(1, true),
    Input::Bind(0, false),
    Input::Bind(1, false),
    Input::Invalidate(0, true),
    Input::Invalidate(1, true),
    Input::Invalidate(0, false),
    Input::Invalidate(1, false),
    Input::Complete,
    Input::Peer(0),
    Input::Peer(1),
    Input::Break,
];

struct Memory {
    region: Mr,
    windows: [Registration; 2],
    /// Requests with the device, oldest first: the window, and whether it is bound.
    queue: Vec<(usize, bool)>,
    /// What the device has.
    shown: [bool; 2],
    broken: bool,
}

impl Memory {
    fn new() -> Self {
        Self {
            region: Mr::new(false),
            windows: [Registration::new(), Registration::new()],
            queue: Vec::new(),
            shown: [false; 2],
            broken: false,
        }
    }

    /// A step of a window; when nobody reaches the memory through it any more, the region is told.
    fn advance(&self, window: usize, step: Step) {
        if self.windows[window].apply(step).expect("not a call") {
            self.region.apply(Event::Unbind).expect("it was bound");
        }
    }

    fn bind(&mut self, window: usize, posted: bool) {
        let before = self.region.state();
        if self.region.apply(Event::Bind).is_err() {
            assert!(!matches!(before, State::Registered { .. }));
            return;
        }
        if self.windows[window].make(false).is_err() {
            self.region.apply(Event::Unbind).expect("it was bound");
            return;
        }
        // What is bound anew is mapped anew.
        assert!(!self.shown[window] && !self.queue.contains(&(window, false)));
        if posted {
            self.queue.push((window, true));
        } else {
            self.advance(window, Step::MakeFailed);
            assert_eq!(
                self.region.state(),
                before,
                "a refused post changes nothing"
            );
        }
    }

    fn invalidate(&mut self, window: usize, posted: bool) {
        let phase = self.windows[window].phase();
        match self.windows[window].apply(Step::End) {
            Err(status) => {
                assert_eq!(status, Status::InvalidDeviceRequest);
                assert_ne!(phase, Phase::Valid);
            }
            Ok(freed) => {
                assert!(!freed && phase == Phase::Valid);
                if posted {
                    self.queue.push((window, false));
                } else {
                    self.advance(window, Step::EndFailed);
                    assert_eq!(
                        self.windows[window].phase(),
                        phase,
                        "a refused post changes nothing"
                    );
                }
            }
        }
    }

    /// The device does the oldest request; where the connection is broken, it flushes it.
    fn complete(&mut self) {
        let (window, bound) = self.queue.remove(0);
        let success = !self.broken && self.shown[window] != bound;
        self.broken |= !success;
        if success {
            self.shown[window] = bound;
        }
        match (bound, success) {
            (true, true) => {}
            (true, false) => self.advance(window, Step::MakeFailed),
            (false, true) => self.advance(window, Step::EndDone),
            (false, false) => self.advance(window, Step::EndFailed),
        }
    }

    fn check(&self) {
        let mut bound = 0;
        for window in 0..2 {
            let phase = self.windows[window].phase();
            bound += u32::from(phase != Phase::Free);
            if phase == Phase::Free {
                let reached = self.shown[window] || self.queue.contains(&(window, false));
                assert!(
                    !reached,
                    "the memory is reached through a window that counts as free"
                );
            }
        }
        match self.region.state() {
            State::Registered { windows } => {
                assert_eq!(windows, bound);
                let refused = bound != 0;
                assert_eq!(self.region.check(Event::Deregister).is_err(), refused);
            }
            // The pages of the region are the consumer's again, or about to be.
            _ => assert_eq!(bound, 0),
        }
    }
}

impl World for Memory {
    type Input = Input;
    type Key = (State, [Phase; 2], Vec<(usize, bool)>, [bool; 2], bool);

    fn step(&mut self, input: Input) -> bool {
        let state = self.region.state();
        match input {
            Input::Register => {
                let taken = self.region.apply(Event::Register).is_ok();
                assert_eq!(taken, state == State::Created);
            }
            Input::Registered(success) if state == State::Registering => {
                self.region.apply(Event::RegisterDone { success }).unwrap();
            }
            Input::Deregister => {
                let taken = self.region.apply(Event::Deregister).is_ok();
                assert_eq!(taken, state == State::Registered { windows: 0 });
            }
            Input::Deregistered(success) if state == State::Deregistering => {
                self.region
                    .apply(Event::DeregisterDone { success })
                    .unwrap();
            }
            Input::Bind(window, posted) => self.bind(window, posted),
            Input::Invalidate(window, posted) => self.invalidate(window, posted),
            Input::Complete if !self.queue.is_empty() => self.complete(),
            Input::Peer(window) if self.shown[window] && !self.broken => {
                self.shown[window] = false;
                self.advance(window, Step::PeerEnded);
            }
            Input::Break if !self.broken => self.broken = true,
            _ => return false,
        }
        self.check();
        true
    }

    fn key(&self) -> Self::Key {
        let phases = [self.windows[0].phase(), self.windows[1].phase()];
        (
            self.region.state(),
            phases,
            self.queue.clone(),
            self.shown,
            self.broken,
        )
    }

    /// When all requests are done and the windows invalidated, the region can go.
    fn end(mut self) {
        if self.region.state() == State::Registering {
            self.step(Input::Registered(true));
        }
        while !self.queue.is_empty() {
            self.step(Input::Complete);
        }
        for window in 0..2 {
            if self.windows[window].phase() != Phase::Free {
                self.step(Input::Invalidate(window, true));
                assert_eq!(self.queue, [(window, false)]);
                // A broken connection is left for another one: what the device has can still be taken from it.
                self.broken = false;
                self.step(Input::Complete);
            }
        }
        match self.region.state() {
            State::Registered { windows } => {
                assert_eq!(windows, 0);
                assert!(self.region.apply(Event::Deregister).is_ok());
            }
            state => assert!(matches!(state, State::Created | State::Deregistering)),
        }
    }
}

/// Proves: 7.7-mw-busy, 7.7-tokens-early, 7.3-invalidated-first
#[test]
fn a_region_goes_only_when_no_window_reaches_it() {
    let walked = explore(Memory::new, &INPUTS, TO_THE_END);
    assert!(walked.all && walked.longest >= 8);
    assert!(walked.worlds > 100, "{}", walked.worlds);
}
