// SPDX-License-Identifier: GPL-2.0

//! Functions of a connector.

use super::{
    address_of,
    close,
    open,
    pending_request,
    put_address,
    query_extension,
    shared,
    slice_of,
    View, //
};
use crate::{
    callback::DisconnectEvent,
    connector::{
        self,
        Connector,
        ReadLimits,
        Source, //
    },
    ffi::{
        self,
        ndk_connector,
        ndk_object_header,
        ndk_qp,
        ndk_shared_endpoint, //
    },
    qp::Qp,
    shared_endpoint::SharedEndpoint,
    state::status::Status,
    status, //
};
use core::ffi::{
    c_int,
    c_void, //
};

unsafe extern "C" fn connect(
    connector: *mut ndk_connector,
    qp: *mut ndk_qp,
    source: *const ffi::sockaddr,
    source_len: u32,
    destination: *const ffi::sockaddr,
    destination_len: u32,
    inbound_read_limit: u32,
    outbound_read_limit: u32,
    private_data: *const c_void,
    private_data_len: u32,
    completion: ffi::ndk_request_completion_fn,
    context: *mut c_void,
) -> c_int {
    if qp.is_null() {
        return status::to_errno(Status::InvalidParameter);
    }
    let limits = ReadLimits {
        inbound: inbound_read_limit,
        outbound: outbound_read_limit,
    };
    // SAFETY: The consumer's, as the module documentation says.
    unsafe {
        let qp = shared::<Qp>(qp);
        pending_request(connector, completion, context, |connector, completion| {
            connector::connect(
                connector,
                &qp,
                Source::Address(address_of(source, source_len)?),
                address_of(destination, destination_len)?,
                limits,
                slice_of(private_data.cast::<u8>(), private_data_len)?,
                completion,
            )
        })
    }
}

unsafe extern "C" fn connect_with_shared_endpoint(
    connector: *mut ndk_connector,
    qp: *mut ndk_qp,
    endpoint: *mut ndk_shared_endpoint,
    destination: *const ffi::sockaddr,
    destination_len: u32,
    inbound_read_limit: u32,
    outbound_read_limit: u32,
    private_data: *const c_void,
    private_data_len: u32,
    completion: ffi::ndk_request_completion_fn,
    context: *mut c_void,
) -> c_int {
    if qp.is_null() || endpoint.is_null() {
        return status::to_errno(Status::InvalidParameter);
    }
    let limits = ReadLimits {
        inbound: inbound_read_limit,
        outbound: outbound_read_limit,
    };
    // SAFETY: The consumer's, as the module documentation says.
    unsafe {
        let qp = shared::<Qp>(qp);
        let endpoint = shared::<SharedEndpoint>(endpoint);
        pending_request(connector, completion, context, |connector, completion| {
            connector::connect(
                connector,
                &qp,
                Source::Shared(&endpoint),
                address_of(destination, destination_len)?,
                limits,
                slice_of(private_data.cast::<u8>(), private_data_len)?,
                completion,
            )
        })
    }
}

unsafe extern "C" fn complete_connect(
    connector: *mut ndk_connector,
    disconnect_event: ffi::ndk_disconnect_event_fn,
    disconnect_event_context: *mut c_void,
    completion: ffi::ndk_request_completion_fn,
    context: *mut c_void,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    unsafe {
        let event = DisconnectEvent::plain(disconnect_event, disconnect_event_context);
        pending_request(connector, completion, context, |connector, completion| {
            connector::complete_connect(connector, event, completion)
        })
    }
}

unsafe extern "C" fn complete_connect_ex(
    connector: *mut ndk_connector,
    disconnect_event: ffi::ndk_disconnect_event_ex_fn,
    disconnect_event_context: *mut c_void,
    completion: ffi::ndk_request_completion_fn,
    context: *mut c_void,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    unsafe {
        let event = DisconnectEvent::ex(disconnect_event, disconnect_event_context);
        pending_request(connector, completion, context, |connector, completion| {
            connector::complete_connect(connector, event, completion)
        })
    }
}

/// Both forms of accept.
///
/// # Safety
///
/// As the module documentation says.
unsafe fn accept_with(
    connector: *mut ndk_connector,
    qp: *mut ndk_qp,
    limits: ReadLimits,
    (private_data, private_data_len): (*const c_void, u32),
    event: Option<DisconnectEvent>,
    completion: ffi::ndk_request_completion_fn,
    context: *mut c_void,
) -> c_int {
    if qp.is_null() {
        return status::to_errno(Status::InvalidParameter);
    }
    // SAFETY: By this function's requirements.
    unsafe {
        let qp = shared::<Qp>(qp);
        pending_request(connector, completion, context, |connector, completion| {
            let data = slice_of(private_data.cast::<u8>(), private_data_len)?;
            connector::accept(connector, &qp, limits, data, event, completion)
        })
    }
}

unsafe extern "C" fn accept(
    connector: *mut ndk_connector,
    qp: *mut ndk_qp,
    inbound_read_limit: u32,
    outbound_read_limit: u32,
    private_data: *const c_void,
    private_data_len: u32,
    disconnect_event: ffi::ndk_disconnect_event_fn,
    disconnect_event_context: *mut c_void,
    completion: ffi::ndk_request_completion_fn,
    context: *mut c_void,
) -> c_int {
    let limits = ReadLimits {
        inbound: inbound_read_limit,
        outbound: outbound_read_limit,
    };
    let data = (private_data, private_data_len);
    // SAFETY: The consumer's, as the module documentation says.
    unsafe {
        let event = DisconnectEvent::plain(disconnect_event, disconnect_event_context);
        accept_with(connector, qp, limits, data, event, completion, context)
    }
}

unsafe extern "C" fn accept_ex(
    connector: *mut ndk_connector,
    qp: *mut ndk_qp,
    inbound_read_limit: u32,
    outbound_read_limit: u32,
    private_data: *const c_void,
    private_data_len: u32,
    disconnect_event: ffi::ndk_disconnect_event_ex_fn,
    disconnect_event_context: *mut c_void,
    completion: ffi::ndk_request_completion_fn,
    context: *mut c_void,
) -> c_int {
    let limits = ReadLimits {
        inbound: inbound_read_limit,
        outbound: outbound_read_limit,
    };
    let data = (private_data, private_data_len);
    // SAFETY: The consumer's, as the module documentation says.
    unsafe {
        let event = DisconnectEvent::ex(disconnect_event, disconnect_event_context);
        accept_with(connector, qp, limits, data, event, completion, context)
    }
}

unsafe extern "C" fn reject(
    connector: *mut ndk_connector,
    private_data: *const c_void,
    private_data_len: u32,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    let (connector, private_data) = unsafe {
        (
            shared::<Connector>(connector),
            slice_of(private_data.cast::<u8>(), private_data_len),
        )
    };
    status::of(private_data.and_then(|data| connector::reject(&connector, data)))
}

unsafe extern "C" fn get_connection_data(
    connector: *mut ndk_connector,
    inbound_read_limit: *mut u32,
    outbound_read_limit: *mut u32,
    private_data: *mut c_void,
    private_data_len: *mut u32,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    let connector = unsafe { open::<Connector>(connector) };
    let data = match connector.connection_data() {
        Ok(data) => data,
        Err(status) => return status::to_errno(status),
    };
    // SAFETY: As above.
    unsafe {
        if !inbound_read_limit.is_null() {
            inbound_read_limit.write(data.limits.inbound);
        }
        if !outbound_read_limit.is_null() {
            outbound_read_limit.write(data.limits.outbound);
        }
    }
    if private_data_len.is_null() {
        return status::of(if private_data.is_null() {
            Ok(())
        } else {
            Err(Status::InvalidParameter)
        });
    }
    // SAFETY: As above.
    let room = unsafe { *private_data_len };
    let (result, copied) = data.fits(!private_data.is_null(), room);
    if result != Err(Status::InvalidParameter) {
        // SAFETY: `copied` is at most `room` and the length of the data; where it is not 0 the buffer is not null.
        unsafe {
            private_data
                .cast::<u8>()
                .copy_from_nonoverlapping(data.private_data().as_ptr(), copied);
            private_data_len.write(data.private_data().len() as u32);
        }
    }
    status::of(result)
}

unsafe extern "C" fn get_local_address(
    connector: *mut ndk_connector,
    address: *mut ffi::sockaddr,
    address_len: *mut u32,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    status::of(unsafe {
        put_address(
            open::<Connector>(connector).local_address(),
            address,
            address_len,
        )
    })
}

unsafe extern "C" fn get_peer_address(
    connector: *mut ndk_connector,
    address: *mut ffi::sockaddr,
    address_len: *mut u32,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    status::of(unsafe {
        put_address(
            open::<Connector>(connector).peer_address(),
            address,
            address_len,
        )
    })
}

unsafe extern "C" fn disconnect(
    connector: *mut ndk_connector,
    completion: ffi::ndk_request_completion_fn,
    context: *mut c_void,
) -> c_int {
    // SAFETY: The consumer's, as the module documentation says.
    unsafe { pending_request(connector, completion, context, connector::disconnect) }
}

/// Functions of a connector.
static DISPATCH: ffi::ndk_connector_dispatch = ffi::ndk_connector_dispatch {
    close: Some(close::<Connector>),
    query_extension: Some(query_extension),
    connect: Some(connect),
    connect_with_shared_endpoint: Some(connect_with_shared_endpoint),
    complete_connect: Some(complete_connect),
    accept: Some(accept),
    reject: Some(reject),
    get_connection_data: Some(get_connection_data),
    get_local_address: Some(get_local_address),
    get_peer_address: Some(get_peer_address),
    disconnect: Some(disconnect),
    complete_connect_ex: Some(complete_connect_ex),
    accept_ex: Some(accept_ex),
};

impl View for ndk_connector {
    const KIND: u32 = ffi::ndk_object_type_NDK_OBJECT_CONNECTOR;

    fn new(header: ndk_object_header) -> Self {
        Self {
            header,
            dispatch: &raw const DISPATCH,
        }
    }
}
