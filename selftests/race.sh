#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A data race in Rust is reported on this kernel, and atomic accesses are not.
# kernels: race
# timeout: 60
# dmesg: BUG: KCSAN: data-race
. "$(dirname "$0")/lib.sh"

# A function with this name is in a report, as one of those that access.
races() { dmesg_since_mark | awk -v name="$1" '/BUG: KCSAN/ { on = 1 } on && index($0, name) { found = 1 } /=====$/ { on = 0 } END { exit !found }'; }

ktap_plan 4
dmesg_mark race
check "two threads run" modprobe race_probe
check "the race of their plain accesses is reported" races race_probe_plain
check "race_probe unloads" rmmod race_probe
check_fails "that of their atomic accesses is none" races race_probe_marked
ktap_end
