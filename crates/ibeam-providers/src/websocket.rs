//! The WebSocket transport, for APIs that have a [`WebSocketMode`](crate::wire_protocol::WebSocketMode).
//!
//! One connection serves many requests, one at a time. A request that continues the conversation of the last response on
//! the connection has only the new items and the id of that response. Any other request has the whole conversation.
//!
//! The connection is opened by the HTTP client as an upgraded request, and `tungstenite` reads and writes its frames. So TLS, proxies, headers, keys and name resolution
//! are the same as for HTTP. Responses are passed on as the stream of server-sent events that they would have been over
//! HTTP, so decoders, timeouts, limits and recordings are the same too. If the connection cannot be used, requests go
//! over HTTP.

mod chain;
mod handshake;
mod idle_socket;
mod socket;
mod socket_body;
mod socket_session;

pub(crate) use socket_body::SocketBody;
pub(crate) use socket_session::{SocketOutcome, SocketSession};

use std::sync::Arc;

use bytes::Bytes;
use ibeam_core::ModelRequest;

use crate::wire_protocol::RequestSettings;

/// A request to the model in the forms that the transports need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conversation<'a> {
    pub(crate) request: &'a Arc<ModelRequest>,
    pub(crate) settings: &'a RequestSettings<'a>,
    pub(crate) body: &'a Bytes,
}
