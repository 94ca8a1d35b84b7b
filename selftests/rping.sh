#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Unmodified rping against ndk_rping, both ways round, over IPv4 and IPv6; what goes wrong has its status.
# kernels: uml uml-debug stock
# timeout: 90
. "$(dirname "$0")/lib.sh"

D=/sys/kernel/debug/ndk_rping
# "ip netns exec" would hide debugfs.
ask() { nsenter --net="/run/netns/$1" sh -c "echo '${*:2}' >$D/ctl"; }
status() { cat "$D/status"; }
says() { status | grep -qE "$1" || { status; return 1; }; }

# their_client ADDRESS COUNT SIZE
their_client() {
	ask b "server addr=$1" &&
		timeout $((20 * TIME_SCALE)) ip netns exec a rping -c -a "$1" -C "$2" -S "$3" -V &&
		wait_for 5 says "role=server .*state=ended rounds=$2 .*error=0" || return 1
	ask b stop && ask b clear
}

# their_server OUR-ADDRESS ADDRESS COUNT [OPTION]
their_server() {
	local server rc=0
	timeout $((20 * TIME_SCALE)) ip netns exec b rping -s -a "$2" -C "$3" &
	server=$!
	sleep 1
	ask a "client addr=$1 dst=$2 count=$3 ${4:-}" && ask a "wait ms=$((20000 * TIME_SCALE))" &&
		says "role=client .*state=ended rounds=$3 verified=$3 error=0" || rc=1
	kill "$server" 2>/dev/null
	wait "$server" 2>/dev/null
	ask a clear
	return "$rc"
}

# refused PATTERN COMMAND-OF-A: the client's status after it.
refused() {
	ask a "${@:2}" && ask a "wait ms=$((20000 * TIME_SCALE))" && says "role=client .*$1" || return 1
	ask a clear
}

active_reject() {
	ask a "client addr=10.9.0.1 dst=10.9.0.2 reject=no" && ask a wait && says "role=client .*state=ended .*error=0" &&
		wait_for 5 says "role=server .*state=ended .*error=ECONNABORTED"
}

several() {
	local n pids=() rc=0
	ask b "server addr=10.9.0.2"
	for n in 1 2 3 4; do
		timeout $((30 * TIME_SCALE)) ip netns exec a rping -c -a 10.9.0.2 -C 50 -V &
		pids+=($!)
	done
	for n in "${pids[@]}"; do wait "$n" || rc=1; done
	ask b stop && ask b clear
	return "$rc"
}

killed_client() {
	local client
	ask b "server addr=10.9.0.2"
	ip netns exec a rping -c -a 10.9.0.2 -C 0 >/dev/null 2>&1 &
	client=$!
	wait_for 10 says "role=server .*state=connected rounds=[1-9]" || return 1
	kill -9 "$client"
	wait_for 10 says "role=server .*state=ended" || return 1
	ask b stop && ask b clear
}

contexts() {
	ask b "server addr=10.9.0.2 data=from-server" && ask a "client addr=10.9.0.1 dst=10.9.0.2 data=from-client" &&
		ask a wait || return 1
	wait_for 5 says "role=server .*state=ended .*data=from-client" && says "role=client .*data=from-server" || return 1
	local event
	for event in connect_event connect accept complete_connect; do
		grep -q "event=$event context=softirq .*status=0" "$D/log" || { cat "$D/log"; return 1; }
	done
	ask a stop && ask a clear
}

ktap_plan 16
world_up rxe
load_ndk && modprobe ndk_rping
dmesg_mark rping
check "rping -c against the listener, IPv4" their_client 10.9.0.2 100 64
check "rping -c against the listener, IPv6" their_client fd09::2 100 64
check "rping -c with large buffers" their_client 10.9.0.2 20 60000
check "the connector against rping -s, IPv4" their_server 10.9.0.1 10.9.0.2 100
check "the connector against rping -s, IPv6" their_server fd09::1 fd09::2 100
check "from a shared endpoint against rping -s, IPv4" their_server 10.9.0.1 10.9.0.2 20 shared=true
check "from a shared endpoint against rping -s, IPv6" their_server fd09::1 fd09::2 20 shared=true
check "four rping -c at once" several
check "private data arrives, and callbacks run in softirq context" contexts
check "nobody listens" refused error=ECONNREFUSED "client addr=10.9.0.1 dst=10.9.0.2 port=7999"
ask b "server addr=10.9.0.2 reject=not-you"
check "a reject, with its private data" refused "error=ECONNREFUSED .*data=not-you" "client addr=10.9.0.1 dst=10.9.0.2"
ask b stop
ask b "server addr=10.9.0.2"
check "a reject by the active side" active_reject
ask b stop
ask b clear
check "a client killed in mid-transfer" killed_client
rmmod ndk_rping
check "RDMA objects are back to what they were" resources_clean
check "ndk unloads" unload_ndk
check "the kernel log is clean" dmesg_clean
ktap_end
