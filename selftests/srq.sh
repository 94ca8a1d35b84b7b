#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Receives in an SRQ go to whoever gets a message; it tells when it runs low; it outlives its QPs and they do not outlive it.
# kernels: uml-debug debug
# timeout: 90
. "$(dirname "$0")/ndk-test-lib.sh"
# Where the processor is emulated, what locks and contexts depend on.
[[ $NDK_KERNEL == uml-debug ]] ||
	CASE=${CASE:-'/(results_|notifies_of_a_fall|refilled|depth_grows|called_under|flush_|closed_in_|fails_armed|eight_qps|device_goes)'}
ndk_test_main srq srq_notify srq_life srq_crowd
