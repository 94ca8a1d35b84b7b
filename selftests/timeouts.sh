#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The parameters of the module: what they can be, and who does not answer in the time that they give.
# kernels: uml-debug
# timeout: 60
. "$(dirname "$0")/ndk-test-lib.sh"

# As in case_timeouts.c.
NDK_PARAMS=(connect_timeout_ms=$((1500 * TIME_SCALE)) hold_timeout_ms=$((800 * TIME_SCALE)) accept_timeout_ms=$((400 * TIME_SCALE))
	disconnect_timeout_ms=$((500 * TIME_SCALE)) listen_backlog=3)

# Name, least and most of each parameter, as modinfo has them.
params() { modinfo -F parm ndk | sed -n 's/^\([a-z_]*\):.*(\([0-9]*\) to \([0-9]*\), default [0-9]*).*$/\1 \2 \3/p'; }

loads_with() { load_ndk "$@" && unload_ndk; }

# Refused, and the log says what could be.
refuses() { # NAME VALUE LEAST MOST
	! load_ndk "$1=$2" 2>/dev/null && ! ndk_loaded && dmesg | grep -q "ndk: $1 is $2, and can be $3 to $4"
}

out_of_range_is_refused() {
	local name least most rc=0
	while read -r name least most; do
		refuses "$name" $((least - 1)) "$least" "$most" || { echo "$name: less than $least"; rc=1; }
		refuses "$name" $((most + 1)) "$least" "$most" || { echo "$name: more than $most"; rc=1; }
	done < <(params)
	return "$rc"
}

no_number_is_refused() {
	local value
	for value in -1 4294967296 abc ''; do
		! load_ndk "hold_timeout_ms=$value" 2>/dev/null && ! ndk_loaded || return 1
	done
}

dmesg_mark timeouts
if ! ndk_test_up; then
	ktap_plan 1
	ktap_not_ok "two hosts and the test module come up"
	ktap_end
fi
ndk_test_cases timeouts
ktap_plan $((${#CASES[@]} + 9))
for case in "${CASES[@]}"; do run_case "$case"; done
check "RDMA objects are back to what they were" resources_clean 10
check "ndk_test unloads" rmmod ndk_test
check "ndk unloads" unload_ndk
mapfile -t least < <(params | sed 's/ \([0-9]*\) .*/=\1/')
mapfile -t most < <(params | sed 's/ [0-9]* /=/')
check_eq "five parameters are described with their ranges" 5 "${#least[@]}"
check "each can be the least that it says" loads_with "${least[@]}"
check "each can be the most that it says" loads_with "${most[@]}"
check "what is out of range is refused" out_of_range_is_refused
check "what is no number is refused" no_number_is_refused
check "the kernel log is clean" dmesg_clean
ktap_end
