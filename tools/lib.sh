# SPDX-License-Identifier: GPL-2.0
# Shared by the tools: cache, steps with progress, locks, advice on failure.
# shellcheck shell=bash

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
say() { printf '%s\n' "$*" >&2; }

die() {
	say "error: $1"
	shift
	local line
	for line in "$@"; do say "  $line"; done
	exit 1
}

# Before anything else: the cache of another user would be of no use.
if [[ $EUID -ne 0 ]]; then
	die "this needs root: it mounts, chroots and installs packages" \
		"run it again as root (sudo make …)"
fi

NDK_CACHE=${NDK_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ndk}
mkdir -p "$NDK_CACHE/log" "$NDK_CACHE/lock"
NDK_CACHE=$(cd "$NDK_CACHE" && pwd -P)
export NDK_CACHE

# The short hash of standard input, for cache keys.
key() { sha256sum | cut -c1-12; }

# One directory per checkout for what is built from the checkout's own files.
checkout_id() { printf '%s' "$TOP" | key; }

# What to do about a failed step, guessed from its log.
advice() {
	local log=$1
	if grep -qi 'no space left on device' "$log"; then
		say "  The disk is full. The cache is $NDK_CACHE; set NDK_CACHE to a place with 20 GB free,"
		say "  or delete it to start again."
	elif grep -qiE 'could not resolve|temporary failure|unable to connect|network is unreachable|connection (refused|timed out)|could not connect' "$log"; then
		say "  The network or the package mirror cannot be reached. Check the host's apt configuration"
		say "  (apt-get update), the proxy variables, or name a mirror: DEBIAN_MIRROR=http://…/debian."
	elif grep -qiE '404 +not found|failed to fetch|does not have a release file|unable to locate package|hash sum mismatch' "$log"; then
		say "  The package mirror lacks what was asked for. Name another: DEBIAN_MIRROR=http://…/debian,"
		say "  or, if it was updated meanwhile, run tools/buildroot --refresh."
	elif grep -q 'source tree is not clean' "$log"; then
		say "  The modules were built in this tree with KDIR=…. Remove that: make clean"
	elif grep -qiE 'operation not permitted|permission denied' "$log"; then
		say "  The kernel refused an operation. Run as root, outside an unprivileged container"
		say "  (mount, chroot and unshare are needed)."
	else
		say "  Run the same command again to resume; the log has the whole story."
	fi
}

_beat() {
	local title=$1 log=$2 start=$SECONDS last never
	# A read that times out sleeps without a child process to clean up.
	exec {never}<> <(:)
	if [[ -t 2 ]]; then
		while ! read -rt 1 -u "$never"; do
			last=$(tail -c 300 "$log" 2>/dev/null | tr '\r' '\n' | tail -n 1 | tr -cd '[:print:]' | cut -c1-70)
			printf '\r\033[K  … %s (%d s) %s' "$title" $((SECONDS - start)) "$last" >&2
		done
	else
		while ! read -rt 60 -u "$never"; do
			say "  … $title: $((SECONDS - start)) s"
		done
	fi
}

# step TITLE CMD…: runs CMD with its output in a log, shows progress and time.
step() {
	local title=$1 start=$SECONDS rc=0 log beat
	shift
	log="$NDK_CACHE/log/$(date +%Y%m%d-%H%M%S)-$$-$(printf '%s' "$title" | tr -c 'a-zA-Z0-9.\n' '-').log"
	find "$NDK_CACHE/log" -type f -mtime +14 -delete 2>/dev/null || true
	say "==> $title"
	_beat "$title" "$log" </dev/null >/dev/null &
	beat=$!
	# A subshell, so that `set -e` holds inside CMD although its status is read here.
	set +e
	(set -e; "$@") </dev/null >"$log" 2>&1
	rc=$?
	set -e
	{ kill "$beat"; wait "$beat"; } 2>/dev/null || true
	[[ ! -t 2 ]] || printf '\r\033[K' >&2
	if ((rc)); then
		say "FAILED: $title (status $rc, after $((SECONDS - start)) s)"
		tail -n "${STEP_TAIL:-30}" "$log" | sed 's/^/  | /' >&2
		say "  log: $log"
		advice "$log"
		return "$rc"
	fi
	say "    $title: $((SECONDS - start)) s"
}

# with_lock NAME CMD…: two invocations never build the same thing twice.
with_lock() {
	local name=$1 fd
	shift
	exec {fd}>"$NDK_CACHE/lock/$name"
	if ! flock -n "$fd"; then
		say "    waiting: another invocation builds $name"
		flock "$fd"
	fi
	"$@" {fd}>&-
	exec {fd}>&-
}

# Installs what is missing on the host: host_needs COMMAND=PACKAGE…
host_needs() {
	local pair missing=()
	for pair in "$@"; do
		command -v "${pair%%=*}" >/dev/null || missing+=("${pair#*=}")
	done
	((${#missing[@]})) || return 0
	command -v apt-get >/dev/null || die "${missing[*]} missing and no apt-get here" \
		"install the packages by hand, or use a Debian 12 or 13 host"
	step "install on the host: ${missing[*]}" _host_install "${missing[@]}"
}

_host_install() {
	export DEBIAN_FRONTEND=noninteractive
	apt-get update
	apt-get install -y --no-install-recommends "$@"
}

# The Debian mirror of the host's apt configuration.
debian_mirror() {
	if [[ -n ${DEBIAN_MIRROR:-} ]]; then
		printf '%s\n' "$DEBIAN_MIRROR"
		return
	fi
	local uri
	uri=$(apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
		awk '$1 ~ /^(bookworm|trixie|forky|sid|unstable|stable|testing|oldstable)$/ { print $2; exit }')
	[[ -n $uri ]] || die "no Debian mirror in the host's apt configuration" \
		"name one: DEBIAN_MIRROR=http://…/debian make …"
	printf '%s\n' "${uri%/}"
}

# The host's apt settings that concern fetching (proxies, certificates), one option a line.
apt_fetch_options() {
	apt-config dump | grep -E '^Acquire::(http|https|Retries|Check-Valid-Until|ForceIPv)[^ ]* ' || true
}
