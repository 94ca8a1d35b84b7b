#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Packets get lost or arrive in another order, and receives come late: no wrong byte, and each request has one result. "make loss" is
# the long form.
# kernels: uml-debug
# timeout: 180
. "$(dirname "$0")/ndk-test-lib.sh"

NDK_TEST_PARAMS=("connections=${CONNECTIONS:-16}" "messages=${MESSAGES:-1500}" "seed=${SEED:-1}")

dmesg_mark loss
if ! ndk_test_up; then
	ktap_plan 1
	ktap_not_ok "two hosts and the test module come up"
	ktap_end
fi
kmemleak_clear
stress_main loss
