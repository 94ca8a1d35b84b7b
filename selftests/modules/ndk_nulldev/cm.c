// SPDX-License-Identifier: GPL-2.0
/* Connections: who listens where is a list, and an answer is a function call. */
#include <linux/slab.h>
#include <net/ipv6.h>

#include "nulldev.h"

/* A request that nobody answers ends after so long. */
#define ANSWER_TIME	(30 * HZ)

enum { PENDING, OPEN, OVER };

/* Users: the active side and the timer while it is pending, the active side while it is open, the passive id until it has answered. */
struct nd_conn {
	struct kref users;
	int state;
	struct iw_cm_id *active, *passive;
	struct nd_qp *qp[2];
	struct iw_cm_event request;
	struct delayed_work timer;
};

struct nd_listener {
	struct list_head list;
	struct iw_cm_id *id;
};

DEFINE_MUTEX(nd_cm_lock);
static LIST_HEAD(listeners);

static void conn_free(struct kref *users)
{
	kfree(container_of(users, struct nd_conn, users));
}

static void conn_put(struct nd_conn *conn)
{
	kref_put(&conn->users, conn_free);
}

static void leave(struct nd_conn *conn, int side)
{
	struct nd_qp *qp = conn->qp[side];

	if (!qp)
		return;
	conn->qp[side] = NULL;
	qp->conn = NULL;
	nd_fail(qp);
}

static void tell(struct iw_cm_id *id, enum iw_cm_event_type type, int status)
{
	struct iw_cm_event event = { .event = type, .status = status };

	id->event_handler(id, &event);
}

/* Ends it at both sides; a request has this status. */
static void end(struct nd_conn *conn, int status)
{
	int was = conn->state;

	if (was == OVER)
		return;
	conn->state = OVER;
	if (cancel_delayed_work(&conn->timer))
		conn_put(conn);
	leave(conn, 0);
	leave(conn, 1);
	tell(conn->active, was == OPEN ? IW_CM_EVENT_CLOSE : IW_CM_EVENT_CONNECT_REPLY, was == OPEN ? 0 : status);
	conn->active->rem_ref(conn->active);
	if (was == OPEN) {
		tell(conn->passive, IW_CM_EVENT_CLOSE, 0);
		conn->passive->rem_ref(conn->passive);
	}
	conn_put(conn);
}

static void time_out(struct work_struct *work)
{
	struct nd_conn *conn = container_of(to_delayed_work(work), struct nd_conn, timer);

	mutex_lock(&nd_cm_lock);
	if (conn->state == PENDING)
		end(conn, -ETIMEDOUT);
	mutex_unlock(&nd_cm_lock);
	conn_put(conn);
}

void nd_disconnect(struct nd_qp *qp)
{
	mutex_lock(&nd_cm_lock);
	if (qp->conn)
		end(qp->conn, -ECONNRESET);
	else
		nd_fail(qp);
	mutex_unlock(&nd_cm_lock);
}

void nd_broken(struct work_struct *work)
{
	nd_disconnect(container_of(work, struct nd_qp, broken));
}

static __be16 port_of(const struct sockaddr_storage *addr)
{
	/* The port is at the same place in both. */
	return ((const struct sockaddr_in *)addr)->sin_port;
}

static bool listens_at(const struct iw_cm_id *id, const struct sockaddr_storage *to)
{
	const struct sockaddr_storage *at = &id->m_local_addr;

	if (at->ss_family != to->ss_family || port_of(at) != port_of(to))
		return false;
	if (at->ss_family == AF_INET6) {
		const struct in6_addr *addr = &((const struct sockaddr_in6 *)at)->sin6_addr;

		return ipv6_addr_any(addr) || ipv6_addr_equal(addr, &((const struct sockaddr_in6 *)to)->sin6_addr);
	}
	return !((const struct sockaddr_in *)at)->sin_addr.s_addr ||
	       ((const struct sockaddr_in *)at)->sin_addr.s_addr == ((const struct sockaddr_in *)to)->sin_addr.s_addr;
}

static struct iw_cm_id *find_listener(const struct sockaddr_storage *to)
{
	struct nd_listener *listener;

	list_for_each_entry(listener, &listeners, list)
		if (listens_at(listener->id, to))
			return listener->id;
	return NULL;
}

int nd_create_listen(struct iw_cm_id *id, int backlog)
{
	struct nd_listener *listener = kzalloc_obj(*listener);

	if (!listener)
		return -ENOMEM;
	listener->id = id;
	id->provider_data = listener;
	mutex_lock(&nd_cm_lock);
	list_add_tail(&listener->list, &listeners);
	mutex_unlock(&nd_cm_lock);
	return 0;
}

int nd_destroy_listen(struct iw_cm_id *id)
{
	struct nd_listener *listener = id->provider_data;

	mutex_lock(&nd_cm_lock);
	list_del(&listener->list);
	mutex_unlock(&nd_cm_lock);
	kfree(listener);
	return 0;
}

static struct nd_qp *qp_for(struct iw_cm_id *id, u32 qpn)
{
	struct ib_qp *qp = nd_get_qp(id->device, qpn);

	return qp && READ_ONCE(to_nd_qp(qp)->state) == IB_QPS_INIT && !to_nd_qp(qp)->conn ? to_nd_qp(qp) : NULL;
}

static int request(struct iw_cm_id *id, struct iw_cm_conn_param *param)
{
	struct iw_cm_id *listener = find_listener(&id->m_remote_addr);
	struct nd_qp *qp = qp_for(id, param->qpn);
	struct nd_conn *conn;

	if (!qp)
		return -EINVAL;
	if (!listener)
		return -ECONNREFUSED;
	conn = kzalloc_obj(*conn);
	if (!conn)
		return -ENOMEM;
	kref_init(&conn->users);
	INIT_DELAYED_WORK(&conn->timer, time_out);
	conn->request = (struct iw_cm_event) {
		.event = IW_CM_EVENT_CONNECT_REQUEST,
		.local_addr = id->m_remote_addr,
		.remote_addr = id->m_local_addr,
		.private_data = (void *)param->private_data,
		.private_data_len = param->private_data_len,
		.provider_data = conn,
		.ird = param->ird,
		.ord = param->ord,
	};
	/* The passive id's. */
	kref_get(&conn->users);
	if (listener->event_handler(listener, &conn->request)) {
		kfree(conn);
		return -ECONNREFUSED;
	}
	id->add_ref(id);
	conn->active = id;
	conn->qp[0] = qp;
	qp->conn = conn;
	kref_get(&conn->users);
	queue_delayed_work(nd_wq, &conn->timer, ANSWER_TIME);
	return 0;
}

int nd_connect(struct iw_cm_id *id, struct iw_cm_conn_param *param)
{
	int ret = nd_refuses(ND_CONNECT);

	if (ret)
		return ret;
	mutex_lock(&nd_cm_lock);
	ret = request(id, param);
	mutex_unlock(&nd_cm_lock);
	return ret;
}

static int answer(struct nd_conn *conn, struct iw_cm_id *id, struct iw_cm_conn_param *param)
{
	struct nd_qp *qp = qp_for(id, param->qpn);
	struct iw_cm_event event;
	int ret;

	if (conn->state != PENDING)
		return -ECONNRESET;
	ret = nd_refuses(ND_ACCEPT);
	if (!ret)
		ret = qp ? nd_join(conn->qp[0], qp) : -EINVAL;
	if (ret) {
		end(conn, -ECONNRESET);
		return ret;
	}
	conn->state = OPEN;
	if (cancel_delayed_work(&conn->timer))
		conn_put(conn);
	id->add_ref(id);
	conn->passive = id;
	conn->qp[1] = qp;
	qp->conn = conn;
	event = (struct iw_cm_event) {
		.event = IW_CM_EVENT_ESTABLISHED,
		.local_addr = conn->request.local_addr,
		.remote_addr = conn->request.remote_addr,
		.ird = conn->request.ird,
		.ord = conn->request.ord,
	};
	id->event_handler(id, &event);
	event = (struct iw_cm_event) {
		.event = IW_CM_EVENT_CONNECT_REPLY,
		.local_addr = conn->request.remote_addr,
		.remote_addr = conn->request.local_addr,
		.private_data = (void *)param->private_data,
		.private_data_len = param->private_data_len,
		.ird = param->ird,
		.ord = param->ord,
	};
	conn->active->event_handler(conn->active, &event);
	return 0;
}

int nd_accept(struct iw_cm_id *id, struct iw_cm_conn_param *param)
{
	struct nd_conn *conn = id->provider_data;
	int ret;

	mutex_lock(&nd_cm_lock);
	ret = answer(conn, id, param);
	mutex_unlock(&nd_cm_lock);
	/* It has answered. */
	conn_put(conn);
	return ret;
}

int nd_reject(struct iw_cm_id *id, const void *data, u8 len)
{
	struct nd_conn *conn = id->provider_data;
	struct iw_cm_event event = {
		.event = IW_CM_EVENT_CONNECT_REPLY,
		.status = -ECONNREFUSED,
		.private_data = (void *)data,
		.private_data_len = len,
	};

	mutex_lock(&nd_cm_lock);
	if (conn->state == PENDING) {
		conn->state = OVER;
		if (cancel_delayed_work(&conn->timer))
			conn_put(conn);
		leave(conn, 0);
		conn->active->event_handler(conn->active, &event);
		conn->active->rem_ref(conn->active);
		conn_put(conn);
	}
	mutex_unlock(&nd_cm_lock);
	conn_put(conn);
	return 0;
}
