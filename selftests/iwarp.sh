#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# On iWARP: registration, for which a port connects to itself, and SRQs. With both hosts in one namespace no other connection gets
# through.
# Debian's kernel has no siw.
# kernels: uml-debug debug
# timeout: 60
. "$(dirname "$0")/ndk-test-lib.sh"
CASE='/(many_at_a_time_without_a_connection|closed_while_registering|closed_in_the_completion_of_register'
CASE+='|arguments_of_(create_srq|create_qp_with_srq|srq_receive)|called_under_a_spinlock|notifies_where_it_is_wanted'
CASE+='|closed_while_requests_pend|closed_in_its_notification)$'
ndk_test_main -t siw memory srq srq_notify srq_life srq_crowd
