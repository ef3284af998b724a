//! The web as ibeam reaches it: a guard of addresses, the tool `web_fetch`, and a proxy for confined commands.
//!
//! Both ways out go through one `Dialer`: a name is resolved once, every address is checked to be public, and a
//! checked one is connected to. Refuses to decide what is permitted, to read the environment, and to know the other
//! tools, providers and the sandbox.

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
pub use grant::{Grant, Grants, InvalidGrant};
pub use pin::{InvalidPin, PinnedHosts};
pub use proxy::{EgressProxy, proxy_environment};
pub use public_address::{NonPublicAddress, check_public};
pub use resolver::{Resolver, SystemResolver};
pub use upstream_proxy::UpstreamProxies;
pub use web_fetch::{WEB_FETCH_NAME, WebFetch};
