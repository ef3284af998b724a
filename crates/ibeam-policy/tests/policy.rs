//! Verdicts, explanations and path rules of a policy, as tables.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "clippy knows only functions marked #[test] as tests; others measure time, write a document or run bash"
)]

#[path = "policy/approval.rs"]
mod approval;
#[path = "policy/builtins_and_loops.rs"]
mod builtins_and_loops;
#[path = "policy/corpus.rs"]
mod corpus;
#[path = "policy/covered_commands.rs"]
mod covered_commands;
#[path = "policy/denied_commands.rs"]
mod denied_commands;
#[path = "policy/differential.rs"]
mod differential;
#[path = "policy/end_to_end"]
mod end_to_end {
    mod permissions;
}
#[path = "policy/explain.rs"]
mod explain;
#[path = "policy/files.rs"]
mod files;
#[path = "policy/links.rs"]
mod links;
#[path = "policy/mcp_and_web.rs"]
mod mcp_and_web;
#[path = "policy/ordinary_options.rs"]
mod ordinary_options;
#[path = "policy/path_policy.rs"]
mod path_policy;
#[path = "policy/properties.rs"]
mod properties;
#[path = "policy/protected_names.rs"]
mod protected_names;
#[path = "policy/publishing.rs"]
mod publishing;
#[path = "policy/tokens.rs"]
mod tokens;

use std::path::PathBuf;

use ibeam_policy::{Access, Policy, Rule, Verdict};
use ibeam_protocol::PermissionMode;

/// The kind of a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Allow,
    Deny,
    Ask,
}

/// Returns a policy with these allow and deny rules for the workspace `/home/ann/work`.
fn policy(mode: PermissionMode, allow: &[&str], deny: &[&str]) -> Policy {
    let rules = |tokens: &[&str]| tokens.iter().map(|token| token.parse::<Rule>().unwrap()).collect();
    let mut policy = Policy::new(mode, PathBuf::from("/home/ann/work"), PathBuf::from("/home/ann"));
    policy.extra_dirs = vec![PathBuf::from("/srv/extra")];
    policy.private_dirs = vec![PathBuf::from("/var/state")];
    policy.allow = rules(allow);
    policy.deny = rules(deny);
    policy
}

fn outcome_of(verdict: &Verdict) -> Outcome {
    match verdict {
        Verdict::Allow { .. } => Outcome::Allow,
        Verdict::Deny { .. } => Outcome::Deny,
        Verdict::Ask { .. } => Outcome::Ask,
    }
}

/// Returns the verdict on a command with these allow rules and nothing else.
fn decide_command(allow: &[&str], command: &str) -> Verdict {
    policy(PermissionMode::Default, allow, &[]).decide(&Access::command(command))
}

#[track_caller]
fn check(policy: &Policy, access: Access, expect: Outcome) {
    let verdict = policy.decide(&access);
    assert_eq!(outcome_of(&verdict), expect, "{access:?}: {verdict:?}");
}

#[track_caller]
fn check_read(path: &str, expect: Outcome) {
    check(&policy(PermissionMode::Default, &[], &[]), Access::Read(path.into()), expect);
}

#[track_caller]
fn check_write(path: &str, expect: Outcome) {
    check(&policy(PermissionMode::Force, &[], &[]), Access::Write(path.into()), expect);
}

#[track_caller]
fn check_covered(allow: &[&str], command: &str) {
    check(&policy(PermissionMode::Default, allow, &[]), Access::command(command), Outcome::Allow);
}

#[track_caller]
fn check_not_covered(allow: &[&str], command: &str) {
    let verdict = decide_command(allow, command);
    assert_ne!(outcome_of(&verdict), Outcome::Allow, "{command}: {verdict:?}");
}

#[track_caller]
fn check_denied(deny: &[&str], command: &str) {
    check(&policy(PermissionMode::Force, &[], deny), Access::command(command), Outcome::Deny);
}

#[track_caller]
fn check_allowed_with_force(deny: &[&str], command: &str) {
    check(&policy(PermissionMode::Force, &[], deny), Access::command(command), Outcome::Allow);
}

/// Checks whether one allow rule covers a command.
#[track_caller]
fn check_coverage(rule: &str, command: &str, expect: bool) {
    let verdict = decide_command(&[rule], command);
    assert_eq!(outcome_of(&verdict) == Outcome::Allow, expect, "{rule}: {command}: {verdict:?}");
}

/// Checks that no command is covered by `Shell(PROGRAM)`.
#[track_caller]
fn check_none_covered(rows: &[(&str, &str)]) {
    for (program, command) in rows {
        check_coverage(&format!("Shell({program})"), command, false);
    }
}

/// Checks that each command is covered by `Shell(PROGRAM)`.
#[track_caller]
fn check_all_covered(rows: &[(&str, &str)]) {
    for (program, command) in rows {
        check_coverage(&format!("Shell({program})"), command, true);
    }
}
