#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What every call keeps: it works where nothing can sleep, ends before its object's close does, and leaves nothing behind.
# kernels: uml-debug
# timeout: 120
. "$(dirname "$0")/ndk-test-lib.sh"
ndk_test_main contexts pending rules events
