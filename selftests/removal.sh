#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Devices go away under their consumers, and the module stays as long as it has one.
# kernels: uml-debug debug stock
# timeout: 180
. "$(dirname "$0")/ndk-test-lib.sh"

# The unloading of both modules, in seconds.
quick_unload() {
	local start=$SECONDS
	rmmod ndk_test && unload_ndk && ((SECONDS - start <= 5 * TIME_SCALE))
}

dmesg_mark removal
if ! ndk_test_up; then
	ktap_plan 1
	ktap_not_ok "two hosts and the test module come up"
	ktap_end
fi
ndk_test_cases removal
ktap_plan $((${#CASES[@]} + 7))
for case in "${CASES[@]}"; do run_case "$case"; done
check_fails "ndk is not unloaded under a consumer" rmmod ndk
check "it is as it was" case_passes adapter/opens_by_device_name_and_port
check "both unload at once when nothing is held" quick_unload
check "ndk comes back" load_ndk
check "and unloads" unload_ndk
check "RDMA objects are back to what they were" resources_clean
check "the kernel log is clean" dmesg_clean
ktap_end
