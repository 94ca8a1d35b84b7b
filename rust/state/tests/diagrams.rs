// SPDX-License-Identifier: GPL-2.0

//! Draws the state diagrams of `Documentation/states.rst` from the machines themselves: every state that
//! can be reached, and what takes it to another. Fails where the page differs; with `NDK_WRITE` in the
//! environment it writes the page.

#![cfg(not(loom))]

use ndk_state::connector::{self, Connector, Refusal, Timer, Work};
use ndk_state::listener::{self, Listener};
use ndk_state::shared_endpoint::{self, SharedEndpoint};
use ndk_state::status::Status;
use ndk_state::token::{self, Phase, Step};
use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fmt::{Debug, Write};
use std::hash::Hash;

/// The page, in the checkout that the test runs in, which need not be the one it was built in.
fn page_path() -> String {
    let here = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    format!("{here}/../../Documentation/states.rst")
}

const HEAD: &str = ".. SPDX-License-Identifier: GPL-2.0
.. Drawn by rust/state/tests/diagrams.rs from the state machines; do not edit.

======
States
======

The machines of ``rust/state``, as they are: every state that can be reached, and all that takes it to another. What leaves a state
as it is, is not drawn; calls that a state refuses are not either. Consumers' calls have their NDKPI names, all else is what the
device, the peer, a timer or the provider's own work tells. Each diagram is Graphviz source.

.. contents::
   :depth: 1
";

/// From a state and a state to the inputs that lead from one to the other, in order of discovery.
type Edges = BTreeMap<(String, String), Vec<String>>;

/// Walks a machine from its first values; `step` gives what an input makes of a value, if it takes it.
fn walk<V: Copy + Eq + Hash, I: Copy + Debug>(
    first: &[V],
    inputs: &[I],
    name: impl Fn(&V) -> String,
    step: impl Fn(&V, I) -> Option<V>,
) -> Edges {
    let mut edges = Edges::new();
    let mut seen: HashSet<V> = first.iter().copied().collect();
    let mut todo: VecDeque<V> = first.iter().copied().collect();
    while let Some(value) = todo.pop_front() {
        for input in inputs {
            let Some(next) = step(&value, *input) else {
                continue;
            };
            if seen.insert(next) {
                todo.push_back(next);
            }
            let (from, to) = (name(&value), name(&next));
            if from != to {
                let labels = edges.entry((from, to)).or_default();
                let label = label(*input);
                if !labels.contains(&label) {
                    labels.push(label);
                }
            }
        }
    }
    edges
}

/// `Done(Resolve)` and the like, without statuses, which do not decide the next state.
fn label(input: impl Debug) -> String {
    let text = format!("{input:?}");
    let inner = text
        .trim_start_matches("Call(")
        .trim_start_matches("Report(")
        .to_string();
    let inner = if inner.len() < text.len() {
        inner[..inner.len() - 1].to_string()
    } else {
        inner
    };
    match inner.split_once(", ") {
        Some((work, _)) => format!("{work})"),
        None => inner,
    }
}

fn draw(page: &mut String, title: &str, source: &str, edges: &Edges) {
    let _ = write!(
        page,
        "\n{title}\n{}\n\n``{source}``\n\n.. code-block:: dot\n\n    digraph {{\n        node [shape=box]\n",
        "=".repeat(title.len())
    );
    for ((from, to), labels) in edges {
        let mut lines = vec![String::new()];
        for label in labels {
            let line = lines.last_mut().unwrap();
            if !line.is_empty() && line.len() + label.len() > 60 {
                lines.push(label.clone());
            } else {
                *line = if line.is_empty() {
                    label.clone()
                } else {
                    format!("{line}, {label}")
                };
            }
        }
        let text = lines.join("\\n");
        let _ = writeln!(page, "        \"{from}\" -> \"{to}\" [label=\"{text}\"]");
    }
    page.push_str("    }\n");
}

#[derive(Clone, Copy, Debug)]
enum In<C, R> {
    Call(C),
    Report(R),
}
use In::{Call, Report};

fn connectors() -> Edges {
    use connector::Call as C;
    use connector::Report as R;
    let bad = Status::IoTimeout;
    let work = [
        Work::Resolve,
        Work::Route,
        Work::Connect,
        Work::Complete,
        Work::Accept,
        Work::Disconnect,
    ];
    let mut inputs = vec![
        Call(C::Connect),
        Call(C::CompleteConnect),
        Call(C::Accept),
        Call(C::Reject),
        Call(C::Disconnect),
        Call(C::Close),
        Report(R::AddressResolved),
        Report(R::AddressError(Status::HostUnreachable)),
        Report(R::RouteResolved),
        Report(R::RouteError),
        Report(R::ConnectResponse),
        Report(R::Established),
        Report(R::Rejected(Refusal::Consumer)),
        Report(R::Rejected(Refusal::NoListener)),
        Report(R::Unreachable),
        Report(R::ConnectError),
        Report(R::Disconnected),
        Report(R::DisconnectTimedOut),
        Report(R::Aborted),
        Report(R::DeviceRemoved),
        Report(R::Quiet),
    ];
    inputs.extend(work.map(|work| Report(R::Done(work))));
    inputs.extend(work.map(|work| Report(R::Failed(work, bad))));
    let timers = [
        Timer::Connect,
        Timer::Hold,
        Timer::Establish,
        Timer::Disconnect,
    ];
    inputs.extend(timers.map(|timer| Report(R::Expired(timer))));
    walk(
        &[Connector::new(), Connector::incoming()],
        &inputs,
        |connector| connector.state().name().to_str().unwrap().to_string(),
        |connector, input| match input {
            // An attempt of a connector that has been tried before is like the first.
            Call(C::Connect) if connector.epoch() > 0 => None,
            Call(call) => connector.call(call).ok().map(|(next, _)| next),
            Report(report) => Some(connector.report(connector.epoch(), report).0),
        },
    )
}

fn listeners() -> Edges {
    use listener::Call as C;
    use listener::Report as R;
    let inputs = [
        Call(C::Listen),
        Call(C::Pause(true)),
        Call(C::Pause(false)),
        Call(C::Close),
        Report(R::Started),
        Report(R::Failed(Status::SharingViolation)),
        Report(R::DeviceRemoved),
        Report(R::Quiet),
    ];
    walk(
        &[Listener::new(1)],
        &inputs,
        |listener| {
            let paused = if listener.is_paused() { ", paused" } else { "" };
            format!("{}{paused}", listener.state().name().to_str().unwrap())
        },
        |listener, input| match input {
            Call(call) => listener.call(call).ok().map(|(next, _)| next),
            Report(report) => Some(listener.report(report).0),
        },
    )
}

fn shared_endpoints() -> Edges {
    use shared_endpoint::Call as C;
    use shared_endpoint::Report as R;
    let inputs = [Call(C::Close), Report(R::DeviceRemoved), Report(R::Quiet)];
    walk(
        &[SharedEndpoint::new()],
        &inputs,
        |endpoint| format!("{:?}", endpoint.state()).to_lowercase(),
        |endpoint, input| match input {
            Call(call) => endpoint.call(call).ok().map(|(next, _)| next),
            Report(report) => Some(endpoint.report(report).0),
        },
    )
}

fn regions(fast: bool) -> Edges {
    use token::Event as E;
    let inputs = [
        E::Register,
        E::RegisterDone { success: true },
        E::RegisterDone { success: false },
        E::Deregister,
        E::DeregisterDone { success: true },
        E::DeregisterDone { success: false },
        E::Bind,
        E::Unbind,
        E::Initialize,
        E::InitializeDone { success: true },
        E::InitializeDone { success: false },
    ];
    walk(
        &[token::State::Created],
        &inputs,
        |state| match state {
            token::State::Registered { windows: 0 } => "registered".into(),
            token::State::Registered { .. } => "registered, windows bound".into(),
            other => other.name().to_string(),
        },
        |state, event| {
            // One window is like many.
            let next = token::step(fast, *state, event).ok()?;
            (next != token::State::Registered { windows: 2 }).then_some(next)
        },
    )
}

fn registrations() -> Edges {
    let inputs = [
        Step::Make,
        Step::MakeFailed,
        Step::End,
        Step::EndFailed,
        Step::EndDone,
        Step::PeerEnded,
    ];
    walk(
        &[Phase::Free],
        &inputs,
        |phase| format!("{phase:?}").to_lowercase(),
        |phase, step| token::advance(*phase, step).ok(),
    )
}

#[test]
fn the_page_shows_the_machines() {
    let mut page = HEAD.to_string();
    draw(
        &mut page,
        "Connector",
        "rust/state/src/connector.rs",
        &connectors(),
    );
    draw(
        &mut page,
        "Listener",
        "rust/state/src/listener.rs",
        &listeners(),
    );
    draw(
        &mut page,
        "Shared endpoint",
        "rust/state/src/shared_endpoint.rs",
        &shared_endpoints(),
    );
    draw(
        &mut page,
        "Memory region, for RegisterMr",
        "rust/state/src/token.rs",
        &regions(false),
    );
    draw(
        &mut page,
        "Memory region, for fast registration",
        "rust/state/src/token.rs",
        &regions(true),
    );
    draw(
        &mut page,
        "Registration, of a fast region or by a window",
        "rust/state/src/token.rs",
        &registrations(),
    );
    if std::env::var_os("NDK_WRITE").is_some() {
        std::fs::write(page_path(), &page).unwrap();
    }
    let there = std::fs::read_to_string(page_path()).unwrap_or_default();
    assert!(
        there == page,
        "Documentation/states.rst is not what the machines are: NDK_WRITE=1 cargo test --test diagrams, in rust/state"
    );
}
