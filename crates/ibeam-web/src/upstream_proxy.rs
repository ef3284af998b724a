//! The proxy of the user's network, from `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`.
//!
//! Does not read the environment: the caller passes the variables. Only proxies for plain HTTP are supported.

use hyper::Uri;
use hyper::header::HeaderValue;
use hyper_util::client::proxy::matcher::Matcher;
use url::Host;

/// The proxies of the environment, if any.
#[derive(Debug)]
pub struct UpstreamProxies(Matcher);

/// A proxy that a connection goes through.
#[derive(Clone, Debug)]
pub(crate) struct ProxyRoute {
    /// The URL of the proxy without user and password, for messages.
    pub(crate) display_url: String,
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) authorization: Option<HeaderValue>,
}

impl UpstreamProxies {
    /// Reads the variables, in upper case before lower case. An empty variable counts as missing.
    pub fn new(variable: impl Fn(&str) -> Option<String>) -> Self {
        let value = |name: &str| {
            let non_empty = |name: &str| variable(name).filter(|value| !value.is_empty());
            non_empty(name).or_else(|| non_empty(&name.to_ascii_lowercase())).unwrap_or_default()
        };
        let matcher = Matcher::builder()
            .all(value("ALL_PROXY"))
            .http(value("HTTP_PROXY"))
            .https(value("HTTPS_PROXY"))
            .no(value("NO_PROXY"));
        Self(matcher.build())
    }

    /// Creates the value for an environment without a proxy.
    pub fn none() -> Self {
        Self::new(|_| None)
    }

    /// Returns the proxy for a connection to `host`. `secure` selects the proxy for `https://`, which is used for
    /// tunnels.
    ///
    /// # Errors
    /// The URL of a proxy that is not for plain HTTP.
    pub(crate) fn route(&self, host: &Host, port: u16, secure: bool) -> Result<Option<ProxyRoute>, String> {
        let scheme = if secure { "https" } else { "http" };
        let Ok(url) = format!("{scheme}://{host}:{port}/").parse::<Uri>() else { return Ok(None) };
        let Some(proxy) = self.0.intercept(&url) else { return Ok(None) };
        let uri = proxy.uri();
        let (scheme, host) = (uri.scheme_str().unwrap_or_default(), uri.host().unwrap_or_default());
        let port = uri.port_u16().unwrap_or(80);
        let display_url = format!("{scheme}://{host}:{port}");
        if scheme != "http" {
            return Err(display_url);
        }
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let authorization = proxy.basic_auth().cloned().map(|mut value| {
            value.set_sensitive(true);
            value
        });
        Ok(Some(ProxyRoute { display_url, host, port, authorization }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host;

    /// Checks the proxy for `host` with these variables.
    #[track_caller]
    fn check(variables: &[(&str, &str)], host: &str, secure: bool, expect: Result<Option<&str>, &str>) {
        let upstream = UpstreamProxies::new(|name| {
            variables.iter().find(|(found, _)| *found == name).map(|(_, value)| (*value).to_owned())
        });
        let route = upstream.route(&host::parse_canonical(host).unwrap(), 443, secure);
        let route = route.map(|route| route.map(|route| format!("{}:{}", route.host, route.port)));
        assert_eq!(
            route.as_ref().map(Option::as_deref).map_err(String::as_str),
            expect,
            "{variables:?} {host}"
        );
    }

    #[test]
    fn the_variables_choose_the_proxy() {
        check(&[], "a.test", true, Ok(None));
        check(&[("HTTPS_PROXY", "")], "a.test", true, Ok(None));
        check(&[("HTTPS_PROXY", "http://proxy:3128")], "a.test", true, Ok(Some("proxy:3128")));
        check(&[("https_proxy", "proxy:3128")], "a.test", true, Ok(Some("proxy:3128")));
        check(&[("HTTPS_PROXY", "http://proxy:3128")], "a.test", false, Ok(None));
        check(&[("ALL_PROXY", "http://[::1]:3128")], "a.test", false, Ok(Some("::1:3128")));
        check(&[("ALL_PROXY", "socks5://proxy:1080")], "a.test", true, Err("socks5://proxy:1080"));
        let none = [("ALL_PROXY", "http://proxy"), ("NO_PROXY", "a.test, 10.0.0.0/8")];
        check(&none, "a.test", true, Ok(None));
        check(&none, "b.a.test", true, Ok(None));
        check(&none, "10.1.2.3", true, Ok(None));
        check(&none, "ba.test", true, Ok(Some("proxy:80")));
    }

    #[test]
    fn the_password_of_a_proxy_is_not_in_its_name() {
        let upstream = UpstreamProxies::new(|_| Some("http://me:secret@proxy:3128".to_owned()));
        let route = upstream.route(&host::parse_canonical("a.test").unwrap(), 443, true).unwrap().unwrap();
        assert_eq!(route.display_url, "http://proxy:3128");
        assert!(route.authorization.unwrap().is_sensitive());
    }
}
