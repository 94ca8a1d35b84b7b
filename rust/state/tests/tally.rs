// SPDX-License-Identifier: GPL-2.0

//! What is counted: every kind of attempt and connection once, and the device's counters by their names.

use ndk_state::connector::{
    Call,
    Connector,
    Refusal,
    Report,
    Stage,
    State,
    Work, //
};
use ndk_state::status::Status;
use ndk_state::tally::{
    self,
    Tally,
    Traffic, //
};

/// One step.
#[derive(Clone, Copy)]
enum Step {
    Call(Call),
    Report(Report),
}

use Step::{Call as C, Report as R};

/// What the steps count as.
fn count(mut connector: Connector, steps: &[Step]) -> Vec<Tally> {
    let mut tallies = Vec::new();
    for step in steps {
        let before = connector.state();
        connector = match *step {
            C(call) => connector.call(call).expect("the call is possible").0,
            R(report) => connector.report(connector.epoch(), report).0,
        };
        tallies.extend(tally::of_step(before, &connector));
    }
    tallies
}

const ASK: [Step; 3] = [
    C(Call::Connect),
    R(Report::AddressResolved),
    R(Report::RouteResolved),
];

fn active(rest: &[Step]) -> Vec<Tally> {
    count(Connector::new(), &[&ASK[..], rest].concat())
}

fn passive(rest: &[Step]) -> Vec<Tally> {
    count(Connector::incoming(), rest)
}

const CONNECTED: [Step; 3] = [
    R(Report::ConnectResponse),
    C(Call::CompleteConnect),
    R(Report::Done(Work::Complete)),
];

const ACCEPTED: [Step; 2] = [C(Call::Accept), R(Report::Established)];

/// Proves: 9.6-counters
#[test]
fn connections_are_counted_by_who_asked() {
    assert_eq!(active(&CONNECTED), [Tally::Connect]);
    assert_eq!(passive(&ACCEPTED), [Tally::Accept]);
    // Without a third message CompleteConnect is the end of it.
    assert_eq!(
        active(&[R(Report::Established), C(Call::CompleteConnect)]),
        [Tally::Connect]
    );
}

/// Proves: 9.6-counters
#[test]
fn a_failed_attempt_is_counted_once() {
    for failure in [
        R(Report::AddressError(Status::HostUnreachable)),
        R(Report::Rejected(Refusal::NoListener)),
        R(Report::Unreachable),
        R(Report::DeviceRemoved),
        C(Call::Close),
    ] {
        let mut steps = vec![failure];
        assert_eq!(active(&steps), [Tally::ConnectFailure]);
        if !matches!(failure, C(Call::Close)) {
            steps.push(C(Call::Close));
            assert_eq!(active(&steps), [Tally::ConnectFailure]);
        }
    }
    for steps in [
        &[R(Report::ConnectResponse), C(Call::Reject), C(Call::Close)][..],
        &[R(Report::ConnectResponse), R(Report::Disconnected)],
        &[
            R(Report::ConnectResponse),
            C(Call::CompleteConnect),
            R(Report::Aborted),
        ],
    ] {
        assert_eq!(active(steps), [Tally::ConnectFailure]);
    }
    for steps in [
        &[C(Call::Reject), C(Call::Close)][..],
        &[C(Call::Close)],
        &[R(Report::Disconnected), C(Call::Close)],
        &[C(Call::Accept), R(Report::Unreachable), C(Call::Close)],
    ] {
        assert_eq!(passive(steps), [Tally::ConnectFailure]);
    }
}

/// Proves: 9.6-counters
#[test]
fn each_attempt_of_one_connector_counts() {
    let refused = R(Report::Rejected(Refusal::NoListener));
    let steps = [&[refused][..], &ASK, &CONNECTED].concat();
    assert_eq!(active(&steps), [Tally::ConnectFailure, Tally::Connect]);
}

/// Proves: 9.6-counters
#[test]
fn only_what_breaks_before_the_consumer_ends_it_is_an_error() {
    let ends = [
        (R(Report::Disconnected), false),
        (R(Report::Aborted), true),
        (R(Report::Unreachable), true),
        (R(Report::DeviceRemoved), true),
        (C(Call::Disconnect), false),
        (C(Call::Close), false),
    ];
    for (end, error) in ends {
        let steps = [&CONNECTED[..], &[end]].concat();
        assert_eq!(active(&steps), [Tally::Connect, Tally::End { error }]);
        let steps = [&ACCEPTED[..], &[end]].concat();
        assert_eq!(passive(&steps), [Tally::Accept, Tally::End { error }]);
    }
    // What comes after it counts for nothing.
    let steps = [
        &CONNECTED[..],
        &[
            C(Call::Disconnect),
            R(Report::Aborted),
            R(Report::Quiet),
            C(Call::Close),
        ],
    ]
    .concat();
    assert_eq!(
        active(&steps),
        [Tally::Connect, Tally::End { error: false }]
    );
}

/// Proves: 9.6-counters
#[test]
fn steps_on_the_way_count_for_nothing() {
    assert_eq!(active(&[]), []);
    assert_eq!(passive(&[C(Call::Accept)]), []);
    let idle = Connector::new();
    assert_eq!(tally::of_step(State::Idle, &idle), None);
    assert_eq!(
        tally::of_step(State::Connecting(Stage::Reply), &idle),
        Some(Tally::ConnectFailure)
    );
}

fn device<'a>(counters: &'a [(&'a str, u64)]) -> impl Fn(&str) -> Option<u64> + 'a {
    |name| {
        counters
            .iter()
            .find(|(own, _)| *own == name)
            .map(|(_, value)| *value)
    }
}

/// Proves: 9.6-counters, 9.6-missing
#[test]
fn traffic_is_found_by_the_names_of_drivers() {
    let rxe = [
        ("sent_pkts", 1),
        ("rcvd_pkts", 2),
        ("sent_bytes", 3),
        ("rcvd_bytes", 4),
    ];
    let found = Traffic::ALL.map(|traffic| traffic.find(device(&rxe)));
    assert_eq!(found, [Some(4), Some(3), Some(2), Some(1)]);
    // Both families, or neither.
    let irdma = [("ip4InOctets", 10), ("ip6InOctets", 5), ("ip4InPkts", 1)];
    assert_eq!(Traffic::InOctets.find(device(&irdma)), Some(15));
    assert_eq!(Traffic::InFrames.find(device(&irdma)), None);
    // RoCE alone rather than all that comes over the port.
    let bnxt = [("rx_bytes", 100), ("rx_roce_only_bytes", 60)];
    assert_eq!(Traffic::InOctets.find(device(&bnxt)), Some(60));
    for traffic in Traffic::ALL {
        assert_eq!(traffic.find(device(&[])), None);
    }
}

/// Proves: 9.6-missing
#[test]
fn the_bits_of_traffic_are_those_of_the_counters() {
    let bits = Traffic::ALL.map(Traffic::bit);
    assert_eq!(bits, [1 << 26, 1 << 27, 1 << 28, 1 << 29]);
}
