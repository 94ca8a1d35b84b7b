#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A peer that breaks the rules loses its connection, and nothing else happens.
# kernels: uml-debug
# timeout: 90
. "$(dirname "$0")/ndk-test-lib.sh"
ndk_test_main hostile
