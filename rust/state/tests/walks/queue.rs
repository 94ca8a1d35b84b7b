// SPDX-License-Identifier: GPL-2.0

//! A work queue with its device, its completion queue and its consumer, in every order of events.

use super::explore::{explore, World};
use ndk_state::queue::{Request, Retired, Ring};
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug)]
enum Input {
    Post {
        silent: bool,
        parts: bool,
    },
    /// The device refuses it.
    Refuse {
        silent: bool,
    },
    /// The device does the oldest work request.
    Device,
    /// The oldest completion is taken.
    Poll,
    /// Whatever the device has is flushed from here on.
    Break,
}

const INPUTS: [Input; 9] = [
    Input::Post {
        silent: false,
        parts: false,
    },
    Input::Post {
        silent: true,
        parts: false,
    },
    Input::Post {
        silent: false,
        parts: true,
    },
    Input::Post {
        silent: true,
        parts: true,
    },
    Input::Refuse { silent: false },
    Input::Refuse { silent: true },
    Input::Device,
    Input::Poll,
    Input::Break,
];

/// A work request: its slot, what it is, whether it is signalled.
type Work = (u32, Request, bool);

struct Queue {
    ring: Ring,
    depth: u32,
    device: VecDeque<Work>,
    completions: VecDeque<(u32, Request, bool)>,
    /// Requests the consumer has not heard of, oldest first: slot, silent.
    outstanding: VecDeque<(u32, bool)>,
    broken: bool,
}

impl Queue {
    fn new(depth: u32) -> Self {
        Self {
            ring: Ring::new(depth, 1).unwrap(),
            depth,
            device: VecDeque::new(),
            completions: VecDeque::new(),
            outstanding: VecDeque::new(),
            broken: false,
        }
    }

    fn post(&mut self, silent: bool, parts: bool) -> bool {
        let Ok(reservation) = self.ring.reserve(silent) else {
            assert_eq!(self.ring.in_flight(), self.depth);
            // Full of silent ones only never happens: something comes that frees them.
            let coming = self.device.iter().any(|work| work.2 || self.broken);
            assert!(coming || !self.completions.is_empty());
            return false;
        };
        assert!(self.ring.in_flight() < self.depth);
        assert!(silent || reservation.signalled);
        self.ring.publish(&reservation);
        let index = reservation.index;
        if parts {
            self.device.push_back((index, Request::First, false));
        }
        self.device
            .push_back((index, Request::Last { silent }, reservation.signalled));
        self.outstanding.push_back((index, silent));
        true
    }

    fn poll(&mut self) {
        let (index, request, success) = self.completions.pop_front().expect("there is one");
        match self.ring.retire(index, success, request) {
            Retired::Report => {
                assert!(!success || request == Request::Last { silent: false });
                // Those before it were silent, and have succeeded.
                while let Some((heard, silent)) = self.outstanding.pop_front() {
                    if heard == index {
                        return;
                    }
                    assert!(silent, "one that is not silent is passed over");
                }
                panic!("reported twice");
            }
            Retired::Swallow => assert!(success && request != Request::Last { silent: false }),
            Retired::Stale => {
                assert!(
                    !success && matches!(request, Request::Last { .. }),
                    "only second parts that are flushed"
                );
                assert!(self.outstanding.iter().all(|one| one.0 != index));
            }
            Retired::Drained => assert_eq!(request, Request::Sentinel),
        }
    }
}

impl World for Queue {
    type Input = Input;
    type Key = String;

    fn step(&mut self, input: Input) -> bool {
        match input {
            Input::Post { silent, parts } => return self.post(silent, parts),
            Input::Refuse { silent } => {
                let Ok(reservation) = self.ring.reserve(silent) else {
                    return false;
                };
                let before = format!("{:?}", self.ring);
                self.ring.publish(&reservation);
                self.ring.retract(&reservation);
                assert_eq!(
                    format!("{:?}", self.ring),
                    before,
                    "a refused post leaves no trace"
                );
            }
            Input::Device => {
                let Some((index, request, signalled)) = self.device.pop_front() else {
                    return false;
                };
                if self.broken || signalled {
                    self.completions.push_back((index, request, !self.broken));
                }
            }
            Input::Poll if !self.completions.is_empty() => self.poll(),
            Input::Break if !self.broken => self.broken = true,
            _ => return false,
        }
        true
    }

    fn key(&self) -> String {
        let rest = (
            &self.device,
            &self.completions,
            &self.outstanding,
            self.broken,
        );
        format!("{:?} {rest:?}", self.ring)
    }

    /// Drained from here, the consumer has heard of everything that it was to hear of.
    fn end(mut self) {
        let sentinel = self.ring.reserve_sentinel().expect("there is room for one");
        self.ring.publish(&sentinel);
        self.device
            .push_back((sentinel.index, Request::Sentinel, true));
        while self.step(Input::Device) {}
        while self.step(Input::Poll) {}
        assert_eq!(self.ring.in_flight(), 0);
        assert!(
            self.outstanding.iter().all(|(_, silent)| *silent),
            "never reported"
        );
    }
}

/// Proves: 6.4-silent, 7.1-accepted, 7.1-full, 7.1-refused, 7.2-order
#[test]
fn each_request_is_reported_as_it_is_due_in_every_order_of_events() {
    for depth in [1, 8] {
        let walked = explore(|| Queue::new(depth), &INPUTS, 8);
        assert_eq!(walked.longest, 8);
        assert!(walked.worlds > 100, "{}", walked.worlds);
    }
}
