//! The HTTP client that model providers and MCP servers share.
//!
//! Builds clients with the certificates and the proxy of the user, checks headers and URLs that users configure, splits
//! event streams into events, and shortens messages of servers. Knows no API and no failure of a run. Reads no
//! environment and no files.

pub mod base_url;
mod client;
pub mod framing;
pub mod headers;
pub mod post;
mod sanitize;
mod secret;
pub mod sse;
pub mod tls;

pub use client::{ClientError, ClientSettings, ProxyServer, build_client};
pub use sanitize::sanitize_message;
pub use secret::Secret;
pub use tls::TlsSettings;
