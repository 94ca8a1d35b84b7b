#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A disconnect is told and answered; nothing moves on the connection when it has completed.
# kernels: uml-debug
# timeout: 90
. "$(dirname "$0")/ndk-test-lib.sh"
ndk_test_main disconnect
