//! Access to the web: the check of addresses, the tools `web_fetch` and `web_search`, and a proxy for confined commands.
//!
//! The tools and the proxy connect through one `Dialer`: it resolves a name once, checks that every address is public,
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
mod no_proxy;
mod page;
mod pin;
mod proxy;
mod public_address;
mod resolver;
mod search_service;
mod upstream_proxy;
mod web_fetch;
mod web_search;

pub use dialer::{DialError, Dialer};
pub use fetch::{FetchLimits, TlsConfigFactory, UrlPolicy};
pub use grant::{Grants, HostPortPattern, InvalidHostPortPattern};
pub use pin::{InvalidPin, PinnedHosts};
pub use proxy::{EgressProxy, proxy_environment};
pub use public_address::{NonPublicAddress, check_public};
pub use resolver::{Resolver, SystemResolver};
pub use search_service::SearchService;
pub use upstream_proxy::{InvalidProxy, ProxyRoute, UpstreamProxies};
pub use web_fetch::{WEB_FETCH_NAME, WebFetch};
pub use web_search::{
    InvalidSearchConfig, SearchConfig, SearchKeyReader, WEB_SEARCH_NAME, WebSearch, search_arguments,
    search_outcome, search_spec, search_term,
};
