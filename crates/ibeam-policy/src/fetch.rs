//! Decides about fetching from the web: compares `WebFetch(domain)` and `WebFetch(domain:port)` with the host and the
//! port of an address.
//!
//! A domain without a port allows the web ports 80 and 443, and denies or asks for every port. An address that two
//! parsers could read as two different hosts is refused, whatever the rules allow. Name resolution is not part of this
//! decision: the code that connects refuses addresses that are not public.

use ibeam_protocol::{PermissionMode, sentence};

use crate::policy::{Policy, Verdict, with_flags};
use crate::rule::Rule;

/// The ports that a domain without a port allows.
const WEB_PORTS: [u16; 2] = [80, 443];

/// The ports that a domain without a port covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ImplicitPorts {
    /// Only the web ports 80 and 443: for rules that allow.
    Web,
    /// Every port: for rules that deny or ask.
    All,
}

impl Policy {
    /// Decides about fetching `url`.
    pub(crate) fn decide_fetch(&self, url: &str) -> Verdict {
        let Some((host, port)) = parse_origin(url) else {
            return Verdict::deny(
                "default",
                "the address is not a plain `http://` or `https://` one with a host name, without user, \
                 password, backslash or percent sign before the path",
            );
        };
        let rule = |rules: &[Rule], ports: ImplicitPorts| {
            rules
                .iter()
                .find(|rule| matches!(rule, Rule::WebFetch(domain) if covers_origin(domain, &host, port, ports)))
                .map(Rule::to_string)
        };
        if let Some(rule) = rule(&self.deny, ImplicitPorts::All) {
            let reason = sentence!("fetching from `{host}` is denied by the rule `{rule}`", host, rule);
            return Verdict::deny(rule, reason);
        }
        if self.mode == PermissionMode::Force {
            return Verdict::allow("--force");
        }
        if let Some(rule) = rule(&self.ask, ImplicitPorts::All) {
            let reason =
                sentence!("fetching from `{host}` needs approval under the rule `{rule}`", host, rule);
            return Verdict::ask(rule, reason);
        }
        match rule(&self.allow, ImplicitPorts::Web) {
            Some(rule) => Verdict::allow(rule),
            None => {
                let place = if WEB_PORTS.contains(&port) { host } else { format!("{host}:{port}") };
                let reason = sentence!("no rule allows fetching from `{host}`", host = place);
                Verdict::ask("default", with_flags(reason, format!("`--allow 'WebFetch({place})'`")))
            }
        }
    }
}

/// Returns the host of a web address in lower case, and its port. Returns `None` if the text is not a web address, or
/// is ambiguous.
pub(crate) fn parse_origin(url: &str) -> Option<(String, u16)> {
    let (scheme, rest) = url.split_once("://")?;
    let default_port = match scheme.to_ascii_lowercase().as_str() {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    let authority = rest.split(['/', '?', '#']).next()?;
    let (host, port) = match authority.strip_prefix('[') {
        Some(inner) => {
            let (address, port) = inner.split_once(']')?;
            // Only an IPv6 address is valid in brackets; parsers differ in what else they accept.
            address.parse::<std::net::Ipv6Addr>().ok()?;
            (address, port)
        }
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let digits = port.strip_prefix(':').unwrap_or(port);
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '_');
    let is_host = !host.is_empty() && !host.starts_with(['.', '-']) && host.chars().all(plain);
    let port = match digits {
        "" => Some(default_port),
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok(),
        _ => None,
    };
    is_host.then(|| host.trim_end_matches('.').to_ascii_lowercase()).zip(port)
}

/// Whether the domain of a token, with or without a port, covers `host` at `port`. `*.example.org` covers every name
/// below it, but not itself.
pub(crate) fn covers_origin(token: &str, host: &str, port: u16, implicit_ports: ImplicitPorts) -> bool {
    let (domain, named) = match token.rsplit_once(':') {
        Some((domain, named)) => (domain, Some(named)),
        None => (token, None),
    };
    let covers_port = match (named, implicit_ports) {
        (Some(named), _) => named.parse() == Ok(port),
        (None, ImplicitPorts::Web) => WEB_PORTS.contains(&port),
        (None, ImplicitPorts::All) => true,
    };
    let covers_host = match domain.strip_prefix("*.") {
        Some(parent) => {
            host.strip_suffix(parent).is_some_and(|below| below.len() > 1 && below.ends_with('.'))
        }
        None => domain == "*" || domain == host,
    };
    covers_port && covers_host
}
