// SPDX-License-Identifier: GPL-2.0

//! The connector table of section 5.5, removal of the device and Close. Each row quotes the table.

#![cfg(not(loom))]

#[macro_use]
#[path = "common/connector.rs"]
mod common;

use common::*;
use ndk_state::connector::Effect::*;
use ndk_state::connector::{Call, Effect, Report, Stage, State, Timer, Work};
use ndk_state::status::Status;

/// Proves: 5.5-CONNECTED-disconnect, 5.5-CONNECTED-peer-disconnect, 5.5-CONNECTED-abort,
/// 5.5-CONNECTED-close, 5.5-PEER_GONE-disconnect, 5.5-PEER_GONE-close, 5.5-DISCONNECTING-done,
/// 5.5-DISCONNECTING-abort, 5.5-DISCONNECTING-race, 5.5-DISCONNECTING-again,
/// 5.5-DISCONNECTED-reuse, 5.5-any-disconnect, 5.10-once, 5.10-waits
#[test]
fn section_5_5_connected_phase() {
    for connected in [connected(), connected_passive()] {
        check! {
            "CONNECTED | Disconnect | DISCONNECTING | PENDING; graceful notification sent":
                connected, Calls(Call::Disconnect)
                    => State::Disconnecting, [Start(Work::Disconnect), ArmTimer(Timer::Disconnect)];
            "CONNECTED | graceful notification from peer | PEER_GONE | event once; not flushed":
                connected, Tells(Report::Disconnected) => State::PeerGone, [DisconnectEvent];
            "CONNECTED | abort / link loss / fatal QP error | PEER_GONE | event once":
                connected, Tells(Report::Aborted)
                    => State::PeerGone, [Start(Work::Disconnect), DisconnectEvent];
            "CONNECTED | (the peer's address changed) | as any abort":
                connected, Tells(Report::Unreachable)
                    => State::PeerGone, [Start(Work::Disconnect), DisconnectEvent];
            "CONNECTED | Close connector | CLOSING | abortive; no event; flush":
                connected, Calls(Call::Close) => State::Closing, [QpToError, Drain];
        }
    }
    check! {
        "PEER_GONE | (a second notification) | the event is given once":
            peer_gone(), Tells(Report::Aborted) => State::PeerGone, [];
        "PEER_GONE | Disconnect | DISCONNECTING | completes the handshake":
            peer_gone(), Calls(Call::Disconnect)
                => State::Disconnecting, [Start(Work::Disconnect), QpToError, Drain];
        "PEER_GONE | Disconnect | … PENDING/SUCCESS":
            after(peer_gone(), &[Calls(Call::Disconnect)]), Tells(Report::Quiet)
                => State::Disconnected, [CompleteRequest(Status::Success)];
        "PEER_GONE (by abort) | Disconnect | failure, as in DISCONNECTING":
            after(peer_aborted(), &[Calls(Call::Disconnect)]), Tells(Report::Quiet)
                => State::Disconnected, [CompleteRequest(Status::ConnectionAborted)];
        "PEER_GONE | Close | CLOSING | allowed":
            peer_gone(), Calls(Call::Close) => State::Closing, [QpToError, Drain];
        "DISCONNECTING | peer's notification …":
            disconnecting(), Tells(Report::Disconnected)
                => State::Disconnecting, [StopTimer(Timer::Disconnect), QpToError, Drain];
        "DISCONNECTING | … and DMA quiet | DISCONNECTED | STATUS_SUCCESS":
            after(disconnecting(), &[Tells(Report::Disconnected)]), Tells(Report::Quiet)
                => State::Disconnected, [CompleteRequest(Status::Success)];
        "DISCONNECTING | abort and DMA quiet | DISCONNECTED | failure":
            after(disconnecting(), &[Tells(Report::Aborted)]), Tells(Report::Quiet)
                => State::Disconnected, [CompleteRequest(Status::ConnectionAborted)];
        "DISCONNECTING | handshake timeout (own timer)":
            disconnecting(), Tells(Report::Expired(Timer::Disconnect))
                => State::Disconnecting, [QpToError, Drain];
        "DISCONNECTING | handshake timeout … and DMA quiet | STATUS_IO_TIMEOUT":
            after(disconnecting(), &[Tells(Report::Expired(Timer::Disconnect))]),
            Tells(Report::Quiet)
                => State::Disconnected, [CompleteRequest(Status::IoTimeout)];
        "DISCONNECTING | handshake timeout (connection manager) | STATUS_IO_TIMEOUT":
            after(disconnecting(), &[Tells(Report::DisconnectTimedOut)]), Tells(Report::Quiet)
                => State::Disconnected, [CompleteRequest(Status::IoTimeout)];
        "DISCONNECTING | (the notification cannot be sent)":
            after(disconnecting(), &[Tells(Report::Failed(Work::Disconnect, Status::ConnectionAborted))]),
            Tells(Report::Quiet)
                => State::Disconnected, [CompleteRequest(Status::ConnectionAborted)];
        "DISCONNECTING | (the first answer counts)":
            after(disconnecting(), &[Tells(Report::Disconnected)]), Tells(Report::Aborted)
                => State::Disconnecting, [];
        "DISCONNECTING | (Close cancels the handshake, not the wait for DMA)":
            disconnecting(), Calls(Call::Close)
                => State::Closing, [StopTimer(Timer::Disconnect), QpToError, Drain];
        "DISCONNECTING | (… and then completes the request)":
            after(disconnecting(), &[Calls(Call::Close)]), Tells(Report::Quiet)
                => State::Closed, [
                    DestroyId, ReleaseEndpoint, CompleteRequest(Status::Cancelled), EndClose
                ];
        "DISCONNECTING | (… with the peer's answer, if it has come)":
            after(disconnecting(), &[Tells(Report::Disconnected), Calls(Call::Close)]),
            Tells(Report::Quiet)
                => State::Closed, [
                    DestroyId, ReleaseEndpoint, CompleteRequest(Status::Success), EndClose
                ];
        "DISCONNECTED | Close":
            disconnected(), Calls(Call::Close)
                => State::Closed, [DestroyId, ReleaseEndpoint, EndClose];
    }
    refuses! {
        "DISCONNECTING | second Disconnect | CONNECTION_INVALID":
            disconnecting(), Call::Disconnect => Status::ConnectionInvalid;
        "DISCONNECTED | any use of the connector | never reusable":
            disconnected(), Call::Connect => Status::ConnectionInvalid;
        "DISCONNECTED | Disconnect when not connected | CONNECTION_INVALID":
            disconnected(), Call::Disconnect => Status::ConnectionInvalid;
        "CONNECTED | Connect | CONNECTION_ACTIVE":
            connected(), Call::Connect => Status::ConnectionActive;
        "CONNECTED | CompleteConnect":
            connected(), Call::CompleteConnect => Status::ConnectionInvalid;
    }
}

/// Proves: 5.5-DISCONNECTED-post, 7.1-not-connected
#[test]
fn posting_is_allowed_while_connected_only() {
    // "DISCONNECTED: posts → STATUS_CONNECTION_INVALID"; the peer's going away does not flush.
    for (connector, allowed) in [
        (idle(), false),
        (accepted(), false),
        (completing(), false),
        (connected(), true),
        (peer_gone(), true),
        (disconnecting(), false),
        (disconnected(), false),
        (accepting(), false),
        (connected_passive(), true),
    ] {
        assert_eq!(connector.is_connected(), allowed, "{:?}", connector.state());
    }
}

/// Proves: 12-removal
#[test]
fn removal_of_the_device() {
    let gone = Tells(Report::DeviceRemoved);
    let done = CompleteRequest(Status::DeviceRemoved);
    check! {
        "idle":
            idle(), gone => State::Idle, [];
        "pending Connect":
            connecting(Stage::Route), gone
                => State::Failed(None), [StopTimer(Timer::Connect), DestroyId, done];
        "held":
            accepted(), gone => State::Failed(None), [StopTimer(Timer::Hold), DestroyId];
        "pending CompleteConnect":
            completing(), gone => State::Failed(None), [DestroyId, done];
        "not answered":
            incoming(), gone => State::Failed(None), [DestroyId, Answered];
        "pending Accept":
            accepting(), gone
                => State::Failed(None), [StopTimer(Timer::Establish), DestroyId, done];
        "connected: the event once":
            connected(), gone => State::PeerGone, [DestroyId, DisconnectEvent];
        "the event was given already":
            peer_gone(), gone => State::PeerGone, [DestroyId];
        "pending Disconnect":
            disconnecting(), gone
                => State::Disconnected, [StopTimer(Timer::Disconnect), DestroyId, done];
        "pending Close":
            after(connected(), &[Calls(Call::Close)]), gone
                => State::Closed, [DestroyId, ReleaseEndpoint, EndClose];
        "pending Close with a pending request":
            after(completing(), &[Calls(Call::Close)]), gone
                => State::Closed, [
                    DestroyId, ReleaseEndpoint, CompleteRequest(Status::Cancelled), EndClose
                ];
        "twice":
            after(connected(), &[gone]), gone => State::PeerGone, [];
        "Close after it":
            after(connected(), &[gone]), Calls(Call::Close)
                => State::Closed, [ReleaseEndpoint, EndClose];
    }
    // "Shells keep answering until closed."
    for connector in [idle(), connected(), incoming(), disconnecting()] {
        for call in [
            Call::Connect,
            Call::CompleteConnect,
            Call::Accept,
            Call::Reject,
            Call::Disconnect,
            Call::QueryData,
            Call::QueryLocal,
            Call::QueryPeer,
        ] {
            refuses! {
                "removed":
                    after(connector, &[gone]), call => Status::DeviceRemoved;
            }
        }
    }
}

/// Proves: 2.5-last, 3.1-CONNECTOR-no-event
#[test]
fn after_close_there_is_nothing() {
    let closed = after(connected(), &[Calls(Call::Close), Tells(Report::Quiet)]);
    let closing = after(connected(), &[Calls(Call::Close)]);
    for connector in [closed, closing] {
        for call in [Call::Connect, Call::Close, Call::QueryData] {
            refuses! {
                "closed":
                    connector, call => Status::ConnectionInvalid;
            }
        }
    }
    for report in [Report::Disconnected, Report::Quiet, Report::DeviceRemoved] {
        check! {
            "closed":
                closed, Tells(report) => State::Closed, [];
        }
    }
    check! {
        "no event to the closer":
            closing, Tells(Report::Disconnected) => State::Closing, [];
    }
}
