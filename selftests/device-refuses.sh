#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A device that is nothing but memory, and refuses what it is told to refuse: requests out of the middle of a chain, objects,
# connections. And chains on iWARP between two hosts.
# kernels: uml-debug
# timeout: 60
. "$(dirname "$0")/ndk-test-lib.sh"
ndk_test_main -t nulldev refuses defer
