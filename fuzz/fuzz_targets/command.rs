//! Any command: the analysis neither crashes nor lets a deny rule or an ask rule allow more, the explanation is the
//! decision, and nothing runs by an allow rule that no part of the explanation names.
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
    let strange = |part: &ibeam_policy::AccessPart| part.programs.last().is_some_and(|name| name == "touch");
    assert!(!allows(&open) || !explained.parts.iter().any(strange));
});
