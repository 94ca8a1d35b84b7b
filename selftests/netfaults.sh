#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Links, addresses, neighbours, interfaces and namespaces go, while connections are at every stage: calls end in time, with a status of
# theirs, and nothing is left. NDK_LONG=1 in the environment takes them all; otherwise it is one of a kind.
# kernels: uml-debug
# timeout: 150
[[ ${NDK_LONG:-} ]] || CASE=${CASE:-(active_link_down_ipv6|passive_link_flaps_ipv4|active_address_goes_ipv4|passive_neighbour_changes_ipv6|interface_goes_ipv4|namespace_goes_ipv6)}
. "$(dirname "$0")/ndk-test-lib.sh"

# Short, but for what is held until the fault has struck.
NDK_PARAMS=(connect_timeout_ms=2500 hold_timeout_ms=20000 accept_timeout_ms=3000 disconnect_timeout_ms=1000)
ndk_test_main netfaults
