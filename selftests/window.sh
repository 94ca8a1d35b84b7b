#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Memory windows show the peer what they are bound to, and nothing after they were unbound.
# kernels: uml-debug debug
# timeout: 60
. "$(dirname "$0")/ndk-test-lib.sh"
ndk_test_main window window_rules
