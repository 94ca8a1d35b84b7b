// SPDX-License-Identifier: GPL-2.0

//! The commands of `ctl`.

use crate::{
    client::Net,
    ping,
    registry::Registry,
    session::Role, //
};
use core::{
    net::IpAddr,
    str::FromStr, //
};
use kernel::{
    prelude::*,
    sync::Arc,
    uaccess::UserSliceReader, //
};

/// Bytes of the longest command.
const MAX_COMMAND: usize = 1024;

/// What a command asks of a server or a client.
pub(crate) struct Options {
    /// Local address.
    pub(crate) addr: IpAddr,
    /// The peer's, for a client.
    pub(crate) dst: Option<IpAddr>,
    /// Where the server listens.
    pub(crate) port: u16,
    /// The client's own port, 0 for any.
    pub(crate) source: u16,
    /// Whether the client connects from a shared endpoint.
    pub(crate) shared: bool,
    /// Rounds; 0 for no end.
    pub(crate) count: u32,
    /// Bytes of a buffer.
    pub(crate) size: u32,
    /// Milliseconds before a connection is answered.
    pub(crate) hold: u32,
    /// Private data with connect or accept.
    pub(crate) data: KVec<u8>,
    /// Private data with a reject, instead of an accept or complete connect.
    pub(crate) reject: Option<KVec<u8>>,
}

fn number<T: FromStr>(value: &str) -> Result<T> {
    value.parse().map_err(|_| EINVAL)
}

fn bytes(value: &str) -> Result<KVec<u8>> {
    let mut bytes = KVec::with_capacity(value.len(), GFP_KERNEL)?;
    bytes.extend_from_slice(value.as_bytes(), GFP_KERNEL)?;
    Ok(bytes)
}

/// Splits `key=value`.
fn pair(word: &str) -> Result<(&str, &str)> {
    word.split_once('=').ok_or(EINVAL)
}

impl Options {
    fn parse<'a>(role: Role, words: impl Iterator<Item = &'a str>) -> Result<Self> {
        let (mut addr, mut dst) = (None, None);
        let (mut port, mut source, mut shared) = (7174, 0, false);
        let (mut count, mut size) = match role {
            Role::Server => (0, ping::MAX_SIZE),
            Role::Client => (1, 64),
        };
        let mut hold = 0;
        let mut data = KVec::new();
        let mut reject = None;
        for word in words {
            match pair(word)? {
                ("addr", value) => addr = Some(number(value)?),
                ("dst", value) if role == Role::Client => dst = Some(number(value)?),
                ("port", value) => port = number(value)?,
                ("source", value) if role == Role::Client => source = number(value)?,
                ("shared", value) if role == Role::Client => shared = number(value)?,
                ("count", value) => count = number(value)?,
                ("size", value) => size = number(value)?,
                ("hold", value) => hold = number(value)?,
                ("data", value) => data = bytes(value)?,
                ("reject", value) => reject = Some(bytes(value)?),
                _ => return Err(EINVAL),
            }
        }
        if !(ping::MIN_SIZE..=ping::MAX_SIZE).contains(&size)
            || (role == Role::Client && (dst.is_none() || count == 0))
        {
            return Err(EINVAL);
        }
        Ok(Self {
            addr: addr.ok_or(EINVAL)?,
            dst,
            port,
            source,
            shared,
            count,
            size,
            hold,
            data,
            reject,
        })
    }
}

/// The number after `key=` in the only word, if there is one.
fn only<'a>(key: &str, mut words: impl Iterator<Item = &'a str>) -> Result<Option<u32>> {
    let Some(word) = words.next() else {
        return Ok(None);
    };
    match (pair(word)?, words.next()) {
        ((name, value), None) if name == key => number(value).map(Some),
        _ => Err(EINVAL),
    }
}

fn execute(registry: &Arc<Registry>, command: &str) -> Result {
    let mut words = command.split_ascii_whitespace();
    match words.next().ok_or(EINVAL)? {
        "server" => registry.start_server(&Net::current()?, Options::parse(Role::Server, words)?),
        "client" => registry.start_client(&Net::current()?, Options::parse(Role::Client, words)?),
        "wait" => registry.wait(only("ms", words)?.unwrap_or(60_000)),
        "pause" => registry.pause(only("id", words)?.ok_or(EINVAL)?, true),
        "resume" => registry.pause(only("id", words)?.ok_or(EINVAL)?, false),
        "stop" => registry.stop(only("id", words)?),
        "clear" => only("id", words).map(|_| registry.clear()),
        _ => Err(EINVAL),
    }
}

/// A write to `ctl`.
pub(crate) fn write(registry: &Arc<Registry>, reader: &mut UserSliceReader) -> Result {
    let len = reader.len();
    if len > MAX_COMMAND {
        return Err(E2BIG);
    }
    let mut text = KVec::from_elem(0u8, len, GFP_KERNEL)?;
    reader.read_slice(&mut text)?;
    execute(registry, core::str::from_utf8(&text).map_err(|_| EINVAL)?)
}
