#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Registration on iWARP, for which a port connects to itself. With both hosts in one namespace no other connection gets through.
# Debian's kernel has no siw.
# kernels: uml-debug debug
# timeout: 60
. "$(dirname "$0")/ndk-test-lib.sh"
CASE='/(many_at_a_time_without_a_connection|closed_while_registering|closed_in_the_completion_of_register)$'
ndk_test_main -t siw memory
