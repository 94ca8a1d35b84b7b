// SPDX-License-Identifier: GPL-2.0

//! Shared endpoints: section 5.7 row by row.

#![cfg(not(loom))]

use ndk_state::shared_endpoint::*;
use ndk_state::status::Status;

const CALLS: [Call; 3] = [Call::QueryLocal, Call::Connect, Call::Close];

fn list(todo: List) -> Vec<Effect> {
    todo.iter().collect()
}

const UNBIND: [Effect; 2] = [Effect::DestroyId, Effect::ReleaseEndpoint];

// Proves: CREATE_SHARED_ENDPOINT.ok, GET_SHARED_ENDPOINT_LOCAL_ADDRESS.ok, CONNECT_WITH_SHARED_ENDPOINT.ok
#[test]
fn section_5_7() {
    // CreateSharedEndpoint(addr) | OPEN
    let open = SharedEndpoint::default();
    assert_eq!(open.state(), State::Open);
    // OPEN | GetSharedEndpointLocalAddress, ConnectWithSharedEndpoint | same
    for call in [Call::QueryLocal, Call::Connect] {
        let (same, todo) = open.call(call).unwrap();
        assert_eq!(same, open);
        assert!(todo.is_empty());
    }
    // OPEN | Close | CLOSING (PENDING) or CLOSED
    let (closing, todo) = open.call(Call::Close).unwrap();
    assert_eq!(closing.state(), State::Closing);
    assert_eq!(list(todo), [Effect::EndClose], "no side effect");
    // CLOSING | last connector closed | CLOSED | address released
    let (closed, todo) = closing.report(Report::Quiet);
    assert_eq!(closed.state(), State::Closed);
    assert_eq!(list(todo), UNBIND);
}

// Proves: CONNECT_WITH_SHARED_ENDPOINT.wrong-state, GET_SHARED_ENDPOINT_LOCAL_ADDRESS.wrong-state
#[test]
fn nothing_is_called_after_a_close() {
    let (closing, _) = SharedEndpoint::new().call(Call::Close).unwrap();
    let (closed, _) = closing.report(Report::Quiet);
    let (removed, _) = closing.report(Report::DeviceRemoved);
    for endpoint in [closing, closed, removed] {
        for call in CALLS {
            assert_eq!(endpoint.call(call), Err(Status::InvalidDeviceState));
        }
    }
}

#[test]
fn the_device_takes_placeholder_and_address_along() {
    let open = SharedEndpoint::new();
    let (removed, todo) = open.report(Report::DeviceRemoved);
    assert_eq!(removed.state(), State::Open, "the shell stays");
    assert_eq!(list(todo), UNBIND);
    for call in [Call::QueryLocal, Call::Connect] {
        assert_eq!(removed.call(call), Err(Status::DeviceRemoved));
    }
    let (closing, todo) = removed.call(Call::Close).unwrap();
    assert_eq!(list(todo), [Effect::EndClose]);
    let (closed, todo) = closing.report(Report::Quiet);
    assert_eq!(closed.state(), State::Closed);
    assert!(todo.is_empty(), "given back before");
    // While the close waits for connectors.
    let (closing, _) = open.call(Call::Close).unwrap();
    let (removed, todo) = closing.report(Report::DeviceRemoved);
    assert_eq!(list(todo), UNBIND);
    let (closed, todo) = removed.report(Report::Quiet);
    assert_eq!(closed.state(), State::Closed);
    assert!(todo.is_empty());
}
