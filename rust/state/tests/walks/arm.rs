// SPDX-License-Identifier: GPL-2.0

//! A completion queue with its device and its consumer: completions against arms, callbacks, faults and the close, in every
//! order.

use super::explore::{explore, World, TO_THE_END};
use ndk_state::arm::{Arm, ArmAction, ArmType, Fault, Lower, Placed};
use ndk_state::status::Status;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Input {
    Place(Placed),
    /// The event of the device's queue is heard.
    Event,
    Arm(ArmType),
    Poll,
    /// The bottom half begins a callback; it returns.
    Begin,
    End,
    Fault(Fault),
    Close,
}

const INPUTS: [Input; 13] = [
    Input::Place(Placed::Plain),
    Input::Place(Placed::Solicited),
    Input::Place(Placed::Failed),
    Input::Event,
    Input::Arm(ArmType::Errors),
    Input::Arm(ArmType::Solicited),
    Input::Arm(ArmType::Any),
    Input::Poll,
    Input::Begin,
    Input::End,
    Input::Fault(Fault::Overrun),
    Input::Fault(Fault::Fatal),
    Input::Close,
];

/// Entries at most.
const DEPTH: usize = 2;

struct Queue {
    arm: Arm,
    entries: Vec<Placed>,
    /// What the device is armed for, and an event of it that is under way.
    lower: Option<Lower>,
    event: bool,
    /// The bottom half is to run, or runs.
    kicked: bool,
    running: bool,

    /// What the consumer waits for.
    wanted: Option<ArmType>,
    /// It is to be told: what it waits for is there.
    due: bool,
    /// An event was under way when it armed, and may be taken for an answer.
    stale: bool,
    fault: Option<Status>,
    /// It was told of the fault.
    told: bool,
    closed: bool,
}

impl Queue {
    fn new() -> Self {
        Self {
            arm: Arm::new(),
            entries: Vec::new(),
            lower: None,
            event: false,
            kicked: false,
            running: false,
            wanted: None,
            due: false,
            stale: false,
            fault: None,
            told: false,
            closed: false,
        }
    }

    /// Whether the consumer that waits for `kind` waits for this.
    fn answers(kind: ArmType, placed: Placed) -> bool {
        match kind {
            ArmType::Errors => false,
            ArmType::Solicited => placed != Placed::Plain,
            ArmType::Any => true,
        }
    }

    fn place(&mut self, placed: Placed) {
        self.entries.push(placed);
        let fires = self
            .lower
            .is_some_and(|lower| lower == Lower::Any || placed != Placed::Plain);
        if fires {
            self.lower = None;
            self.event = true;
        }
        self.due |= self.wanted.is_some_and(|kind| Self::answers(kind, placed));
    }

    fn arm(&mut self, kind: ArmType) {
        let deaf = self.told || self.closed;
        if !deaf {
            // The stronger of two, for which entries that are there are an answer, as is a fault.
            let stronger = self.wanted.map_or(kind, |before| before.max(kind));
            self.wanted = Some(stronger);
            self.stale |= self.event;
            self.due |=
                self.fault.is_some() || stronger != ArmType::Errors && !self.entries.is_empty();
        }
        match self.arm.arm(kind) {
            ArmAction::ArmLower(lower) => {
                assert!(!deaf);
                self.lower = Some(lower);
                // The device reports entries that it has; what they are the provider does not ask.
                if !self.entries.is_empty() {
                    self.kicked |= self.arm.completion(Placed::Solicited);
                }
            }
            ArmAction::FireNow => {
                assert!(!deaf);
                self.kicked = true;
            }
            ArmAction::Nothing => {}
        }
    }

    fn begin(&mut self) {
        let Some(status) = self.arm.begin_callback() else {
            self.kicked = false;
            return;
        };
        assert!(!self.running, "two callbacks at once");
        assert!(!self.closed, "a callback after the close");
        assert!(!self.told, "a callback after the fault");
        assert!(self.wanted.take().is_some(), "a callback without an arm");
        let answers = std::mem::take(&mut self.due) | std::mem::take(&mut self.stale);
        assert!(answers, "a callback for nothing");
        assert_eq!(status, self.fault.unwrap_or(Status::Success));
        self.told = self.fault.is_some();
        self.running = true;
        self.kicked = false;
    }

    fn fault(&mut self, fault: Fault) {
        self.kicked |= self.arm.fault(fault);
        let status = match fault {
            Fault::Overrun => Status::BufferOverflow,
            Fault::Fatal => Status::InternalError,
        };
        self.fault.get_or_insert(status);
        self.due |= self.wanted.is_some();
    }
}

impl World for Queue {
    type Input = Input;
    type Key = (
        Vec<Placed>,
        Option<Lower>,
        [bool; 7],
        Option<ArmType>,
        Option<Status>,
        String,
    );

    fn step(&mut self, input: Input) -> bool {
        match input {
            Input::Place(placed) if self.entries.len() < DEPTH => self.place(placed),
            Input::Event if self.event => {
                self.event = false;
                // The device judged it.
                self.kicked |= self.arm.completion(Placed::Solicited);
            }
            Input::Arm(kind) => self.arm(kind),
            Input::Poll if !self.entries.is_empty() => {
                self.entries.remove(0);
            }
            Input::Begin if self.kicked => self.begin(),
            Input::End if self.running => {
                self.running = false;
                self.kicked |= self.arm.end_callback();
            }
            Input::Fault(fault) => self.fault(fault),
            Input::Close if !self.closed => {
                assert_eq!(self.arm.close(), self.running);
                self.closed = true;
                self.wanted = None;
                self.due = false;
            }
            _ => return false,
        }
        assert_eq!(self.arm.armed(), self.wanted);
        assert_eq!(self.arm.is_faulty(), self.fault.is_some());
        true
    }

    fn key(&self) -> Self::Key {
        (
            self.entries.clone(),
            self.lower,
            [
                self.event,
                self.kicked,
                self.running,
                self.due,
                self.stale,
                self.told,
                self.closed,
            ],
            self.wanted,
            self.fault,
            format!("{:?}", self.arm),
        )
    }

    /// When what is under way has come, the consumer has been told of what it waits for.
    fn end(mut self) {
        while [Input::Event, Input::Begin, Input::End]
            .into_iter()
            .any(|input| self.step(input))
        {}
        assert!(!self.due, "a notification that is lost");
    }
}

/// Proves: 7.4-no-arm, 7.4-one-shot, 7.4-serial, 7.4-fault-latched, 7.4-close
#[test]
fn no_notification_is_lost_or_too_many_in_every_order_of_events() {
    let walked = explore(Queue::new, &INPUTS, TO_THE_END);
    assert!(walked.all && walked.longest >= 8);
    assert!(walked.worlds > 1000, "{}", walked.worlds);
}
