// SPDX-License-Identifier: GPL-2.0
/* Commands of the guest. */

#include <linux/umh.h>

#include "ndk_test.h"

int t_host(struct t *t, const char *fmt, ...)
{
	char *argv[4], *envp[3];
	char cmd[256];
	va_list args;
	int rc;

	argv[0] = "/bin/bash";
	argv[1] = "/tmp/ndk-test-host";
	argv[2] = cmd;
	argv[3] = NULL;
	envp[0] = "HOME=/root";
	envp[1] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
	envp[2] = NULL;

	va_start(args, fmt);
	vscnprintf(cmd, sizeof(cmd), fmt, args);
	va_end(args);
	t_trace("%s", cmd);
	rc = call_usermodehelper(argv[0], argv, envp, UMH_WAIT_PROC);
	t_trace("%s: done", cmd);
	if (rc)
		t_fail(t, "\"%s\" in the guest: status %d", cmd, rc);
	return rc;
}
