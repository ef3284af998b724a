//! An address of the web that may be fetched, as far as its form tells.
//!
//! Refuses what two readers could take for two hosts; the policy has read the same text before.

use url::{Host, Url};

use crate::host;

/// A plain `http://` or `https://` address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FetchUrl {
    pub(crate) url: Url,
    pub(crate) host: Host,
    pub(crate) port: u16,
    pub(crate) is_secure: bool,
}

impl FetchUrl {
    /// Reads what a model wrote.
    ///
    /// # Errors
    /// One sentence that says what is wrong.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let invalid = |detail: &str| format!("`{text}` is {detail}");
        let (_, rest) = text.split_once("://").ok_or_else(|| {
            invalid("no whole address: it begins with `http://` or `https://`, as in `https://docs.example.org/page`")
        })?;
        let url = Url::parse(text).map_err(|error| invalid(&format!("no address: {error}")))?;
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains(['\\', '%', '@']) {
            return Err(invalid(
                "ambiguous: no user, password, backslash or percent sign stands before the path",
            ));
        }
        let target = Self::from_url(url)?;
        // The parser understands more spellings of a host than are good for anybody.
        let written = match authority.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => host,
            Some(_) | None => authority,
        };
        if host::parse_canonical(written).as_ref() != Some(&target.host) {
            return Err(format!("`{text}` does not name its host plainly; write it as `{}`", target.host));
        }
        Ok(target)
    }

    /// Where a redirect leads, seen from here.
    ///
    /// # Errors
    /// One sentence that says what is wrong.
    pub(crate) fn resolve_redirect(&self, location: &str) -> Result<Self, String> {
        let url = self.url.join(location).map_err(|error| format!("`{location}` is no address: {error}"))?;
        let target = Self::from_url(url)?;
        if self.is_secure && !target.is_secure {
            return Err(format!("`{}` is not secure, as the page that leads there is", target.url));
        }
        Ok(target)
    }

    /// Whether leave to fetch `asked` is leave to fetch this one too: the same host, at the same port or both at ports
    /// of web pages, as from `http://` to `https://`.
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
                return Err(format!("`{scheme}` addresses are not fetched, only `http` and `https` ones"));
            }
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err("no user or password stands in an address that is fetched".to_owned());
        }
        let host = url.host_str().and_then(host::parse_canonical);
        let host = host.ok_or_else(|| format!("`{url}` has no plain host name"))?;
        let port = url.port_or_known_default().unwrap_or(if is_secure { 443 } else { 80 });
        url.set_fragment(None);
        Ok(Self { url, host, port, is_secure })
    }

    /// `host:port` for the header `Host`, without the port that goes without saying.
    pub(crate) fn authority(&self) -> String {
        match self.url.port() {
            Some(port) => format!("{}:{port}", self.host),
            None => self.host.to_string(),
        }
    }

    /// The path and the query.
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
    fn plain_addresses_are_taken_apart() {
        check("http://docs.example.org", Ok(("docs.example.org", 80, "/")));
        check(" HTTPS://Docs.Example.ORG./a%20b?q=1#part ", Ok(("docs.example.org", 443, "/a%20b?q=1")));
        check("https://a.test:8443/é", Ok(("a.test:8443", 8443, "/%C3%A9")));
        check("http://[::1]:8080/", Ok(("[::1]:8080", 8080, "/")));
        check("http://127.0.0.1/", Ok(("127.0.0.1", 80, "/")));
        check("http://a.test?q", Ok(("a.test", 80, "/?q")));
    }

    #[test]
    fn what_is_not_plain_is_refused_with_the_reason() {
        for (text, detail) in [
            ("docs.example.org", "begins with `http://`"),
            ("", "begins with"),
            ("file:///etc/passwd", "`file` addresses are not fetched"),
            ("gopher://127.0.0.1:70/_x", "`gopher` addresses are not fetched"),
            ("ftp://a.test/", "`ftp` addresses are not fetched"),
            ("http://docs.example.test@evil.test/", "ambiguous"),
            ("http://evil.test\\@docs.example.test/", "ambiguous"),
            ("http://docs.example.test%00.evil.test/", "no address"),
            ("http://docs%2eexample.test/", "ambiguous"),
            ("http://2130706433:80/", "write it as `127.0.0.1`"),
            ("http://0x7f.1:80/", "write it as `127.0.0.1`"),
            ("http://bücher.example/", "write it as `xn--bcher-kva.example`"),
            ("http://a.test\t.evil.test/", "write it as `a.test.evil.test`"),
            ("http:///evil.test/", "plain"),
            ("http://a:99999/", "no address"),
            ("http://", "no address"),
        ] {
            check(text, Err(detail));
        }
    }

    #[test]
    fn leave_for_one_port_is_no_leave_for_another() {
        for (asked, next, expect) in [
            ("http://a.test/", "https://a.test/x", true),
            ("https://a.test/", "http://a.test:443/", true),
            ("http://a.test:8080/", "http://a.test:8080/x", true),
            ("http://a.test/", "http://a.test:8080/", false),
            ("http://a.test:8080/", "http://a.test/", false),
            ("http://a.test:8080/", "http://a.test:8081/", false),
            ("http://a.test/", "http://b.test/", false),
        ] {
            let [asked, next] = [asked, next].map(|url| FetchUrl::parse(url).unwrap());
            assert_eq!(next.shares_permission_with(&asked), expect, "{} {}", asked.url, next.url);
        }
    }

    #[test]
    fn a_redirect_is_read_from_where_it_stands() {
        let target = FetchUrl::parse("https://a.test/one/two").unwrap();
        let to = |location: &str| target.resolve_redirect(location).map(|target| target.url.to_string());
        assert_eq!(to("three").unwrap(), "https://a.test/one/three");
        assert_eq!(to("//b.test/").unwrap(), "https://b.test/");
        assert_eq!(to("https://2130706433/").unwrap(), "https://127.0.0.1/");
        assert!(to("http://a.test/").unwrap_err().contains("not secure"));
        assert!(to("file:///etc/passwd").unwrap_err().contains("`file`"));
        assert!(to("https://u:p@a.test/").unwrap_err().contains("no user or password"));
    }
}
