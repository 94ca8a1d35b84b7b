#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Capabilities and tables on iWARP: no counters of the device, and two entries for what is a TCP connection or endpoint below.
# Debian's kernel has no siw.
# kernels: uml-debug
# timeout: 60
. "$(dirname "$0")/ndk-test-lib.sh"
CASE='/(sizes_are_told_and_checked|bad_arguments_change_nothing|capabilities|connection_to_itself|endpoints_are_listed)$'
ndk_test_main -t siw observe tables
