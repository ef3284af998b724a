//! Any command: the analysis does not crash, a deny rule or an ask rule never allows more, the explanation has the same
//! verdict as the decision, and a command with a program that no rule names is not allowed.
#![no_main]

use ibeam_policy::{Access, Policy, Verdict};
use ibeam_protocol::PermissionMode;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|command: &str| {
    let rule = |token: &str| token.parse().expect("a token");
    let mut open = Policy::new(PermissionMode::Default, "/w".into(), "/h".into());
    open.allow = vec![rule("Shell(ls)"), rule("Shell(git:*)"), rule("Shell(echo)"), rule("Write(out/**)")];
    let narrow = Policy { deny: vec![rule("Shell(rm)"), rule("Read(.env*)")], ..open.clone() };
    let asking = Policy { ask: vec![rule("Shell(git:push*)")], ..open.clone() };
    let access = Access::command(command);
    let allows = |policy: &Policy| matches!(policy.decide(&access), Verdict::Allow { .. });
    assert!(!allows(&narrow) || allows(&open));
    assert!(!allows(&asking) || allows(&open));
    let explained = open.explain(&access);
    assert_eq!(explained.verdict, open.decide(&access));
    let is_uncovered = |part: &ibeam_policy::AccessPart| part.programs.last().is_some_and(|name| name == "touch");
    assert!(!allows(&open) || !explained.parts.iter().any(is_uncovered));
});
