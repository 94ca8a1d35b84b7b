#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Random operations from a seed, on many connections and both CPUs: each request has one result, each close its end, no byte is wrong.
# "make soak" is the long form.
# kernels: uml-debug
# timeout: 90
. "$(dirname "$0")/ndk-test-lib.sh"

NDK_TEST_PARAMS=("connections=${CONNECTIONS:-16}" "seconds=${SOAK_SECONDS:-7}" "operations=${OPERATIONS:-0}")
# A fixed seed, and one that is new each time.
SEEDS=("${SEED:-1}")
[[ ${SEED:-} ]] || SEEDS+=("$((RANDOM << 30 | RANDOM << 15 | RANDOM))")

dmesg_mark soak
if ! ndk_test_up; then
	ktap_plan 1
	ktap_not_ok "two hosts and the test module come up"
	ktap_end
fi
fail_nth_setup
kmemleak_clear
stress_main soak
