# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# For selftests: KTAP output, the world of two namespaces, the module, the kernel log.
#
# A selftest is selftests/NAME.sh, run as root inside a guest, with at its head
#   # kernels: uml-debug debug stock      (where it runs; the default is uml-debug alone)
#   # timeout: 60                         (seconds on uml; twice that on stock and four times on debug)
# Its shape:
#   . "$(dirname "$0")/lib.sh"
#   ktap_plan 2
#   world_up rxe
#   load_ndk
#   check "an adapter appears" test -d /sys/kernel/debug/ndk/rxe_a
#   some_command; ktap_result $? "some command works"
#   ktap_end
# The runner cleans up after each test, whatever it left, and fails it if the kernel log has a complaint.

NDK_DIR=${NDK_DIR:-/ndk}
MODULES=$NDK_DIR/modules

# --- KTAP ------------------------------------------------------------------

KTAP_N=0 KTAP_FAILED=0 KTAP_PLANNED=0

ktap_plan() {
	KTAP_PLANNED=$1
	printf 'KTAP version 1\n1..%d\n' "$1"
}

_ktap_line() {
	KTAP_N=$((KTAP_N + 1))
	printf '%s %d %s%s\n' "$1" "$KTAP_N" "$2" "${3:+ # $3}"
}

ktap_ok() { _ktap_line ok "$*"; }
ktap_not_ok() {
	KTAP_FAILED=$((KTAP_FAILED + 1))
	_ktap_line 'not ok' "$*"
}
# ktap_skip TITLE REASON
ktap_skip() { _ktap_line ok "$1" "SKIP ${2:-}"; }
# ktap_result STATUS TITLE
ktap_result() { if [[ $1 -eq 0 ]]; then ktap_ok "${@:2}"; else ktap_not_ok "${@:2}"; fi; }

# The rest of the test cannot run: ktap_skip_all REASON, before any other output.
ktap_skip_all() {
	printf 'KTAP version 1\n1..0 # SKIP %s\n' "$*"
	exit 4
}

# check TITLE CMD…: runs CMD in this shell (variables it sets stay); its output is shown only if it fails.
check() {
	local title=$1 out=/tmp/check.$$
	shift
	if "$@" >"$out" 2>&1; then
		ktap_ok "$title"
	else
		sed 's/^/# /' "$out"
		ktap_not_ok "$title"
		return 1
	fi
}

# check_fails TITLE CMD…: passes if CMD fails.
check_fails() {
	local title=$1
	shift
	if "$@" >/dev/null 2>&1; then
		printf '# succeeded, should have failed: %s\n' "$*"
		ktap_not_ok "$title"
		return 1
	fi
	ktap_ok "$title"
}

# check_eq TITLE EXPECTED ACTUAL
check_eq() {
	if [[ $2 == "$3" ]]; then
		ktap_ok "$1"
	else
		printf '# expected: %s\n# actual:   %s\n' "$2" "$3"
		ktap_not_ok "$1"
		return 1
	fi
}

ktap_end() {
	if ((KTAP_PLANNED && KTAP_N != KTAP_PLANNED)); then
		printf '# planned %d, ran %d\n' "$KTAP_PLANNED" "$KTAP_N"
		exit 1
	fi
	exit $((KTAP_FAILED != 0))
}

# --- waiting ---------------------------------------------------------------

# Everything takes longer where QEMU emulates the processor, or where each access may be watched.
case ${NDK_KERNEL:-} in stock | race) TIME_SCALE=2 ;; debug) TIME_SCALE=4 ;; *) TIME_SCALE=1 ;; esac

# A pause without a process: on uml-debug each costs a tenth of a second.
exec {NEVER_FD}<> <(:)
pause() { read -rt "$1" -u "$NEVER_FD" || true; }

# wait_for SECONDS CMD…: until CMD succeeds.
wait_for() {
	local end=$((SECONDS + $1 * TIME_SCALE))
	shift
	until "$@" >/dev/null 2>&1; do
		((SECONDS <= end)) || return 1
		pause 0.05
	done
}

# --- the world: namespaces a and b, a veth pair, an RDMA link in each --------
# siw makes its sockets in the initial namespace, so with it both names stand for that. nulldev is the device of selftests/modules.

WORLD_TYPE=rxe

# By nsenter, not "ip netns exec", which would hide debugfs.
in_a() { nsenter --net=/run/netns/a "$@"; }
in_b() { nsenter --net=/run/netns/b "$@"; }

# ib_a, ib_b: the names of the RDMA devices.
ib_a() { echo "${WORLD_TYPE}_a"; }
ib_b() { echo "${WORLD_TYPE}_b"; }

link_add() { nsenter --net="/run/netns/$1" rdma link add "${WORLD_TYPE}_$1" type "$WORLD_TYPE" netdev "veth_$1"; }
link_del() { rdma link delete "${WORLD_TYPE}_$1"; }

# Addresses show up in the GID table from a work item: rxe. iWARP has one GID, from the MAC.
_gids_there() {
	local dir=/sys/class/infiniband/${WORLD_TYPE}_$1/ports/1 n=1 net=09 i gid state found4='' found6=''
	[[ $1 != b ]] || n=2
	[[ $1 != c ]] || net=08
	[[ $1 != e ]] || net=07
	[[ -d $dir ]] || return 1
	read -r state <"$dir/state"
	[[ $state == *ACTIVE* ]] || return 1
	[[ $WORLD_TYPE == rxe ]] || return 0
	for i in 0 1 2 3 4 5 6 7; do
		read -r gid <"$dir/gids/$i" || continue
		case $gid in
		0000:*:ffff:0a$net:000$n) found4=1 ;;
		fd$net:*:000$n) found6=1 ;;
		esac
	done 2>/dev/null
	[[ $found4 && $found6 ]]
}
link_ready() { wait_for 10 _gids_there "$1"; }

_namespace_up() {
	ip -n "$1" -batch - <<-BATCH
		link set lo up
		addr add 10.9.0.$2/24 dev veth_$1
		addr add fd09::$2/64 dev veth_$1 nodad
		link set veth_$1 up
	BATCH
}

_veth_up() {
	ip -batch - <<-BATCH || return 1
		link add veth_a mtu 4300 type veth peer name veth_b mtu 4300
		link set veth_a netns a
		link set veth_b netns b
	BATCH
	_namespace_up a 1 && _namespace_up b 2 || return 1
	[[ $WORLD_TYPE != siw ]] || _route_over_the_wire
}
_rdma_up() {
	link_add a && link_add b || return 1
	link_ready a && link_ready b || {
		echo "# the GID tables did not fill" >&2
		return 1
	}
}

# A third host by itself: namespace c with 10.8.0.1 and fd08::1 on rxe_c.
spare_up() {
	ip netns add c || return 1
	ip -n c -batch - <<-BATCH || return 1
		link set lo up
		link add veth_c mtu 4300 type veth peer name veth_d mtu 4300
		addr add 10.8.0.1/24 dev veth_c
		addr add fd08::1/64 dev veth_c nodad
		link set veth_c up
		link set veth_d up
	BATCH
	link_add c && wait_for 10 _gids_there c
}

# A second port of host a: rxe_e with 10.7.0.1 and fd07::1.
second_port_up() {
	ip -n a -batch - <<-BATCH || return 1
		link add veth_e mtu 4300 type veth peer name veth_f mtu 4300
		addr add 10.7.0.1/24 dev veth_e
		addr add fd07::1/64 dev veth_e nodad
		link set veth_e up
		link set veth_f up
	BATCH
	in_a rdma link add rxe_e type rxe netdev veth_e && wait_for 10 _gids_there e
}
second_port_down() { rdma link delete rxe_e && ip -n a link delete veth_e; }

# What one address of this machine sends to another does not leave it, unless rules before that of local addresses say so.
# Without policy routing in the kernel a siw port reaches itself alone.
_route_over_the_wire() {
	local family
	[[ -n $(ip rule 2>/dev/null) ]] || return 0
	if ! ip rule | grep -q 'lookup 101'; then
		ip -batch - <<-BATCH || return 1
			rule add pref 1 iif lo from 10.9.0.1 to 10.9.0.2 lookup 101
			rule add pref 1 iif lo from 10.9.0.2 to 10.9.0.1 lookup 102
		BATCH
		ip -6 -batch - <<-BATCH || return 1
			rule add pref 1 iif lo from fd09::1 to fd09::2 lookup 101
			rule add pref 1 iif lo from fd09::2 to fd09::1 lookup 102
		BATCH
		for family in -4 -6; do
			ip $family rule add pref 2 lookup local && ip $family rule delete pref 0 || return 1
		done
	fi
	ip -batch - <<-BATCH || return 1
		route add 10.9.0.2 dev veth_a src 10.9.0.1 table 101
		route add 10.9.0.1 dev veth_b src 10.9.0.2 table 102
	BATCH
	ip -6 -batch - <<-BATCH || return 1
		route add fd09::2 dev veth_a src fd09::1 table 101
		route add fd09::1 dev veth_b src fd09::2 table 102
	BATCH
	sysctl -qw net.ipv4.conf.{all,veth_a,veth_b}.{accept_local=1,rp_filter=0}
}

# world_up [rxe|siw|nulldev]
world_up() {
	local driver
	WORLD_TYPE=${1:-rxe}
	case $WORLD_TYPE in rxe) driver=rdma_rxe ;; nulldev) driver=ndk_nulldev ;; *) driver=$WORLD_TYPE ;; esac
	modprobe -a "$driver" rdma_cm rdma_ucm || return 1
	if [[ $WORLD_TYPE == siw ]]; then
		ip netns attach a $$ && ip netns attach b $$ || return 1
	else
		ip netns add a && ip netns add b || return 1
	fi
	_veth_up && _rdma_up || return 1
	RESOURCE_BASE=$(resource_counts)
}

world_down() {
	local ns dir
	for ns in a b c; do
		[[ ! -e /run/netns/$ns || /run/netns/$ns -ef /proc/self/ns/net ]] || kill -9 $(ip netns pids "$ns") 2>/dev/null
	done
	for dir in /sys/class/infiniband/{rxe,siw,nulldev}_*; do
		[[ ! -e $dir ]] || rdma link delete "${dir##*/}"
	done
	for ns in a b c; do
		[[ ! -e /run/netns/$ns ]] || ip netns delete "$ns"
	done
	ip link delete veth_a 2>/dev/null || true
}

# The hosts do not hear each other any more (of one protocol: silence ipv6), or do again; links and addresses stay up. Dropped where
# packets come in: one that is dropped on the way out is to rxe a failure of its own, and its GSI QP never recovers.
silence() {
	local ns
	for ns in a b; do
		nsenter --net="/run/netns/$ns" nft -f - <<<"table inet silence_$ns { chain i { type filter hook input priority -300; iifname veth_$ns ${1:+meta nfproto $1} drop; }; }" || return 1
	done
}
unsilence() {
	local ns
	for ns in a b; do nsenter --net="/run/netns/$ns" nft delete table inet "silence_$ns" || return 1; done
}
# A part of what comes in is lost, in per cent.
lose() {
	local ns
	for ns in a b; do
		nsenter --net="/run/netns/$ns" nft -f - <<-END || return 1
			table inet lose { chain i { type filter hook input priority -300; iifname veth_$ns numgen random mod 100 < $1 drop; }; }
		END
	done
}
lose_nothing() {
	local ns
	for ns in a b; do nsenter --net="/run/netns/$ns" nft delete table inet lose || return 1; done
}
# noise SECONDS SEED: random datagrams from a to the QPs of b (noise.py); the device looks at some.
noise() {
	local sent
	sent=$(in_a python3 "$NDK_DIR/selftests/noise.py" 10.9.0.1 10.9.0.2 "$(ib_b)" "$1" "$2") || return 1
	echo "noise: $sent"
	((${sent% of*} > 100))
}
# All lists of the RDMA core and of ours, again and again.
watch_resources() {
	local i what
	for ((i = 0; i < $1; i++)); do
		for what in qp cq pd mr cm_id; do rdma resource show "$what"; done
		cat /sys/kernel/debug/ndk/*/* 2>/dev/null
	done >/dev/null
}
# Of a thousand packets that come in to the RDMA link of a host so many are lost, at random: loss a 10.
loss() { nsenter --net="/run/netns/$1" nft -f - <<<"table inet loss { chain i { type filter hook input priority -300; iifname veth_$1 udp dport 4791 numgen random mod 1000 < $2 drop; }; }"; }
# Of the packets with an opcode that come in to the RDMA link of a host those are lost whose number, from 0 on, is so:
# lose_some a 0x11 '!= 2' leaves one acknowledgement.
lose_some() { nsenter --net="/run/netns/$1" nft -f - <<<"table inet loss { chain i { type filter hook input priority -300; iifname veth_$1 udp dport 4791 @th,64,8 $2 numgen inc mod 1000000 $3 drop; }; }"; }
loss_off() { nsenter --net="/run/netns/$1" nft delete table inet loss; }
netem() { nsenter --net="/run/netns/$1" tc qdisc replace dev "veth_$1" root netem "${@:2}"; }
# What befalls the network of host a or b (its address ends in 1 or 2), by name, and what mends it. See silence for what it does to
# an rxe link: so these are made again, once the hosts hear each other.
_digit() { if [[ $1 == b ]]; then echo 2; else echo 1; fi; }
_other_digit() { if [[ $1 == b ]]; then echo 1; else echo 2; fi; }
# An interface that goes down loses its IPv6 addresses.
_link_back() {
	ip -n "$1" -batch - <<-BATCH
		link set veth_$1 up
		addr replace fd09::$(_digit "$1")/64 dev veth_$1 nodad
	BATCH
}
befall() { # NAME a|b
	local ns=$2 n
	case $1 in
	link_down) ip -n "$ns" link set "veth_$ns" down ;;
	link_flaps) for n in 1 2; do ip -n "$ns" link set "veth_$ns" down && _link_back "$ns" || return 1; done ;;
	address_goes)
		n=$(_digit "$ns")
		ip -n "$ns" -batch - <<<"addr del 10.9.0.$n/24 dev veth_$ns
addr del fd09::$n/64 dev veth_$ns"
		;;
	neighbour_changes)
		n=$(_other_digit "$ns")
		ip -n "$ns" -batch - <<<"neigh replace 10.9.0.$n lladdr 02:00:00:00:00:99 dev veth_$ns nud permanent
neigh replace fd09::$n lladdr 02:00:00:00:00:99 dev veth_$ns nud permanent"
		;;
	interface_goes) ip -n "$ns" link delete "veth_$ns" ;;
	namespace_goes) ip netns delete c ;;
	esac
}
# Somebody is there, who refuses a connection.
_hears() { local said; said=$(in_a bash -c "exec 3<>/dev/tcp/$1/9" 2>&1); [[ $said == *refused* ]]; }
mend() { # NAME a|b
	local ns=$2 n
	case $1 in namespace_goes) return 0 ;; interface_goes) ;; *) link_del a && link_del b || return 1 ;; esac
	case $1 in
	link_down) _link_back "$ns" ;;
	address_goes)
		n=$(_digit "$ns")
		ip -n "$ns" -batch - <<<"addr add 10.9.0.$n/24 dev veth_$ns
addr add fd09::$n/64 dev veth_$ns nodad"
		;;
	neighbour_changes)
		n=$(_other_digit "$ns")
		ip -n "$ns" -batch - <<<"neigh del 10.9.0.$n dev veth_$ns
neigh del fd09::$n dev veth_$ns"
		;;
	interface_goes) _veth_up ;;
	esac && wait_for 10 _hears 10.9.0.2 && wait_for 10 _hears fd09::2 && _rdma_up
}
netem_off() { nsenter --net="/run/netns/$1" tc qdisc del dev "veth_$1" root; }

# --- resources -------------------------------------------------------------

# Without index numbers, which grow with each link made.
resource_counts() { rdma resource show | sed 's/^[0-9]*: //' | sort; }
_resources_back() { [[ $(resource_counts) == "$RESOURCE_BASE" ]]; }

# True once the counts are those of world_up again.
resources_clean() {
	wait_for "${1:-5}" _resources_back && return 0
	diff <(printf '%s\n' "$RESOURCE_BASE") <(resource_counts)
}

# --- the module ------------------------------------------------------------

load_ndk() { modprobe ndk "$@"; }
ndk_loaded() { [[ -d /sys/module/ndk ]]; }

# Our loaded modules, consumers before what they use.
_our_modules() {
	local ko name
	for ko in "$MODULES"/*.ko; do
		[[ -e $ko ]] || continue
		name=${ko##*/}
		name=${name%.ko}
		name=${name//-/_}
		[[ ! -d /sys/module/$name || $name == ndk ]] || echo "$name"
	done
	! ndk_loaded || echo ndk
}

_unload_once() {
	local name
	for name in $(_our_modules); do rmmod "$name" 2>/dev/null; done
	[[ -z $(_our_modules) ]]
}

# Consumers and all; fails, naming them, if some stay, or if a slab cache of ours does.
unload_ndk() {
	if ! wait_for "${1:-10}" _unload_once; then
		echo "# still loaded: $(_our_modules | tr '\n' ' ')"
		return 1
	fi
	if grep -E '^ndk' /proc/slabinfo 2>/dev/null; then
		echo "# a slab cache outlived the module"
		return 1
	fi
}

# --- the kernel log --------------------------------------------------------

DMESG_BAD='WARNING|BUG[: ]|KASAN|UBSAN|DMA-API|possible recursive|possible circular|possible irq lock|inconsistent lock|suspicious RCU'
DMESG_BAD+='|lock held when|Call Trace|Oops|general protection|refcount_t|INFO: task|detected stall|self-detected|ODEBUG|list_(add|del) corruption'
DMESG_BAD+='|rust_kernel: panicked|sleeping function called|workqueue lockup|leaked|Objects remaining|invalid opcode|page allocation failure'

# Without KCSAN's reports of races between accesses neither of which is ours. Whose an access is the first frame says, apart from
# those of KCSAN itself, of the kernel's Rust code, and of what copies memory, which access for their callers.
without_others_races() {
	awk -v pass='^ *(_*(tsan|kcsan|check_access|print_report|save_stack_trace|stack_trace_save)|rust_helper_|_R|_*mem(cpy|set|move|cmp))' '
		function flush() { if (ours || !whole) printf "%s", text; text = ""; on = ours = whole = 0 }
		{ line = $0; sub(/^\[ *[0-9.]+\] ?/, "", line) }
		!on && line ~ /^BUG: KCSAN: / { on = 1 }
		!on { print; next }
		{ text = text $0 "\n" }
		line ~ /^(race at|read|write|assert)/ { top = 1; next }
		line ~ /^ / && top { if (line ~ /\[(ndk|race_probe)/) ours = 1; if (line !~ pass || ours) top = 0 }
		line ~ /^=====/ { whole = 1; flush() }
		END { flush() }'
}

dmesg_mark() { echo "ndk-mark $$ ${1:-}" >/dev/kmsg; }
dmesg_since_mark() { dmesg | awk '/ndk-mark / { n = 0; delete line; next } { line[n++] = $0 } END { for (i = 0; i < n; i++) print line[i] }' | without_others_races; }

# dmesg_clean [PATTERN]: no complaint since the mark, apart from lines with PATTERN; shows what there is.
dmesg_clean() {
	local bad
	bad=$(dmesg_since_mark | grep -E "$DMESG_BAD" | grep -vE "${1:-^$}") || return 0
	printf '# the kernel log complains:\n'
	dmesg_since_mark | grep -E -m 1 -A 40 "$DMESG_BAD" | sed 's/^/# /'
	return 1
}

# --- memory ----------------------------------------------------------------

KMEMLEAK=/sys/kernel/debug/kmemleak

# Leaks so far are not ours to report.
kmemleak_clear() { [[ ! -e $KMEMLEAK ]] || echo clear 2>/dev/null >"$KMEMLEAK" || true; }

# kmemleak reports what is older than 5 s and unreferenced in two scans.
kmemleak_clean() {
	[[ -e $KMEMLEAK ]] || return 0
	# Booted with kmemleak=off.
	echo scan 2>/dev/null >"$KMEMLEAK" || return 0
	pause 5
	echo scan >"$KMEMLEAK"
	echo scan >"$KMEMLEAK"
	local leaks
	# Ours: allocated with a frame of our modules, or of an unloaded one, which has no name any more, as the kernel's own
	# boot code has none. The rest is the kernel's own, uml's false reports among it.
	leaks=$(awk '
		/^unreferenced object/ { if (ours && !boot) printf "%s", text; text = ""; ours = boot = 0 }
		{ text = text $0 "\n" }
		/^ *comm "swapper["\/] { boot = 1 }
		/\[ndk/ || /^ *(\[<[0-9a-f]+>\] )?0x[0-9a-f]+$/ { ours = 1 }
		END { if (ours && !boot) printf "%s", text }' "$KMEMLEAK")
	[[ -n $leaks ]] || return 0
	printf '%s\n' "$leaks" | head -n 80 | sed 's/^/# /'
	return 1
}

# --- fault injection -------------------------------------------------------

have_fail_nth() { [[ -e /proc/self/fail-nth ]]; }

# Let GFP_KERNEL allocations fail too, and quietly: a stack trace per failure would drown the log.
fail_nth_setup() {
	local dir
	for dir in /sys/kernel/debug/failslab /sys/kernel/debug/fail_page_alloc; do
		[[ -d $dir ]] || continue
		echo 0 >"$dir/verbose"
		echo N >"$dir/ignore-gfp-wait"
	done
	[[ ! -e /sys/kernel/debug/fail_page_alloc/min-order ]] || echo 0 >/sys/kernel/debug/fail_page_alloc/min-order
}

# fail_nth N FILE TEXT: writes TEXT to FILE with the N-th allocation of the write failing. Sets FAIL_HIT to 1 if there
# were that many, and returns the write's status.
fail_nth() {
	local n=$1 file=$2 text=$3 rest rc
	rest=$(python3 - "$n" "$file" "$text" <<'PY'
import os, sys
n, path, text = int(sys.argv[1]), sys.argv[2], sys.argv[3].encode()
fd = os.open(path, os.O_WRONLY)
nth = os.open("/proc/thread-self/fail-nth", os.O_RDWR)
error = 0
os.write(nth, str(n).encode())
try:
    os.write(fd, text)
except OSError as e:
    error = e.errno
rest = int(os.pread(nth, 32, 0).decode().strip("\0 \n") or 0)
os.pwrite(nth, b"0", 0)
print(1 if rest == 0 else 0, error)
PY
	)
	read -r FAIL_HIT rc <<<"$rest"
	return "$rc"
}
