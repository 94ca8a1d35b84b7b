# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# For the selftests that consist of cases of the module ndk_test. Such a test is
#   . "$(dirname "$0")/ndk-test-lib.sh"
#   ndk_test_main GROUP…
# Each case becomes a line of KTAP. CASE=PATTERN in the environment leaves out the cases whose names do not match, EXCEPT=PATTERN those
# that do, ROUNDS=N sets how many rounds the case takes that counts notifications, NDK_LONG=1 takes the long form of cases that have one.
# Parameters of ndk go into the array NDK_PARAMS before, those of ndk_test into NDK_TEST_PARAMS.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

NDK_TEST=/sys/kernel/debug/ndk_test

# What the module runs in the guest: functions of lib.sh.
_host_script() {
	cat >/tmp/ndk-test-host <<-END
		export NDK_KERNEL=$NDK_KERNEL
		. "$NDK_DIR/selftests/lib.sh"
		WORLD_TYPE=$WORLD_TYPE
		forget_neighbours() {
			ip -n a neigh flush dev veth_a
			ip -n b neigh flush dev veth_b
			true
		}
		{ eval "\$*"; } >/tmp/ndk-test-host.log 2>&1 && exit 0
		sed 's/^/ndk-test-host: /' /tmp/ndk-test-host.log >/dev/kmsg
		exit 1
	END
}

# Names the two hosts to the module, by descriptors of their namespaces.
_tell_world() {
	local ns fd n=1
	for ns in a b; do
		exec {fd}</run/netns/$ns
		echo "$ns $fd ${WORLD_TYPE}_$ns veth_$ns 10.9.0.$n fd09::$n" >$NDK_TEST/world || return 1
		exec {fd}<&-
		n=2
	done
	[[ $WORLD_TYPE == rxe ]] || echo iwarp >$NDK_TEST/world
}

# ndk_test_up [rxe|siw|nulldev]
ndk_test_up() {
	world_up "${1:-rxe}" && load_ndk "${NDK_PARAMS[@]}" && modprobe ndk_test scale="$TIME_SCALE" ${VERBOSE:+verbose=1} ${ROUNDS:+rounds=$ROUNDS} ${NDK_LONG:+long=1} "${NDK_TEST_PARAMS[@]}" || return 1
	_host_script && _tell_world
}

# The cases of the groups, into CASES.
ndk_test_cases() {
	local line group
	CASES=()
	while read -r line; do
		for group in "$@"; do
			[[ $line == "$group"/* && ( -z ${CASE:-} || $line =~ $CASE ) && ! ( -n ${EXCEPT:-} && $line =~ $EXCEPT ) ]] &&
				CASES+=("$line")
		done
	done <$NDK_TEST/list
}

# case_passes GROUP/CASE: runs it; prints what was wrong.
case_passes() {
	local line verdict=1
	# The write itself fails for a case that is not there.
	echo "$1" >$NDK_TEST/run || return 1
	while read -r line; do
		case $line in
		'#'*) printf '%s\n' "$line" ;;
		'ok '*) verdict=0 ;;
		esac
	done <$NDK_TEST/results
	return "$verdict"
}

# run_case GROUP/CASE: one line of KTAP.
run_case() {
	local verdict=0
	case_passes "$1" || verdict=1
	ktap_result "$verdict" "$1"
}

# The four checks that every test ends with.
ndk_test_end() {
	check "RDMA objects are back to what they were" resources_clean 10
	check "ndk_test unloads" rmmod ndk_test
	check "ndk unloads" unload_ndk
	check "the kernel log is clean" dmesg_clean "$(sed -n '1,20s/^# dmesg: *//p' "$0")"
	ktap_end
}

# ndk_test_main [-t siw|nulldev] GROUP…
ndk_test_main() {
	local type=rxe case
	if [[ $1 == -t ]]; then
		type=$2
		shift 2
	fi
	dmesg_mark "$*"
	if ! ndk_test_up "$type"; then
		ktap_plan 1
		ktap_not_ok "two hosts and the test module come up"
		ktap_end
	fi
	ndk_test_cases "$@"
	ktap_plan $((${#CASES[@]} + 4))
	for case in "${CASES[@]}"; do run_case "$case"; done
	ndk_test_end
}

# How far a long run is, each minute.
_stress_progress() {
	local start=$SECONDS done
	while pause 60; do
		read -r done </sys/module/ndk_test/parameters/done || return
		echo "# $(((SECONDS - start) / 60)) minutes, $done ${1:-done}"
	done
}

# stress_main GROUP…: the cases, each with all of SEEDS, if there are any. In a long run (NDK_LONG) it shows how far it is, and asks in
# the end for leaks, which the runner does else.
stress_main() {
	local case seed beat
	ndk_test_cases "$@"
	ktap_plan $((${#CASES[@]} * (${#SEEDS[@]} ? ${#SEEDS[@]} : 1) + 4 + ${NDK_LONG:-0}))
	if [[ ${NDK_LONG:-} ]]; then
		_stress_progress &
		beat=$!
	fi
	for case in "${CASES[@]}"; do
		[[ ${SEEDS[*]} ]] || run_case "$case"
		for seed in "${SEEDS[@]}"; do
			echo "$seed" >/sys/module/ndk_test/parameters/seed
			run_case "$case"
		done
	done
	[[ ! ${NDK_LONG:-} ]] || kill "$beat"
	check "RDMA objects are back to what they were" resources_clean 10
	check "ndk_test unloads" rmmod ndk_test
	check "ndk unloads" unload_ndk
	[[ ! ${NDK_LONG:-} ]] || check "no memory leaked" kmemleak_clean
	check "the kernel log is clean" dmesg_clean
	ktap_end
}
