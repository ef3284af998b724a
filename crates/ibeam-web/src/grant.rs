//! Grants of network access to confined commands: `--allow-net HOST:PORT`, and the domains of `WebFetch` rules.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use url::Host;

use crate::host;

/// A grant that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` cannot be granted: {detail}; accepted are `HOST:PORT`, `*.HOST:PORT`, `*:PORT`, `ADDRESS:PORT`"
)]
pub struct InvalidGrant {
    /// The text of the grant.
    pub text: String,
    /// The reason why it is invalid.
    pub detail: String,
}

/// Hosts and ports that commands may reach. `Display` prints the form that `FromStr` parses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The hosts.
    hosts: HostPattern,
    /// The port; `None` for every port.
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum HostPattern {
    Any,
    /// Every name below this name, without the name itself.
    Subdomains(String),
    Exact(Host),
}

impl Grant {
    /// Returns the grants of an allowed `WebFetch` token: its port, or ports 80 and 443. Its domain is a name, `*.` and
    /// a name, or `*`.
    ///
    /// # Errors
    /// `InvalidGrant` for an invalid domain or port.
    pub fn from_allow_token(token: &str) -> Result<Vec<Self>, InvalidGrant> {
        let (hosts, named) = Self::parse_token(token)?;
        let ports = named.map_or_else(|| vec![80, 443], |port| vec![port]);
        Ok(ports.into_iter().map(|port| Self { hosts: hosts.clone(), port: Some(port) }).collect())
    }

    /// Returns the hosts and ports that a denied `WebFetch` token denies: its port, or every port.
    ///
    /// # Errors
    /// `InvalidGrant` for an invalid domain or port.
    pub fn from_deny_token(token: &str) -> Result<Self, InvalidGrant> {
        let (hosts, port) = Self::parse_token(token)?;
        Ok(Self { hosts, port })
    }

    /// Returns the hosts and the port of a `WebFetch` token.
    fn parse_token(token: &str) -> Result<(HostPattern, Option<u16>), InvalidGrant> {
        let bad = |detail: String| InvalidGrant { text: token.to_owned(), detail };
        let (domain, port) = match token.rsplit_once(':') {
            // `https://a` has no port.
            Some((domain, port)) if !port.starts_with('/') => (domain, Some(port)),
            Some(_) | None => (token, None),
        };
        let port = port.map(|port| parse_port(port).ok_or_else(|| bad(BAD_PORT.to_owned()))).transpose()?;
        Ok((HostPattern::parse(domain).map_err(bad)?, port))
    }

    fn covers(&self, host: &Host, port: u16) -> bool {
        self.port.is_none_or(|own| own == port)
            && match (&self.hosts, host) {
                (HostPattern::Any, _) => true,
                (HostPattern::Exact(own), host) => own == host,
                (HostPattern::Subdomains(parent), Host::Domain(name)) => name
                    .strip_suffix(parent.as_str())
                    .is_some_and(|below| below.len() > 1 && below.ends_with('.')),
                (HostPattern::Subdomains(_), Host::Ipv4(_) | Host::Ipv6(_)) => false,
            }
    }
}

impl HostPattern {
    fn parse(text: &str) -> Result<Self, String> {
        if text == "*" {
            return Ok(Self::Any);
        }
        let not_canonical = |text: &str| match Host::parse(text) {
            Ok(host) if host.to_string() != text => format!("write the host as `{host}`"),
            Ok(_) | Err(_) if text.contains("://") => "it has a scheme".to_owned(),
            Ok(_) | Err(_) => format!("`{text}` is not a host"),
        };
        match text.strip_prefix("*.") {
            Some(parent) => match host::parse_canonical(parent) {
                Some(Host::Domain(parent)) => Ok(Self::Subdomains(parent)),
                Some(Host::Ipv4(_) | Host::Ipv6(_)) => Err("an address has no names below it".to_owned()),
                None => Err(not_canonical(parent)),
            },
            None => host::parse_canonical(text).map(Self::Exact).ok_or_else(|| not_canonical(text)),
        }
    }
}

const BAD_PORT: &str = "a port is a number from 1 to 65535";

fn parse_port(text: &str) -> Option<u16> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten().filter(|port| *port != 0)
}

impl FromStr for Grant {
    type Err = InvalidGrant;

    fn from_str(given: &str) -> Result<Self, InvalidGrant> {
        let bad = |detail: String| InvalidGrant { text: given.to_owned(), detail };
        let text = given.trim();
        if text.contains("://") || text.contains('/') {
            return Err(bad("it is a URL; give host and port only".to_owned()));
        }
        let portless = || bad(format!("it has no port; for secure pages write `{text}:443`"));
        // The colons inside of `[::1]` do not separate a port.
        let (hosts, port) = match text.rsplit_once(':') {
            Some((hosts, port)) if !port.ends_with(']') => (hosts, port),
            Some(_) | None => return Err(portless()),
        };
        if hosts.contains(':') && !hosts.starts_with('[') {
            return Err(bad("write an IPv6 address in brackets: `[::1]:8080`".to_owned()));
        }
        let port = parse_port(port).ok_or_else(|| bad(BAD_PORT.to_owned()))?;
        Ok(Self { hosts: HostPattern::parse(hosts).map_err(bad)?, port: Some(port) })
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.hosts {
            HostPattern::Any => write!(f, "*")?,
            HostPattern::Subdomains(parent) => write!(f, "*.{parent}")?,
            HostPattern::Exact(host) => write!(f, "{host}")?,
        }
        match self.port {
            Some(port) => write!(f, ":{port}"),
            None => write!(f, ":*"),
        }
    }
}

/// The decision of the grants for a host and port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GrantDecision {
    /// A grant covers the host and port.
    Allowed,
    /// No grant covers the host and port.
    NotGranted,
    /// A rule denies the host and port.
    Denied,
}

/// All grants of a run, and the hosts that are denied.
#[derive(Clone, Debug, Default)]
pub struct Grants {
    /// The hosts that commands may reach.
    pub allow: Vec<Grant>,
    /// The hosts that commands may not reach, even if granted.
    pub deny: Vec<Grant>,
}

impl Grants {
    /// Decides about a connection to `host` at `port`.
    pub(crate) fn decide(&self, host: &Host, port: u16) -> GrantDecision {
        let covered = |grants: &[Grant]| grants.iter().any(|grant| grant.covers(host, port));
        match (covered(&self.deny), covered(&self.allow)) {
            (true, _) => GrantDecision::Denied,
            (false, true) => GrantDecision::Allowed,
            (false, false) => GrantDecision::NotGranted,
        }
    }

    /// Whether no host can be reached.
    pub fn is_empty(&self) -> bool {
        self.allow.is_empty()
    }

    /// Returns the IP addresses that are granted with a port. Only these may be private.
    pub fn addresses(&self) -> Vec<(IpAddr, u16)> {
        let address = |grant: &Grant| match &grant.hosts {
            HostPattern::Exact(host) => Some((host::ip_address(host)?, grant.port?)),
            HostPattern::Any | HostPattern::Subdomains(_) => None,
        };
        self.allow.iter().filter_map(address).collect()
    }
}

#[cfg(test)]
#[path = "grant_test.rs"]
mod tests;
