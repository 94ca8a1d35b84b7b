#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Allocations fail, each in turn: calls answer with a status that they may have, and nothing is leaked. NDK_LONG=1 leaves none
# out.
# Bug: B4
# kernels: uml-debug debug
# timeout: 120
# dmesg: Call Trace
# vmalloc says where it had no memory, whoever made it fail. What is wrong says more than that.
. "$(dirname "$0")/ndk-test-lib.sh"

# What never comes for want of memory is not waited for long.
NDK_PARAMS=(connect_timeout_ms=$((1500 * TIME_SCALE)) hold_timeout_ms=$((10000 * TIME_SCALE))
	accept_timeout_ms=$((2000 * TIME_SCALE)) disconnect_timeout_ms=$((1000 * TIME_SCALE)))
exec {SHOWN}>&1
FAILSLAB=/sys/kernel/debug/failslab

# one_life N: in the life of a connection, one of the next N allocations fails, wherever it is made.
one_life() {
	echo "$1" >$FAILSLAB/interval
	echo 1 >$FAILSLAB/times
	echo 100 >$FAILSLAB/probability
	echo failnth_life/one_life >$NDK_TEST/run
	echo 0 >$FAILSLAB/probability
	local line
	while read -r line; do
		case $line in
		'#'*) echo "N=$1: $line" ;;
		'not ok'*) return 1 ;;
		esac
	done <$NDK_TEST/results
}

# many_lives FROM TO STEP
many_lives() {
	local n rc=0
	for ((n = $1; n <= $2; n += $3)); do
		one_life "$n" || rc=1
		[[ ! ${NDK_LONG:-} ]] || ((n % 100)) || echo "# $n of $2 allocations" >&"$SHOWN"
	done
	return "$rc"
}

# Nothing of what failed keeps a device.
links_go() {
	local start=$SECONDS
	link_del a && link_del b && ((SECONDS - start <= 5 * TIME_SCALE)) && _rdma_up
}

have_fail_nth || ktap_skip_all "the kernel has no fault injection"
dmesg_mark failnth
if ! ndk_test_up; then
	ktap_plan 1
	ktap_not_ok "two hosts and the test module come up"
	ktap_end
fi
fail_nth_setup
kmemleak_clear
ndk_test_cases failnth failnth_cq failnth_posts failnth_workers failnth_life
ktap_plan $((${#CASES[@]} + 9))
for case in "${CASES[@]}"; do run_case "$case"; done
# In the long form each of them, which takes ten minutes.
check "one of the first 40 allocations fails" many_lives 1 40 1
check "one of the first 200 allocations fails" many_lives $((${NDK_LONG:-0} ? 41 : 44)) 200 $((${NDK_LONG:-0} ? 1 : 7))
check "one of the first 1500 allocations fails" many_lives $((${NDK_LONG:-0} ? 201 : 220)) 1500 $((${NDK_LONG:-0} ? 1 : 80))
check "both links go at once, and come back" links_go
check "a life without failures" case_passes failnth_life/one_life
ndk_test_end
