// SPDX-License-Identifier: GPL-2.0

//! An object and its antecedent: create, post, callback and close of both, in every order.

use super::explore::{explore, World, TO_THE_END};
use ndk_state::lifetime::{Closed, Kind, Last, Life};

/// Requests and callbacks of one object at a time.
const MOST: u32 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Closing {
    Open,
    /// Close was called, and starts the cancellation.
    Begun,
    /// The handle is put.
    Ended,
}

/// An object, and what is known of it without looking into it.
struct Object {
    life: Life,
    closing: Closing,
    requests: u32,
    callbacks: u32,
    successors: u32,
    /// Somebody was told to tear it down.
    quiet: bool,
    /// Its CloseCompletion has returned.
    over: bool,
}

impl Object {
    fn new() -> Self {
        Self {
            life: Life::new(),
            closing: Closing::Open,
            requests: 0,
            callbacks: 0,
            successors: 0,
            quiet: false,
            over: false,
        }
    }

    fn count(&mut self, kind: Kind) -> &mut u32 {
        match kind {
            Kind::Callback => &mut self.callbacks,
            Kind::Request => &mut self.requests,
            Kind::Successor => &mut self.successors,
        }
    }

    /// Something wants to start. Whether it has.
    fn start(&mut self, kind: Kind) -> bool {
        assert!(!self.over, "the consumer makes no call after its end");
        let started = self.life.try_get(kind).is_ok();
        assert_eq!(
            started,
            self.closing == Closing::Open,
            "nothing starts on a closing object"
        );
        *self.count(kind) += u32::from(started);
        started
    }

    /// Something has ended, its completion included.
    fn finish(&mut self, kind: Kind) {
        *self.count(kind) -= 1;
        let last = self.life.put(kind) == Last::Yes;
        self.told(last);
    }

    fn begin_close(&mut self) {
        assert!(self.life.begin_close().is_ok());
        assert!(self.life.begin_close().is_err(), "once");
        self.closing = Closing::Begun;
    }

    fn end_close(&mut self) {
        self.closing = Closing::Ended;
        let quiet = self.life.end_close() == Closed::AlreadyQuiet;
        self.told(quiet);
    }

    fn told(&mut self, quiet: bool) {
        let in_flight = self.requests + self.callbacks + self.successors;
        assert_eq!(quiet, self.closing == Closing::Ended && in_flight == 0);
        assert!(!quiet || !self.quiet, "told twice");
        self.quiet |= quiet;
    }

    fn check(&self) {
        let counts = self.life.counts();
        assert_eq!(
            (counts.requests, counts.callbacks, counts.successors),
            (self.requests, self.callbacks, self.successors)
        );
        assert_eq!(counts.handle, self.closing != Closing::Ended);
        assert_eq!(self.life.is_closing(), self.closing != Closing::Open);
        assert_eq!(self.life.is_quiet(), self.quiet);
    }
}

#[derive(Clone, Copy, Debug)]
enum Who {
    Antecedent,
    Object,
}

#[derive(Clone, Copy, Debug)]
enum Input {
    /// The call that creates the object.
    Create,
    /// Its work succeeded, or not.
    Created(bool),
    /// Its completion, which gave the object to the consumer, has returned.
    CreateReturned,
    Start(Who, Kind),
    Finish(Who, Kind),
    BeginClose(Who),
    EndClose(Who),
    /// The CloseCompletion has returned.
    CloseReturned(Who),
}

use Input::{BeginClose, CloseReturned, Create, CreateReturned, Created, EndClose, Finish, Start};
use Kind::{Callback, Request};
use Who::{Antecedent, Object as Successor};

const INPUTS: [Input; 18] = [
    Create,
    Created(true),
    Created(false),
    CreateReturned,
    Start(Antecedent, Request),
    Start(Antecedent, Callback),
    Start(Successor, Request),
    Start(Successor, Callback),
    Finish(Antecedent, Request),
    Finish(Antecedent, Callback),
    Finish(Successor, Request),
    Finish(Successor, Callback),
    BeginClose(Antecedent),
    BeginClose(Successor),
    EndClose(Antecedent),
    EndClose(Successor),
    CloseReturned(Antecedent),
    CloseReturned(Successor),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Creating {
    No,
    /// The work is to be done.
    Called,
    /// The completion is to return.
    Done,
}

struct Pair {
    antecedent: Object,
    object: Option<Object>,
    creating: Creating,
}

impl Pair {
    fn new() -> Self {
        Self {
            antecedent: Object::new(),
            object: None,
            creating: Creating::No,
        }
    }

    /// The object, once the consumer has it.
    fn of(&mut self, who: Who) -> Option<&mut Object> {
        match who {
            Who::Antecedent => Some(&mut self.antecedent),
            Who::Object => self.object.as_mut(),
        }
        .filter(|object| !object.over)
    }

    fn possible(&mut self, input: Input) -> bool {
        let creating = self.creating;
        match input {
            Create => creating == Creating::No && self.object.is_none() && !self.antecedent.over,
            Created(_) => creating == Creating::Called,
            CreateReturned => creating == Creating::Done,
            Start(who, kind) => self
                .of(who)
                .is_some_and(|object| *object.count(kind) < MOST),
            Finish(who, kind) => self.of(who).is_some_and(|object| {
                // The request that creates ends in its own way.
                let kept = u32::from(
                    matches!(who, Antecedent) && kind == Request && creating != Creating::No,
                );
                *object.count(kind) > kept
            }),
            BeginClose(who) => self
                .of(who)
                .is_some_and(|object| object.closing == Closing::Open),
            EndClose(who) => self
                .of(who)
                .is_some_and(|object| object.closing == Closing::Begun),
            CloseReturned(who) => self.of(who).is_some_and(|object| object.quiet),
        }
    }
}

impl World for Pair {
    type Input = Input;
    type Key = (Creating, [Option<(Closing, [u32; 3], bool, bool)>; 2]);

    fn step(&mut self, input: Input) -> bool {
        if !self.possible(input) {
            return false;
        }
        match input {
            Create => {
                if self.antecedent.start(Request) {
                    self.creating = Creating::Called;
                }
            }
            Created(success) => {
                // An antecedent that is closing by now takes no successor, and the create fails.
                if success && self.antecedent.start(Kind::Successor) {
                    self.object = Some(Object::new());
                }
                self.creating = Creating::Done;
            }
            CreateReturned => {
                self.creating = Creating::No;
                self.antecedent.finish(Request);
            }
            Start(who, kind) => {
                self.of(who).map(|object| object.start(kind));
            }
            Finish(who, kind) => {
                if let Some(object) = self.of(who) {
                    object.finish(kind);
                }
            }
            BeginClose(who) => {
                self.of(who).map(Object::begin_close);
            }
            EndClose(who) => {
                self.of(who).map(Object::end_close);
            }
            CloseReturned(who) => {
                if let Some(object) = self.of(who) {
                    object.over = true;
                }
                if matches!(who, Successor) {
                    self.antecedent.finish(Kind::Successor);
                }
            }
        }
        self.antecedent.check();
        if let Some(object) = &self.object {
            object.check();
            assert!(
                object.over || !self.antecedent.quiet,
                "ends before its successor"
            );
        }
        assert!(
            self.creating == Creating::No || !self.antecedent.quiet,
            "ends before a create on it"
        );
        true
    }

    fn key(&self) -> Self::Key {
        let of = |object: &Object| {
            let counts = [object.requests, object.callbacks, object.successors];
            (object.closing, counts, object.quiet, object.over)
        };
        (
            self.creating,
            [Some(of(&self.antecedent)), self.object.as_ref().map(of)],
        )
    }

    /// Once closes are called, all that is in flight has only to end, in any order.
    fn end(mut self) {
        for who in [Antecedent, Successor] {
            self.step(BeginClose(who));
        }
        while INPUTS.into_iter().any(|input| {
            let ends = !matches!(input, Create | Start(..));
            ends && self.step(input)
        }) {
            // An object that came late is closed as well.
            self.step(BeginClose(Successor));
        }
        assert!(self.antecedent.over, "a close that never completes");
        assert!(self.object.is_none_or(|object| object.over));
    }
}

/// Proves: 3.4, 3.5, 3.8, 3.9
#[test]
fn closes_complete_once_and_last_in_every_order_of_events() {
    let walked = explore(Pair::new, &INPUTS, TO_THE_END);
    assert!(walked.all && walked.longest >= 8);
    assert!(walked.worlds > 1000, "{}", walked.worlds);
}
