#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# CQs become larger and smaller under QPs and traffic, and nothing is lost.
# kernels: uml-debug
# timeout: 120
. "$(dirname "$0")/ndk-test-lib.sh"
ndk_test_main resize
