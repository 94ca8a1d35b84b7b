#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Posting, polling and arming take no lock (debug, where lockdep sees each) and allocate nothing.
# kernels: uml-debug debug
# timeout: 30
. "$(dirname "$0")/ndk-test-lib.sh"
ndk_test_main -t nulldev costless
