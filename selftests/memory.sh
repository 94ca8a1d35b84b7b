#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Registered memory gives the rights that were asked for, and none after it was taken back.
# kernels: uml-debug debug
# timeout: 90
. "$(dirname "$0")/ndk-test-lib.sh"
ndk_test_main memory fastreg
