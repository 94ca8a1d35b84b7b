// SPDX-License-Identifier: GPL-2.0

//! Connectors under every sequence of events up to a depth, and under long random ones, watched by a
//! monitor that knows the invariants but not the table.

#![cfg(not(loom))]

use ndk_state::connector::{
    Call, Connector, Effect, Refusal, Report, State, Timer, Work, MAX_EFFECTS,
};
use ndk_state::status::Status;
use proptest::prelude::*;
use std::collections::HashSet;

const CALLS: [Call; 9] = [
    Call::Connect,
    Call::CompleteConnect,
    Call::Accept,
    Call::Reject,
    Call::Disconnect,
    Call::Close,
    Call::QueryData,
    Call::QueryLocal,
    Call::QueryPeer,
];

const REPORTS: [Report; 31] = [
    Report::AddressResolved,
    Report::AddressError(Status::HostUnreachable),
    Report::AddressError(Status::InvalidAddress),
    Report::RouteResolved,
    Report::RouteError,
    Report::ConnectResponse,
    Report::Established,
    Report::Rejected(Refusal::Consumer),
    Report::Rejected(Refusal::NoListener),
    Report::Unreachable,
    Report::ConnectError,
    Report::Disconnected,
    Report::DisconnectTimedOut,
    Report::Aborted,
    Report::DeviceRemoved,
    Report::Done(Work::Resolve),
    Report::Done(Work::Connect),
    Report::Done(Work::Complete),
    Report::Done(Work::Accept),
    Report::Done(Work::Disconnect),
    Report::Failed(Work::Resolve, Status::SharingViolation),
    Report::Failed(Work::Route, Status::InsufficientResources),
    Report::Failed(Work::Connect, Status::IoTimeout),
    Report::Failed(Work::Complete, Status::ConnectionInvalid),
    Report::Failed(Work::Accept, Status::ConnectionAborted),
    Report::Failed(Work::Disconnect, Status::ConnectionInvalid),
    Report::Expired(Timer::Connect),
    Report::Expired(Timer::Hold),
    Report::Expired(Timer::Establish),
    Report::Expired(Timer::Disconnect),
    Report::Quiet,
];

/// What an observer of the calls and of the effects knows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Monitor {
    /// The request that is pending.
    pending: Option<Call>,
    /// The establishment was reported to the consumer, and nothing has ended the connection for it.
    established: bool,
    /// The disconnect event was given.
    told: bool,
    /// The consumer called Disconnect.
    disconnect_called: bool,
    close_called: bool,
    ended: bool,
    removed: bool,
    /// The queue pair: in use, started, in error, being drained, quiet.
    qp_used: bool,
    qp_started: bool,
    qp_error: bool,
    draining: bool,
    quiet: bool,
    id: bool,
    endpoint: bool,
    timer: Option<Timer>,
    /// The listener still counts it.
    unanswered: bool,
}

impl Monitor {
    fn new(passive: bool) -> Self {
        Self {
            pending: None,
            established: false,
            told: false,
            disconnect_called: false,
            close_called: false,
            ended: false,
            removed: false,
            qp_used: false,
            qp_started: false,
            qp_error: false,
            draining: false,
            quiet: false,
            id: passive,
            endpoint: false,
            timer: None,
            unanswered: passive,
        }
    }

    fn called(&mut self, call: Call) {
        assert!(!self.close_called, "a call was accepted after Close");
        if call.is_request() {
            assert_eq!(self.pending, None, "two requests at once");
            self.pending = Some(call);
        }
        match call {
            Call::Connect => {
                assert!(!self.id && !self.endpoint);
                self.id = true;
                self.endpoint = true;
                self.qp_used = true;
            }
            Call::Accept => self.qp_used = true,
            Call::Disconnect => {
                assert!(self.established, "Disconnect without a connection");
                self.disconnect_called = true;
            }
            Call::Close => self.close_called = true,
            _ => assert!(!self.removed, "{call:?} on a removed device"),
        }
    }

    fn told(&mut self, report: Report) {
        match report {
            Report::DeviceRemoved => {
                self.removed = true;
                self.quiet = true;
            }
            Report::Quiet if self.draining => self.quiet = true,
            Report::Expired(timer) if self.timer == Some(timer) => self.timer = None,
            _ => {}
        }
    }

    fn done(&mut self, effect: Effect) {
        assert!(!self.ended, "{effect:?} after the close ended");
        match effect {
            Effect::Start(work) => {
                assert!(self.id && !self.close_called, "{work:?} without an id");
                match work {
                    Work::Complete | Work::Accept => {
                        assert!(!self.qp_started, "two establishments");
                        self.qp_started = true;
                    }
                    Work::Disconnect | Work::Resolve | Work::Route | Work::Connect => {}
                }
            }
            Effect::SendReject(_) => {
                assert!(self.id, "a reject without an id");
                assert!(!self.established, "a reject of a connection");
            }
            Effect::QpToError => {
                assert!(!self.qp_error, "twice into error");
                assert!(
                    !self.established || self.close_called || self.disconnect_called,
                    "flushed by the peer"
                );
                self.qp_error = true;
            }
            Effect::Drain => {
                assert!(self.qp_error && !self.draining);
                self.draining = true;
            }
            Effect::CompleteRequest(status) => self.completed(status),
            Effect::DisconnectEvent => {
                assert!(self.established, "an event without a connection");
                assert!(!self.told, "two events");
                assert!(!self.disconnect_called && !self.close_called);
                self.told = true;
            }
            Effect::DestroyId => {
                assert!(self.id, "an id destroyed twice");
                self.id = false;
            }
            Effect::ArmTimer(timer) => {
                assert_eq!(self.timer, None, "two timers");
                self.timer = Some(timer);
            }
            Effect::StopTimer(timer) => {
                assert_eq!(self.timer, Some(timer), "stops what does not run");
                self.timer = None;
            }
            Effect::HoldEndpoint => {
                assert!(!self.endpoint);
                self.endpoint = true;
            }
            Effect::ReleaseEndpoint => {
                assert!(self.endpoint, "an endpoint released twice");
                self.endpoint = false;
            }
            Effect::ReleaseQp => {
                assert!(self.qp_used && !self.qp_started, "not the QP it was");
                self.qp_used = false;
            }
            Effect::Answered => {
                assert!(self.unanswered, "answered twice");
                self.unanswered = false;
            }
            Effect::EndClose => {
                assert!(self.close_called);
                assert!(!self.qp_error || self.quiet, "DMA after the close");
                let left = (self.pending, self.id, self.endpoint, self.timer);
                assert_eq!(left, (None, false, false, None), "left behind");
                assert!(!self.unanswered);
                self.ended = true;
            }
        }
    }

    fn completed(&mut self, status: Status) {
        let call = self.pending.take().expect("a completion of no request");
        assert_ne!(status, Status::Pending);
        match call {
            // The peer accepted, no more.
            Call::Connect => {}
            Call::CompleteConnect | Call::Accept => {
                self.established = status == Status::Success;
            }
            Call::Disconnect => {
                assert!(self.quiet, "disconnected before the DMA was over");
                self.established = false;
            }
            _ => unreachable!("{call:?} is no request"),
        }
        if status == Status::Cancelled {
            assert!(self.close_called, "cancelled without a Close");
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Input {
    Call(Call),
    Report(Report),
    /// A report of the attempt before.
    Late(Report),
}

fn inputs() -> impl Iterator<Item = Input> {
    CALLS
        .into_iter()
        .map(Input::Call)
        .chain(REPORTS.into_iter().map(Input::Report))
}

/// One step of both; checks everything that must hold after it.
fn step(connector: Connector, mut monitor: Monitor, input: Input) -> (Connector, Monitor, usize) {
    let (next, todo) = match input {
        Input::Call(call) => match connector.call(call) {
            Ok(result) => {
                monitor.called(call);
                result
            }
            Err(status) => {
                assert!(status.is_failure());
                let first_close = call == Call::Close && !monitor.close_called;
                assert!(!first_close, "Close cannot fail");
                return (connector, monitor, 0);
            }
        },
        Input::Report(report) => {
            monitor.told(report);
            connector.report(connector.epoch(), report)
        }
        Input::Late(report) => connector.report(connector.epoch().wrapping_sub(1), report),
    };
    let mut effects = 0;
    for effect in todo {
        monitor.done(effect);
        effects += 1;
    }
    assert_eq!((todo.len(), todo.is_empty()), (effects, effects == 0));
    assert_eq!(next.is_pending(), monitor.pending.is_some());
    assert_eq!(next.has_id(), monitor.id);
    assert_eq!(next.state() == State::Closed, monitor.ended);
    if next.state() == State::Connected {
        assert!(monitor.established && !monitor.told);
    }
    if next.state() == State::PeerGone {
        assert!(monitor.established && monitor.told);
    }
    (next, monitor, effects)
}

/// Close from here, then quiet, must end everything, whatever the state.
fn closes(connector: Connector, monitor: Monitor) {
    let mut now = (connector, monitor);
    for input in [Input::Call(Call::Close), Input::Report(Report::Quiet)] {
        let (next, watched, _) = step(now.0, now.1, input);
        now = (next, watched);
    }
    assert_eq!(now.0.state(), State::Closed);
    assert!(now.1.ended);
}

/// Every sequence of up to `DEPTH` events, from both kinds of connectors. Sequences that end in the same
/// state of connector and monitor are walked on once.
// Bug: B8
#[test]
fn every_sequence_of_events_keeps_the_invariants() {
    const DEPTH: usize = 12;
    let mut seen = HashSet::new();
    let mut edge = vec![
        (Connector::new(), Monitor::new(false)),
        (Connector::incoming(), Monitor::new(true)),
    ];
    let mut most = 0;
    let mut states = HashSet::new();
    for _ in 0..DEPTH {
        let mut next_edge = Vec::new();
        for (connector, monitor) in edge {
            for input in inputs() {
                let (next, watched, effects) = step(connector, monitor, input);
                most = most.max(effects);
                if seen.insert((next, watched)) {
                    states.insert(std::mem::discriminant(&next.state()));
                    closes(next, watched);
                    next_edge.push((next, watched));
                }
            }
        }
        edge = next_edge;
    }
    assert_eq!(states.len(), 14, "every state is reached");
    assert!(most <= MAX_EFFECTS);
    assert!(seen.len() > 100);
}

fn input() -> impl Strategy<Value = Input> {
    let report = prop::sample::select(REPORTS.to_vec());
    prop_oneof![
        4 => prop::sample::select(CALLS.to_vec()).prop_map(Input::Call),
        8 => report.clone().prop_map(Input::Report),
        1 => report
            .prop_filter("comes for every attempt", |r| *r != Report::DeviceRemoved)
            .prop_map(Input::Late),
    ]
}

/// Mostly the next thing on the way to a connection, so that random walks get far.
fn forward(connector: &Connector) -> Input {
    match connector.state() {
        State::Idle => Input::Call(Call::Connect),
        State::Connecting(stage) => Input::Report(
            [
                Report::AddressResolved,
                Report::RouteResolved,
                Report::ConnectResponse,
            ][stage as usize],
        ),
        State::Accepted => Input::Call(Call::CompleteConnect),
        State::Completing => Input::Report(Report::Done(Work::Complete)),
        State::Incoming => Input::Call(Call::Accept),
        State::Accepting => Input::Report(Report::Established),
        State::Connected => Input::Report(Report::Disconnected),
        State::PeerGone => Input::Call(Call::Disconnect),
        _ => Input::Report(Report::Quiet),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn random_walks_keep_the_invariants(
        passive in any::<bool>(),
        walk in prop::collection::vec((any::<bool>(), input()), 1..80),
    ) {
        let mut now = if passive {
            (Connector::incoming(), Monitor::new(true))
        } else {
            (Connector::new(), Monitor::new(false))
        };
        for (go_on, random) in walk {
            let input = if go_on { forward(&now.0) } else { random };
            let (next, watched, _) = step(now.0, now.1, input);
            if let Input::Late(_) = input {
                prop_assert_eq!(next, now.0);
            }
            now = (next, watched);
        }
        closes(now.0, now.1);
    }
}
