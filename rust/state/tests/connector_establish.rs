// SPDX-License-Identifier: GPL-2.0

//! The connector tables of sections 5.3 and 5.4, row by row. Each row quotes the table.

#![cfg(not(loom))]

#[macro_use]
#[path = "common/connector.rs"]
mod common;

use common::*;
use ndk_state::connector::Effect::*;
use ndk_state::connector::{
    address_error, Call, Effect, Refusal, RejectAs, Report, Stage, State, Timer, Work,
};
use ndk_state::status::Status;

const BACK_TO_IDLE: [Effect; 4] = [
    StopTimer(Timer::Connect),
    DestroyId,
    ReleaseEndpoint,
    ReleaseQp,
];

/// Proves: 5.3-IDLE-connect, 5.3-IDLE-complete, 5.3-IDLE-other, 5.3-IDLE-close,
/// 5.3-CONNECTING-accepted, 5.3-CONNECTING-complete, 5.3-CONNECTING-connect,
/// 5.3-CONNECTING-address, 5.3-CONNECTING-close, 5.3-ACCEPTED-data, 5.3-ACCEPTED-complete,
/// 5.3-ACCEPTED-reject, 5.3-ACCEPTED-abandoned, 5.3-ACCEPTED-timeout, 5.3-ACCEPTED-close,
/// 5.3-COMPLETING-success, 5.3-COMPLETING-abandoned, 5.3-COMPLETING-timeout, 5.3-COMPLETING-lost,
/// 12-no-early-event
#[test]
fn section_5_3_active_side() {
    check! {
        "IDLE | Connect | CONNECTING | STATUS_PENDING":
            idle(), Calls(Call::Connect)
                => State::Connecting(Stage::Address), [
                    ArmTimer(Timer::Connect), Start(Work::Resolve)
                ];
        "CONNECTING | (address resolved)":
            connecting(Stage::Address), Tells(Report::AddressResolved)
                => State::Connecting(Stage::Route), [Start(Work::Route)];
        "CONNECTING | (route resolved)":
            connecting(Stage::Route), Tells(Report::RouteResolved)
                => State::Connecting(Stage::Reply), [Start(Work::Connect)];
        "IDLE | Close | CLOSED | STATUS_SUCCESS or PENDING":
            idle(), Calls(Call::Close) => State::Closed, [EndClose];
        "CONNECTING | peer accepts | ACCEPTED | RequestCompletion(STATUS_SUCCESS)":
            connecting(Stage::Reply), Tells(Report::ConnectResponse)
                => State::Accepted, [
                    StopTimer(Timer::Connect), ArmTimer(Timer::Hold),
                    CompleteRequest(Status::Success)
                ];
        "CONNECTING | peer accepts | ACCEPTED (iWARP: nothing is held back)":
            connecting(Stage::Reply), Tells(Report::Established)
                => State::Accepted, [StopTimer(Timer::Connect), CompleteRequest(Status::Success)];
        "CONNECTING | Close | CLOSING | attempt is cancelled, Connect's RequestCompletion first":
            connecting(Stage::Reply), Calls(Call::Close)
                => State::Closed, [
                    StopTimer(Timer::Connect), DestroyId, ReleaseEndpoint,
                    CompleteRequest(Status::Cancelled), EndClose
                ];
        "CONNECTING | GetLocalAddress | same | SUCCESS once bound":
            connecting(Stage::Address), Calls(Call::QueryLocal)
                => State::Connecting(Stage::Address), [];
        "ACCEPTED | GetConnectionData | same | peer private data":
            accepted(), Calls(Call::QueryData) => State::Accepted, [];
        "ACCEPTED | CompleteConnect(Ex) | COMPLETING | PENDING":
            accepted(), Calls(Call::CompleteConnect)
                => State::Completing, [StopTimer(Timer::Hold), Start(Work::Complete)];
        "ACCEPTED | CompleteConnect(Ex) | inline SUCCESS (iWARP: local)":
            accepted_live(), Calls(Call::CompleteConnect)
                => State::Connected, [CompleteRequest(Status::Success)];
        "ACCEPTED | Reject | REJECTED | STATUS_SUCCESS":
            accepted(), Calls(Call::Reject)
                => State::Rejected, [
                    StopTimer(Timer::Hold), SendReject(RejectAs::Consumer), ReleaseQp
                ];
        "ACCEPTED | Reject | REJECTED (iWARP: can only be a disconnect)":
            accepted_live(), Calls(Call::Reject)
                => State::Rejected, [Start(Work::Disconnect), QpToError];
        "ACCEPTED | peer abandons | FAILED":
            accepted(), Tells(Report::Rejected(Refusal::Consumer))
                => State::Failed(Some(Status::ConnectionAborted)), [
                    StopTimer(Timer::Hold), ReleaseQp
                ];
        "ACCEPTED | peer abandons | FAILED (iWARP: no disconnect event before establishment)":
            accepted_live(), Tells(Report::Disconnected)
                => State::Failed(Some(Status::ConnectionAborted)), [QpToError];
        "ACCEPTED | establishment timer expires | FAILED":
            accepted(), Tells(Report::Expired(Timer::Hold))
                => State::Failed(Some(Status::IoTimeout)), [
                    SendReject(RejectAs::Timeout), ReleaseQp
                ];
        "ACCEPTED | Close | CLOSING | abandons":
            accepted(), Calls(Call::Close)
                => State::Closed, [
                    StopTimer(Timer::Hold), SendReject(RejectAs::Consumer), DestroyId,
                    ReleaseEndpoint, EndClose
                ];
        "ACCEPTED | Close | CLOSING (iWARP: a connection is there to tear down)":
            accepted_live(), Calls(Call::Close) => State::Closing, [QpToError, Drain];
        "COMPLETING | success | CONNECTED | RequestCompletion(SUCCESS)":
            completing(), Tells(Report::Done(Work::Complete))
                => State::Connected, [CompleteRequest(Status::Success)];
        "COMPLETING | peer gave up | FAILED | STATUS_CONNECTION_ABORTED":
            completing(), Tells(Report::Rejected(Refusal::Consumer))
                => State::Failed(None), [QpToError, CompleteRequest(Status::ConnectionAborted)];
        "COMPLETING | (peer's notification overtakes) | no event, the request fails instead":
            completing(), Tells(Report::Disconnected)
                => State::Failed(None), [QpToError, CompleteRequest(Status::ConnectionAborted)];
        "COMPLETING | timeout | FAILED | STATUS_IO_TIMEOUT":
            completing(), Tells(Report::Failed(Work::Complete, Status::IoTimeout))
                => State::Failed(None), [QpToError, CompleteRequest(Status::IoTimeout)];
        "COMPLETING | state lost | FAILED | STATUS_CONNECTION_INVALID":
            completing(), Tells(Report::Failed(Work::Complete, Status::ConnectionInvalid))
                => State::Failed(None), [QpToError, CompleteRequest(Status::ConnectionInvalid)];
        "(COMPLETING | Close | the request is cancelled when the queue pair is quiet)":
            after(completing(), &[Calls(Call::Close)]), Tells(Report::Quiet)
                => State::Closed, [
                    DestroyId, ReleaseEndpoint, CompleteRequest(Status::Cancelled), EndClose
                ];
    }
    refuses! {
        "IDLE | CompleteConnect | STATUS_CONNECTION_INVALID":
            idle(), Call::CompleteConnect => Status::ConnectionInvalid;
        "IDLE | Accept":
            idle(), Call::Accept => Status::ConnectionInvalid;
        "IDLE | Reject":
            idle(), Call::Reject => Status::ConnectionInvalid;
        "IDLE | Disconnect":
            idle(), Call::Disconnect => Status::ConnectionInvalid;
        "IDLE | GetConnectionData":
            idle(), Call::QueryData => Status::ConnectionInvalid;
        "IDLE | GetPeerAddress":
            idle(), Call::QueryPeer => Status::ConnectionInvalid;
        "IDLE | GetLocalAddress":
            idle(), Call::QueryLocal => Status::ConnectionInvalid;
        "CONNECTING | CompleteConnect | refuse with STATUS_CONNECTION_INVALID":
            connecting(Stage::Reply), Call::CompleteConnect => Status::ConnectionInvalid;
        "CONNECTING | second Connect | STATUS_CONNECTION_ACTIVE":
            connecting(Stage::Route), Call::Connect => Status::ConnectionActive;
        "ACCEPTED | peer abandons | next CompleteConnect returns STATUS_CONNECTION_ABORTED":
            after(accepted(), &[Tells(Report::Unreachable)]), Call::CompleteConnect
                => Status::ConnectionAborted;
        "ACCEPTED | peer abandons | next Reject returns STATUS_CONNECTION_ABORTED":
            after(accepted(), &[Tells(Report::Unreachable)]), Call::Reject
                => Status::ConnectionAborted;
        "ACCEPTED | establishment timer expires | next CompleteConnect: STATUS_IO_TIMEOUT":
            after(accepted(), &[Tells(Report::Expired(Timer::Hold))]), Call::CompleteConnect
                => Status::IoTimeout;
        "FAILED | establishment is over | Disconnect":
            after(accepted(), &[Tells(Report::Expired(Timer::Hold))]), Call::Disconnect
                => Status::ConnectionInvalid;
    }
}

/// Proves: 5.3-IDLE-connect-shared-address, 5.3-IDLE-connect-foreign-address,
/// 5.3-IDLE-connect-no-port, 5.3-IDLE-connect-same-tuple, 5.3-IDLE-connect-no-memory,
/// 5.3-CONNECTING-refused, 5.3-CONNECTING-no-network, 5.3-CONNECTING-no-host,
/// 5.3-CONNECTING-timeout
#[test]
fn section_5_3_failures_of_connect() {
    let rows = [
        (
            "peer rejects, no/paused listener, backlog full | IDLE",
            Report::Rejected(Refusal::NoListener),
            Status::ConnectionRefused,
        ),
        (
            "peer rejects (its consumer)",
            Report::Rejected(Refusal::Consumer),
            Status::ConnectionRefused,
        ),
        (
            "peer rejects (any other reason)",
            Report::Rejected(Refusal::Other),
            Status::ConnectionRefused,
        ),
        (
            "no route to network | IDLE",
            Report::AddressError(Status::NetworkUnreachable),
            Status::NetworkUnreachable,
        ),
        (
            "no route to host | IDLE",
            Report::AddressError(Status::HostUnreachable),
            Status::HostUnreachable,
        ),
        (
            "no route to host (route)",
            Report::RouteError,
            Status::HostUnreachable,
        ),
        (
            "provider's timer expires | IDLE (the connection manager's)",
            Report::Unreachable,
            Status::IoTimeout,
        ),
        (
            "local addr:port in use, async",
            Report::Failed(Work::Resolve, Status::SharingViolation),
            Status::SharingViolation,
        ),
        (
            "address not on this adapter, async",
            Report::AddressError(Status::InvalidAddress),
            Status::InvalidAddress,
        ),
        (
            "port 0 and none free, async",
            Report::Failed(Work::Resolve, Status::TooManyAddresses),
            Status::TooManyAddresses,
        ),
        (
            "same 4-tuple exists, async",
            Report::Failed(Work::Connect, Status::AddressAlreadyExists),
            Status::AddressAlreadyExists,
        ),
        (
            "no memory, async",
            Report::Failed(Work::Route, Status::InsufficientResources),
            Status::InsufficientResources,
        ),
        (
            "(the connection manager failed)",
            Report::ConnectError,
            Status::ConnectionAborted,
        ),
    ];
    for stage in [Stage::Address, Stage::Route, Stage::Reply] {
        for (quote, report, status) in rows {
            let (next, todo) = feed(connecting(stage), Tells(report)).unwrap();
            // Note 1: the four retryable ones, and only they, allow another Connect.
            let state = if status.is_retryable() {
                State::Idle
            } else {
                State::Failed(None)
            };
            assert_eq!(next.state(), state, "{quote}");
            let mut expected = BACK_TO_IDLE.to_vec();
            expected.push(CompleteRequest(status));
            assert_eq!(todo, expected, "{quote}");
            // Note 2: the private data of a reject stays readable.
            let readable = report == Report::Rejected(Refusal::Consumer);
            assert_eq!(next.call(Call::QueryData).is_ok(), readable, "{quote}");
            let again = next.call(Call::Connect);
            assert_eq!(again.is_ok(), status.is_retryable(), "{quote}");
        }
        // A timer that has expired is not stopped.
        let (next, todo) = feed(connecting(stage), Tells(Report::Expired(Timer::Connect))).unwrap();
        assert_eq!(next.state(), State::Idle);
        assert_eq!(
            todo,
            [
                DestroyId,
                ReleaseEndpoint,
                ReleaseQp,
                CompleteRequest(Status::IoTimeout)
            ]
        );
    }
}

#[test]
fn a_report_of_an_earlier_attempt_is_ignored() {
    let first = connecting(Stage::Reply);
    let second = after(
        first,
        &[
            Tells(Report::Rejected(Refusal::NoListener)),
            Calls(Call::Connect),
        ],
    );
    assert_ne!(first.epoch(), second.epoch());
    for report in [
        Report::Rejected(Refusal::NoListener),
        Report::AddressResolved,
        Report::Expired(Timer::Connect),
        Report::Failed(Work::Resolve, Status::SharingViolation),
    ] {
        let (next, todo) = second.report(first.epoch(), report);
        assert_eq!(next, second, "{report:?}");
        assert!(todo.is_empty(), "{report:?}");
    }
    let (next, _) = second.report(first.epoch(), Report::DeviceRemoved);
    assert_eq!(next.state(), State::Failed(None));
}

/// Proves: 5.4-INCOMING-data, 5.4-INCOMING-accept, 5.4-INCOMING-reject, 5.4-INCOMING-abandoned,
/// 5.4-INCOMING-other, 5.4-INCOMING-close, 5.4-ACCEPTING-success, 5.4-ACCEPTING-abandoned,
/// 5.4-ACCEPTING-timeout, 5.4-ACCEPTING-close, 5.4-REJECTED-other, 5.4-REJECTED-close
#[test]
fn section_5_4_passive_side() {
    check! {
        "INCOMING | GetConnectionData | same":
            incoming(), Calls(Call::QueryData) => State::Incoming, [];
        "INCOMING | GetPeerAddress | same | SUCCESS":
            incoming(), Calls(Call::QueryPeer) => State::Incoming, [];
        "INCOMING | GetLocalAddress | same | SUCCESS":
            incoming(), Calls(Call::QueryLocal) => State::Incoming, [];
        "INCOMING | Accept(Ex) | ACCEPTING | PENDING":
            incoming(), Calls(Call::Accept)
                => State::Accepting, [
                    Answered, HoldEndpoint, ArmTimer(Timer::Establish), Start(Work::Accept)
                ];
        "INCOMING | Reject | REJECTED | STATUS_SUCCESS":
            incoming(), Calls(Call::Reject)
                => State::Rejected, [Answered, SendReject(RejectAs::Consumer)];
        "INCOMING | peer abandoned":
            incoming(), Tells(Report::Rejected(Refusal::Other))
                => State::Failed(Some(Status::ConnectionAborted)), [Answered];
        "INCOMING | Close | CLOSED | implicit reject of the request":
            incoming(), Calls(Call::Close)
                => State::Closed, [Answered, SendReject(RejectAs::Consumer), DestroyId, EndClose];
        "ACCEPTING | peer completes | CONNECTED | RequestCompletion(SUCCESS)":
            accepting(), Tells(Report::Established)
                => State::Connected, [
                    StopTimer(Timer::Establish), CompleteRequest(Status::Success)
                ];
        "ACCEPTING | (the reply is sent)":
            accepting(), Tells(Report::Done(Work::Accept)) => State::Accepting, [];
        "ACCEPTING | peer rejects or abandons | FAILED | STATUS_CONNECTION_ABORTED":
            accepting(), Tells(Report::Rejected(Refusal::Consumer))
                => State::Failed(None), [
                    StopTimer(Timer::Establish), QpToError,
                    CompleteRequest(Status::ConnectionAborted)
                ];
        "ACCEPTING | peer never completes | FAILED | STATUS_IO_TIMEOUT (connection manager)":
            accepting(), Tells(Report::Unreachable)
                => State::Failed(None), [
                    StopTimer(Timer::Establish), QpToError, CompleteRequest(Status::IoTimeout)
                ];
        "ACCEPTING | peer never completes | FAILED | STATUS_IO_TIMEOUT (own timer)":
            accepting(), Tells(Report::Expired(Timer::Establish))
                => State::Failed(None), [
                    DestroyId, QpToError, CompleteRequest(Status::IoTimeout)
                ];
        "ACCEPTING | (the reply cannot be sent)":
            accepting(), Tells(Report::Failed(Work::Accept, Status::InsufficientResources))
                => State::Failed(None), [
                    StopTimer(Timer::Establish), QpToError,
                    CompleteRequest(Status::InsufficientResources)
                ];
        "ACCEPTING | Close | CLOSING | cancel":
            accepting(), Calls(Call::Close)
                => State::Closing, [StopTimer(Timer::Establish), QpToError, Drain];
        "ACCEPTING | Close | Accept's completion first, then CloseCompletion":
            after(accepting(), &[Calls(Call::Close)]), Tells(Report::Quiet)
                => State::Closed, [
                    DestroyId, ReleaseEndpoint, CompleteRequest(Status::Cancelled), EndClose
                ];
        "REJECTED | Close | CLOSED":
            rejected(), Calls(Call::Close) => State::Closed, [DestroyId, EndClose];
        "FAILED | Close | CLOSED (after what was live is quiet)":
            failed(), Calls(Call::Close) => State::Closing, [Drain];
        "FAILED | queries":
            failed(), Calls(Call::QueryPeer) => State::Failed(None), [];
    }
    let abandoned = after(incoming(), &[Tells(Report::Unreachable)]);
    refuses! {
        "INCOMING | peer abandoned, then Accept | STATUS_CONNECTION_ABORTED":
            abandoned, Call::Accept => Status::ConnectionAborted;
        "INCOMING | peer abandoned, then Reject | STATUS_CONNECTION_ABORTED":
            abandoned, Call::Reject => Status::ConnectionAborted;
        "INCOMING | Connect":
            incoming(), Call::Connect => Status::ConnectionInvalid;
        "INCOMING | CompleteConnect":
            incoming(), Call::CompleteConnect => Status::ConnectionInvalid;
        "INCOMING | Disconnect":
            incoming(), Call::Disconnect => Status::ConnectionInvalid;
    }
    for state in [rejected(), failed()] {
        for call in [
            Call::Connect,
            Call::CompleteConnect,
            Call::Accept,
            Call::Reject,
            Call::Disconnect,
        ] {
            refuses! {
                "REJECTED / FAILED | anything but Close/queries":
                    state, call => Status::ConnectionInvalid;
            }
        }
    }
}

/// Proves: 5.3-CONNECTING-no-network, 5.3-CONNECTING-no-host
#[test]
fn errors_of_address_resolution() {
    for status in [
        Status::NetworkUnreachable,
        Status::HostUnreachable,
        Status::IoTimeout,
        Status::InvalidAddress,
        Status::SharingViolation,
        Status::InsufficientResources,
    ] {
        assert_eq!(address_error(status.errno()), status);
    }
    for errno in [0, 1, 19, 22, 115, 4096] {
        assert_eq!(address_error(errno), Status::HostUnreachable);
    }
}

#[test]
fn four_calls_are_requests() {
    let requests = [
        Call::Connect,
        Call::CompleteConnect,
        Call::Accept,
        Call::Disconnect,
    ];
    for call in [
        Call::Connect,
        Call::CompleteConnect,
        Call::Accept,
        Call::Reject,
        Call::Disconnect,
        Call::Close,
        Call::QueryData,
        Call::QueryLocal,
        Call::QueryPeer,
    ] {
        assert_eq!(call.is_request(), requests.contains(&call));
    }
}
