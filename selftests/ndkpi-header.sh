#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A consumer that knows the Windows names of include/ndk/ndkpi.h only gets what NDKPI promises.
# kernels: uml-debug stock
# timeout: 90
. "$(dirname "$0")/lib.sh"

CASES=(layout adapter objects mdl register lam connect refuse extended shared_endpoint transfer invalidate window srq cq flush
	callbacks pending atomic)
# Where allocations can be failed.
! have_fail_nth || CASES+=(failing path)
[[ -z ${CASE:-} ]] || mapfile -t CASES < <(printf '%s\n' "${CASES[@]}" | grep -E "$CASE")

consume() {
	ip netns exec a insmod "$MODULES/ndkpi_consumer.ko" run="$1" interface=veth_a address="$2" scale="$TIME_SCALE"
}

# run_case NAME ADDRESS: what was wrong is in the log.
run_case() {
	dmesg_mark "$1"
	consume "$1" "$2" && rmmod ndkpi_consumer && dmesg_since_mark | grep -q "ndkpi_consumer: $1: 0 failures" && dmesg_clean && return 0
	dmesg_since_mark | grep -F ndkpi_consumer:
	return 1
}

# With a connection open its device goes.
run_removal() {
	dmesg_mark removal
	consume removal 10.9.0.1 && link_del a && rmmod ndkpi_consumer && dmesg_since_mark | grep -q "ndkpi_consumer: removal: 0 failures" &&
		link_add a && link_ready a && return 0
	dmesg_since_mark | grep -F ndkpi_consumer:
	return 1
}

ktap_plan $((${#CASES[@]} + 6))
world_up rxe
check "ndk loads" load_ndk
fail_nth_setup
for case in "${CASES[@]}"; do check "$case" run_case "$case" 10.9.0.1; done
check "a connection over IPv6" run_case connect fd09::1
check "removal" run_removal
check "RDMA objects are back to what they were" resources_clean
check "ndk unloads" unload_ndk
check "the kernel log is clean" dmesg_clean
ktap_end
