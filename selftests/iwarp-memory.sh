#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Memory that a peer reads and writes over TCP: registrations, windows and fast registrations on siw, with the rights and bounds that
# they give. Documentation/limits.rst has what it cannot.
# kernels: uml-debug
# timeout: 120
. "$(dirname "$0")/ndk-test-lib.sh"
# It does not look at the right of a peer to read.
EXCEPT='(write_right_alone|no_remote_right)_refuses_a_read'
# A send has succeeded when it is sent: none holds up what is behind it.
EXCEPT+='|flushed_registration_is_made_again|bind_on_a_full_queue'
ndk_test_main -t siw memory fastreg window window_rules
