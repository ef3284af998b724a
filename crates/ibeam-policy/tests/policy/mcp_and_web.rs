//! Verdicts on MCP tools and on addresses.

use ibeam_policy::{Access, Policy};
use ibeam_protocol::PermissionMode;

use super::{Outcome, check, policy};

#[track_caller]
fn check_mcp(policy: &Policy, name: &str, read_only: bool, expect: Outcome) {
    let (server, tool) = name.split_once(':').unwrap();
    check(policy, Access::Mcp { server: server.into(), tool: tool.into(), read_only }, expect);
}

#[test]
fn an_mcp_tool_needs_a_rule_or_a_person() {
    check_mcp(&policy(PermissionMode::Default, &[], &[]), "db:query", false, Outcome::Ask);
    check_mcp(&policy(PermissionMode::Default, &[], &[]), "db:query", true, Outcome::Ask);
    check_mcp(&policy(PermissionMode::Default, &["Mcp(db:query)"], &[]), "db:query", false, Outcome::Allow);
    check_mcp(&policy(PermissionMode::Default, &["Mcp(db:*)"], &[]), "db:drop", false, Outcome::Allow);
    check_mcp(&policy(PermissionMode::Default, &["Mcp(db:que*)"], &[]), "db:drop", false, Outcome::Ask);
    check_mcp(&policy(PermissionMode::Default, &["Mcp(db:*)"], &[]), "other:query", false, Outcome::Ask);
    check_mcp(&policy(PermissionMode::Force, &[], &[]), "db:drop", false, Outcome::Allow);
}

#[test]
fn a_denied_mcp_tool_is_denied_whatever_other_rules_allow() {
    check_mcp(
        &policy(PermissionMode::Force, &["Mcp(*:*)"], &["Mcp(db:drop)"]),
        "db:drop",
        true,
        Outcome::Deny,
    );
    check_mcp(&policy(PermissionMode::Force, &[], &["Mcp(db:DROP*)"]), "DB:drop_table", false, Outcome::Deny);
    check_mcp(&policy(PermissionMode::Force, &[], &["Mcp(db:drop)"]), "db:query", false, Outcome::Allow);
}

#[test]
fn read_only_modes_allow_only_read_only_mcp_tools() {
    for mode in [PermissionMode::Plan, PermissionMode::Ask] {
        check_mcp(&policy(mode, &["Mcp(*:*)"], &[]), "db:drop", false, Outcome::Deny);
        check_mcp(&policy(mode, &["Mcp(*:*)"], &[]), "db:query", true, Outcome::Allow);
        check_mcp(&policy(mode, &[], &[]), "db:query", true, Outcome::Ask);
    }
}

#[track_caller]
fn check_fetch(allow: &[&str], deny: &[&str], url: &str, expect: Outcome) {
    let policy = policy(PermissionMode::Default, allow, deny);
    check(&policy, Access::Fetch { url: url.into() }, expect);
}

#[test]
fn a_port_other_than_the_web_ports_must_be_named() {
    for (token, url, expect) in [
        ("WebFetch(docs.test)", "http://docs.test:8080/", Outcome::Ask),
        ("WebFetch(docs.test:8080)", "http://docs.test:8080/", Outcome::Allow),
        ("WebFetch(docs.test:8080)", "https://docs.test:8080/", Outcome::Allow),
        ("WebFetch(docs.test:8080)", "http://docs.test/", Outcome::Ask),
        ("WebFetch(docs.test:8080)", "http://docs.test:80801/", Outcome::Deny),
        ("WebFetch(*.test:8080)", "http://docs.test:8080/", Outcome::Allow),
        ("WebFetch(*)", "http://docs.test:6379/", Outcome::Ask),
        ("WebFetch(*:6379)", "http://docs.test:6379/", Outcome::Allow),
        ("WebFetch(*)", "https://docs.test/", Outcome::Allow),
    ] {
        check_fetch(&[token], &[], url, expect);
    }
    // A deny rule without a port applies to every port.
    check_fetch(&["WebFetch(*:22)"], &["WebFetch(docs.test)"], "http://docs.test:22/", Outcome::Deny);
    check_fetch(&["WebFetch(*)"], &["WebFetch(docs.test:22)"], "http://docs.test/", Outcome::Allow);
}

#[test]
fn a_domain_matches_only_the_complete_host() {
    let allow = ["WebFetch(docs.test)", "WebFetch(*.good.test)"];
    let deny = ["WebFetch(bad.good.test)"];
    for url in [
        "http://docs.test/",
        "https://docs.test",
        "HTTPS://DOCS.test:443/a?b#c",
        "https://docs.test:80/",
        "http://docs.test:/",
        "https://docs.test./x",
        "https://a.good.test/@evil.test",
        "https://a.b.good.test/%00",
        "https://docs.test?x=http://evil.test",
    ] {
        check_fetch(&allow, &deny, url, Outcome::Allow);
    }
    for url in [
        "HTTPS://DOCS.test:8443/a?b#c",
        "http://docs.test:22/",
        "http://a.good.test:8080/",
        "http://docs.test.evil.test/",
        "http://evil.test/docs.test",
        "http://evil.test#docs.test",
        "http://evil.test?docs.test",
        "http://evilgood.test/",
        "http://good.test/",
        "http://xn--docs-.test/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://127.1:80/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]:80/",
        "http://169.254.169.254/latest",
    ] {
        check_fetch(&allow, &deny, url, Outcome::Ask);
    }
    for url in [
        "http://docs.test@evil.test/",
        "http://docs.test:x@evil.test/",
        "http://user@docs.test/",
        "http://evil.test\\@docs.test/",
        "http://docs.test\\.evil.test/",
        "http://docs.test%00.evil.test/",
        "http://docs%2etest/",
        "http://docs.test:80:90/",
        "http://docs.test:8a/",
        "http://docs.test:99999/",
        "http://[::1/",
        "http://[::1]x/",
        "http://[docs.test]/",
        "http://docs.test /",
        "http://docs.test\t/",
        "http://docs.test\n/",
        " http://docs.test/",
        "http:/docs.test/",
        "http:docs.test",
        "//docs.test/",
        "docs.test",
        "file:///etc/passwd",
        "gopher://docs.test/",
        "javascript://docs.test/%0aalert(1)",
        "http://d\u{43e}cs.test/",
        "http://docs\u{3002}test/",
        "http:///docs.test",
        "http://.docs.test/",
        "http://",
        "",
        "http://bad.good.test/",
        "http://BAD.good.test./",
    ] {
        check_fetch(&allow, &deny, url, Outcome::Deny);
    }
}
