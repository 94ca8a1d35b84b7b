#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A link goes while transfers run on many connections, and nobody has closed anything: the removal ends, both ends of all connections
# hear of it, each request has its result. "make removal-storm" is the long form.
# kernels: uml-debug
# timeout: 180
. "$(dirname "$0")/ndk-test-lib.sh"

NDK_TEST_PARAMS=("connections=${CONNECTIONS:-64}" "removals=${ROUNDS:-2}" "seed=${SEED:-1}")

dmesg_mark removal-storm
if ! ROUNDS='' ndk_test_up; then
	ktap_plan 1
	ktap_not_ok "two hosts and the test module come up"
	ktap_end
fi
# Sooner than by default, so that nothing that is over in the end has hung before.
echo 30 >/proc/sys/kernel/hung_task_timeout_secs
kmemleak_clear
stress_main removal_storm
