// SPDX-License-Identifier: GPL-2.0

//! The C side: bindings to the RDMA core and to `include/ndk/ndk.h`, and the helpers of
//! `ffi/helpers.c`.
//!
//! Raw items only, but for wrappers of the kernel's own primitives: [`ctx`], [`sync`] and
//! [`trace`], which the crate's root has as well, and [`debugfs`]. Structures that the `kernel` crate knows (`net_device`,
//! `scatterlist`, `work_struct`, …) are its own: the generated file names only what
//! `kernel::bindings` lacks.

pub(crate) mod ctx;
pub(crate) mod debugfs;
pub(crate) mod sync;
pub(crate) mod trace;

#[allow(
    clippy::all,
    clippy::as_underscore,
    clippy::cast_lossless,
    clippy::ptr_as_ptr,
    clippy::ref_as_ptr,
    clippy::undocumented_unsafe_blocks,
    dead_code,
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    improper_ctypes,
    unreachable_pub,
    unused_imports,
    unsafe_op_in_unsafe_fn
)]
mod generated {
    use kernel::bindings::*;
    use kernel::ffi;
    use pin_init::{
        MaybeZeroable,
        Zeroable, //
    };

    type __kernel_size_t = usize;
    type __kernel_ssize_t = isize;
    type __kernel_ptrdiff_t = isize;

    // SAFETY: `__BindgenBitfieldUnit<Storage>` is a newtype around `Storage`.
    unsafe impl<Storage> Zeroable for __BindgenBitfieldUnit<Storage> where Storage: Zeroable {}

    include!(concat!(env!("NDK_GENERATED"), "/bindings_generated.rs"));
}

pub(crate) use generated::*;
pub(crate) use kernel::bindings::{
    in6_addr,
    in_addr,
    net,
    net_device,
    scatterlist,
    sockaddr,
    sockaddr_in,
    sockaddr_in6, //
};

/// What C calls `struct sockaddr_storage`.
#[allow(non_camel_case_types, reason = "the name is C's")]
pub(crate) type sockaddr_storage = kernel::bindings::__kernel_sockaddr_storage;

macro_rules! assert_sizes {
    ($($name:ident => $size:ident),* $(,)?) => {
        $(const _: () = assert!(core::mem::size_of::<$name>() == $size);)*
    };
}

// `ffi/sizes_generated.h` holds the same numbers against the C compiler.
assert_sizes! {
    ib_client => NDK_SIZEOF_ib_client,
    ib_cq => NDK_SIZEOF_ib_cq,
    ib_device => NDK_SIZEOF_ib_device,
    ib_device_attr => NDK_SIZEOF_ib_device_attr,
    ib_gid_attr => NDK_SIZEOF_ib_gid_attr,
    ib_mr => NDK_SIZEOF_ib_mr,
    ib_pd => NDK_SIZEOF_ib_pd,
    ib_port_attr => NDK_SIZEOF_ib_port_attr,
    ib_qp => NDK_SIZEOF_ib_qp,
    ib_qp_attr => NDK_SIZEOF_ib_qp_attr,
    ib_qp_init_attr => NDK_SIZEOF_ib_qp_init_attr,
    ib_rdma_wr => NDK_SIZEOF_ib_rdma_wr,
    ib_recv_wr => NDK_SIZEOF_ib_recv_wr,
    ib_reg_wr => NDK_SIZEOF_ib_reg_wr,
    ib_send_wr => NDK_SIZEOF_ib_send_wr,
    ib_srq => NDK_SIZEOF_ib_srq,
    ib_srq_attr => NDK_SIZEOF_ib_srq_attr,
    ib_srq_init_attr => NDK_SIZEOF_ib_srq_init_attr,
    ib_wc => NDK_SIZEOF_ib_wc,
    rdma_cm_event => NDK_SIZEOF_rdma_cm_event,
    rdma_cm_id => NDK_SIZEOF_rdma_cm_id,
    rdma_conn_param => NDK_SIZEOF_rdma_conn_param,
}
