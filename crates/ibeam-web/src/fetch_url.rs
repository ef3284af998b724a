//! URLs in a form that may be fetched.
//!
//! Refuses a URL that two programs could read as two hosts, because the policy has decided on the same text before.

use url::{Host, Url};

use crate::host;

/// An `http://` or `https://` URL with a host in canonical spelling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FetchUrl {
    pub(crate) url: Url,
    pub(crate) host: Host,
    pub(crate) port: u16,
    pub(crate) is_secure: bool,
}

impl FetchUrl {
    /// Parses a URL from the arguments of a tool call.
    ///
    /// # Errors
    /// A sentence that names the problem.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let invalid = |detail: &str| format!("`{text}` is {detail}");
        let (_, rest) = text.split_once("://").ok_or_else(|| {
            invalid("not an absolute URL; write `http://` or `https://` first, as in `https://docs.example.org/page`")
        })?;
        let url = Url::parse(text).map_err(|error| invalid(&format!("not a valid URL: {error}")))?;
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains(['\\', '%', '@']) {
            return Err(invalid(
                "ambiguous: a user, password, backslash or percent sign before the path is not allowed",
            ));
        }
        let target = Self::from_url(url)?;
        // The parser accepts more spellings of a host than other programs read in the same way.
        let written = match authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => host,
            Some(_) | None => authority,
        };
        if host::parse_canonical(written).as_ref() != Some(&target.host) {
            return Err(format!("`{text}` does not spell its host plainly; write it as `{}`", target.host));
        }
        Ok(target)
    }

    /// Returns the URL of a redirect, resolved against this one.
    ///
    /// # Errors
    /// A sentence that names the problem.
    pub(crate) fn resolve_redirect(&self, location: &str) -> Result<Self, String> {
        let url =
            self.url.join(location).map_err(|error| format!("`{location}` is not a valid URL: {error}"))?;
        let target = Self::from_url(url)?;
        if self.is_secure && !target.is_secure {
            return Err(format!("`{}` is not secure, but the page that redirects to it is", target.url));
        }
        Ok(target)
    }

    /// Whether the permission to fetch `permitted` covers this URL too: the same host, with the same port or both with
    /// web ports, as from `http://` to `https://`.
    pub(crate) fn shares_permission_with(&self, permitted: &Self) -> bool {
        let is_web_port = |port: u16| port == 80 || port == 443;
        let same_ports =
            self.port == permitted.port || (is_web_port(self.port) && is_web_port(permitted.port));
        self.host == permitted.host && same_ports
    }

    fn from_url(mut url: Url) -> Result<Self, String> {
        let is_secure = match url.scheme() {
            "http" => false,
            "https" => true,
            scheme => {
                return Err(format!("`{scheme}` URLs are not fetched, only `http` and `https`"));
            }
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err("a URL with a user or password is not fetched".to_owned());
        }
        let host = url.host_str().and_then(host::parse_canonical);
        let host = host.ok_or_else(|| format!("`{url}` has no host name in plain spelling"))?;
        let port = url.port_or_known_default().unwrap_or(if is_secure { 443 } else { 80 });
        url.set_fragment(None);
        Ok(Self { url, host, port, is_secure })
    }

    /// Returns `host:port` for the header `Host`, without the default port of the scheme.
    pub(crate) fn authority(&self) -> String {
        match self.url.port() {
            Some(port) => format!("{}:{port}", self.host),
            None => self.host.to_string(),
        }
    }

    pub(crate) fn path_and_query(&self) -> String {
        match self.url.query() {
            Some(query) => format!("{}?{query}", self.url.path()),
            None => self.url.path().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Result<(&str, u16, &str), &str>) {
        let found =
            FetchUrl::parse(text).map(|target| (target.authority(), target.port, target.path_and_query()));
        match (&found, expect) {
            (Ok((authority, port, path)), Ok(expect)) => {
                assert_eq!((authority.as_str(), *port, path.as_str()), expect, "{text}");
            }
            (Err(detail), Err(part)) => assert!(detail.contains(part), "{text}: {detail}"),
            _ => panic!("{text}: {found:?}"),
        }
    }

    #[test]
    fn plain_urls_are_parsed() {
        check("http://docs.example.org", Ok(("docs.example.org", 80, "/")));
        check(" HTTPS://Docs.Example.ORG./a%20b?q=1#part ", Ok(("docs.example.org", 443, "/a%20b?q=1")));
        check("https://a.test:8443/é", Ok(("a.test:8443", 8443, "/%C3%A9")));
        check("http://[::1]:8080/", Ok(("[::1]:8080", 8080, "/")));
        check("http://127.0.0.1/", Ok(("127.0.0.1", 80, "/")));
        check("http://a.test?q", Ok(("a.test", 80, "/?q")));
    }

    #[test]
    fn ambiguous_urls_are_refused_with_the_reason() {
        for (text, detail) in [
            ("docs.example.org", "not an absolute URL"),
            ("", "not an absolute URL"),
            ("file:///etc/passwd", "`file` URLs are not fetched"),
            ("gopher://127.0.0.1:70/_x", "`gopher` URLs are not fetched"),
            ("ftp://a.test/", "`ftp` URLs are not fetched"),
            ("http://docs.example.test@evil.test/", "ambiguous"),
            ("http://evil.test\\@docs.example.test/", "ambiguous"),
            ("http://docs.example.test%00.evil.test/", "not a valid URL"),
            ("http://docs%2eexample.test/", "ambiguous"),
            ("http://2130706433:80/", "write it as `127.0.0.1`"),
            ("http://0x7f.1:80/", "write it as `127.0.0.1`"),
            ("http://bücher.example/", "write it as `xn--bcher-kva.example`"),
            ("http://a.test\t.evil.test/", "write it as `a.test.evil.test`"),
            ("http:///evil.test/", "plain"),
            ("http://a:99999/", "not a valid URL"),
            ("http://", "not a valid URL"),
        ] {
            check(text, Err(detail));
        }
    }

    #[test]
    fn permission_for_one_port_does_not_cover_another() {
        for (permitted, next, expect) in [
            ("http://a.test/", "https://a.test/x", true),
            ("https://a.test/", "http://a.test:443/", true),
            ("http://a.test:8080/", "http://a.test:8080/x", true),
            ("http://a.test/", "http://a.test:8080/", false),
            ("http://a.test:8080/", "http://a.test/", false),
            ("http://a.test:8080/", "http://a.test:8081/", false),
            ("http://a.test/", "http://b.test/", false),
        ] {
            let [permitted, next] = [permitted, next].map(|url| FetchUrl::parse(url).unwrap());
            assert_eq!(next.shares_permission_with(&permitted), expect, "{} {}", permitted.url, next.url);
        }
    }

    #[test]
    fn a_redirect_is_resolved_against_the_current_url() {
        let target = FetchUrl::parse("https://a.test/one/two").unwrap();
        let to = |location: &str| target.resolve_redirect(location).map(|target| target.url.to_string());
        assert_eq!(to("three").unwrap(), "https://a.test/one/three");
        assert_eq!(to("//b.test/").unwrap(), "https://b.test/");
        assert_eq!(to("https://2130706433/").unwrap(), "https://127.0.0.1/");
        assert!(to("http://a.test/").unwrap_err().contains("not secure"));
        assert!(to("file:///etc/passwd").unwrap_err().contains("`file`"));
        assert!(to("https://u:p@a.test/").unwrap_err().contains("a user or password"));
    }
}
