// SPDX-License-Identifier: GPL-2.0

//! Connectors: one end of a connection.

use super::{
    addr::RawAddr,
    ffi,
    notice::{
        dispatch,
        Notice,
        MISSING, //
    },
    owned::{
        Hook,
        Owned, //
    },
    qp::Qp,
    shared_endpoint::SharedEndpoint,
};
use core::{
    ffi::c_void,
    net::SocketAddr,
    ptr::NonNull, //
};
use kernel::{
    error::to_result,
    prelude::*, //
};

/// What to ask a peer for.
pub(crate) struct ConnectParams<'a> {
    /// Local address of the adapter; port 0 has one chosen.
    pub(crate) source: SocketAddr,
    /// The peer's address.
    pub(crate) destination: SocketAddr,
    /// Reads of the peer at a time; capped silently.
    pub(crate) inbound_reads: u32,
    /// Reads of ours at a time; capped silently.
    pub(crate) outbound_reads: u32,
    /// For the peer.
    pub(crate) private_data: &'a [u8],
}

/// What to ask a peer for, from a shared endpoint.
pub(crate) struct SharedConnectParams<'a> {
    /// The local address.
    pub(crate) endpoint: &'a SharedEndpoint,
    /// The peer's address.
    pub(crate) destination: SocketAddr,
    /// Reads of the peer at a time; capped silently.
    pub(crate) inbound_reads: u32,
    /// Reads of ours at a time; capped silently.
    pub(crate) outbound_reads: u32,
    /// For the peer.
    pub(crate) private_data: &'a [u8],
}

/// How to accept a connection.
pub(crate) struct AcceptParams<'a> {
    /// Reads of the peer at a time; capped silently.
    pub(crate) inbound_reads: u32,
    /// Reads of ours at a time; capped silently.
    pub(crate) outbound_reads: u32,
    /// For the peer.
    pub(crate) private_data: &'a [u8],
}

/// What the peer sent.
pub(crate) struct ConnectionData {
    /// Reads of the peer at a time.
    pub(crate) inbound_reads: u32,
    /// Reads of ours at a time.
    pub(crate) outbound_reads: u32,
    /// Bytes of private data: the capacity of the transport, where the rest is zero.
    pub(crate) private_data_len: u32,
}

/// One end of a connection, or of one to be.
pub(crate) struct Connector(Owned<ffi::ndk_connector>);

/// # Safety
///
/// `context` is to the `Option<D>` that a hook of the connector owns.
unsafe extern "C" fn disconnect_event<D: FnOnce()>(context: *mut c_void) {
    // SAFETY: By this function's requirements, and the event comes once at most.
    if let Some(call) = unsafe { (*context.cast::<Option<D>>()).take() } {
        call();
    }
}

fn bytes(data: &[u8]) -> Result<(*const c_void, u32)> {
    let length = u32::try_from(data.len()).map_err(|_| E2BIG)?;
    let pointer = if data.is_empty() {
        core::ptr::null()
    } else {
        data.as_ptr().cast()
    };
    Ok((pointer, length))
}

impl Connector {
    /// # Safety
    ///
    /// `raw` is open and becomes this value's own.
    pub(super) unsafe fn new(raw: NonNull<ffi::ndk_connector>) -> Self {
        // SAFETY: By this function's requirements.
        Self(unsafe { Owned::new(raw, None) })
    }

    fn as_ptr(&self) -> *mut ffi::ndk_connector {
        self.0.as_ptr()
    }

    /// Keeps the closure for the disconnect event as long as the connector.
    fn keep_event<D: FnOnce() + Send + 'static>(
        &mut self,
        on_disconnect: D,
    ) -> Result<*mut c_void> {
        let (hook, call) = Hook::new(Some(on_disconnect))?;
        self.0.keep(hook)?;
        Ok(call.as_ptr().cast())
    }

    /// Asks a peer for a connection. Success means that it accepts: [`Connector::complete_connect`] or
    /// [`Connector::reject`] comes next.
    pub(crate) fn connect<N: Notice<()>>(
        &self,
        qp: &Qp,
        params: &ConnectParams<'_>,
        how: N,
    ) -> N::Return {
        let source = RawAddr::new(&params.source);
        let destination = RawAddr::new(&params.destination);
        let (data, data_len) = match bytes(params.private_data) {
            Ok(data) => data,
            Err(error) => return how.fail(error),
        };
        how.request(
            // SAFETY: Connector and QP are open; addresses and private data are read during the call only.
            |done, context| unsafe {
                dispatch!(self.as_ptr(), connect(
                    self.as_ptr(),
                    qp.as_ptr(),
                    source.as_ptr(),
                    source.len(),
                    destination.as_ptr(),
                    destination.len(),
                    params.inbound_reads,
                    params.outbound_reads,
                    data,
                    data_len,
                    done,
                    context,
                ) or MISSING)
            },
            |status| status,
        )
    }

    /// As [`Connector::connect`], from a shared endpoint. Its close is done when this connector is closed.
    pub(crate) fn connect_with_shared_endpoint<N: Notice<()>>(
        &self,
        qp: &Qp,
        params: &SharedConnectParams<'_>,
        how: N,
    ) -> N::Return {
        let destination = RawAddr::new(&params.destination);
        let (data, data_len) = match bytes(params.private_data) {
            Ok(data) => data,
            Err(error) => return how.fail(error),
        };
        how.request(
            // SAFETY: Connector, QP and endpoint are open; address and private data are read during the call only.
            |done, context| unsafe {
                dispatch!(self.as_ptr(), connect_with_shared_endpoint(
                    self.as_ptr(),
                    qp.as_ptr(),
                    params.endpoint.as_ptr(),
                    destination.as_ptr(),
                    destination.len(),
                    params.inbound_reads,
                    params.outbound_reads,
                    data,
                    data_len,
                    done,
                    context,
                ) or MISSING)
            },
            |status| status,
        )
    }

    /// Takes the connection that the peer has accepted. `on_disconnect` is called, in softirq context, if it ends other than by
    /// us.
    pub(crate) fn complete_connect<D, N>(&mut self, on_disconnect: D, how: N) -> N::Return
    where
        D: FnOnce() + Send + 'static,
        N: Notice<()>,
    {
        let event = match self.keep_event(on_disconnect) {
            Ok(event) => event,
            Err(error) => return how.fail(error),
        };
        how.request(
            // SAFETY: The connector is open; its hook owns the event's context.
            |done, context| unsafe {
                dispatch!(self.as_ptr(), complete_connect(
                    self.as_ptr(), Some(disconnect_event::<D>), event, done, context,
                ) or MISSING)
            },
            |status| status,
        )
    }

    /// Accepts an incoming connection; done when the peer completes it. `on_disconnect` as in [`Connector::complete_connect`].
    pub(crate) fn accept<D, N>(
        &mut self,
        qp: &Qp,
        params: &AcceptParams<'_>,
        on_disconnect: D,
        how: N,
    ) -> N::Return
    where
        D: FnOnce() + Send + 'static,
        N: Notice<()>,
    {
        let (event, (data, data_len)) = match self
            .keep_event(on_disconnect)
            .and_then(|event| Ok((event, bytes(params.private_data)?)))
        {
            Ok(both) => both,
            Err(error) => return how.fail(error),
        };
        how.request(
            // SAFETY: Connector and QP are open; the hook owns the event's context; private data is read during the call only.
            |done, context| unsafe {
                dispatch!(self.as_ptr(), accept(
                    self.as_ptr(),
                    qp.as_ptr(),
                    params.inbound_reads,
                    params.outbound_reads,
                    data,
                    data_len,
                    Some(disconnect_event::<D>),
                    event,
                    done,
                    context,
                ) or MISSING)
            },
            |status| status,
        )
    }

    /// Refuses a connection, incoming or accepted by the peer. Afterwards the connector can only be closed.
    pub(crate) fn reject(&self, private_data: &[u8]) -> Result {
        let (data, data_len) = bytes(private_data)?;
        // SAFETY: The connector is open; private data is read during the call only.
        to_result(unsafe {
            dispatch!(self.as_ptr(), reject(self.as_ptr(), data, data_len) or MISSING)
        })
    }

    /// Reads what the peer sent into `into`, as much as fits.
    pub(crate) fn connection_data(&self, into: &mut [u8]) -> Result<ConnectionData> {
        let mut data = ConnectionData {
            inbound_reads: 0,
            outbound_reads: 0,
            private_data_len: u32::try_from(into.len()).map_err(|_| EINVAL)?,
        };
        let room = if into.is_empty() {
            core::ptr::null_mut()
        } else {
            into.as_mut_ptr().cast()
        };
        // SAFETY: The connector is open, and `room` has so many bytes.
        let status = to_result(unsafe {
            dispatch!(self.as_ptr(), get_connection_data(
                self.as_ptr(),
                &mut data.inbound_reads,
                &mut data.outbound_reads,
                room,
                &mut data.private_data_len,
            ) or MISSING)
        });
        match status {
            Err(error) if error != ENOSPC => Err(error),
            _ => Ok(data),
        }
    }

    /// The local address.
    pub(crate) fn local_address(&self) -> Result<SocketAddr> {
        let mut raw = RawAddr::zeroed();
        let mut length = raw.len();
        // SAFETY: The connector is open, and `raw` has `length` bytes.
        to_result(unsafe {
            dispatch!(self.as_ptr(), get_local_address(
                self.as_ptr(), raw.as_mut_ptr(), &mut length,
            ) or MISSING)
        })?;
        raw.get()
    }

    /// The peer's address.
    pub(crate) fn peer_address(&self) -> Result<SocketAddr> {
        let mut raw = RawAddr::zeroed();
        let mut length = raw.len();
        // SAFETY: The connector is open, and `raw` has `length` bytes.
        to_result(unsafe {
            dispatch!(self.as_ptr(), get_peer_address(
                self.as_ptr(), raw.as_mut_ptr(), &mut length,
            ) or MISSING)
        })?;
        raw.get()
    }

    /// Ends the connection in good order.
    pub(crate) fn disconnect<N: Notice<()>>(&self, how: N) -> N::Return {
        how.request(
            // SAFETY: The connector is open.
            |done, context| unsafe {
                dispatch!(self.as_ptr(), disconnect(self.as_ptr(), done, context) or MISSING)
            },
            |status| status,
        )
    }

    /// Closes the connector, in any state: an incoming connection is rejected, an established one aborted.
    pub(crate) fn close<N: Notice<()>>(self, how: N) -> N::Return {
        self.0.close(how)
    }
}
