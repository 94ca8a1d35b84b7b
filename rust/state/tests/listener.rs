// SPDX-License-Identifier: GPL-2.0

//! The listener table of section 5.6, row by row, and walks.

#![cfg(not(loom))]

use ndk_state::listener::{Call, Effect, List, Listener, Report, State, Verdict};
use ndk_state::status::Status;
use proptest::prelude::*;
use std::collections::HashSet;

const BACKLOG: u32 = 2;

fn created() -> Listener {
    Listener::new(BACKLOG)
}

fn starting() -> Listener {
    created().call(Call::Listen).unwrap().0
}

fn listening() -> Listener {
    starting().report(Report::Started).0
}

fn paused() -> Listener {
    listening().call(Call::Pause(true)).unwrap().0
}

fn closing() -> Listener {
    listening().call(Call::Close).unwrap().0
}

fn effects(list: List) -> Vec<Effect> {
    list.into_iter().collect()
}

/// The row is a call that is accepted.
fn accepts(quote: &str, start: Listener, call: Call, state: State, todo: &[Effect]) -> Listener {
    let (next, list) = start.call(call).expect(quote);
    assert_eq!(next.state(), state, "{quote}");
    assert_eq!(effects(list), todo, "{quote}");
    next
}

fn reports(quote: &str, start: Listener, report: Report, state: State, todo: &[Effect]) {
    let (next, list) = start.report(report);
    assert_eq!(next.state(), state, "{quote}");
    assert_eq!(effects(list), todo, "{quote}");
}

fn refuses(quote: &str, start: Listener) {
    let (next, verdict) = start.incoming();
    assert_eq!(verdict, Verdict::Refuse, "{quote}");
    assert_eq!(next, start, "nothing is queued: {quote}");
}

/// Proves: 5.6-CREATED-listen, 5.6-CREATED-listen-busy, 5.6-CREATED-listen-foreign,
/// 5.6-CREATED-listen-no-port, 5.6-CREATED-listen-no-memory, 5.6-LISTENING-listen
#[test]
fn section_5_6_listen() {
    accepts(
        "CREATED | Listen | LISTEN_PENDING",
        created(),
        Call::Listen,
        State::Starting,
        &[Effect::StartListen],
    );
    reports(
        "LISTEN_PENDING | (done) | LISTENING | SUCCESS",
        starting(),
        Report::Started,
        State::Listening,
        &[Effect::CompleteRequest(Status::Success)],
    );
    for (quote, status) in [
        ("address in use", Status::SharingViolation),
        ("address not local to the adapter", Status::InvalidAddress),
        ("port 0, none free", Status::TooManyAddresses),
        ("out of resources", Status::InsufficientResources),
    ] {
        // The address is free again when the consumer hears of it.
        reports(
            quote,
            starting(),
            Report::Failed(status),
            State::Created,
            &[
                Effect::DestroyId,
                Effect::ReleaseEndpoint,
                Effect::CompleteRequest(status),
            ],
        );
        let again = starting().report(Report::Failed(status)).0;
        assert!(again.call(Call::Listen).is_ok(), "{quote}");
    }
    for (quote, start) in [
        ("LISTENING | Listen again", listening()),
        ("LISTEN_PENDING | Listen again", starting()),
        ("PAUSED | Listen again", paused()),
    ] {
        let refused = start.call(Call::Listen).err();
        assert_eq!(refused, Some(Status::InvalidDeviceState), "{quote}");
    }
}

/// Proves: 5.6-CREATED-address, 5.6-LISTENING-address
#[test]
fn section_5_6_local_address() {
    for (quote, start, answer) in [
        ("CREATED", created(), Err(Status::InvalidDeviceState)),
        (
            "LISTEN_PENDING",
            starting(),
            Err(Status::InvalidDeviceState),
        ),
        ("LISTENING", listening(), Ok(())),
        ("PAUSED", paused(), Ok(())),
    ] {
        let got = start.call(Call::QueryLocal).map(|(next, todo)| {
            assert_eq!(next, start);
            assert!(todo.is_empty());
        });
        assert_eq!(got, answer, "{quote}");
    }
}

/// Proves: 4.4-pause, 4.4-resume, 5.6-CREATED-pause, 5.6-LISTENING-event, 5.6-LISTENING-pause,
/// 5.6-PAUSED-request, 5.6-PAUSED-resume
#[test]
fn section_5_6_incoming_and_pause() {
    let (delivered, verdict) = listening().incoming();
    assert_eq!(verdict, Verdict::Deliver, "LISTENING | incoming request");
    assert_eq!(delivered.unanswered(), 1);
    assert_eq!(delivered.state(), State::Listening);

    let paused = accepts(
        "LISTENING | Pause TRUE | PAUSED | void",
        listening(),
        Call::Pause(true),
        State::Listening,
        &[],
    );
    assert!(paused.is_paused());
    refuses("PAUSED | incoming request | as if no listener", paused);
    let resumed = accepts(
        "PAUSED | Pause FALSE | LISTENING | void",
        paused,
        Call::Pause(false),
        State::Listening,
        &[],
    );
    assert_eq!(resumed.incoming().1, Verdict::Deliver);

    // "CREATED | ControlConnectEvents | same | remember the flag".
    let early = created().call(Call::Pause(true)).unwrap().0;
    let early = early.call(Call::Listen).unwrap().0;
    refuses("paused before Listen", early.report(Report::Started).0);

    refuses("not listening", created());
    refuses("not listening yet", starting());
}

/// Proves: 4.4-backlog
#[test]
fn a_full_backlog_refuses_until_somebody_is_answered() {
    let mut listener = listening();
    for _ in 0..BACKLOG {
        let (next, verdict) = listener.incoming();
        assert_eq!(verdict, Verdict::Deliver);
        listener = next;
    }
    refuses("full", listener);
    let (freed, todo) = listener.report(Report::Answered);
    assert!(todo.is_empty());
    assert_eq!(freed.incoming().1, Verdict::Deliver);
}

/// Proves: 5.6-any-close, 5.6-CLOSING-request, 5.6-CLOSING-last
#[test]
fn section_5_6_close() {
    accepts(
        "any | Close | CLOSING | SUCCESS if nothing is left",
        created(),
        Call::Close,
        State::Closing,
        &[Effect::EndClose],
    );
    accepts(
        "any | Close | CLOSING | PENDING",
        listening(),
        Call::Close,
        State::Closing,
        &[Effect::EndClose],
    );
    accepts(
        "LISTEN_PENDING | Close | CLOSING | Listen is cancelled first",
        starting(),
        Call::Close,
        State::Closing,
        &[Effect::CompleteRequest(Status::Cancelled), Effect::EndClose],
    );
    refuses("CLOSING | incoming request", closing());
    reports(
        "CLOSING | last delivered connector closed | CLOSED | endpoint released",
        closing(),
        Report::Quiet,
        State::Closed,
        &[Effect::DestroyId, Effect::ReleaseEndpoint],
    );
    // Nothing was bound.
    let closing_created = created().call(Call::Close).unwrap().0;
    reports("", closing_created, Report::Quiet, State::Closed, &[]);
    // A listen that ends late.
    let late = starting().call(Call::Close).unwrap().0;
    reports("", late, Report::Started, State::Closing, &[]);
    for call in [
        Call::Listen,
        Call::Close,
        Call::Pause(true),
        Call::QueryLocal,
    ] {
        let refused = closing().call(call).err();
        assert_eq!(refused, Some(Status::InvalidDeviceState));
    }
}

/// Proves: 12-removal
#[test]
fn removal_of_the_device() {
    reports(
        "pending Listen",
        starting(),
        Report::DeviceRemoved,
        State::Created,
        &[
            Effect::DestroyId,
            Effect::ReleaseEndpoint,
            Effect::CompleteRequest(Status::DeviceRemoved),
        ],
    );
    for start in [listening(), closing()] {
        reports(
            "the endpoint is given back",
            start,
            Report::DeviceRemoved,
            start.state(),
            &[Effect::DestroyId, Effect::ReleaseEndpoint],
        );
    }
    let removed = listening().report(Report::DeviceRemoved).0;
    refuses("removed", removed);
    for call in [Call::Listen, Call::QueryLocal] {
        assert_eq!(removed.call(call).err(), Some(Status::DeviceRemoved));
    }
    assert!(removed.call(Call::Pause(true)).is_ok(), "void");
    let closing = removed.call(Call::Close).unwrap().0;
    reports("", closing, Report::Quiet, State::Closed, &[]);
}

/// Watches the effects.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
struct Monitor {
    pending: bool,
    bound: bool,
    delivered: u32,
    close_called: bool,
    ended: bool,
    closed: bool,
    deaf: bool,
}

#[derive(Clone, Copy, Debug)]
enum Input {
    Call(Call),
    Report(Report),
    Incoming,
}

const INPUTS: [Input; 11] = [
    Input::Call(Call::Listen),
    Input::Call(Call::Pause(true)),
    Input::Call(Call::Pause(false)),
    Input::Call(Call::QueryLocal),
    Input::Call(Call::Close),
    Input::Report(Report::Started),
    Input::Report(Report::Failed(Status::SharingViolation)),
    Input::Report(Report::Answered),
    Input::Report(Report::DeviceRemoved),
    Input::Report(Report::Quiet),
    Input::Incoming,
];

fn step(listener: Listener, mut monitor: Monitor, input: Input) -> (Listener, Monitor) {
    let (next, list) = match input {
        Input::Incoming => {
            let (next, verdict) = listener.incoming();
            if verdict == Verdict::Deliver {
                assert!(monitor.bound && !monitor.deaf && !monitor.close_called);
                assert!(!monitor.pending);
                monitor.delivered += 1;
                assert!(monitor.delivered <= BACKLOG);
            }
            (next, List::none())
        }
        Input::Call(call) => match listener.call(call) {
            Err(_) => return (listener, monitor),
            Ok(result) => {
                assert!(!monitor.close_called);
                match call {
                    Call::Listen => {
                        assert!(!monitor.bound && !monitor.pending);
                        monitor.pending = true;
                        monitor.bound = true;
                    }
                    Call::Pause(paused) => monitor.deaf = paused,
                    Call::Close => monitor.close_called = true,
                    Call::QueryLocal => {}
                }
                result
            }
        },
        // Only a delivered connector can be answered.
        Input::Report(Report::Answered) if monitor.delivered == 0 => return (listener, monitor),
        // Quiet is told once, when the handle is put.
        Input::Report(Report::Quiet) if !monitor.ended || monitor.closed => {
            return (listener, monitor)
        }
        Input::Report(report) => {
            if report == Report::Answered {
                monitor.delivered -= 1;
            }
            if report == Report::Quiet {
                monitor.closed = true;
            }
            listener.report(report)
        }
    };
    for effect in list {
        match effect {
            Effect::StartListen => assert!(monitor.bound && monitor.pending),
            Effect::CompleteRequest(_) => {
                assert!(std::mem::take(&mut monitor.pending), "completed twice");
            }
            Effect::DestroyId => assert!(monitor.bound),
            Effect::ReleaseEndpoint => {
                assert!(std::mem::take(&mut monitor.bound), "released twice");
            }
            Effect::EndClose => {
                assert!(monitor.close_called && !monitor.ended && !monitor.pending);
                monitor.ended = true;
            }
        }
    }
    assert_eq!(next.unanswered(), monitor.delivered);
    assert_eq!(next.is_paused(), monitor.deaf);
    assert_eq!(next.state() == State::Closed, monitor.closed);
    if monitor.closed {
        assert!(!monitor.bound && !monitor.pending);
    }
    (next, monitor)
}

// Bug: B8
#[test]
fn every_sequence_of_events_keeps_the_invariants() {
    let mut seen = HashSet::new();
    let mut edge = vec![(created(), Monitor::default())];
    while let Some((listener, monitor)) = edge.pop() {
        for input in INPUTS {
            let next = step(listener, monitor, input);
            if seen.insert(next) {
                edge.push(next);
            }
        }
    }
    let states: HashSet<_> = seen.iter().map(|(listener, _)| listener.state()).collect();
    assert_eq!(states.len(), 5, "every state is reached");
}

proptest! {
    #[test]
    fn random_walks_keep_the_invariants(
        walk in prop::collection::vec(prop::sample::select(INPUTS.to_vec()), 1..100),
    ) {
        let mut now = (created(), Monitor::default());
        for input in walk {
            now = step(now.0, now.1, input);
        }
    }
}
