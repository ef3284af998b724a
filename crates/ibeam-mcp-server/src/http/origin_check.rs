//! Refuses requests that a web page of another origin makes through the browser of the user.
//!
//! A page whose name resolves to this machine (DNS rebinding) sends its own name in `Host` and `Origin`.

use hyper::header::{HOST, HeaderMap, HeaderValue, ORIGIN};

/// The names of this machine.
const LOCAL_NAMES: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// Whether `Host` names this machine, and `Origin` does so too where a browser sends it.
pub(super) fn is_local(headers: &HeaderMap) -> bool {
    let text = |value: &HeaderValue| value.to_str().unwrap_or_default().trim().to_ascii_lowercase();
    let is_host_local = headers.get(HOST).map(text).is_some_and(|host| is_local_authority(&host));
    let is_origin_local = headers.get_all(ORIGIN).iter().map(text).all(|origin| {
        let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        authority.is_some_and(is_local_authority)
    });
    is_host_local && is_origin_local
}

/// Whether a name, with or without a port, is that of this machine.
fn is_local_authority(authority: &str) -> bool {
    LOCAL_NAMES.iter().any(|name| match authority.strip_prefix(name) {
        Some("") => true,
        Some(rest) => rest.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok()),
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(host: &str, origin: Option<&str>, expect: bool) {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_str(host).unwrap());
        if let Some(origin) = origin {
            headers.insert(ORIGIN, HeaderValue::from_str(origin).unwrap());
        }
        assert_eq!(is_local(&headers), expect, "{host} {origin:?}");
    }

    #[test]
    fn only_this_machine_is_local() {
        check("127.0.0.1:8000", None, true);
        check("localhost", Some("http://localhost:6274"), true);
        check("[::1]:8000", Some("https://LOCALHOST"), true);
        check("evil.example.com", None, false);
        check("127.0.0.1.evil.example.com", None, false);
        check("localhost:8000", Some("http://evil.example.com"), false);
        check("localhost:8000", Some("null"), false);
        check("localhost:8000@evil.example.com", None, false);
        assert!(!is_local(&HeaderMap::new()));
    }
}
