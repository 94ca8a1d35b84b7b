// SPDX-License-Identifier: GPL-2.0

//! A shared endpoint: calls, the removal of its device and the end of its connectors, in every order.

use super::explore::{explore, World, TO_THE_END};
use ndk_state::shared_endpoint::{Call, Effect, Report, SharedEndpoint, State};

#[derive(Clone, Copy, Debug)]
enum Input {
    Call(Call),
    Report(Report),
}

const INPUTS: [Input; 5] = [
    Input::Call(Call::QueryLocal),
    Input::Call(Call::Connect),
    Input::Call(Call::Close),
    Input::Report(Report::DeviceRemoved),
    Input::Report(Report::Quiet),
];

struct Watched {
    endpoint: SharedEndpoint,
    /// The placeholder and the address.
    bound: [bool; 2],
    close_called: bool,
    /// The handle reference.
    handle: bool,
}

impl World for Watched {
    type Input = Input;
    type Key = (SharedEndpoint, [bool; 2], bool, bool);

    fn step(&mut self, input: Input) -> bool {
        let (next, todo) = match input {
            Input::Call(call) => match self.endpoint.call(call) {
                Ok(taken) => {
                    assert!(!self.close_called, "a call after Close");
                    assert!(
                        call == Call::Close || self.bound == [true; 2],
                        "a call without an address"
                    );
                    self.close_called = call == Call::Close;
                    taken
                }
                Err(_) => {
                    assert!(
                        call != Call::Close || self.close_called,
                        "Close cannot fail"
                    );
                    return false;
                }
            },
            // It is told once, when the handle is put.
            Input::Report(Report::Quiet)
                if self.handle || self.endpoint.state() == State::Closed =>
            {
                return false
            }
            Input::Report(report) => self.endpoint.report(report),
        };
        for effect in todo {
            let held = match effect {
                Effect::DestroyId => &mut self.bound[0],
                Effect::ReleaseEndpoint => &mut self.bound[1],
                Effect::EndClose => &mut self.handle,
            };
            assert!(std::mem::take(held), "given back twice: {effect:?}");
        }
        self.endpoint = next;
        assert_eq!(self.handle, !self.close_called);
        assert!(
            next.state() != State::Closed || self.bound == [false; 2],
            "not given back"
        );
        true
    }

    fn key(&self) -> Self::Key {
        (self.endpoint, self.bound, self.close_called, self.handle)
    }

    fn end(mut self) {
        self.step(Input::Call(Call::Close));
        self.step(Input::Report(Report::Quiet));
        assert_eq!(self.endpoint.state(), State::Closed);
    }
}

/// Proves: 4.2-shared-closed
#[test]
fn what_a_shared_endpoint_holds_is_given_back_once() {
    let new = || Watched {
        endpoint: SharedEndpoint::new(),
        bound: [true; 2],
        close_called: false,
        handle: true,
    };
    let walked = explore(new, &INPUTS, TO_THE_END);
    assert!(walked.all);
    assert_eq!(walked.worlds, 6);
}
