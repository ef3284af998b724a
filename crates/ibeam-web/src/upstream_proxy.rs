//! The proxy of the user's network, from `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`.
//!
//! Does not read the environment: the caller passes the variables. A value that is not the address of a proxy is an
//! error for the connections that it applies to. They are never made without the proxy instead.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::HeaderValue;
use percent_encoding::percent_decode_str;
use url::{Host, Url};

use crate::no_proxy::NoProxy;

/// The proxies of the environment, if any.
#[derive(Debug)]
pub struct UpstreamProxies {
    http: Option<Result<ProxyRoute, InvalidProxy>>,
    https: Option<Result<ProxyRoute, InvalidProxy>>,
    none: NoProxy,
}

/// The protocol between this program and a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProxyProtocol {
    Http,
    Https,
    /// SOCKS 5; this program resolves names.
    Socks5,
    /// SOCKS 5; the proxy resolves names.
    Socks5h,
}

/// A proxy that a connection goes through.
#[derive(Clone)]
pub struct ProxyRoute {
    /// The environment variable that names the proxy.
    pub variable: String,
    /// The URL of the proxy without user and password, for messages.
    pub display_url: String,
    /// The URL of the proxy with user and password.
    pub url: String,
    pub(crate) protocol: ProxyProtocol,
    pub(crate) host: String,
    pub(crate) port: u16,
    /// User and password.
    pub(crate) credentials: Option<(String, String)>,
}

/// The value of a variable is not the address of a proxy. The message does not contain the value, which may have a
/// password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{detail}; write it as http://HOST:PORT, https://HOST:PORT, socks5://HOST:PORT or socks5h://HOST:PORT"
)]
pub struct InvalidProxy {
    /// The environment variable.
    pub variable: String,
    detail: String,
}

impl fmt::Debug for ProxyRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ProxyRoute({} from {})", self.display_url, self.variable)
    }
}

impl ProxyRoute {
    /// Returns the value of `Proxy-Authorization`, if the URL of the proxy has a user.
    pub(crate) fn authorization(&self) -> Option<HeaderValue> {
        let (user, password) = self.credentials.as_ref()?;
        let encoded = STANDARD.encode(format!("{user}:{password}"));
        let mut value = HeaderValue::from_str(&format!("Basic {encoded}")).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    fn parse(variable: &str, value: &str) -> Result<Self, InvalidProxy> {
        let invalid = |detail: String| InvalidProxy { variable: variable.to_owned(), detail };
        let value = value.trim();
        let complete = if value.contains("://") { value.to_owned() } else { format!("http://{value}") };
        let mut url = Url::parse(&complete).map_err(|error| invalid(format!("not a URL: {error}")))?;
        let (protocol, default_port) = match url.scheme() {
            "http" => (ProxyProtocol::Http, 80),
            "https" => (ProxyProtocol::Https, 443),
            "socks5" => (ProxyProtocol::Socks5, 1080),
            "socks5h" => (ProxyProtocol::Socks5h, 1080),
            scheme => return Err(invalid(format!("the scheme `{scheme}` is not supported"))),
        };
        let host = url.host_str().filter(|host| !host.is_empty()).map(str::to_owned);
        let host = host.ok_or_else(|| invalid("the host is missing".to_owned()))?;
        let port = url.port().unwrap_or(default_port);
        let decode = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let (user, password) = (decode(url.username()), decode(url.password().unwrap_or_default()));
        let credentials = (!user.is_empty() || !password.is_empty()).then_some((user, password));
        url.set_path("");
        url.set_query(None);
        url.set_fragment(None);
        Ok(Self {
            variable: variable.to_owned(),
            display_url: format!("{}://{host}:{port}", url.scheme()),
            url: url.into(),
            protocol,
            host: host.trim_start_matches('[').trim_end_matches(']').to_owned(),
            port,
            credentials,
        })
    }
}

impl UpstreamProxies {
    /// Reads the variables, in upper case before lower case. An empty variable counts as missing.
    pub fn new(variable: impl Fn(&str) -> Option<String>) -> Self {
        // A CGI server sets `HTTP_PROXY` to the header `Proxy` of a request.
        let is_cgi = variable("REQUEST_METHOD").is_some();
        let find = |name: &str| {
            let lower = name.to_ascii_lowercase();
            let names = [name, lower.as_str()].into_iter().filter(|name| *name != "HTTP_PROXY" || !is_cgi);
            names.map(str::to_owned).find_map(|name| {
                let value = variable(&name).filter(|value| !value.trim().is_empty())?;
                Some((name, value))
            })
        };
        let route = |name: &str| {
            let (name, value) = find(name).or_else(|| find("ALL_PROXY"))?;
            Some(ProxyRoute::parse(&name, &value))
        };
        let none = find("NO_PROXY").map(|(_, value)| value).unwrap_or_default();
        Self { http: route("HTTP_PROXY"), https: route("HTTPS_PROXY"), none: NoProxy::new(&none) }
    }

    /// Creates the value for an environment without a proxy.
    pub fn none() -> Self {
        Self::new(|_| None)
    }

    /// Returns the proxy for requests to `url`.
    ///
    /// # Errors
    /// `InvalidProxy` with the name of the variable.
    pub fn route_for_url(&self, url: &str) -> Result<Option<ProxyRoute>, InvalidProxy> {
        let Ok(url) = Url::parse(url) else { return Ok(None) };
        let Some(host) = url.host() else { return Ok(None) };
        let configured = if url.scheme() == "https" { &self.https } else { &self.http };
        match configured {
            Some(proxy) if !self.none.contains(&host, url.port_or_known_default()) => proxy.clone().map(Some),
            Some(_) | None => Ok(None),
        }
    }

    /// Returns the proxy for a connection to `host`. `secure` selects the proxy for `https://`, which is used for
    /// tunnels.
    pub(crate) fn route(
        &self,
        host: &Host,
        port: u16,
        secure: bool,
    ) -> Result<Option<ProxyRoute>, InvalidProxy> {
        let scheme = if secure { "https" } else { "http" };
        self.route_for_url(&format!("{scheme}://{host}:{port}/"))
    }

    /// Returns the passwords of the proxies. They may not be recorded or shown.
    pub fn passwords(&self) -> Vec<String> {
        let routes = [&self.http, &self.https].into_iter().flatten().flatten();
        routes.filter_map(|route| route.credentials.as_ref()).map(|(_, password)| password.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host;

    fn proxies(variables: &[(&str, &str)]) -> UpstreamProxies {
        UpstreamProxies::new(|name| {
            variables.iter().find(|(found, _)| *found == name).map(|(_, value)| (*value).to_owned())
        })
    }

    /// Checks the proxy for `host` with these variables.
    #[track_caller]
    fn check(variables: &[(&str, &str)], host: &str, secure: bool, expect: Result<Option<&str>, &str>) {
        let route = proxies(variables).route(&host::parse_canonical(host).unwrap(), 443, secure);
        let route = route.map(|route| route.map(|route| format!("{}:{}", route.host, route.port)));
        let found = route.as_ref().map(Option::as_deref).map_err(|error| error.variable.as_str());
        assert_eq!(found, expect, "{variables:?} {host}");
    }

    #[test]
    fn the_variables_choose_the_proxy() {
        check(&[], "a.test", true, Ok(None));
        check(&[("HTTPS_PROXY", "")], "a.test", true, Ok(None));
        check(&[("HTTPS_PROXY", "http://proxy:3128")], "a.test", true, Ok(Some("proxy:3128")));
        check(&[("https_proxy", "proxy:3128")], "a.test", true, Ok(Some("proxy:3128")));
        check(&[("HTTPS_PROXY", "http://proxy:3128")], "a.test", false, Ok(None));
        check(&[("ALL_PROXY", "http://[::1]:3128")], "a.test", false, Ok(Some("::1:3128")));
        check(&[("ALL_PROXY", "socks5://proxy")], "a.test", true, Ok(Some("proxy:1080")));
        check(&[("all_proxy", "socks5h://u:p@proxy:9")], "a.test", false, Ok(Some("proxy:9")));
        let both = [("HTTPS_PROXY", "one:1"), ("https_proxy", "two:2"), ("ALL_PROXY", "three:3")];
        check(&both, "a.test", true, Ok(Some("one:1")));
        check(&both, "a.test", false, Ok(Some("three:3")));
        let none = [("ALL_PROXY", "http://proxy"), ("NO_PROXY", "a.test, 10.0.0.0/8")];
        check(&none, "a.test", true, Ok(None));
        check(&none, "b.a.test", true, Ok(None));
        check(&none, "10.1.2.3", true, Ok(None));
        check(&none, "ba.test", true, Ok(Some("proxy:80")));
        for host in ["a.test", "10.1.2.3", "[fd00::1]"] {
            check(&[("ALL_PROXY", "http://proxy"), ("no_proxy", "*")], host, true, Ok(None));
        }
        let port = [("ALL_PROXY", "http://proxy"), ("no_proxy", "a.test:443,10.1.2.3:443")];
        check(&port, "a.test", true, Ok(None));
        check(&port, "10.1.2.3", false, Ok(None));
        let other_port = [("ALL_PROXY", "http://proxy"), ("no_proxy", "a.test:8443")];
        check(&other_port, "a.test", true, Ok(Some("proxy:80")));
    }

    #[test]
    fn a_value_that_is_not_a_proxy_is_an_error_without_the_value() {
        for value in
            ["ftp://me:secret@proxy", "http://", "http://me:secret@pro xy", "socks4://me:secret@proxy"]
        {
            check(&[("HTTPS_PROXY", value), ("ALL_PROXY", "proxy")], "a.test", true, Err("HTTPS_PROXY"));
            check(&[("HTTPS_PROXY", value), ("NO_PROXY", "a.test")], "a.test", true, Ok(None));
            let host = host::parse_canonical("a.test").unwrap();
            let error = proxies(&[("all_proxy", value)]).route(&host, 80, false).unwrap_err();
            assert_eq!(error.variable, "all_proxy");
            assert!(
                !error.to_string().contains("secret") && error.to_string().contains("socks5://"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_header_of_a_request_to_a_cgi_server_is_not_a_proxy() {
        let variables = [("REQUEST_METHOD", "GET"), ("HTTP_PROXY", "http://evil")];
        check(&variables, "a.test", false, Ok(None));
    }

    #[test]
    fn the_password_of_a_proxy_is_not_in_its_name() {
        let upstream = proxies(&[("ALL_PROXY", "http://me:sec%40ret@proxy:3128/path")]);
        let route = upstream.route(&host::parse_canonical("a.test").unwrap(), 443, true).unwrap().unwrap();
        assert_eq!(route.display_url, "http://proxy:3128");
        assert_eq!(route.url, "http://me:sec%40ret@proxy:3128/");
        assert!(route.authorization().unwrap().is_sensitive());
        assert_eq!(route.credentials, Some(("me".to_owned(), "sec@ret".to_owned())));
        assert!(!format!("{route:?} {upstream:?}").contains("sec"));
        assert_eq!(upstream.passwords(), ["sec@ret", "sec@ret"]);
    }
}
