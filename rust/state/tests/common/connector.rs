// SPDX-License-Identifier: GPL-2.0

//! The way to each state of a connector, and rows of its tables.

// Each test crate uses its part of this.
#![allow(dead_code, unused_macros)]

use ndk_state::connector::{Call, Connector, Effect, Report, Stage, Work};
use ndk_state::status::Status;

/// What a row does to a connector.
#[derive(Clone, Copy, Debug)]
pub(crate) enum In {
    Calls(Call),
    Tells(Report),
}
pub(crate) use In::{Calls, Tells};

pub(crate) fn feed(connector: Connector, input: In) -> Result<(Connector, Vec<Effect>), Status> {
    let (next, todo) = match input {
        Calls(call) => connector.call(call)?,
        Tells(report) => connector.report(connector.epoch(), report),
    };
    Ok((next, todo.iter().collect()))
}

pub(crate) fn after(start: Connector, inputs: &[In]) -> Connector {
    inputs.iter().fold(start, |connector, input| {
        feed(connector, *input)
            .expect("the way to a row is legal")
            .0
    })
}

pub(crate) fn idle() -> Connector {
    Connector::default()
}

pub(crate) fn connecting(stage: Stage) -> Connector {
    let way = [
        Calls(Call::Connect),
        Tells(Report::AddressResolved),
        Tells(Report::RouteResolved),
    ];
    after(idle(), &way[..1 + stage as usize])
}

pub(crate) fn accepted() -> Connector {
    after(connecting(Stage::Reply), &[Tells(Report::ConnectResponse)])
}

/// Accepted on a transport without a third message.
pub(crate) fn accepted_live() -> Connector {
    after(connecting(Stage::Reply), &[Tells(Report::Established)])
}

pub(crate) fn completing() -> Connector {
    after(accepted(), &[Calls(Call::CompleteConnect)])
}

pub(crate) fn connected() -> Connector {
    after(completing(), &[Tells(Report::Done(Work::Complete))])
}

pub(crate) fn incoming() -> Connector {
    Connector::incoming()
}

pub(crate) fn accepting() -> Connector {
    after(incoming(), &[Calls(Call::Accept)])
}

pub(crate) fn connected_passive() -> Connector {
    after(accepting(), &[Tells(Report::Established)])
}

pub(crate) fn peer_gone() -> Connector {
    after(connected(), &[Tells(Report::Disconnected)])
}

pub(crate) fn peer_aborted() -> Connector {
    after(connected(), &[Tells(Report::Aborted)])
}

pub(crate) fn disconnecting() -> Connector {
    after(connected(), &[Calls(Call::Disconnect)])
}

pub(crate) fn disconnected() -> Connector {
    after(
        disconnecting(),
        &[Tells(Report::Disconnected), Tells(Report::Quiet)],
    )
}

pub(crate) fn rejected() -> Connector {
    after(incoming(), &[Calls(Call::Reject)])
}

pub(crate) fn failed() -> Connector {
    after(accepting(), &[Tells(Report::Unreachable)])
}

/// Rows `"the words of the table": start, input => next state, [effects];`.
macro_rules! check {
    ($($quote:literal: $start:expr, $input:expr => $state:expr, [$($effect:expr),*];)+) => { $(
        let (next, todo) = feed($start, $input).unwrap_or_else(|s| panic!("{}: {s:?}", $quote));
        assert_eq!(next.state(), $state, "{}", $quote);
        let expected: &[Effect] = &[$($effect),*];
        assert_eq!(todo, expected, "{}", $quote);
    )+ };
}

/// Rows `"the words of the table": start, call => status;` of calls that are refused inline.
macro_rules! refuses {
    ($($quote:literal: $start:expr, $call:expr => $status:expr;)+) => { $(
        assert_eq!(feed($start, Calls($call)).err(), Some($status), "{}", $quote);
    )+ };
}
