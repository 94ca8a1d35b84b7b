//! Safe wrappers of the RDMA core.
