//! Ask rules, commands in a sandbox and strict approval.

use ibeam_policy::{Access, ApprovalMode, Policy, Verdict};
use ibeam_protocol::PermissionMode;

use super::{Outcome, outcome_of, policy};

#[track_caller]
fn check_rule(change: impl Fn(&mut Policy), access: Access, expect: Outcome, rule: &str) {
    let mut policy =
        policy(PermissionMode::Default, &["Shell(ls)", "Shell(git)", "Write(src/**)", "Mcp(db:*)"], &[]);
    change(&mut policy);
    let verdict = policy.decide(&access);
    let (Verdict::Allow { rule: by } | Verdict::Deny { rule: by, .. } | Verdict::Ask { rule: by, .. }) =
        &verdict;
    assert_eq!((outcome_of(&verdict), by.as_str()), (expect, rule), "{access:?}: {verdict:?}");
}

#[test]
fn an_ask_rule_requires_approval_of_an_allowed_call() {
    let asking = |policy: &mut Policy| {
        for token in
            ["Shell(git:push*)", "Write(src/gen/**)", "Read(notes/**)", "Mcp(db:drop*)", "Shell(curl)"]
        {
            policy.ask.push(token.parse().unwrap());
        }
    };
    let command = |text: &str| Access::command(text);
    let mcp = |tool: &str| Access::Mcp { server: "db".into(), tool: tool.into(), read_only: false };
    for (access, expect, rule) in [
        (command("ls && git push"), Outcome::Ask, "Shell(git:push*)"),
        (command("timeout 5 curl x"), Outcome::Ask, "Shell(curl)"),
        (command("ls > src/gen/a"), Outcome::Ask, "Write(src/gen/**)"),
        (command("ls notes/x"), Outcome::Ask, "Read(notes/**)"),
        (command("ls"), Outcome::Allow, "Shell(ls)"),
        (Access::Write("/home/ann/work/src/gen/a".into()), Outcome::Ask, "Write(src/gen/**)"),
        (Access::Write("/home/ann/work/src/a".into()), Outcome::Allow, "Write(src/**)"),
        (Access::Read("/home/ann/work/notes/a".into()), Outcome::Ask, "Read(notes/**)"),
        (mcp("drop_table"), Outcome::Ask, "Mcp(db:drop*)"),
        (mcp("read"), Outcome::Allow, "Mcp(db:*)"),
    ] {
        check_rule(asking, access, expect, rule);
    }
    let forced = |policy: &mut Policy| {
        asking(policy);
        policy.mode = PermissionMode::Force;
    };
    check_rule(forced, command("git push"), Outcome::Allow, "--force");
    check_rule(forced, Access::Write("/home/ann/work/src/gen/a".into()), Outcome::Allow, "Write(src/**)");
    check_rule(forced, Access::Read("/home/ann/work/notes/a".into()), Outcome::Allow, "workspace");
    check_rule(forced, mcp("drop_table"), Outcome::Allow, "Mcp(db:*)");
}

#[test]
fn an_uncovered_command_runs_if_it_is_sandboxed() {
    let command = |text: &str| Access::command(text);
    let confined = |policy: &mut Policy| policy.sandboxed = true;
    check_rule(confined, command("cargo test"), Outcome::Allow, "sandboxed");
    check_rule(confined, command("a=(1) eval \"$x\""), Outcome::Allow, "sandboxed");
    check_rule(confined, command("echo x > out.txt"), Outcome::Allow, "sandboxed");
    // The sandbox confines access outside, and these directories are different ones inside it.
    for text in [
        "cp a /tmp/a && sort /tmp/a > /tmp/b",
        "touch /etc/x",
        "file /dev/null /dev/sda",
        "ps; cat /proc/cpuinfo /proc/self/stat",
    ] {
        check_rule(confined, command(text), Outcome::Allow, "sandboxed");
    }
    for text in ["cat ~/.ssh/id_rsa", "echo x >> .git/config", "cp /etc/shadow ."] {
        for mode in [PermissionMode::Default, PermissionMode::Force] {
            let set = |policy: &mut Policy| {
                policy.sandboxed = true;
                policy.mode = mode;
            };
            let rule = if text.contains(".git") { "protected" } else { "credentials" };
            check_rule(set, command(text), Outcome::Deny, rule);
        }
    }
    check_rule(confined, command("ls"), Outcome::Allow, "Shell(ls)");
    check_rule(confined, command("touch .git/config"), Outcome::Deny, "protected");
    let asking = |policy: &mut Policy| {
        policy.sandboxed = true;
        policy.ask.push("Shell(cargo)".parse().unwrap());
    };
    check_rule(asking, command("cargo test"), Outcome::Ask, "Shell(cargo)");
    check_rule(asking, command("$(x)"), Outcome::Ask, "Shell(cargo)");
    let listed = |policy: &mut Policy| {
        policy.sandboxed = true;
        policy.approval = ApprovalMode::Allowlist;
    };
    check_rule(listed, command("cargo test"), Outcome::Ask, "default");
    check_rule(|_| {}, command("cargo test"), Outcome::Ask, "default");
    let denying = |policy: &mut Policy| {
        policy.sandboxed = true;
        policy.deny.push("Shell(cargo)".parse().unwrap());
    };
    check_rule(denying, command("cargo test"), Outcome::Deny, "Shell(cargo)");
}

#[test]
fn strict_approval_applies_to_files_too() {
    let strict = |allow: &'static [&str]| {
        move |policy: &mut Policy| {
            policy.sandboxed = true;
            policy.approval = ApprovalMode::Strict;
            policy.allow = allow.iter().map(|token| token.parse().unwrap()).collect();
        }
    };
    let read = |path: &str| Access::Read(path.into());
    let write = |path: &str| Access::Write(path.into());
    let command = |text: &str| Access::command(text);
    check_rule(strict(&[]), read("/home/ann/work/a"), Outcome::Allow, "workspace");
    check_rule(strict(&[]), read("/srv/extra/a"), Outcome::Allow, "workspace");
    check_rule(strict(&[]), read("/usr/include/a.h"), Outcome::Ask, "default");
    check_rule(strict(&["Read(/usr/**)"]), read("/usr/include/a.h"), Outcome::Allow, "Read(/usr/**)");
    check_rule(strict(&[]), write("/home/ann/work/a"), Outcome::Ask, "default");
    check_rule(strict(&["Write(src/**)"]), write("/home/ann/work/a"), Outcome::Ask, "default");
    check_rule(strict(&["Write(src/**)"]), write("/home/ann/work/src/a"), Outcome::Allow, "Write(src/**)");
    check_rule(strict(&["Write(**)"]), write("/etc/a"), Outcome::Deny, "outside");
    check_rule(strict(&["Shell(git)"]), command("git status"), Outcome::Allow, "Shell(git)");
    check_rule(strict(&["Shell(git)"]), command("git status > log"), Outcome::Ask, "default");
    check_rule(
        strict(&["Shell(git)", "Write(log)"]),
        command("git status > log"),
        Outcome::Allow,
        "Shell(git)",
    );
    check_rule(strict(&["Shell(sort)"]), command("sort < /srv/other"), Outcome::Ask, "default");
    let forced = |policy: &mut Policy| {
        strict(&[])(policy);
        policy.mode = PermissionMode::Force;
    };
    check_rule(forced, write("/home/ann/work/a"), Outcome::Allow, "workspace");
    check_rule(forced, read("/usr/include/a.h"), Outcome::Allow, "default");
}
