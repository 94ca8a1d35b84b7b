#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Several connections from one local address and port; who may have an address, and until when; no port left.
# kernels: uml-debug debug
# timeout: 90
. "$(dirname "$0")/ndk-test-lib.sh"
# Sixteen thousand objects belong where the processor is not emulated.
if [[ $NDK_KERNEL == uml-debug ]]; then
	ndk_test_main shared_endpoint shared_calls exhaustion
else
	ndk_test_main shared_endpoint shared_calls
fi
