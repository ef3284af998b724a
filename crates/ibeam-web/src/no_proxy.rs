//! The hosts that are reached without a proxy: the value of `NO_PROXY`.
//!
//! Entries are separated by commas or blanks. An entry that cannot be read matches nothing.

use std::net::IpAddr;

use url::Host;

/// The entries of `NO_PROXY`.
#[derive(Debug, Default)]
pub(crate) struct NoProxy(Vec<Entry>);

/// Hosts, and the only port of them that is meant, if any.
#[derive(Debug)]
struct Entry {
    hosts: Hosts,
    port: Option<u16>,
}

#[derive(Debug)]
enum Hosts {
    All,
    /// An address, or a network with the number of bits that decide.
    Network(IpAddr, u32),
    /// A name in lower case, with its subdomains.
    Domain(String),
}

impl NoProxy {
    pub(crate) fn new(value: &str) -> Self {
        let entries = value.split(|c: char| c == ',' || c.is_whitespace()).filter(|entry| !entry.is_empty());
        Self(entries.filter_map(Entry::parse).collect())
    }

    /// Whether connections to this port of `host` use no proxy.
    pub(crate) fn contains(&self, host: &Host<&str>, port: Option<u16>) -> bool {
        self.0.iter().any(|entry| entry.hosts.contain(host) && (entry.port.is_none() || entry.port == port))
    }
}

impl Entry {
    fn parse(text: &str) -> Option<Self> {
        if let Some(hosts) = Hosts::parse(text) {
            return Some(Self { hosts, port: None });
        }
        let (host, port) = text.rsplit_once(':')?;
        Some(Self { hosts: Hosts::parse(host)?, port: Some(port.parse().ok()?) })
    }
}

impl Hosts {
    /// Parses an entry without its port.
    fn parse(text: &str) -> Option<Self> {
        if text == "*" {
            return Some(Self::All);
        }
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse::<u32>().ok()?)),
            None => (text, None),
        };
        let inner = address.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(address);
        if let Ok(address) = inner.parse::<IpAddr>() {
            let address = address.to_canonical();
            let width = if address.is_ipv4() { 32 } else { 128 };
            let bits = bits.unwrap_or(width);
            return (bits <= width).then_some(Self::Network(address, bits));
        }
        let name = text.strip_prefix('*').unwrap_or(text).trim_matches('.').to_lowercase();
        let is_name = !name.is_empty() && !name.contains(['/', ':', '*', '[', ']']);
        is_name.then_some(Self::Domain(name))
    }

    fn contain(&self, host: &Host<&str>) -> bool {
        let address = match *host {
            Host::Ipv4(address) => Some(IpAddr::V4(address)),
            Host::Ipv6(address) => Some(IpAddr::V6(address).to_canonical()),
            Host::Domain(_) => None,
        };
        match (self, host, address) {
            (Self::All, _, _) => true,
            (Self::Network(network, bits), _, Some(address)) => is_in_network(address, *network, *bits),
            (Self::Domain(name), Host::Domain(host), _) => {
                let host = host.trim_end_matches('.').to_lowercase();
                let rest = host.strip_suffix(name.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            }
            (Self::Network(..) | Self::Domain(_), _, _) => false,
        }
    }
}

/// Whether the first `bits` bits of both addresses are equal.
fn is_in_network(address: IpAddr, network: IpAddr, bits: u32) -> bool {
    let differs_after = match (address, network) {
        (IpAddr::V4(address), IpAddr::V4(network)) => (address.to_bits() ^ network.to_bits()).leading_zeros(),
        (IpAddr::V6(address), IpAddr::V6(network)) => (address.to_bits() ^ network.to_bits()).leading_zeros(),
        (IpAddr::V4(_) | IpAddr::V6(_), _) => return false,
    };
    differs_after >= bits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host;

    #[track_caller]
    fn check(value: &str, reached: &[(&str, u16)], proxied: &[(&str, u16)]) {
        let none = NoProxy::new(value);
        for (hosts, expect) in [(reached, true), (proxied, false)] {
            for (host, port) in hosts {
                let host = host::parse_canonical(host).unwrap();
                let host = match &host {
                    Host::Domain(name) => Host::Domain(name.as_str()),
                    Host::Ipv4(address) => Host::Ipv4(*address),
                    Host::Ipv6(address) => Host::Ipv6(*address),
                };
                assert_eq!(none.contains(&host, Some(*port)), expect, "{value} {host}:{port}");
            }
        }
    }

    #[test]
    fn every_form_of_entry_that_curl_and_go_read_is_read() {
        check("*", &[("a.test", 80), ("10.1.2.3", 443), ("[::1]", 8080)], &[]);
        check(
            "a.test",
            &[("a.test", 80), ("b.a.test", 443), ("A.TEST", 1)],
            &[("ba.test", 80), ("test", 80)],
        );
        for value in [".a.test", "*.a.test", "A.test."] {
            check(value, &[("a.test", 80), ("b.a.test", 80)], &[("ba.test", 80)]);
        }
        check("a.test:8080", &[("a.test", 8080), ("b.a.test", 8080)], &[("a.test", 80), ("b.test", 8080)]);
        check("*:8080", &[("a.test", 8080), ("10.1.2.3", 8080)], &[("a.test", 80)]);
        check("10.1.2.3:8080", &[("10.1.2.3", 8080)], &[("10.1.2.3", 80), ("10.1.2.4", 8080)]);
        check("[fd00::1]:8080", &[("[fd00::1]", 8080)], &[("[fd00::1]", 80)]);
        for value in ["fd00::1", "[fd00::1]"] {
            check(value, &[("[fd00::1]", 80)], &[("[fd00::2]", 80)]);
        }
        check("10.0.0.0/8", &[("10.255.0.1", 80)], &[("11.0.0.1", 80), ("[fd00::1]", 80)]);
        check("10.1.0.0/16:8080", &[("10.1.9.9", 8080)], &[("10.1.9.9", 80), ("10.2.0.1", 8080)]);
        check("fd00::/8, 0.0.0.0/0", &[("[fd12::1]", 80), ("9.9.9.9", 80)], &[("[fe80::1]", 80)]);
        check(
            "b.test  c.test,\td.test",
            &[("b.test", 80), ("c.test", 80), ("d.test", 80)],
            &[("a.test", 80)],
        );
    }

    #[test]
    fn an_entry_that_cannot_be_read_matches_nothing() {
        let others = [("a.test", 80), ("10.1.2.3", 80), ("[::1]", 80)];
        for value in
            ["", ",", ".", "*.", "a.test:x", "a.test:99999", "10.0.0.0/33", "10.0.0.0/x", "::1:x", "/8"]
        {
            check(value, &[], &others);
        }
    }
}
