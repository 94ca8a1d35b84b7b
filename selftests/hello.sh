#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The C example sends its message over IPv4 and IPv6, and leaves nothing.
# kernels: uml-debug stock
# timeout: 30
. "$(dirname "$0")/lib.sh"

said_hello() { dmesg_since_mark | grep -F " $1:" | grep -q "status 0, received: hello, world"; }
hello() {
	dmesg_since_mark | grep -qF "ndk_hello: $1" && dmesg_since_mark | grep -q "status 0, received: hello, world"
}
hello() {
	dmesg_mark hello
	ip netns exec a insmod "$MODULES/ndk_hello.ko" address="$1" && rmmod ndk_hello && said_hello "$2"
}

ktap_plan 7
world_up rxe
check "ndk loads" load_ndk
check "a message over IPv4" hello 10.9.0.1 10.9.0.1
check "a message over IPv6" hello fd09::1 "[fd09::1]"
check_fails "an address without RDMA is refused" ip netns exec a insmod "$MODULES/ndk_hello.ko" address=10.9.0.9
check "RDMA objects are back to what they were" resources_clean
check "ndk unloads" unload_ndk
check "the kernel log is clean" dmesg_clean
ktap_end
