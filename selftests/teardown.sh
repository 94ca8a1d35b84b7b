#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Connectors are closed in every state and from every callback, with the peer alive, silent and dead.
# kernels: uml-debug debug
# timeout: 120
. "$(dirname "$0")/ndk-test-lib.sh"
ndk_test_main teardown
