#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What is sent, read and written arrives; what was accepted ends exactly once.
# kernels: uml-debug stock
# timeout: 120
. "$(dirname "$0")/ndk-test-lib.sh"
ndk_test_main datapath queues queue_ends
