#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# CQs, SRQs and what every state of a connection allows, over TCP: on siw everything that iWARP can do. Documentation/limits.rst has
# what it cannot.
# kernels: uml-debug
# timeout: 200
. "$(dirname "$0")/ndk-test-lib.sh"
ROUNDS=100
# A send has succeeded when it is sent, and ends the connection where there is no receive for it.
EXCEPT='solicited_arm_is_answered_by_a_failed_send|message_waits_for_a_receive|qp_closed_with_a_message_waiting'
# There is no third message, and a disconnect is answered by the peer's device.
EXCEPT+='|calls_when_(accepting|(active|passive)_disconnecting)'
# A disconnect breaks off what is under way.
EXCEPT+='|disconnect_waits_for_silent_requests'
# It leaves a request unanswered that comes while its listener goes.
EXCEPT+='|(listening|paused)_listener_closed|listener_closed_with'
# They take long: the wait of a slow consumer, and two of the four kinds of traffic under a CQ that changes.
EXCEPT+='|slow_consumers_are_not_timed_out|under_traffic_(that_is_polled|of_a_newer_qp_that_notifies)'
ndk_test_main -t siw events cq moderation resize srq srq_notify srq_life srq_crowd rows
