//! Hosts in canonical spelling, which every program reads in the same way.

use url::Host;

/// Parses a host, and returns it in lower case and without a dot at its end.
///
/// Returns `None` for any spelling that programs read in different ways: `0x7f.1` and `2130706433` are 127.0.0.1 for
/// some programs, and `é` is `xn--9ca` for others.
pub(crate) fn parse_canonical(text: &str) -> Option<Host> {
    let text = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
    let host = Host::parse(&text).ok()?;
    let labels =
        |name: &str| name.split('.').all(|label| !label.is_empty() && label.chars().all(is_name_char));
    let is_canonical = match &host {
        Host::Domain(name) => labels(name) && name.len() <= 253,
        Host::Ipv4(_) | Host::Ipv6(_) => true,
    };
    (is_canonical && host.to_string() == text).then_some(host)
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}

/// Returns the IP address, if the host is not a name.
pub(crate) fn ip_address(host: &Host) -> Option<std::net::IpAddr> {
    match host {
        Host::Domain(_) => None,
        Host::Ipv4(address) => Some((*address).into()),
        Host::Ipv6(address) => Some((*address).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::parse_canonical;

    #[track_caller]
    fn check(text: &str, expect: Option<&str>) {
        assert_eq!(parse_canonical(text).map(|host| host.to_string()).as_deref(), expect, "{text:?}");
    }

    #[test]
    fn only_one_spelling_of_a_host_is_accepted() {
        check("docs.example.org", Some("docs.example.org"));
        check("Docs.Example.ORG.", Some("docs.example.org"));
        check("a_b.example", Some("a_b.example"));
        check("xn--9ca.example", Some("xn--9ca.example"));
        check("127.0.0.1", Some("127.0.0.1"));
        check("[::1]", Some("[::1]"));
        for other in [
            "",
            ".",
            "a..b",
            ".a",
            "a b",
            "a\0b",
            "a%00b",
            "a/b",
            "a@b",
            "a:80",
            "a\\b",
            "*",
            "*.a",
            "é.example",
            "2130706433",
            "0x7f.1",
            "127.1",
            "0177.0.0.1",
            "127.0.0.01",
            "[0:0:0:0:0:0:0:1]",
            "[::1",
            "::1",
            "[fe80::1%25eth0]",
        ] {
            check(other, None);
        }
        check(&format!("{}.a", "a.".repeat(130)), None);
    }
}
