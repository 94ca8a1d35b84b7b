#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Capabilities, counters and tables of an adapter, and debugfs, which is read while objects and the device come and go.
# kernels: uml-debug debug
# timeout: 90
. "$(dirname "$0")/ndk-test-lib.sh"

D=/sys/kernel/debug/ndk

# Reads every file again and again, until the directory is gone for good.
read_all() {
	while :; do cat $D/*/* >/dev/null 2>&1 || pause 0.01; done
}

# under_eyes CASE: while three read, all at a time.
under_eyes() {
	local readers=() rc=0 n
	for n in 1 2 3; do
		read_all &
		readers+=($!)
	done
	case_passes "$1" || rc=1
	kill "${readers[@]}"
	wait "${readers[@]}" 2>/dev/null
	return $rc
}

# A file that is held open does not hold up the device, and says nothing of it any more.
held_open() {
	local fd start=$SECONDS text
	exec {fd}<$D/rxe_b/objects
	link_del b && ((SECONDS - start <= 2 * TIME_SCALE)) || return 1
	text=$(cat <&"$fd" 2>/dev/null)
	exec {fd}<&-
	[[ -z $text && ! -e $D/rxe_b ]] || return 1
	link_add b && link_ready b && _tell_world && [[ -e $D/rxe_b/objects ]]
}

gone() { [[ ! -e $D ]]; }

dmesg_mark observe
if ! ndk_test_up; then
	ktap_plan 1
	ktap_not_ok "two hosts and the test module come up"
	ktap_end
fi
ndk_test_cases observe tables
ktap_plan $((${#CASES[@]} + 9))
for case in "${CASES[@]}"; do run_case "$case"; done
check "files are read while connections come and go" under_eyes listening/sixteen_at_once
check "files are read while objects fail and end" under_eyes lifetime/all_antecedents_closed_first
check "files are read while a device is removed under traffic" under_eyes removal/sixteen_busy_connections_lose_the_passive_link
check "an open file does not hold up a removal" held_open
check "nothing is left behind" case_passes tables/nothing_is_left_behind
check "RDMA objects are back to what they were" resources_clean 10
check "both modules unload" eval 'rmmod ndk_test && unload_ndk'
check "the directory is gone" gone
check "the kernel log is clean" dmesg_clean
ktap_end
