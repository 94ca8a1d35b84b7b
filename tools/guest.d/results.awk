# SPDX-License-Identifier: GPL-2.0
# Reads what run-selftests printed. Writes records "KERNEL suite pass|fail|skip title" (tabs between) to RECORDS, the
# output of failed suites to FAILURES, and one line per suite to stdout. NAMES lists what should have run;
# what did not even begin goes to REST.
function finish(rc, secs,    missing, i, verdict) {
	if (planned > seen && !(rc == 4)) {
		missing = planned - seen
		record("fail", missing " of " planned " results missing", missing)
	} else if (rc == 4 && !fails) {
		if (!skips) record("skip", "skipped as a whole", 1)
	} else if (rc != 0 && !fails) {
		record("fail", "status " rc, 1)
	} else if (seen == 0 && !fails) {
		record("fail", "no result at all", 1)
	}
	verdict = fails ? "FAILED" : (skips && !passes) ? "skipped" : "ok"
	printf "    %-10s %-28s %-8s %3d passed %2d failed %2d skipped %4d s\n", KERNEL, name, verdict, passes, fails, skips, secs
	fflush()
	if (fails) {
		printf "--- %s: %s\n", KERNEL, name >> FAILURES
		for (i = (n > 120 ? n - 120 : 0); i < n; i++) print "  | " text[i] >> FAILURES
	}
	name = ""
}
function record(what, title, count,    i) {
	for (i = 0; i < count; i++) printf "%s\t%s\t%s\t%s\n", KERNEL, name, what, title >> RECORDS
	if (what == "pass") passes += count
	if (what == "fail") fails += count
	if (what == "skip") skips += count
}
{ sub(/\r$/, "") }
/^@@ begin / { name = $3; begun[name] = 1; n = planned = seen = passes = fails = skips = 0; next }
/^@@ end / { finish($4, $5); next }
/^@@ done/ { next }
name == "" { next }
{ text[n++] = $0 }
/^1\.\.[0-9]+/ { split($1, plan, /\.\./); planned = plan[2]; if (planned == 0) { sub(/^[^#]*/, ""); record("skip", $0, 1) } next }
/^ok / { if ($2 != 999) seen++; line = $0; sub(/^ok [0-9]+ /, "", line); record(line ~ /# *SKIP/ ? "skip" : "pass", line, 1); next }
/^not ok / { if ($3 != 999) seen++; line = $0; sub(/^not ok [0-9]+ /, "", line); record(line ~ /# *TODO/ ? "skip" : "fail", line, 1); next }
END {
	if (name != "") { text[n++] = "# the guest died or hung here"; record("fail", "the guest died or hung", 1); planned = 0; finish(0, 0) }
	count = split(NAMES, names, " ")
	for (i = 1; i <= count; i++) if (!(names[i] in begun)) printf "%s ", names[i] > REST
}
