//! JSON-RPC 2.0 between two programs over a pair of streams: one message a line, requests in both directions.
//!
//! Independent of processes and of the protocol that is spoken: the [`Handler`] answers the requests of the other
//! program, and [`PeerOptions`] states the limits and how a request is cancelled. Shared by MCP and the Agent Client
//! Protocol.

mod lines;
mod message;
mod peer;

pub use message::{
    INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, IncomingMessage, InvalidMessage, MAX_QUOTED_CHARS,
    METHOD_NOT_FOUND, Notification, OutgoingMessage, OutgoingResponse, PARSE_ERROR, Request, RequestId,
    RpcError, parse_line,
};
pub use peer::{CloseReason, Handler, InvalidLine, Peer, PeerOptions, RequestError, Responder, write_lines};
