#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Receives in an SRQ go to whoever gets a message; it tells when it runs low; it outlives its QPs and they do not outlive it.
# timeout: 120
. "$(dirname "$0")/ndk-test-lib.sh"
ndk_test_main srq srq_life
