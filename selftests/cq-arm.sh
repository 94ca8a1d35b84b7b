#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# CQs notify when they are armed, once, for what they are armed for, and tell of an overrun.
# kernels: uml-debug
# timeout: 90
. "$(dirname "$0")/ndk-test-lib.sh"
ndk_test_main cq
