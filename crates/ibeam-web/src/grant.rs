//! Grants of network access to confined commands: `--allow-net HOST:PORT`, and the domains of `WebFetch` rules.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use ibeam_protocol::{Sentence, sentence, sentence_text};
use url::Host;

use crate::host;

/// A pattern of hosts and ports that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.sentence())]
pub struct InvalidHostPortPattern {
    pub text: String,
    /// The reason why it is invalid.
    pub detail: Sentence,
}

impl InvalidHostPortPattern {
    /// Returns the whole message.
    pub fn sentence(&self) -> Sentence {
        sentence!(
            "invalid host pattern `{text}`: {reason}; accepted are {forms}",
            text = self.text,
            reason = self.detail,
            forms = "`HOST:PORT`, `*.HOST:PORT`, `*:PORT`, `ADDRESS:PORT`"
        )
    }
}

/// A pattern of hosts and ports. `Display` prints the form that `FromStr` parses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPortPattern {
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

impl HostPortPattern {
    /// Parses the domain of an allowed `WebFetch` rule: a name, `*.` and a name, or `*`, and optionally `:PORT`. Without
    /// a port, ports 80 and 443 are allowed.
    ///
    /// # Errors
    /// `InvalidHostPortPattern` for an invalid domain or port.
    pub fn for_allowed_domain(text: &str) -> Result<Vec<Self>, InvalidHostPortPattern> {
        let (hosts, named) = Self::parse_domain(text)?;
        let ports = named.map_or_else(|| vec![80, 443], |port| vec![port]);
        Ok(ports.into_iter().map(|port| Self { hosts: hosts.clone(), port: Some(port) }).collect())
    }

    /// Parses the domain of a `WebFetch` rule that denies. Without a port, every port is denied.
    ///
    /// # Errors
    /// `InvalidHostPortPattern` for an invalid domain or port.
    pub fn for_denied_domain(text: &str) -> Result<Self, InvalidHostPortPattern> {
        let (hosts, port) = Self::parse_domain(text)?;
        Ok(Self { hosts, port })
    }

    /// Returns the hosts and the port of the domain of a `WebFetch` rule.
    fn parse_domain(text: &str) -> Result<(HostPattern, Option<u16>), InvalidHostPortPattern> {
        let bad = |detail: Sentence| InvalidHostPortPattern { text: text.to_owned(), detail };
        let (domain, port) = match text.rsplit_once(':') {
            // `https://a` has no port.
            Some((domain, port)) if !port.starts_with('/') => (domain, Some(port)),
            Some(_) | None => (text, None),
        };
        let port = port.map(|port| parse_port(port).ok_or_else(|| bad(BAD_PORT.into()))).transpose()?;
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
    fn parse(text: &str) -> Result<Self, Sentence> {
        if text == "*" {
            return Ok(Self::Any);
        }
        let not_canonical = |text: &str| match Host::parse(text) {
            Ok(host) if host.to_string() != text => Sentence::from(format!("write the host as `{host}`")),
            Ok(_) | Err(_) if text.contains("://") => "it has a scheme".into(),
            Ok(_) | Err(_) => sentence!("`{text}` is not a host", text),
        };
        match text.strip_prefix("*.") {
            Some(parent) => match host::parse_canonical(parent) {
                Some(Host::Domain(parent)) => Ok(Self::Subdomains(parent)),
                Some(Host::Ipv4(_) | Host::Ipv6(_)) => Err("an address has no names below it".into()),
                None => Err(not_canonical(parent)),
            },
            None => host::parse_canonical(text).map(Self::Exact).ok_or_else(|| not_canonical(text)),
        }
    }
}

const BAD_PORT: &str = sentence_text!("a port is a number from 1 to 65535");

fn parse_port(text: &str) -> Option<u16> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten().filter(|port| *port != 0)
}

impl FromStr for HostPortPattern {
    type Err = InvalidHostPortPattern;

    fn from_str(given: &str) -> Result<Self, InvalidHostPortPattern> {
        let bad = |detail: Sentence| InvalidHostPortPattern { text: given.to_owned(), detail };
        let text = given.trim();
        if text.contains("://") || text.contains('/') {
            return Err(bad(sentence!("it is a URL; give host and port only")));
        }
        let portless = || {
            bad(sentence!(
                "it has no port; for secure pages write `{pattern}`",
                pattern = format!("{text}:443")
            ))
        };
        // The colons inside of `[::1]` do not separate a port.
        let (hosts, port) = match text.rsplit_once(':') {
            Some((hosts, port)) if !port.ends_with(']') => (hosts, port),
            Some(_) | None => return Err(portless()),
        };
        if hosts.contains(':') && !hosts.starts_with('[') {
            return Err(bad("write an IPv6 address in brackets: `[::1]:8080`".into()));
        }
        let port = parse_port(port).ok_or_else(|| bad(BAD_PORT.into()))?;
        Ok(Self { hosts: HostPattern::parse(hosts).map_err(bad)?, port: Some(port) })
    }
}

impl fmt::Display for HostPortPattern {
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
    pub allow: Vec<HostPortPattern>,
    /// The hosts that commands may not reach, even if granted.
    pub deny: Vec<HostPortPattern>,
}

impl Grants {
    /// Decides about a connection to `host` at `port`.
    pub(crate) fn decide(&self, host: &Host, port: u16) -> GrantDecision {
        let covered = |grants: &[HostPortPattern]| grants.iter().any(|grant| grant.covers(host, port));
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

    /// Returns the IP addresses that are granted with a port. Only these addresses may be in private ranges.
    pub fn addresses(&self) -> Vec<(IpAddr, u16)> {
        let address = |grant: &HostPortPattern| match &grant.hosts {
            HostPattern::Exact(host) => Some((host::ip_address(host)?, grant.port?)),
            HostPattern::Any | HostPattern::Subdomains(_) => None,
        };
        self.allow.iter().filter_map(address).collect()
    }
}

#[cfg(test)]
#[path = "grant_test.rs"]
mod tests;
