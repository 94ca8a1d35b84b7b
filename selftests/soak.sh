#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Random operations from a seed, on many connections and both CPUs: each request has one result, each close its end, no byte is wrong.
# "make soak" is the long form.
# kernels: uml-debug
# timeout: 90
. "$(dirname "$0")/ndk-test-lib.sh"

# Without SEED: a fixed seed, and one that is new each time.
SEED=${SEED:-}
SOAK_SECONDS=${SOAK_SECONDS:-7}
CONNECTIONS=${CONNECTIONS:-16}

# soak SEED
soak() {
	echo "$1" >/sys/module/ndk_test/parameters/seed
	case_passes "${CASES[0]}"
}

# How far it is, each minute of a long run.
progress() {
	local start=$SECONDS done
	while pause 60; do
		read -r done </sys/module/ndk_test/parameters/done || return
		echo "# $(((SECONDS - start) / 60)) of $((SOAK_SECONDS / 60)) minutes, $done operations of the first worker"
	done
}

NDK_TEST_PARAMS=("connections=$CONNECTIONS" "seconds=$SOAK_SECONDS" "operations=${OPERATIONS:-0}")
seeds=("${SEED:-1}")
[[ $SEED ]] || seeds+=("$((RANDOM << 30 | RANDOM << 15 | RANDOM))")

dmesg_mark soak
if ! ndk_test_up; then
	ktap_plan 1
	ktap_not_ok "two hosts and the test module come up"
	ktap_end
fi
ndk_test_cases soak
fail_nth_setup
kmemleak_clear
ktap_plan $((${#seeds[@]} + 4 + ${NDK_LONG:-0}))
if [[ ${NDK_LONG:-} ]]; then
	progress &
	beat=$!
fi
for seed in "${seeds[@]}"; do
	verdict=0
	soak "$seed" || verdict=1
	ktap_result "$verdict" "$CONNECTIONS connections, seed $seed"
done
[[ ! ${NDK_LONG:-} ]] || kill "$beat"
check "RDMA objects are back to what they were" resources_clean 10
check "ndk_test unloads" rmmod ndk_test
check "ndk unloads" unload_ndk
# The runner asks after all tests.
[[ ! ${NDK_LONG:-} ]] || check "no memory leaked" kmemleak_clean
check "the kernel log is clean" dmesg_clean
ktap_end
