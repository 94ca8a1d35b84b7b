#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Adapters are found, told apart, described, and closed only when nothing is left below them.
# kernels: uml-debug
# timeout: 60
. "$(dirname "$0")/ndk-test-lib.sh"
ndk_test_main adapter
