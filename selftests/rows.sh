#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Every call in every state of a connector, the close of a listener in each of its states, and the ends of connections that are seldom
# seen.
# kernels: uml-debug
# timeout: 60
. "$(dirname "$0")/ndk-test-lib.sh"
ndk_test_main rows
