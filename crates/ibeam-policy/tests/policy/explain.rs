//! Explanations, as tables.

#![allow(clippy::unwrap_used, reason = "clippy knows only functions marked #[test] as tests")]

use std::path::PathBuf;

use ibeam_policy::{Access, Policy, Rule, RuleList, Verdict, VerdictExplanation};
use ibeam_protocol::PermissionMode;

fn explain(access: Access) -> VerdictExplanation {
    let rules = |tokens: &[&str]| tokens.iter().map(|token| token.parse::<Rule>().unwrap()).collect();
    let mut policy = Policy::new(PermissionMode::Default, PathBuf::from("/w"), PathBuf::from("/home/ann"));
    policy.deny = rules(&["Shell(touch)", "Read(.env*)"]);
    policy.ask = rules(&["Shell(git:push*)", "WebFetch(*.test)"]);
    policy.allow = rules(&["Shell(ls)", "Shell(git)", "Shell(sort)", "Write(out/**)"]);
    let explained = policy.explain(&access);
    assert_eq!(explained.verdict, policy.decide(&access), "{access:?}");
    explained
}

/// Checks each part, written as `program<program: rules that apply`, with a letter for the list.
#[track_caller]
fn check(access: Access, expect: &[&str]) {
    let explained = explain(access);
    let letter = |list| match list {
        RuleList::Deny => 'd',
        RuleList::Ask => 'q',
        RuleList::Allow => 'a',
        RuleList::BuiltIn => 'b',
    };
    let parts: Vec<String> = explained
        .parts
        .iter()
        .map(|part| {
            let applying = part.findings.iter().filter(|finding| finding.applies);
            let rules: Vec<String> =
                applying.map(|finding| format!("{}:{}", letter(finding.list), finding.rule)).collect();
            format!("{} | {} | {}", part.subject, part.programs.join(" > "), rules.join(" "))
        })
        .collect();
    assert_eq!(parts, expect, "{explained:?}");
}

fn command(text: &str) -> Access {
    Access::command(text)
}

#[test]
fn every_simple_command_is_listed_with_the_rules_that_apply() {
    check(
        command("ls -l && timeout 5 env touch x"),
        &["ls -l | ls | a:Shell(ls)", "touch x | timeout > env > touch | d:Shell(touch) b:default"],
    );
    check(
        command("git status; git push"),
        &["git status | git | a:Shell(git)", "git push | git | q:Shell(git:push*) b:default"],
    );
    check(command("sort a -o b"), &["sort a -o b | sort | b:default"]);
    check(
        command("ls $(cat .env) > out/x"),
        &[
            "cat .env | cat | d:Read(.env*) b:default",
            "ls $(cat .env) > out/x | ls | d:Read(.env*) a:Write(out/**) b:default",
        ],
    );
    check(
        command("x=1; PATH=y; cd src"),
        &["PATH=… |  | d:Shell(touch) q:Shell(git:push*) b:default", "cd src | cd | b:default"],
    );
    check(
        command("touch .git/config"),
        &["touch .git/config | touch | d:Shell(touch) b:protected b:default"],
    );
}

/// In the sandbox, a command that no rule covers is allowed.
#[test]
fn what_is_allowed_already_needs_no_hint() {
    let mut policy = Policy::new(PermissionMode::Default, PathBuf::from("/w"), PathBuf::from("/home/ann"));
    let reason = |policy: &Policy| policy.explain(&command("make")).parts[0].findings[0].reason.clone();
    assert!(reason(&policy).contains("a person may allow it with"), "{}", reason(&policy));
    policy.sandboxed = true;
    assert_eq!(reason(&policy), "the command `make` is not covered by an allow rule");
}

/// The findings and the verdict never contradict each other: only the rule that allows a command applies to it.
#[test]
fn no_finding_contradicts_a_verdict_that_allows() {
    let mut policy = Policy::new(PermissionMode::Default, PathBuf::from("/w"), PathBuf::from("/home/ann"));
    policy.sandboxed = true;
    for text in ["git push", "a b; eval \"$x\"", "make && ls"] {
        let explained = policy.explain(&command(text));
        assert_eq!(explained.verdict, Verdict::Allow { rule: "sandboxed".to_owned() }, "{text}");
        for part in &explained.parts {
            let rules: Vec<&str> = part.findings.iter().map(|finding| finding.rule.as_str()).collect();
            assert_eq!(rules, ["sandboxed"], "{explained:?}");
        }
    }
}

/// A flag that would not help is not named.
#[test]
fn a_denied_command_has_no_hint_how_to_allow_it() {
    let policy = Policy::new(PermissionMode::Plan, PathBuf::from("/w"), PathBuf::from("/home/ann"));
    let explained = policy.explain(&command("npm i"));
    assert!(matches!(explained.verdict, Verdict::Deny { .. }), "{explained:?}");
    let reasons =
        explained.parts.iter().flat_map(|part| &part.findings).map(|found| found.reason.to_string());
    assert!(!reasons.collect::<String>().contains("a person may allow it"), "{explained:?}");
}

#[test]
fn an_unanalyzable_command_is_reported_with_the_reason() {
    let explained = explain(command("echo 'x"));
    assert!(explained.unanalyzable.is_some() && explained.parts.is_empty(), "{explained:?}");
}

#[test]
fn files_addresses_and_tools_have_one_part() {
    check(Access::Read("/w/sub/.env".into()), &["/w/sub/.env |  | d:Read(.env*)"]);
    check(Access::Write("/w/out/a".into()), &["/w/out/a |  | a:Write(out/**)"]);
    check(Access::Write("/w/b".into()), &["/w/b |  | b:workspace"]);
    check(Access::Fetch { url: "https://a.test/x".into() }, &["https://a.test/x |  | q:WebFetch(*.test)"]);
    check(Access::Mcp { server: "db".into(), tool: "q".into(), read_only: false }, &["db:q |  | "]);
}
