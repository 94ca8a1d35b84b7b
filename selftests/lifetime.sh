#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Every kind of object is made and closed in every order and context; no argument out of range has an effect.
# kernels: uml-debug debug stock
# timeout: 90
. "$(dirname "$0")/ndk-test-lib.sh"
ndk_test_main lifetime arguments
