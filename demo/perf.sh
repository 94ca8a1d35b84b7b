# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# For demo/run: a short table out of ndk_perf. `make perf` is what measures.

PERF=/sys/kernel/debug/ndk_perf

# perf_run SIDE TEST KEY=VALUE…: prints count, elapsed ns, and the middle one of the samples in ns.
perf_run() {
	local word count=0 elapsed=0 samples=()
	echo "run side=$1 test=${*:2}" >"$PERF/ctl" || return 1
	for word in $(<"$PERF/result"); do
		case $word in count=*) count=${word#*=} ;; elapsed_ns=*) elapsed=${word#*=} ;; esac
	done
	case $2 in *_latency) mapfile -t samples < <(sort -n "$PERF/samples") ;; esac
	echo "$count $elapsed ${samples[$((${#samples[@]} / 2))]:-0}"
}

# perf_line WHAT UNIT EXPRESSION TEST KEY=VALUE…: one line and one check. EXPRESSION is awk's, of count n, seconds s and
# middle sample p in µs. Each side runs twice, in turn, and the better run counts: other load on the host is in the worse one.
perf_line() {
	local what=$1 unit=$2 value=$3 side runs=()
	shift 3
	for side in ours raw raw ours; do
		if ! runs+=("$(perf_run "$side" "$@")") 2>"$OUT"; then
			verdict 1 "$what, $side"
			return
		fi
	done
	printf '%s\n' "${runs[@]}" | awk -v what="$what" -v unit="$unit" '
		function better(a, b) { return (unit == "µs") == (a < b) ? a : b }
		{ n = $1; s = $2 / 1e9; p = $3 / 1e3; v[NR] = '"$value"' }
		END {
			ours = better(v[1], v[4])
			raw = better(v[2], v[3])
			printf "   %-40s %10.1f %10.1f %-6s %6.2f\n", what, ours, raw, unit, ours / raw
		}'
	PASSED=$((PASSED + 1))
}

# perf_table A B: the addresses of the two hosts.
perf_table() {
	nsenter --net=/run/netns/a sh -c "echo open end=a addr=$1 >$PERF/ctl" &&
		nsenter --net=/run/netns/b sh -c "echo open end=b addr=$2 >$PERF/ctl"
	verdict $? 'both adapters open'
	printf '\n   %-40s %10s %10s %-6s %6s\n' '' ndk verbs '' ratio
	perf_line '64 B send to and fro, half the time' µs 'p / 2' send_latency size=64 depth=4 iters=100
	perf_line '4 KiB write' µs p write_latency size=4096 iters=60
	perf_line '4 KiB read' µs p read_latency size=4096 iters=60
	perf_line '1 MiB writes, 8 outstanding' MiB/s 'n / s' write_stream size=1048576 depth=8 iters=8
	perf_line '1 MiB reads, 8 outstanding' MiB/s 'n / s' read_stream size=1048576 depth=8 iters=8
	perf_line '64 B sends, 128 outstanding' 1/s 'n / s' send_rate size=64 depth=128 iters=512
	perf_line 'connect, accept, close' 1/s 'n / s' connect iters=6
	perf_line 'fast register and invalidate, 64 pages' 1/s 'n / s' register size=262144 depth=4 iters=100
	printf '\n   The better of two short runs. To measure by, on a machine that is not emulated: make perf.\n'
	echo close >"$PERF/ctl"
}
