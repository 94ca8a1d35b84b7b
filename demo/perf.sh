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
# middle sample p in µs.
perf_line() {
	local what=$1 unit=$2 value=$3 ours raw
	shift 3
	if ! { ours=$(perf_run ours "$@") && raw=$(perf_run raw "$@"); } 2>"$OUT"; then
		verdict 1 "$what"
		return
	fi
	printf '%s\n%s\n' "$ours" "$raw" | awk -v what="$what" -v unit="$unit" '
		{ n = $1; s = $2 / 1e9; p = $3 / 1e3; v[NR] = '"$value"' }
		END { printf "   %-40s %10.1f %10.1f %-6s %6.2f\n", what, v[1], v[2], unit, v[1] / v[2] }'
	PASSED=$((PASSED + 1))
}

# perf_table A B: the addresses of the two hosts.
perf_table() {
	nsenter --net=/run/netns/a sh -c "echo open end=a addr=$1 >$PERF/ctl" &&
		nsenter --net=/run/netns/b sh -c "echo open end=b addr=$2 >$PERF/ctl"
	verdict $? 'both adapters open'
	printf '\n   %-40s %10s %10s %-6s %6s\n' '' ndk verbs '' ratio
	perf_line '64 B send to and fro, half the time' µs 'p / 2' send_latency size=64 depth=4 iters=200
	perf_line '4 KiB write' µs p write_latency size=4096 iters=100
	perf_line '4 KiB read' µs p read_latency size=4096 iters=100
	perf_line '1 MiB writes, 16 outstanding' MiB/s 'n / s' write_stream size=1048576 depth=16 iters=16
	perf_line '1 MiB reads, 16 outstanding' MiB/s 'n / s' read_stream size=1048576 depth=16 iters=16
	perf_line '64 B sends, 128 outstanding' 1/s 'n / s' send_rate size=64 depth=128 iters=1024
	perf_line 'connect, accept, close' 1/s 'n / s' connect iters=8
	perf_line 'fast register and invalidate, 64 pages' 1/s 'n / s' register size=262144 depth=4 iters=200
	printf '\n   Too short a run to measure by, and no kernel to do it on where QEMU emulates: that is what make perf is for.\n'
	echo close >"$PERF/ctl"
}
