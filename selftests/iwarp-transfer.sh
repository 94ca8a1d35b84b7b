#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Requests over TCP connections: on siw everything that iWARP can do. Documentation/limits.rst has what it cannot.
# kernels: uml-debug
# timeout: 180
. "$(dirname "$0")/ndk-test-lib.sh"
# A send has succeeded when it is sent, and ends the connection where there is no receive for it.
EXCEPT='full_initiator_queue_is_enobufs|silent_requests_tell_their_cancellation|flush_cancels_both_queues'
# The peer's refusal of a request is told by the end of the connection, not by the request.
EXCEPT+='|silent_requests_tell_their_failure'
ndk_test_main -t siw datapath queues queue_ends defer
