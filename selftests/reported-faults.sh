#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What was reported of other connection managers, drivers and consumers does not happen here.
# Bug: B52
# kernels: uml-debug
# timeout: 120
. "$(dirname "$0")/ndk-test-lib.sh"
NDK_TEST_PARAMS=(${SEED:+"seed=$SEED"})
ndk_test_main reports_requests reports_load reports_connections
