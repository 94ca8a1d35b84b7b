// SPDX-License-Identifier: GPL-2.0

//! A worker does the effects of a connector one after the other, and the connector goes on meanwhile:
//! how many effects can wait for it?

#![cfg(not(loom))]

use ndk_state::connector::{Call, Connector, Effect, Refusal, Report, Timer, MAX_WAITING};
use ndk_state::effects::Todo;
use ndk_state::status::Status;
use std::collections::HashSet;

/// More than there should be room for, so that the test and not the queue finds the limit.
type Queue = Todo<Effect, 64>;

const CALLS: [Call; 6] = [
    Call::Connect,
    Call::CompleteConnect,
    Call::Accept,
    Call::Reject,
    Call::Disconnect,
    Call::Close,
];

/// What comes from outside at any time, whatever the worker does.
const REPORTS: [Report; 19] = [
    Report::AddressResolved,
    Report::AddressError(Status::HostUnreachable),
    Report::RouteResolved,
    Report::RouteError,
    Report::ConnectResponse,
    Report::Established,
    Report::Rejected(Refusal::Consumer),
    Report::Unreachable,
    Report::ConnectError,
    Report::Disconnected,
    Report::DisconnectTimedOut,
    Report::Aborted,
    Report::DeviceRemoved,
    Report::Expired(Timer::Connect),
    Report::Expired(Timer::Hold),
    Report::Expired(Timer::Establish),
    Report::Expired(Timer::Disconnect),
    Report::Rejected(Refusal::NoListener),
    Report::Rejected(Refusal::Other),
];

/// A connector, what waits for its worker, and whether a completion does.
#[derive(Clone, PartialEq, Eq, Hash)]
struct World {
    connector: Connector,
    queue: Vec<Effect>,
}

impl World {
    fn with(&self, next: Connector, todo: impl IntoIterator<Item = Effect>) -> Self {
        let mut queue = self.queue.clone();
        queue.extend(todo);
        Self {
            connector: next,
            queue,
        }
    }

    fn completion_waits(&self) -> bool {
        self.queue
            .iter()
            .any(|effect| matches!(effect, Effect::CompleteRequest(_)))
    }

    fn report(&self, report: Report) -> Self {
        let (next, todo) = self.connector.report(self.connector.epoch(), report);
        self.with(next, todo)
    }

    /// The worker does what has waited longest, with each outcome.
    fn work(&self) -> Vec<Self> {
        let Some((first, rest)) = self.queue.split_first() else {
            return Vec::new();
        };
        let left = Self {
            connector: self.connector,
            queue: rest.to_vec(),
        };
        match *first {
            Effect::Start(work) => vec![
                left.report(Report::Done(work)),
                left.report(Report::Failed(work, Status::InternalError)),
            ],
            Effect::Drain => vec![left.report(Report::Quiet)],
            _ => vec![left],
        }
    }
}

/// Every interleaving of calls, reports and the worker, with up to two attempts to connect.
// Bug: B20, K3
#[test]
fn the_queue_of_the_worker_never_overflows() {
    let mut seen = HashSet::new();
    let mut edge: Vec<World> = [Connector::new(), Connector::incoming()]
        .into_iter()
        .map(|connector| World {
            connector,
            queue: Vec::new(),
        })
        .collect();
    let mut most = 0;
    while let Some(world) = edge.pop() {
        let mut next = world.work();
        for call in CALLS {
            let refused = call.is_request() && world.completion_waits();
            let again = call == Call::Connect && world.connector.epoch() == 2;
            if refused || again {
                continue;
            }
            if let Ok((connector, todo)) = world.connector.call(call) {
                next.push(world.with(connector, todo));
            }
        }
        next.extend(REPORTS.into_iter().map(|report| world.report(report)));
        for world in next {
            most = most.max(world.queue.len());
            if seen.insert(world.clone()) {
                edge.push(world);
            }
        }
    }
    assert!(seen.len() > 1000);
    assert!(most <= MAX_WAITING, "{most} effects wait");
    // No more room than needed, either.
    assert!(most + 4 >= MAX_WAITING, "only {most} effects wait");
}

#[test]
fn first_come_first_served() {
    let mut queue = Todo::<u32, 3>::new();
    assert!(queue.is_empty() && queue.pop().is_none());
    for round in 0..5 {
        assert!(queue.push(round) && queue.push(round + 100) && queue.push(round + 200));
        assert!(!queue.push(9), "no room");
        assert_eq!((queue.len(), queue.is_empty()), (3, false));
        assert_eq!(queue.pop(), Some(round));
        assert!(queue.push(round + 300));
        assert_eq!(queue.pop(), Some(round + 100));
        assert_eq!(queue.pop(), Some(round + 200));
        assert_eq!(queue.pop(), Some(round + 300));
        assert_eq!(queue.pop(), None);
    }
    assert!(!Todo::<u32, 0>::new().push(1));
    let mut large = Queue::new();
    assert!(large.push(Effect::DestroyId));
    assert_eq!(large.pop(), Some(Effect::DestroyId));
}

#[test]
fn only_the_first_is_taken_and_only_if_it_is_wanted() {
    let mut queue = Todo::<u32, 2>::new();
    assert_eq!(queue.pop_if(|_| true), None);
    assert!(queue.push(1) && queue.push(2));
    assert_eq!(queue.pop_if(|first| *first == 2), None);
    assert_eq!(queue.len(), 2);
    assert_eq!(queue.pop_if(|first| *first == 1), Some(1));
    assert_eq!(queue.pop(), Some(2));
}
