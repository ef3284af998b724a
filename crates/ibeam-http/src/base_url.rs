//! Base URLs as users write them, and the check for keys that would be sent unencrypted.
//!
//! All checks use the parser of the HTTP client, so that a URL cannot name one host here and another on the network.

use reqwest::Url;

/// A server on another machine that requests reach over plain HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainHttpServer {
    /// The host name or address, in lower case; an IPv6 address has brackets.
    pub host: String,
    pub port: u16,
}

impl PlainHttpServer {
    /// Returns the server of `base_url`; `None` for an encrypted connection and for this machine.
    ///
    /// # Errors
    /// A message, if the base URL cannot be used.
    pub fn from_base_url(base_url: &str) -> Result<Option<Self>, String> {
        let url = Url::parse(base_url).map_err(|error| format!("`{base_url}` is not a URL: {error}"))?;
        let host = url.host_str().unwrap_or_default();
        match url.scheme() {
            "https" => Ok(None),
            "http" if is_loopback(host) => Ok(None),
            "http" => {
                let port = url.port_or_known_default().unwrap_or(80);
                Ok(Some(Self { host: host.to_owned(), port }))
            }
            scheme => Err(format!("`{base_url}` begins with `{scheme}:`, not with `https://` or `http://`")),
        }
    }

    /// Whether an entry of a host list matches this server. An entry is `HOST`, for every port, or `HOST:PORT`.
    pub fn matches_entry(&self, entry: &str) -> bool {
        let entry = entry.trim();
        let Self { host, port } = self;
        entry.eq_ignore_ascii_case(host) || entry.eq_ignore_ascii_case(&format!("{host}:{port}"))
    }
}

/// Whether a URL contains a user name or a password.
pub fn has_credentials(base_url: &str) -> bool {
    Url::parse(base_url).is_ok_and(|url| !url.username().is_empty() || url.password().is_some())
}

/// Returns the URL of `path` below a base URL. A query, such as `?api-version=…`, stays at the end.
pub fn append_path(base_url: &str, path: &str) -> String {
    let (base, query) = base_url.split_at(base_url.find('?').unwrap_or(base_url.len()));
    format!("{}{path}{query}", base.trim_end_matches('/'))
}

/// Whether `host`, from a parsed URL, is this machine: `localhost`, 127.0.0.0/8 or `::1`.
pub fn is_loopback(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

/// Returns the scheme for a URL without one: `http` for this machine, else `https`.
pub fn default_scheme(value: &str) -> &'static str {
    let url = Url::parse(&format!("http://{value}"));
    let is_local = url.is_ok_and(|url| url.host_str().is_some_and(is_loopback));
    if is_local { "http" } else { "https" }
}

/// Returns `value` with a scheme, for a server that is not in the provider table.
pub fn with_default_scheme(value: &str) -> String {
    let value = value.trim();
    if value.contains("://") { value.to_owned() } else { format!("{}://{value}", default_scheme(value)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_scheme_is_https_except_for_this_machine() {
        for (value, expect) in [
            ("api.example.com/v1", "https://api.example.com/v1"),
            ("api.example.com:8080", "https://api.example.com:8080"),
            ("10.0.0.5:8000/v1", "https://10.0.0.5:8000/v1"),
            ("localhost:8000/v1", "http://localhost:8000/v1"),
            ("LOCALHOST/v1", "http://LOCALHOST/v1"),
            ("127.0.0.1:9", "http://127.0.0.1:9"),
            ("127.9.9.9", "http://127.9.9.9"),
            ("[::1]:9/v1", "http://[::1]:9/v1"),
            ("[::2]:9/v1", "https://[::2]:9/v1"),
            ("localhost.example.com", "https://localhost.example.com"),
            ("127.0.0.1.example.com", "https://127.0.0.1.example.com"),
            ("127.0.0.1@example.com/v1", "https://127.0.0.1@example.com/v1"),
            ("0.0.0.0:9", "https://0.0.0.0:9"),
            ("http://api.example.com", "http://api.example.com"),
        ] {
            assert_eq!(with_default_scheme(value), expect);
        }
    }

    #[test]
    fn plain_http_to_another_machine_is_recognised_in_every_spelling() {
        for (url, expect) in [
            ("https://api.example.com/v1", None),
            ("http://localhost:8/v1", None),
            ("http://127.1:8/v1", None),
            ("http://[::1]/v1", None),
            ("http://api.example.com/v1", Some(("api.example.com", 80))),
            ("HTTP://API.Example.com:8080", Some(("api.example.com", 8080))),
            ("http://127.0.0.1@api.example.com", Some(("api.example.com", 80))),
            ("http://10.0.0.5:8000", Some(("10.0.0.5", 8000))),
            ("http://[fe80::1]:8000", Some(("[fe80::1]", 8000))),
            ("http://[::ffff:127.0.0.1]", Some(("[::ffff:7f00:1]", 80))),
            ("http://localhost.:8/v1", Some(("localhost.", 8))),
        ] {
            let found = PlainHttpServer::from_base_url(url).unwrap();
            let expect =
                expect.map(|(host, port): (&str, u16)| PlainHttpServer { host: host.to_owned(), port });
            assert_eq!(found, expect, "{url}");
        }
        for url in ["ftp://api.example.com", "api.example.com/v1", "http://", "localhost:8000"] {
            assert!(PlainHttpServer::from_base_url(url).is_err(), "{url}");
        }
    }

    #[test]
    fn an_entry_names_a_host_or_one_port_of_it() {
        let server = PlainHttpServer { host: "box.example.com".to_owned(), port: 8000 };
        for (entry, expect) in [
            ("box.example.com", true),
            (" Box.Example.com:8000 ", true),
            ("box.example.com:80", false),
            ("example.com", false),
            ("*", false),
            ("", false),
        ] {
            assert_eq!(server.matches_entry(entry), expect, "{entry}");
        }
    }

    #[test]
    fn a_password_in_a_url_is_a_key_too() {
        assert!(
            has_credentials("http://u:p@box.example.com/v1") && has_credentials("http://u@box.example.com")
        );
        assert!(!has_credentials("http://box.example.com/v1"));
    }
}
