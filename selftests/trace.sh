#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The tracepoints ndk:*: what a consumer does shows, in order and in pairs, and nothing does when nobody listens.
# kernels: uml-debug stock
# timeout: 60
. "$(dirname "$0")/ndk-test-lib.sh"

T=/sys/kernel/tracing
LOG=/tmp/ndk-trace

# What CASE does, as traced, into LOG: "event: fields" per line.
traced() {
	echo 0 >$T/tracing_on
	: >$T/trace
	echo 1 >$T/events/ndk/enable
	echo 1 >$T/tracing_on
	"$@"
	local rc=$?
	echo 0 >$T/tracing_on
	echo 0 >$T/events/ndk/enable
	sed -n 's/^.*: \(ndk_[a-z_]*: \)/\1/p' $T/trace >$LOG
	return $rc
}

# has PATTERN [COUNT]: so many lines, or any.
has() {
	local n
	n=$(grep -cE -- "$1" $LOG)
	[[ ${2:-} ]] && ((n == $2)) || { [[ -z ${2:-} ]] && ((n > 0)); } && return 0
	echo "$n lines of: $1"
	head -n 60 $LOG
	return 1
}

# Every object is created, closed and then has its close completed; each once.
lives_are_whole() {
	awk '$1 ~ /^ndk_object_/ { n++
			want = $1 == "ndk_object_create:" ? "" : $1 == "ndk_object_close:" ? "ndk_object_create:" : "ndk_object_close:"
			if (last[$2] != want) { print "after " last[$2] ": " $0; bad = 1 }
			last[$2] = $1 }
		END { for (o in last) if (last[o] != "ndk_object_closed:") { print o " is left at " last[o]; bad = 1 }
			exit bad || !n }' $LOG
}

# in_order PATTERN…: lines with these come in this order.
in_order() {
	local line at=0 next
	for line; do
		next=$(awk -v at="$at" -v p="$line" 'NR > at && $0 ~ p { print NR; exit }' $LOG)
		[[ $next ]] || { echo "no more after line $at: $line"; head -n 60 $LOG; return 1; }
		at=$next
	done
}

# Of one device and QP: as many requests in doorbells as posts.
doorbells_cover_posts() {
	awk '$1 == "ndk_post:" { n[$2 $3]++ }
		$1 == "ndk_doorbell:" { split($5, r, "="); if ($6 == "status=0") n[$2 $3] -= r[2]; seen++ }
		END { for (q in n) if (n[q] != 0) { print q " differs by " n[q]; bad = 1 } exit bad || !seen }' $LOG
}


every_event_has_a_format() {
	local event n=0
	for event in $T/events/ndk/*/format; do
		grep -q '^print fmt:' "$event" || return 1
		n=$((n + 1))
	done
	((n >= 23)) || { ls $T/events/ndk; return 1; }
}

nothing_without_listener() {
	: >$T/trace
	echo 1 >$T/tracing_on
	case_passes datapath/send_64_bytes || return 1
	echo 0 >$T/tracing_on
	! grep ndk_ $T/trace
}

# The time of a full ring buffer is the time of its reader: events may come while it is read.
read_under_load() {
	echo 1 >$T/events/ndk/enable
	echo 1 >$T/tracing_on
	cat $T/trace_pipe >/dev/null &
	local reader=$! rc=0
	case_passes datapath/both_directions_at_once || rc=1
	kill "$reader"
	wait "$reader" 2>/dev/null
	echo 0 >$T/tracing_on
	echo 0 >$T/events/ndk/enable
	return $rc
}

dmesg_mark trace
if ! ndk_test_up; then
	ktap_plan 1
	ktap_not_ok "two hosts and the test module come up"
	ktap_end
fi
[[ -d $T/events ]] || mount -t tracefs nodev $T
# The order of events on several processors shows in no other clock.
echo counter >$T/trace_clock
ktap_plan 33
check "every event has a format" every_event_has_a_format
check "nothing is traced while nobody listens" nothing_without_listener

check "a message is traced" traced case_passes datapath/send_64_bytes
check "objects are created, closed and closed for good" lives_are_whole
check "the listener starts, listens and closes" in_order 'ndk_listener_state: .* created -> starting' \
	'ndk_listener_state: .* starting -> listening' 'ndk_listener_state: .* listening -> closing' \
	'ndk_listener_state: .* closing -> closed'
check "the active connector goes all the way" in_order 'idle -> connecting:address' 'connecting:address -> connecting:route' \
	'connecting:route -> connecting:reply' 'connecting:reply -> accepted' 'accepted -> completing' 'completing -> connected'
check "the passive connector does" in_order 'incoming -> accepting' 'accepting -> connected'
check "endpoints are bound: the listener's and the connector's" has 'ndk_endpoint_bind: local=10\.9\.0\.[12]:[0-9]+ status=0' 2
check "the send is posted by QP, operation and context" \
	has 'ndk_post: device=rxe_a qpn=[0-9]+ operation=send flags=.* context=[0-9a-f]+ signalled=1'
check "the receive is" has 'ndk_post: device=rxe_b qpn=[0-9]+ operation=receive .* signalled=1'
check "a doorbell follows each post" in_order 'ndk_post: .*operation=receive' 'ndk_doorbell: .*queue=receive requests=1 status=0' \
	'ndk_post: .*operation=send' 'ndk_doorbell: .*queue=initiator requests=1 status=0'
check "no request is without a doorbell" doorbells_cover_posts
check "completions are, with status, operation and bytes" has 'ndk_completion: cq=[0-9]+ status=0 operation=receive bytes=64 '
check "a chain of 16 deferred requests is traced" traced case_passes defer/chain_of_16
check "it has one doorbell" has 'ndk_doorbell: .*queue=initiator requests=16 status=0' 1
check "and no other but that of the message after it" has 'ndk_doorbell: .*queue=initiator' 2
check "a failing post behind deferred ones is traced" traced case_passes defer/bad_range_pushes
check "it has one doorbell for those before it" has 'ndk_doorbell: .*queue=initiator requests=3 status=0' 1
check "a notification is traced" traced case_passes cq/one_notification_per_arm
check "a CQ is armed and notifies" in_order 'ndk_arm: cq=[0-9]+ type=any' 'ndk_notify_begin: cq=[0-9]+ status=0' \
	'ndk_notify_end: cq=[0-9]+ status=0'
check "an SRQ that runs low is traced" traced case_passes srq_notify/notifies_when_armed_again
check "it is filled, armed and notifies" in_order 'ndk_srq_receive: srq=[0-9]+ context=[0-9a-f]+ level=20 status=0' \
	'ndk_srq_modify: srq=[0-9]+ depth=0 threshold=19 status=0' 'ndk_srq_notify_begin: srq=[0-9]+ status=0' \
	'ndk_srq_notify_end: srq=[0-9]+ status=0'

check "a fast registration is traced" traced case_passes fastreg/registered_used_and_invalidated
check "it is registered, posted, invalidated and posted" in_order 'ndk_post: .*operation=fast_register flags=.*remote_read' \
	'ndk_mr_fast_register: mr=[0-9]+ token=0x[0-9a-f]+ .* status=0' 'ndk_post: .*operation=invalidate' \
	'ndk_mr_invalidate: mr=[0-9]+ token=0x[0-9a-f]+ status=0'
check "a registration is traced" traced case_passes memory/registered_again_has_another_token
check "it begins and ends" in_order 'ndk_mr_register: mr=[0-9]+ token=0x[0-9a-f]+ .* length=[0-9]+ .* status=0' \
	'ndk_mr_deregister: mr=[0-9]+ token=0x[0-9a-f]+ status=0'

check "a removal is traced" traced link_del b
check "it begins and ends, by device and port" in_order 'ndk_device_remove: device=rxe_b port=1' 'ndk_device_removed: device=rxe_b port=1'
check "reading while events come changes nothing" eval 'link_add b && link_ready b && _tell_world && read_under_load'
ndk_test_end
