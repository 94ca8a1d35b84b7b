#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# TCP connections come about, are refused and end: on siw everything that iWARP can do. Documentation/limits.rst has what it cannot.
# kernels: uml-debug
# timeout: 300
. "$(dirname "$0")/ndk-test-lib.sh"
# There is no third message: the passive side's accept does not wait for the active side.
EXCEPT='reject_in_the_completion|closed_while_accept(_ex)?_is_pending|accepting_closed|everything_closed_in_the_completion_of_(connect|accept)|from_callbacks_alone'
# siw connects, and waits for the answer, in the call: a close waits with it.
EXCEPT+='|closed_between_two_looks|peer_(silent|dead)|silence_under_traffic|closed_while_the_peer_thinks|closed_before_a_pending_connect'
# It keeps the read limits that were asked for.
EXCEPT+='|read_limits_(are_the_smaller_ones|of_zero_at_the_passive_side)'
# It may lose the private data of a reject.
EXCEPT+='|private_data_of_a_reject'
# It flushes a QP whose peer disconnects.
EXCEPT+='|event_does_not_flush|answered_in_the_event'
# It leaves a request unanswered that comes while its listener goes.
EXCEPT+='|stream_of_connects'
# What is sent has succeeded, whether there is a receive for it or not.
EXCEPT+='|every_kind_of_request'
# TCP keeps the address of a connection that has ended, and may let the next one from it to the same peer wait for seconds.
EXCEPT+='|shared_endpoint/(.*_in_use_is|private_data_limits)|same_remote_again_and_again'
ndk_test_main -t siw connect listening disconnect addresses neighbour lifetime arguments contexts pending rules teardown shared_endpoint shared_calls
