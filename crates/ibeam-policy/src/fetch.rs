//! What may be fetched from the web: `WebFetch(domain)` against the host of an address.
//!
//! An address that two readers could take for two hosts is refused, whatever the rules say. Which addresses a
//! name leads to is not known here: whoever connects holds those that are nobody's public ones back.

use ibeam_protocol::PermissionMode;

use crate::policy::{Policy, Verdict};
use crate::rule::Rule;

impl Policy {
    /// Decides about fetching `url`.
    pub(crate) fn fetch(&self, url: &str) -> Verdict {
        let Some(host) = host_of(url) else {
            return Verdict::deny(
                "default",
                "the address is not a plain `http://` or `https://` one with a host name, without user, \
                 password, backslash or percent sign before the path",
            );
        };
        let rule = |rules: &[Rule]| {
            rules
                .iter()
                .find(|rule| matches!(rule, Rule::WebFetch(domain) if covers(domain, &host)))
                .map(Rule::to_string)
        };
        if let Some(rule) = rule(&self.deny) {
            let reason = format!("fetching from `{host}` is denied by the rule `{rule}`");
            return Verdict::deny(rule, reason);
        }
        if self.mode == PermissionMode::Force {
            return Verdict::allow("--force");
        }
        if let Some(rule) = rule(&self.ask) {
            let reason = format!("fetching from `{host}` needs an approval by the rule `{rule}`");
            return Verdict::ask(rule, reason);
        }
        match rule(&self.allow) {
            Some(rule) => Verdict::allow(rule),
            None => Verdict::ask(
                "default",
                format!(
                    "no rule allows fetching from `{host}`; a person may allow it with \
                     `--allow 'WebFetch({host})'`"
                ),
            ),
        }
    }
}

/// The host of a web address, folded; `None` for anything that is not plainly one.
pub(crate) fn host_of(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next()?;
    let (host, port) = match authority.strip_prefix('[') {
        Some(inner) => {
            let (address, port) = inner.split_once(']')?;
            // Nothing but an address may stand in brackets; readers differ about what else they take.
            address.parse::<std::net::Ipv6Addr>().ok()?;
            (address, port)
        }
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let digits = port.strip_prefix(':').unwrap_or(port);
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '_');
    let is_host = !host.is_empty() && !host.starts_with(['.', '-']) && host.chars().all(plain);
    (is_host && digits.chars().all(|c| c.is_ascii_digit()))
        .then(|| host.trim_end_matches('.').to_ascii_lowercase())
}

/// Whether the domain of a token covers `host`; `*.example.org` is every name below it and not itself.
pub(crate) fn covers(domain: &str, host: &str) -> bool {
    match domain.strip_prefix("*.") {
        Some(parent) => {
            host.strip_suffix(parent).is_some_and(|below| below.len() > 1 && below.ends_with('.'))
        }
        None => domain == "*" || domain == host,
    }
}
