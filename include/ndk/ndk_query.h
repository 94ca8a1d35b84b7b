/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ndk - what there is to know of an adapter without opening it: capabilities,
 * counters, connections, local endpoints.
 *
 * These are NDKPI's capabilities and its statistics OIDs. All of them name the
 * adapter as ndk_open_adapter() does, where the version is not looked at, and
 * speak for the adapter as a whole: for all instances of all consumers.
 *
 * All of them take the size of the caller's buffer, and give the bytes written,
 * or with -ENOSPC those needed at the moment of the call. With NULL for a buffer
 * they tell the size only.
 */
#ifndef _NDK_NDK_QUERY_H
#define _NDK_NDK_QUERY_H

#include <ndk/ndk.h>

/**
 * struct ndk_capabilities - what an adapter can do
 * @flags: none is defined, zero
 * @enabled: whether ndk_open_adapter() would open it now: its port is active
 * @max_qp_count: QPs of the adapter, all consumers together
 * @max_cq_count: CQs
 * @max_mr_count: MRs
 * @max_pd_count: PDs
 * @max_inbound_read_limit: concurrent incoming reads of all QPs together, 0 for
 *	no such limit; that of each QP holds in any case
 * @max_outbound_read_limit: concurrent outgoing reads, likewise
 * @max_mw_count: memory windows, 0 where there are none
 * @max_srq_count: SRQs, 0 where there are none
 * @missing_counter_mask: bit n is set where counter n of &struct ndk_counters
 *	is not counted
 * @info: limits of each object, with the highest version that is spoken
 */
struct ndk_capabilities {
	u32 flags;
	bool enabled;
	u32 max_qp_count;
	u32 max_cq_count;
	u32 max_mr_count;
	u32 max_pd_count;
	u32 max_inbound_read_limit;
	u32 max_outbound_read_limit;
	u32 max_mw_count;
	u32 max_srq_count;
	u64 missing_counter_mask;
	struct ndk_adapter_info info;
};

/**
 * struct ndk_counters - what is counted at an adapter
 * @connect: connections established from here
 * @accept: connections established from the peer
 * @connect_failure: attempts of both directions that ended without a
 *	connection, whoever ended them
 * @connection_error: connections that an error ended before the consumer
 *	disconnected or closed, and other than by the peer's disconnect
 * @active_connection: connections that stand now
 * @reserved: zero
 * @cq_error: CQs that failed, by an overrun or otherwise
 * @rdma_in_octets: bytes received by the port, all users of RDMA together, as
 *	the device counts them
 * @rdma_out_octets: bytes sent
 * @rdma_in_frames: packets received
 * @rdma_out_frames: packets sent
 *
 * The number of a counter, from 0, is its bit in @missing_counter_mask of
 * &struct ndk_capabilities. What is missing reads zero.
 */
struct ndk_counters {
	u64 connect;
	u64 accept;
	u64 connect_failure;
	u64 connection_error;
	u64 active_connection;
	u64 reserved[20];
	u64 cq_error;
	u64 rdma_in_octets;
	u64 rdma_out_octets;
	u64 rdma_in_frames;
	u64 rdma_out_frames;
};

/**
 * struct ndk_statistics - the counters of an adapter
 * @flags: none is defined, zero
 * @reserved: zero
 * @counters: the counters
 */
struct ndk_statistics {
	u32 flags;
	u32 reserved;
	struct ndk_counters counters;
};

/**
 * struct ndk_connection_entry - a connection
 * @local: this end
 * @remote: the peer's end
 * @user_mode_owner: whether a process owns it
 * @owner_pid: that process; 0 for a kernel consumer
 */
struct ndk_connection_entry {
	struct sockaddr_storage local;
	struct sockaddr_storage remote;
	bool user_mode_owner;
	u32 owner_pid;
};

/**
 * struct ndk_connections - the connections of an adapter
 * @flags: none is defined, zero
 * @count: entries
 * @mapped_to_tcp: whether they are TCP connections, as on iWARP: then there
 *	are two entries for each. The even one is as described, the odd one
 *	behind it has the ends of the TCP connection; of that nothing else is
 *	written.
 * @connections: the entries
 */
struct ndk_connections {
	u32 flags;
	u32 count;
	bool mapped_to_tcp;
	struct ndk_connection_entry connections[];
};

/**
 * struct ndk_local_endpoint_entry - a listener or a shared endpoint
 * @local: its address
 * @user_mode_owner: whether a process owns it
 * @listener: true for a listener, false for a shared endpoint
 * @owner_pid: the process that owns it; 0 for a kernel consumer
 */
struct ndk_local_endpoint_entry {
	struct sockaddr_storage local;
	bool user_mode_owner;
	bool listener;
	u32 owner_pid;
};

/**
 * struct ndk_local_endpoints - listeners and shared endpoints of an adapter
 * @flags: none is defined, zero
 * @count: entries
 * @mapped_to_tcp: as in &struct ndk_connections
 * @endpoints: the entries
 */
struct ndk_local_endpoints {
	u32 flags;
	u32 count;
	bool mapped_to_tcp;
	struct ndk_local_endpoint_entry endpoints[];
};

/**
 * ndk_query_capabilities - ask what an adapter can do
 * @net: network namespace in which @params is meant
 * @params: which adapter
 * @capabilities: where to, or NULL
 * @size: bytes at @capabilities; on return those written or needed
 *
 * Also of an adapter that ndk_open_adapter() would refuse with -ENETDOWN.
 * Context: process context, sleeps.
 * Return: 0; -ENOSPC; -ENODEV when there is no such adapter; -EINVAL; -ENOMEM.
 */
int ndk_query_capabilities(struct net *net,
			   const struct ndk_open_params *params,
			   struct ndk_capabilities *capabilities, size_t *size);

/**
 * ndk_query_statistics - read the counters of an adapter
 * @net: network namespace in which @params is meant
 * @params: which adapter
 * @statistics: where to, or NULL
 * @size: bytes at @statistics; on return those written or needed
 *
 * Counters begin at zero when the adapter comes, and only grow, but for
 * active_connection and for what the device does with its own.
 * Context: process context, sleeps.
 * Return: as ndk_query_capabilities().
 */
int ndk_query_statistics(struct net *net, const struct ndk_open_params *params,
			 struct ndk_statistics *statistics, size_t *size);

/**
 * ndk_query_connections - read the connections of an adapter
 * @net: network namespace in which @params is meant
 * @params: which adapter
 * @connections: where to, or NULL
 * @size: bytes at @connections; on return those written or needed
 *
 * Connections that stand: established here, not ended by the peer, not being
 * disconnected or closed.
 * Context: process context, sleeps.
 * Return: as ndk_query_capabilities().
 */
int ndk_query_connections(struct net *net,
			  const struct ndk_open_params *params,
			  struct ndk_connections *connections, size_t *size);

/**
 * ndk_query_local_endpoints - read the local endpoints of an adapter
 * @net: network namespace in which @params is meant
 * @params: which adapter
 * @endpoints: where to, or NULL
 * @size: bytes at @endpoints; on return those written or needed
 *
 * Those of listeners and shared endpoints that are open. The address of one
 * that is closed stays taken while connectors use it, but is not offered.
 * Context: process context, sleeps.
 * Return: as ndk_query_capabilities().
 */
int ndk_query_local_endpoints(struct net *net,
			      const struct ndk_open_params *params,
			      struct ndk_local_endpoints *endpoints,
			      size_t *size);

#endif /* _NDK_NDK_QUERY_H */
