#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Random operations from a seed, on many connections and both CPUs: each request has one result, each close its end, no byte is wrong.
# kernels: uml-debug
# timeout: 90
. "$(dirname "$0")/ndk-test-lib.sh"

# Without SEED: a fixed seed, and one that is new each time.
SEED=${SEED:-}
SOAK_SECONDS=${SOAK_SECONDS:-9}
CONNECTIONS=${CONNECTIONS:-16}

# soak SEED
soak() {
	echo "$1" >/sys/module/ndk_test/parameters/seed
	case_passes soak/random_operations
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
fail_nth_setup
kmemleak_clear
ktap_plan $((${#seeds[@]} + 4))
for seed in "${seeds[@]}"; do
	verdict=0
	soak "$seed" || verdict=1
	ktap_result "$verdict" "$CONNECTIONS connections, seed $seed"
done
ndk_test_end
