use proptest::prelude::*;

use super::{GrantDecision, Grants, HostPortPattern};
use crate::host;

#[track_caller]
fn check_bad(given: &str, detail: &str) {
    let error = given.parse::<HostPortPattern>().unwrap_err();
    assert!(error.detail.contains(detail), "{given:?}: {}", error.detail);
    assert!(error.to_string().contains("accepted are `HOST:PORT`"), "{error}");
}

/// Checks whether `grants` allow `place`, a host and a port.
#[track_caller]
fn check(grants: &[&str], place: &str, expect: bool) {
    let (name, port) = place.rsplit_once(':').unwrap();
    let allow = grants.iter().map(|grant| grant.parse().unwrap()).collect();
    let grants = Grants { allow, deny: Vec::new() };
    let granted = grants.decide(&host::parse_canonical(name).unwrap(), port.parse().unwrap());
    assert_eq!(granted, if expect { GrantDecision::Allowed } else { GrantDecision::NotGranted }, "{place}");
}

#[test]
fn a_grant_allows_its_host_at_its_port() {
    check(&["example.org:443"], "example.org:443", true);
    check(&["Example.ORG.:443"], "example.org:443", true);
    check(&["example.org:443"], "EXAMPLE.org.:443", true);
    check(&["example.org:443"], "example.org:80", false);
    check(&["example.org:443"], "a.example.org:443", false);
    check(&["example.org:443"], "example.org.evil.test:443", false);
    check(&["127.0.0.1:8080"], "127.0.0.1:8080", true);
    check(&["127.0.0.1:8080"], "127.0.0.1:8081", false);
    check(&["[::1]:8080"], "[::1]:8080", true);
    check(&[], "example.org:443", false);
}

#[test]
fn a_star_before_a_name_is_every_name_below_and_a_star_alone_every_host() {
    check(&["*.good.test:443"], "a.good.test:443", true);
    check(&["*.good.test:443"], "a.b.good.test:443", true);
    check(&["*.good.test:443"], "good.test:443", false);
    check(&["*.good.test:443"], "evilgood.test:443", false);
    check(&["*.test:443"], "127.0.0.1:443", false);
    check(&["*:443"], "anything.test:443", true);
    check(&["*:443"], "anything.test:80", false);
    check(&["*:443"], "8.8.8.8:443", true);
}

#[test]
fn an_allowed_web_fetch_domain_has_two_ports_and_a_denied_one_every_port() {
    let allow = HostPortPattern::for_allowed_domain("*").unwrap();
    let grants = Grants { allow, deny: vec![HostPortPattern::for_denied_domain("*.evil.test").unwrap()] };
    let decide = |name: &str, port| grants.decide(&host::parse_canonical(name).unwrap(), port);
    assert_eq!([decide("a.test", 80), decide("a.test", 443)], [GrantDecision::Allowed; 2]);
    assert_eq!(decide("a.test", 22), GrantDecision::NotGranted);
    assert_eq!([decide("a.evil.test", 443), decide("a.evil.test", 22)], [GrantDecision::Denied; 2]);
    assert!(HostPortPattern::for_allowed_domain("https://a").is_err());
}

#[test]
fn the_port_of_a_web_fetch_token_is_the_only_one() {
    let allow = HostPortPattern::for_allowed_domain("a.test:8080").unwrap();
    let grants = Grants { allow, deny: vec![HostPortPattern::for_denied_domain("a.test:22").unwrap()] };
    let decide = |port| grants.decide(&host::parse_canonical("a.test").unwrap(), port);
    assert_eq!(
        [decide(8080), decide(80), decide(443)],
        [GrantDecision::Allowed, GrantDecision::NotGranted, GrantDecision::NotGranted]
    );
    assert_eq!(decide(22), GrantDecision::Denied);
    for domain in ["a.test:", "a.test:0", "a.test:65536", "a.test:x", "a.test:+80"] {
        assert!(
            HostPortPattern::for_allowed_domain(domain).is_err()
                && HostPortPattern::for_denied_domain(domain).is_err(),
            "{domain}"
        );
    }
}

#[test]
fn the_error_of_a_grant_names_the_problem() {
    check_bad("example.org", "no port; for secure pages write `example.org:443`");
    check_bad("[::1]", "no port");
    check_bad("", "no port");
    check_bad("https://example.org:443", "give host and port only");
    check_bad("example.org:443/path", "give host and port only");
    check_bad("example.org:https", "1 to 65535");
    check_bad("example.org:0", "1 to 65535");
    check_bad("example.org:+1", "1 to 65535");
    check_bad("example.org:65536", "1 to 65535");
    check_bad("::1:8080", "in brackets");
    check_bad("*.*.a:443", "is not a host");
    check_bad("a*:443", "is not a host");
    check_bad(":443", "is not a host");
    check_bad("*.127.0.0.1:443", "has no names below it");
    check_bad("*.0.1:443", "write the host as `0.0.0.1`");
    check_bad("2130706433:443", "write the host as `127.0.0.1`");
    check_bad("é.example:443", "write the host as `xn--9ca.example`");
}

#[test]
fn only_granted_ip_addresses_may_be_private() {
    let allow = ["127.0.0.1:8080", "localhost:80", "*:443"].map(|grant| grant.parse().unwrap()).into();
    let grants = Grants { allow, deny: Vec::new() };
    assert_eq!(grants.addresses(), [("127.0.0.1".parse().unwrap(), 8080)]);
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_refused(text in "\\PC{0,20}") {
        let _ = text.parse::<HostPortPattern>();
    }

    #[test]
    fn a_grant_prints_as_it_was_written(
        grant in "(\\*|(\\*\\.)?[a-z][a-z0-9-]{0,8}(\\.[a-z]{1,5}){0,2}|10\\.[0-9]\\.[0-9]\\.[0-9]|\\[::[1-9a-f]\\]):[1-9][0-9]{0,3}"
    ) {
        prop_assert_eq!(grant.parse::<HostPortPattern>().unwrap().to_string(), grant);
    }

    #[test]
    fn a_grant_for_one_name_allows_no_other(one in "[a-z.-]{1,12}", other in "[a-z.-]{1,12}") {
        if let (Ok(grant), Some(host)) = (format!("{one}:443").parse::<HostPortPattern>(), host::parse_canonical(&other)) {
            prop_assert_eq!(grant.covers(&host, 443), host::parse_canonical(&one).is_some_and(|one| one == host));
        }
    }
}
