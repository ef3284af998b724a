//! Errors of connections through a proxy: whether the proxy or the server behind it failed.
//!
//! The HTTP library has no types for these errors, so they are recognised by their texts. The tests of the program
//! check each with a real proxy.

use std::fmt;

use ibeam_core::Retry;

use ibeam_http::ProxyServer;

/// A proxy, for messages. Its `Display` form names the proxy and its variable.
#[derive(Clone, Debug)]
pub(crate) struct ProxyContext {
    display_url: String,
    variable: String,
    has_credentials: bool,
}

impl fmt::Display for ProxyContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the proxy `{}` of `${}`", self.display_url, self.variable)
    }
}

impl ProxyContext {
    pub(crate) fn new(proxy: &ProxyServer) -> Self {
        let ProxyServer { url, display_url, variable } = proxy;
        let has_credentials = ibeam_http::base_url::has_credentials(url.expose());
        Self { display_url: display_url.clone(), variable: variable.clone(), has_credentials }
    }

    /// Returns the message of a proxy that refuses the credentials, or the lack of them.
    pub(crate) fn describe_credentials(&self) -> String {
        if self.has_credentials {
            return format!("{self} refuses the user and password in it");
        }
        let (scheme, rest) = self.display_url.split_once("://").unwrap_or_default();
        format!("{self} requires credentials: `{}={scheme}://USER:PASSWORD@{rest}`", self.variable)
    }
}

/// Returns the message of an error of the proxy, and whether to retry; `None` for an error of the server.
///
/// `causes` has the texts of the chain of errors in lower case, `last` the innermost one. `is_connect` means that no
/// connection was established.
pub(crate) fn describe_proxy_error(
    proxy: &ProxyContext,
    causes: &str,
    last: &str,
    is_connect: bool,
) -> Option<(String, Retry)> {
    let has = |phrases: &[&str]| phrases.iter().any(|phrase| causes.contains(phrase));
    if has(&[
        "proxy authorization required",
        "credentials not accepted",
        "user/pass authentication",
        "implements authentication incorrectly",
    ]) {
        return Some((proxy.describe_credentials(), Retry::Never));
    }
    let is_tunnel = has(&["tunnel error"]);
    let is_socks = has(&["socks error"]);
    if has(&["error resolving for socks proxy"]) {
        // The proxy is not involved: this program resolves the name of the server.
        return None;
    }
    if has(&["failed to create underlying connection"]) || (is_connect && !is_tunnel && !is_socks) {
        let detail = match last.to_lowercase() {
            last if last.contains("underlying connection") => String::new(),
            last if is_unknown_name(&last) => ": no such host".to_owned(),
            _ => format!(": {last}"),
        };
        return Some((format!("{proxy} cannot be reached{detail}"), Retry::Fast));
    }
    if is_socks {
        let detail = last.trim_start_matches("SOCKS error: ");
        let retry = if has(&["not allowed"]) { Retry::Never } else { Retry::Fast };
        return Some((format!("{proxy} cannot connect to it: {detail}"), retry));
    }
    if has(&["tunnel error: unsuccessful"]) {
        return Some((format!("{proxy} refuses to connect to it"), Retry::Never));
    }
    is_tunnel.then(|| (format!("{proxy} failed: {last}"), Retry::Fast))
}

/// Whether a message of the system says that a name does not exist.
pub(crate) fn is_unknown_name(message: &str) -> bool {
    ["name or service not known", "no address associated", "does not resolve", "nodename nor"]
        .iter()
        .any(|phrase| message.contains(phrase))
}
