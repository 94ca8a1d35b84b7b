#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The guest itself: both namespaces talk RDMA with tools of rdma-core, and nothing is left afterwards.
# kernels: uml uml-debug stock
# timeout: 30
. "$(dirname "$0")/lib.sh"

rping_once() {
	in_b rping -s -a "$1" -C 5 &
	local server=$! rc=0
	sleep 0.5
	in_a timeout 20 rping -c -a "$1" -C 5 || rc=$?
	wait "$server"
	return "$rc"
}

ktap_plan 5
dmesg_mark world
check "two namespaces with rxe come up" world_up rxe
check "rping over IPv4" rping_once 10.9.0.2
check "rping over IPv6" rping_once fd09::2
check "RDMA objects are back to what they were" resources_clean
world_down
check "the kernel log is clean" dmesg_clean
ktap_end
