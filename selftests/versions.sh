#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Versions: which are spoken, and that every object, table and structure is what each of them promises.
# kernels: uml-debug
# timeout: 60
. "$(dirname "$0")/ndk-test-lib.sh"
ndk_test_main versions
