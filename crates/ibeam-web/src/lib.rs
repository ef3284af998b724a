//! Access to the web: the check of addresses, the tool `web_fetch`, and a proxy for confined commands.
//!
//! The tool and the proxy connect through one `Dialer`: it resolves a name once, checks that every address is public,
//! and connects to a checked address. This crate does not decide what is permitted, does not read the environment, and
//! does not depend on the other tools, the providers and the sandbox.

mod dialer;
mod fetch;
mod fetch_url;
#[cfg(test)]
mod fixture;
mod grant;
mod host;
mod html;
mod html_table;
mod page;
mod pin;
mod proxy;
mod public_address;
mod resolver;
mod upstream_proxy;
mod web_fetch;

pub use dialer::{DialError, Dialer};
pub use fetch::{FetchLimits, TlsConfigFactory, UrlPolicy};
pub use grant::{Grants, HostPortPattern, InvalidHostPortPattern};
pub use pin::{InvalidPin, PinnedHosts};
pub use proxy::{EgressProxy, proxy_environment};
pub use public_address::{NonPublicAddress, check_public};
pub use resolver::{Resolver, SystemResolver};
pub use upstream_proxy::{InvalidProxy, ProxyRoute, UpstreamProxies};
pub use web_fetch::{WEB_FETCH_NAME, WebFetch};
