// SPDX-License-Identifier: GPL-2.0
/*
 * debugfs ndk_test/:
 *   world    write "a FD DEVICE INTERFACE IPV4 IPV6" and the same for b, where FD is a descriptor of the writer's
 *            that refers to the network namespace; "iwarp" says that the links are iWARP
 *   list     the cases, as GROUP/CASE
 *   run      write GROUP/CASE; returns when it has ended
 *   results  what the last one said: lines with "#", and "ok NAME" or "not ok NAME"
 */

#include <linux/debugfs.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>
#include <net/net_namespace.h>

#include "ndk_test.h"

unsigned int t_scale = 1;
module_param_named(scale, t_scale, uint, 0644);
MODULE_PARM_DESC(scale, "factor for all time limits");

bool t_verbose;
module_param_named(verbose, t_verbose, bool, 0644);
MODULE_PARM_DESC(verbose, "log calls and callbacks");

unsigned int t_rounds = 3000;
module_param_named(rounds, t_rounds, uint, 0644);
MODULE_PARM_DESC(rounds, "rounds of the case that counts notifications");

struct t_soak t_soak = { .seed = 1, .connections = 16, .seconds = 10, .messages = 2000, .removals = 2 };
module_param_named(seed, t_soak.seed, ullong, 0644);
MODULE_PARM_DESC(seed, "what the operations of the stress cases come from");
module_param_named(connections, t_soak.connections, uint, 0644);
MODULE_PARM_DESC(connections, "connections of the stress cases");
module_param_named(seconds, t_soak.seconds, uint, 0644);
MODULE_PARM_DESC(seconds, "how long a stress case may take");
module_param_named(operations, t_soak.ops, ullong, 0644);
MODULE_PARM_DESC(operations, "after how many operations a worker of a stress case stops, 0 for no such limit");
module_param_named(removals, t_soak.removals, uint, 0644);
MODULE_PARM_DESC(removals, "how often a link goes under all connections");
module_param_named(done, t_soak.done, ullong, 0444);
MODULE_PARM_DESC(done, "how far a stress case has come: operations of its first worker, removals, messages");
module_param_named(messages, t_soak.messages, uint, 0644);
MODULE_PARM_DESC(messages, "messages of the cases with loss");

bool t_long;
module_param_named(long, t_long, bool, 0644);
MODULE_PARM_DESC(long, "take the long form of cases that have one");

struct t_world world;

static const struct t_group *const groups[] = {
	&adapter_group,
	&lifetime_group,
	&arguments_group,
	&contexts_group,
	&pending_group,
	&rules_group,
	&events_group,
	&cq_group,
	&moderation_group,
	&resize_group,
	&datapath_group,
	&queues_group,
	&queue_ends_group,
	&defer_group,
	&srq_group,
	&srq_notify_group,
	&srq_life_group,
	&srq_crowd_group,
	&window_group,
	&window_rules_group,
	&memory_group,
	&fastreg_group,
	&connect_group,
	&listening_group,
	&neighbour_group,
	&addresses_group,
	&teardown_group,
	&disconnect_group,
	&removal_group,
	&failnth_group,
	&failnth_cq_group,
	&failnth_posts_group,
	&failnth_workers_group,
	&failnth_life_group,
	&hostile_group,
	&observe_group,
	&tables_group,
	&versions_group,
	&shared_endpoint_group,
	&shared_calls_group,
	&exhaustion_group,
	&timeouts_group,
	&rows_group,
	&netfaults_group,
	&reports_requests_group,
	&reports_load_group,
	&reports_connections_group,
	&soak_group,
	&refuses_group,
	&costless_group,
	&removal_storm_group,
	&loss_group,
};

/* One case at a time; the results are those of the last. */
static DEFINE_MUTEX(run_lock);
static struct t the_case;
static bool wedged;
static char verdict[160];

static int read_line(char *to, size_t room, const char __user *from, size_t count)
{
	if (count >= room)
		return -EINVAL;
	if (copy_from_user(to, from, count))
		return -EFAULT;
	to[count] = '\0';
	strim(to);
	return 0;
}

static void run_case(const struct t_case *c)
{
	struct t *t = &the_case;

	if (wedged) {
		snprintf(verdict, sizeof(verdict),
			 "# an earlier case left something open for good\nnot ok %s\n", c->name);
		t->log_len = 0;
		return;
	}
	t_begin(t, c);
	c->run(t);
	t_end_case(t);
	wedged = t->wedged;
	snprintf(verdict, sizeof(verdict), "%sok %s\n", t->failures ? "not " : "", c->name);
	pr_info("%.*s%s", (int)t->log_len, t->log, verdict);
}

static ssize_t run_write(struct file *file, const char __user *from, size_t count, loff_t *pos)
{
	char line[128], *name;
	size_t i, j;
	int rc;

	rc = read_line(line, sizeof(line), from, count);
	if (rc)
		return rc;
	name = strchr(line, '/');
	if (!name)
		return -EINVAL;
	*name++ = '\0';
	for (i = 0; i < ARRAY_SIZE(groups); i++) {
		for (j = 0; j < groups[i]->nr && !strcmp(groups[i]->name, line); j++) {
			if (strcmp(groups[i]->cases[j].name, name))
				continue;
			mutex_lock(&run_lock);
			run_case(&groups[i]->cases[j]);
			mutex_unlock(&run_lock);
			return count;
		}
	}
	return -ENOENT;
}

static const struct file_operations run_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = run_write,
};

static int list_show(struct seq_file *s, void *unused)
{
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(groups); i++)
		for (j = 0; j < groups[i]->nr; j++)
			seq_printf(s, "%s/%s\n", groups[i]->name, groups[i]->cases[j].name);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(list);

static int results_show(struct seq_file *s, void *unused)
{
	mutex_lock(&run_lock);
	seq_printf(s, "%.*s%s", (int)the_case.log_len, the_case.log, verdict);
	mutex_unlock(&run_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(results);

static int set_side(const char *line)
{
	char side, device[64], ifname[16], v4[48], v6[48];
	struct net_device *dev;
	struct net *net;
	int i, fd;

	if (sscanf(line, "%c %d %63s %15s %47s %47s", &side, &fd, device, ifname, v4, v6) != 6)
		return -EINVAL;
	if (side != 'a' && side != 'b')
		return -EINVAL;
	i = side == 'a' ? SIDE_A : SIDE_B;
	net = get_net_ns_by_fd(fd);
	if (IS_ERR(net))
		return PTR_ERR(net);
	dev = dev_get_by_name(net, ifname);
	if (!dev) {
		put_net(net);
		return -ENODEV;
	}
	world.ifindex[i] = dev->ifindex;
	dev_put(dev);
	strscpy(world.device[i], device);
	strscpy(world.ifname[i], ifname);
	world.v4[i] = (struct sockaddr_in) { .sin_family = AF_INET };
	world.v6[i] = (struct sockaddr_in6) { .sin6_family = AF_INET6 };
	if (!in4_pton(v4, -1, (u8 *)&world.v4[i].sin_addr, -1, NULL) ||
	    !in6_pton(v6, -1, (u8 *)&world.v6[i].sin6_addr, -1, NULL)) {
		put_net(net);
		return -EINVAL;
	}
	if (world.net[i])
		put_net(world.net[i]);
	world.net[i] = net;
	return 0;
}

static ssize_t world_write(struct file *file, const char __user *from, size_t count, loff_t *pos)
{
	char line[256];
	int rc;

	rc = read_line(line, sizeof(line), from, count);
	if (rc)
		return rc;
	mutex_lock(&run_lock);
	if (!strcmp(line, "iwarp"))
		world.iwarp = true;
	else
		rc = set_side(line);
	mutex_unlock(&run_lock);
	return rc ?: count;
}

static const struct file_operations world_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.write = world_write,
};

static struct dentry *dir;

static int __init ndk_test_init(void)
{
	dir = debugfs_create_dir("ndk_test", NULL);
	debugfs_create_file("world", 0200, dir, NULL, &world_fops);
	debugfs_create_file("run", 0200, dir, NULL, &run_fops);
	debugfs_create_file("list", 0400, dir, NULL, &list_fops);
	debugfs_create_file("results", 0400, dir, NULL, &results_fops);
	return 0;
}

static void __exit ndk_test_exit(void)
{
	int i;

	debugfs_remove(dir);
	for (i = 0; i < 2; i++)
		if (world.net[i])
			put_net(world.net[i]);
}

module_init(ndk_test_init);
module_exit(ndk_test_exit);

MODULE_DESCRIPTION("Tests of ndk as a kernel consumer");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS("NDK");
