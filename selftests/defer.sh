#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Deferred requests go to the device as one list, and none is forgotten; a read invalidates its sink.
# kernels: uml-debug
# timeout: 60
. "$(dirname "$0")/ndk-test-lib.sh"
ndk_test_main defer
