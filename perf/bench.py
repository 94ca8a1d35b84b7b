#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Drives ndk_perf and compares ndk with raw kernel verbs.

A measurement is a number of pairs, run as ours-raw, raw-ours, ours-raw, …, so that drift hits both alike. For each pair there is
a ratio ours/raw; reported are their median and a bootstrap 95 % interval of it. Many short pairs, since what disturbs a virtual
machine lasts for tenths of a second: it then spoils a pair, not half of a long run.
"""

import argparse
import json
import os
import random
import statistics
import sys

DIR = "/sys/kernel/debug/ndk_perf"
RESAMPLES = 2000
# A pair is dropped when the hypervisor took more than this share of the time.
MAX_STEAL = 0.02


class Measurement:
    """One test, and the figures drawn from a run of it."""

    def __init__(self, ident, what, figures, pairs=None, **job):
        self.ident = ident
        self.what = what
        self.figures = figures
        self.pairs = pairs
        self.job = job


class Figure:
    """A figure: suffix of the id, unit, function of a run, and the goal for its ratio, or for its difference."""

    def __init__(self, suffix, unit, value, goal=None, what=""):
        self.suffix = suffix
        self.unit = unit
        self.value = value
        self.goal = goal
        self.what = what

    compares_by = "ratio"

    @staticmethod
    def compare(ours, raw):
        return ours / raw

    @staticmethod
    def show(value):
        return f"{value:>7.3f}"

    def met(self, lo, hi):
        """Whether the whole interval is inside the goal."""
        if self.goal is None:
            return None
        kind, bound = self.goal
        return hi <= bound if kind == "<=" else lo >= bound


class Difference(Figure):
    """A figure of which it counts how much more it is, not how many times as much."""

    compares_by = "difference"

    @staticmethod
    def compare(ours, raw):
        return ours - raw

    @staticmethod
    def show(value):
        return f"{value:>+7.1f}"


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def half_round_trip(share):
    return lambda run: percentile(run["samples"], share) / 2000


def latency(share):
    return lambda run: percentile(run["samples"], share) / 1000


def rate(run):
    return run["count"] * 1e9 / run["elapsed_ns"]


def throughput(run):
    return run["count"] * run["size"] * 1e9 / run["elapsed_ns"] / (1 << 20)



def per_call(figure):
    return lambda run: run["samples"][figure] / run["count"]


def per_connection(run):
    return run["samples"][BYTES] / run["qps"]


def per_connection_made(run):
    """Where the clock counts instructions."""
    return run["elapsed_ns"] / run["count"]


def layer_rate(run):
    """Messages a second: a receive, a send and two polls for each."""
    return run["count"] * 1e9 / (run["samples"][RECEIVE] + run["samples"][SEND] + run["samples"][POLL])


# The samples of the test "layer": layer.h.
RECEIVE, SEND, POLL, ARM, ROUND, BYTES = range(6)


def layer(unit, bound, **job):
    """M5: what each call costs more than verbs."""
    calls = (
        ("receive", RECEIVE, "a receive posted"),
        ("send", SEND, "a send posted, with its execution"),
        ("poll", POLL, "a completion polled"),
        ("arm", ARM, "a CQ armed"),
        ("round", ROUND, "post, notification, callback, poll, arm"),
    )
    yield Measurement(
        "M5" if unit == "ns" else "M5i",
        "stub device",
        [Difference(f"-{name}", unit, per_call(figure), ("<=", bound), what) for name, figure, what in calls],
        test="layer", iters=2048, **job,
    )


def over_nulldev():
    yield from layer("ns", 40)
    for qps in 1, 64, 1024:
        yield Measurement(
            f"M14-{qps}",
            f"64 B sends over {qps} QP" + ("s" if qps > 1 else "") + " on one CQ, stub device",
            [Figure("", "1/s", layer_rate)],
            pairs=100 if qps == 1 else 1600 // qps + 15, test="layer", iters=8192, qps=qps,
        )
    yield Measurement(
        "M15",
        "memory of a connection, both ends",
        [Difference("", "B", per_connection, ("<=", 2 * 512), "stub device")],
        pairs=3, test="layer", iters=64, qps=256, count=1,
    )


def over_rxe():
    yield Measurement(
        "M1",
        "64 B send ping-pong, half the round trip",
        [
            Figure("", "us", half_round_trip(0.5), ("<=", 1.05), "p50"),
            Figure("-p99", "us", half_round_trip(0.99), ("<=", 1.10), "p99"),
        ],
        test="send_latency", size=64, depth=4, iters=1000,
    )
    for kind in "write", "read":
        yield Measurement(
            f"M2-{kind}",
            f"4 KiB {kind}",
            [Figure("", "us", latency(0.5), None, "p50")],
            test=f"{kind}_latency", size=4096, depth=1, iters=500,
        )
    for kind in "write", "read":
        yield Measurement(
            f"M3-{kind}",
            f"1 MiB {kind} stream, depth 16",
            [Figure("", "MiB/s", throughput, (">=", 0.98))],
            test=f"{kind}_stream", size=1 << 20, depth=16, iters=16,
        )
    for qps in 1, 2:
        for chain in 1, 16:
            yield Measurement(
                f"M4-{qps}qp" + ("-chain" if chain > 1 else ""),
                f"64 B send rate, depth 128, {qps} QP" + ("s" if qps > 1 else "")
                + (f", chains of {chain}" if chain > 1 else ""),
                [Figure("", "1/s", rate, (">=", 0.97 if chain > 1 else 0.95))],
                test="send_rate", size=64, depth=128, qps=qps, chain=chain, iters=1024,
            )
    for kind in "read", "write":
        for name, size, iters in ("4K", 4 << 10, 512), ("64K", 64 << 10, 128), ("1M", 1 << 20, 16):
            yield Measurement(
                f"M8-{kind}-{name}",
                f"{name}iB {kind} of a list of pages, mapped for each, 4 in flight",
                [Figure("", "MiB/s", throughput, (">=", 0.97))],
                test=f"list_{kind}", size=size, depth=4, iters=iters,
            )
    for flight, iters in (1, 100), (16, 400):
        yield Measurement(
            f"M6-{flight}",
            f"connect, accept, close; {flight} in flight",
            [Figure("", "1/s", rate, (">=", 0.95))],
            test="connect", depth=flight, iters=iters,
        )
    yield Measurement(
        "M7",
        "fast register and invalidate 64 pages",
        [Figure("", "1/s", rate, (">=", 0.95))],
        test="register", size=64 * 4096, depth=4, iters=1000,
    )


def instructions():
    """In a machine whose clock counts them: each run is like any other."""
    for measurement in layer("insn", 150, ticks=1):
        measurement.pairs = 3
        yield measurement
    yield Measurement(
        "M6i",
        "connect, accept, close; 1 in flight, stub device",
        [Figure("", "insn", per_connection_made)],
        pairs=3, test="connect", depth=1, iters=200,
    )


WORLDS = {"rxe": over_rxe, "nulldev": over_nulldev, "instructions": instructions}


def steal():
    """Stolen and total time so far, in ticks."""
    with open("/proc/stat") as stat:
        ticks = [int(word) for word in stat.readline().split()[1:]]
    return ticks[7] if len(ticks) > 7 else 0, sum(ticks[:8])


def run_once(side, job):
    words = " ".join(f"{key}={value}" for key, value in job.items())
    with open(f"{DIR}/ctl", "w") as ctl:
        ctl.write(f"run side={side} {words}")
    with open(f"{DIR}/result") as result:
        fields = dict(word.split("=") for word in result.read().split())
    run = {key: int(fields[key]) for key in ("count", "elapsed_ns", "size", "qps")}
    with open(f"{DIR}/samples") as samples:
        run["samples"] = [int(line) for line in samples]
    return run


def interval(ratios):
    rng = random.Random(1)
    medians = sorted(
        statistics.median(rng.choices(ratios, k=len(ratios))) for _ in range(RESAMPLES)
    )
    return medians[int(0.025 * RESAMPLES)], medians[int(0.975 * RESAMPLES)]


def measure(measurement, pairs):
    """Runs the pairs. Yields a line of the report for each figure."""
    job = measurement.job
    for side in "ours", "raw":
        run_once(side, job)
    values = [([], []) for _ in measurement.figures]
    dropped = 0
    for pair in range(pairs):
        order = ("ours", "raw") if pair % 2 == 0 else ("raw", "ours")
        stolen, total = steal()
        runs = {side: run_once(side, job) for side in order}
        stolen, total = (now - then for now, then in zip(steal(), (stolen, total)))
        if total and stolen / total > MAX_STEAL:
            dropped += 1
            continue
        for figure, (ours, raw) in zip(measurement.figures, values):
            ours.append(figure.value(runs["ours"]))
            raw.append(figure.value(runs["raw"]))
    for figure, (ours, raw) in zip(measurement.figures, values):
        if not ours:
            raise RuntimeError(f"{measurement.ident}: every pair was dropped, {dropped} for stolen time")
        ratios = [figure.compare(a, b) for a, b in zip(ours, raw)]
        lo, hi = interval(ratios)
        yield figure, {
            "id": measurement.ident + figure.suffix,
            "what": measurement.what + (", " + figure.what if figure.what else ""),
            "ours": round(statistics.median(ours), 3),
            "raw": round(statistics.median(raw), 3),
            "unit": figure.unit,
            figure.compares_by: round(statistics.median(ratios), 4),
            "lo": round(lo, 4),
            "hi": round(hi, 4),
            "pairs": len(ratios),
        }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", help="a file to which the results are added")
    parser.add_argument("--world", choices=WORLDS, default="rxe", help="which devices there are")
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--quick", action="store_true", help="a quarter of the operations, 8 pairs")
    parser.add_argument("ids", nargs="*")
    args = parser.parse_args()
    pairs = 8 if args.quick else args.pairs

    report, failed = [], []
    if args.out and os.path.exists(args.out):
        with open(args.out) as out:
            report = json.load(out)
    print(f"{'id':<12} {'what':<46} {'ours':>11} {'raw':>11} {'unit':<6} {'ratio':>7}  95 %            goal")
    for measurement in WORLDS[args.world]():
        if args.ids and not any(measurement.ident.startswith(ident) for ident in args.ids):
            continue
        if args.quick:
            least = 64 if measurement.job["test"] == "layer" else measurement.job.get("chain", 1)
            measurement.job["iters"] = max(measurement.job["iters"] // 4 // least, 1) * least
        try:
            for figure, line in measure(measurement, min(measurement.pairs or pairs, pairs)):
                report.append(line)
                met = figure.met(line["lo"], line["hi"])
                goal = "" if met is None else f"{figure.goal[0]} {figure.goal[1]:.2f} {'met' if met else 'MISSED'}"
                print(
                    f"{line['id']:<12} {line['what']:<46} {line['ours']:>11.2f} {line['raw']:>11.2f} "
                    f"{line['unit']:<6} {figure.show(line[figure.compares_by])}  {figure.show(line['lo'])} – {figure.show(line['hi'])}  {goal}",
                    flush=True,
                )
        except OSError as error:
            failed.append(measurement.ident)
            print(f"{measurement.ident:<12} {measurement.what:<46} failed: {error.strerror}", flush=True)
    if args.out:
        with open(args.out, "w") as out:
            json.dump(report, out, indent=1)
            out.write("\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
