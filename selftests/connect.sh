#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Connections come about, are refused, and tell both ends of each other.
# kernels: uml-debug debug stock
# timeout: 120
. "$(dirname "$0")/ndk-test-lib.sh"
ndk_test_main connect listening neighbour addresses
