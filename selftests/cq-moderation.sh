#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Notifications wait for more completions as they are told to, and run on the CPU that was wished for.
# kernels: uml-debug debug
# timeout: 60
. "$(dirname "$0")/ndk-test-lib.sh"
ndk_test_main moderation
