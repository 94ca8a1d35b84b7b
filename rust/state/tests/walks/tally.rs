// SPDX-License-Identifier: GPL-2.0

//! What is counted along every way through a connector.

use super::explore::{explore, World};
use ndk_state::connector::{Call, Connector, Refusal, Report, State, Timer, Work};
use ndk_state::status::Status;
use ndk_state::tally::{of_step, Tally};

#[derive(Clone, Copy, Debug)]
enum Input {
    Call(Call),
    Report(Report),
}

const INPUTS: [Input; 27] = [
    Input::Call(Call::Connect),
    Input::Call(Call::CompleteConnect),
    Input::Call(Call::Accept),
    Input::Call(Call::Reject),
    Input::Call(Call::Disconnect),
    Input::Call(Call::Close),
    Input::Report(Report::AddressResolved),
    Input::Report(Report::AddressError(Status::HostUnreachable)),
    Input::Report(Report::RouteResolved),
    Input::Report(Report::ConnectResponse),
    Input::Report(Report::Established),
    Input::Report(Report::Rejected(Refusal::Consumer)),
    Input::Report(Report::Unreachable),
    Input::Report(Report::ConnectError),
    Input::Report(Report::Disconnected),
    Input::Report(Report::Aborted),
    Input::Report(Report::DeviceRemoved),
    Input::Report(Report::Done(Work::Complete)),
    Input::Report(Report::Done(Work::Accept)),
    Input::Report(Report::Done(Work::Disconnect)),
    Input::Report(Report::Failed(Work::Complete, Status::ConnectionInvalid)),
    Input::Report(Report::Failed(Work::Accept, Status::ConnectionAborted)),
    Input::Report(Report::Failed(Work::Disconnect, Status::ConnectionInvalid)),
    Input::Report(Report::Expired(Timer::Connect)),
    Input::Report(Report::Expired(Timer::Hold)),
    Input::Report(Report::Expired(Timer::Establish)),
    Input::Report(Report::Quiet),
];

struct Counted {
    connector: Connector,
    passive: bool,
    /// An attempt that has not been counted.
    attempt: bool,
    /// A connection whose end has not been counted.
    connection: bool,
}

impl World for Counted {
    type Input = Input;
    type Key = (Connector, bool, bool);

    fn step(&mut self, input: Input) -> bool {
        let before = self.connector.state();
        let next = match input {
            Input::Call(call) => match self.connector.call(call) {
                Ok((next, _)) => next,
                Err(_) => return false,
            },
            Input::Report(report) => self.connector.report(self.connector.epoch(), report).0,
        };
        self.connector = next;
        self.attempt |= matches!(input, Input::Call(Call::Connect));
        match of_step(before, &self.connector) {
            Some(counted @ (Tally::Connect | Tally::Accept)) => {
                assert!(
                    std::mem::take(&mut self.attempt),
                    "an attempt counted twice"
                );
                assert_eq!(counted == Tally::Accept, self.passive);
                self.connection = true;
            }
            Some(Tally::ConnectFailure) => {
                assert!(
                    std::mem::take(&mut self.attempt),
                    "an attempt counted twice"
                );
            }
            Some(Tally::End { error }) => {
                assert!(std::mem::take(&mut self.connection), "an end counted twice");
                let quiet = matches!(
                    input,
                    Input::Call(Call::Disconnect | Call::Close)
                        | Input::Report(Report::Disconnected)
                );
                assert_eq!(error, !quiet, "{input:?}");
            }
            None => {}
        }
        assert_eq!(self.connection, self.connector.state() == State::Connected);
        true
    }

    fn key(&self) -> Self::Key {
        (self.connector, self.attempt, self.connection)
    }

    fn end(mut self) {
        self.step(Input::Call(Call::Close));
        self.step(Input::Report(Report::Quiet));
        assert!(!self.attempt && !self.connection, "never counted");
    }
}

/// Proves: 9.6-counters
#[test]
fn every_attempt_and_every_connection_counts_once() {
    for passive in [false, true] {
        let new = || Counted {
            connector: if passive {
                Connector::incoming()
            } else {
                Connector::new()
            },
            passive,
            attempt: passive,
            connection: false,
        };
        let walked = explore(new, &INPUTS, 9);
        assert!(walked.worlds > 40, "{}", walked.worlds);
        assert!(walked.all || walked.longest >= 8);
    }
}
