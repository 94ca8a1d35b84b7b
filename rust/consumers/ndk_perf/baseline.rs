// SPDX-License-Identifier: GPL-2.0

//! The C side: raw.c, raw_connect.c, and both layers in layer_ours.c and layer_raw.c.

use crate::{
    client::{
        Buffer,
        Net,
        RawAddr, //
    },
    job::{
        Job,
        Outcome,
        Test, //
    },
};
use core::{
    ffi::c_void,
    net::{
        IpAddr,
        SocketAddr, //
    },
};
use kernel::{
    alloc::KVVec,
    bindings,
    error::to_result,
    ffi::c_int,
    prelude::*, //
};

/// `struct perf_end`.
#[repr(C)]
struct RawEnd {
    net: *mut c_void,
    address: *const bindings::sockaddr,
    sgl: *mut bindings::scatterlist,
    nents: u32,
    length: u64,
}

/// `struct perf_result`.
#[repr(C)]
struct RawResult {
    samples: *mut u64,
    count: u32,
    elapsed: u64,
}

extern "C" {
    fn ndk_perf_raw_run(
        job: *const Job,
        a: *const RawEnd,
        b: *const RawEnd,
        result: *mut RawResult,
    ) -> c_int;

    fn ndk_perf_raw_connect(
        job: *const Job,
        a: *const RawEnd,
        b: *const RawEnd,
        result: *mut RawResult,
    ) -> c_int;

    fn ndk_perf_layer_ours(
        job: *const Job,
        a: *const RawEnd,
        b: *const RawEnd,
        result: *mut RawResult,
    ) -> c_int;

    fn ndk_perf_layer_raw(
        job: *const Job,
        a: *const RawEnd,
        b: *const RawEnd,
        result: *mut RawResult,
    ) -> c_int;
}

/// Figures of [`Test::Layer`]: `LAYER_FIGURES`.
const LAYER_FIGURES: usize = 6;

/// One end: where it is.
pub(crate) struct Place {
    pub(crate) net: Net,
    pub(crate) address: IpAddr,
}

/// Measures kernel verbs without ndk, or what C measures of ndk. Sleeps until everything is gone again.
pub(crate) fn run(job: &Job, ours: bool, a: Place, b: Place) -> Result<Outcome> {
    let buffers = [
        Buffer::new(job.buffer_size())?,
        Buffer::new(job.buffer_size())?,
    ];
    let addresses = [
        RawAddr::new(&SocketAddr::new(a.address, 0)),
        RawAddr::new(&SocketAddr::new(b.address, 0)),
    ];
    let end = |place: &Place, address: &RawAddr, buffer: &Buffer| {
        let (sgl, nents) = buffer.sgl();
        RawEnd {
            net: place.net.as_ptr().cast(),
            address: address.as_ptr(),
            sgl,
            nents,
            length: buffer.len() as u64,
        }
    };
    let ends = [
        end(&a, &addresses[0], &buffers[0]),
        end(&b, &addresses[1], &buffers[1]),
    ];
    let room = (job.iters as usize).max(LAYER_FIGURES);
    let mut samples = KVVec::from_elem(0u64, room, GFP_KERNEL)?;
    let mut result = RawResult {
        samples: samples.as_mut_ptr(),
        count: 0,
        elapsed: 0,
    };
    // SAFETY: Namespaces, addresses, buffers and the room for the samples, one for each operation, outlive the call.
    to_result(unsafe {
        match job.test {
            Test::Connect => ndk_perf_raw_connect(job, &ends[0], &ends[1], &mut result),
            Test::Layer | Test::ListRead | Test::ListWrite if ours => {
                ndk_perf_layer_ours(job, &ends[0], &ends[1], &mut result)
            }
            Test::Layer | Test::ListRead | Test::ListWrite => {
                ndk_perf_layer_raw(job, &ends[0], &ends[1], &mut result)
            }
            _ => ndk_perf_raw_run(job, &ends[0], &ends[1], &mut result),
        }
    })?;
    let sampled = match job.test {
        Test::Layer => LAYER_FIGURES,
        test if test.is_sampled() => result.count as usize,
        _ => 0,
    };
    samples.truncate(sampled);
    Ok(Outcome {
        samples,
        count: result.count,
        elapsed: result.elapsed,
    })
}
