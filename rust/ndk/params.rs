// SPDX-License-Identifier: GPL-2.0

//! The parameters of the module, which are chosen when it is loaded and stay. What they can be is `state/params.rs`, and the
//! same stands in their descriptions for modinfo.

use crate::{
    module_parameters,
    state::params::{
        self,
        Param, //
    },
};
use kernel::prelude::*;

/// All of them, with the values that were chosen.
fn chosen() -> [(Param, u32); 5] {
    [
        (params::CONNECT_TIMEOUT_MS, connect_timeout_ms()),
        (params::HOLD_TIMEOUT_MS, hold_timeout_ms()),
        (params::ACCEPT_TIMEOUT_MS, accept_timeout_ms()),
        (params::DISCONNECT_TIMEOUT_MS, disconnect_timeout_ms()),
        (params::LISTEN_BACKLOG, listen_backlog()),
    ]
}

/// Refuses values out of their ranges; the log says which.
pub(crate) fn check() -> Result {
    for (param, value) in chosen() {
        if param.check(value).is_err() {
            let Param {
                name, least, most, ..
            } = param;
            pr_err!("{name} is {value}, and can be {least} to {most}\n");
            return Err(EINVAL);
        }
    }
    Ok(())
}

/// Milliseconds for a Connect.
pub(crate) fn connect_timeout_ms() -> u32 {
    module_parameters::connect_timeout_ms.value()
}

/// Milliseconds for the consumer to complete or reject.
pub(crate) fn hold_timeout_ms() -> u32 {
    module_parameters::hold_timeout_ms.value()
}

/// Milliseconds for the peer to complete.
pub(crate) fn accept_timeout_ms() -> u32 {
    module_parameters::accept_timeout_ms.value()
}

/// Milliseconds for the peer to answer a Disconnect.
pub(crate) fn disconnect_timeout_ms() -> u32 {
    module_parameters::disconnect_timeout_ms.value()
}

/// Connections that may wait for the answer of a listener's consumer.
pub(crate) fn listen_backlog() -> u32 {
    module_parameters::listen_backlog.value()
}

/// The shortest of the times, in milliseconds.
pub(crate) fn shortest_ms() -> u32 {
    connect_timeout_ms()
        .min(hold_timeout_ms())
        .min(accept_timeout_ms())
        .min(disconnect_timeout_ms())
}
