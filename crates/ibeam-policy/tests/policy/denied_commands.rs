//! Commands that deny rules apply to, and the limits of the analysis.

use std::time::Instant;

use ibeam_policy::{Access, Verdict};
use ibeam_protocol::PermissionMode;

use super::{check_allowed_with_force, check_covered, check_denied, check_not_covered, policy};

#[test]
fn a_denied_program_is_found_at_any_position() {
    for command in [
        "touch x",
        "TOUCH x",
        "/usr/bin/touch x",
        "\\touch x",
        "'touch' x",
        "ls; touch x",
        "env touch x",
        "timeout 1 touch x",
        "sh -c 'touch x'",
        "echo x | xargs -n1 touch",
        "busybox touch x",
        "find . -exec touch x \\;",
        "flock l -c 'touch x'",
        "perl -e 'system(\"touch x\")'",
        "/lib64/ld-linux-x86-64.so.2 /usr/bin/touch x",
        "command -p touch x",
        "git -c alias.x='!touch p' x",
        "sudo touch x",
    ] {
        check_denied(&["Shell(touch)"], command);
    }
}

#[test]
fn an_unanalyzable_command_is_denied_if_there_is_a_deny_rule() {
    for command in [
        "c=touch; $c x",
        "$(printf x) y",
        "eval 'to''uch x'",
        "hash -p /bin/touch z; z x",
        "echo dG91 | sh",
        "bash <(echo x)",
        "python3 $x",
        "PATH=bin:$PATH ls",
        "trap 'to''uch x' EXIT",
    ] {
        check_denied(&["Shell(touch)"], command);
        check_allowed_with_force(&[], command);
    }
}

#[test]
fn a_deny_rule_does_not_affect_other_commands() {
    check_allowed_with_force(&["Shell(rm)"], "x(){ y; }; x");
    check_allowed_with_force(&["Shell(rm)"], "for f in *.md; do wc -l \"$f\"; done");
    check_allowed_with_force(&["Shell(rm)"], "set -e; x=$(git rev-parse HEAD); echo \"$x\" > out.txt");
    check_allowed_with_force(&["Shell(git:push*)"], "git commit -m \"$(cat <<'E'\npush rm touch\nE\n)\"");
    check_allowed_with_force(&["Shell(rm)"], "cat > a.sh <<'E'\nrm -rf /\nE");
    check_allowed_with_force(&["Shell(rm)"], "mkdir d0 && rmdir d0");
    check_allowed_with_force(&["Shell(touch)"], "echo touch this; grep -c touch README.md || true");
    check_allowed_with_force(&["Shell(git:push*)"], "git status");
    check_allowed_with_force(&["Read(secrets/**)"], "ls src/*.rs");
}

#[test]
fn path_rules_apply_to_the_words_of_commands() {
    check_denied(&["Read(.env*)"], "cat .env");
    check_denied(&["Read(.env*)"], "cat < .env");
    check_denied(&["Read(.env*)"], "cat .e?v");
    check_denied(&["Read(.env*)"], "git show HEAD:.env");
    check_denied(&["Read(.env*)"], "grep -r KEY .");
    check_denied(&["Read(secrets/**)"], "cat */k");
    check_denied(&["Write(**/*.key)"], "cp README.md server.key");
    check_denied(&["Shell(git:push*)"], "git -C . push origin");
    check_allowed_with_force(&["Write(**/*.key)"], "cat server.key");
}

#[test]
fn force_does_not_allow_redirections_to_protected_files() {
    for command in [
        "touch /tmp/x",
        "cp a .git/config",
        "rm -rf .vscode",
        "echo x > ../y",
        "echo x >> ~/.bashrc",
        "cd / && touch x",
    ] {
        check_denied(&[], command);
    }
    check_allowed_with_force(&[], "echo x > out.txt && rm out.txt");
}

#[test]
fn a_long_command_is_analyzed_and_an_endless_one_is_refused() {
    let long = "a".repeat(70_000);
    check_covered(&["Shell(echo)"], &format!("echo {long}"));
    check_not_covered(&["Shell(echo)"], &format!("echo {long}; touch p"));
    let lists = "echo a && ".repeat(7_000);
    check_covered(&["Shell(echo)"], &format!("{lists}echo b"));
    check_not_covered(&["Shell(echo)"], &format!("{lists}touch p"));
    let lines = "cat <<'E'\nx\nE\n".repeat(40);
    check_covered(&["Shell(cat)"], &lines);
    let endless = ["(", "$(", "`", "\"", "{ ", "[[ ", "a <<E\n", "if ", "${x:-", "<(", "((", "f() { "];
    for piece in endless {
        check_not_covered(&["Shell(echo)", "Shell(a)"], &piece.repeat(70_000 / piece.len()));
        if !matches!(piece, "[[ " | "if ") {
            check_not_covered(&["Shell(echo)", "Shell(a)"], &format!("echo {}", piece.repeat(301)));
        }
    }
    let nested = format!("{}ls{}", "(".repeat(300), ")".repeat(300));
    check_not_covered(&["Shell(ls)"], &nested);
    check_not_covered(&["Shell(echo)"], &format!("echo {}", "a".repeat(1_000_000)));
}

#[test]
fn non_ascii_characters_are_parts_of_words() {
    check_covered(&["Shell(echo)"], "echo \u{10ffff} '\u{10ffff}' é日本\u{1f600} > /dev/null");
    check_not_covered(&["Shell(echo)"], "echo a; é");
    check_not_covered(&["Shell(echo)"], "xé=1; echo a");
    check_not_covered(&["Shell(echo)"], "echo 1\u{10ffff}>\u{10ffff}");
    check_denied(&["Shell(touch)"], "t\u{200b}ouch x");
    check_denied(&["Shell(touch)"], "é\u{a0}touch x");
}

#[test]
fn thousands_of_rules_are_evaluated_quickly() {
    let began = Instant::now();
    let mut policy = policy(PermissionMode::Default, &["Shell(ls)"], &[]);
    for number in 0..20_000 {
        for token in
            [format!("Shell(p{number})"), format!("Read(secret{number}/**)"), format!("Write(*.k{number})")]
        {
            policy.deny.push(token.parse().unwrap());
        }
    }
    let parsed = began.elapsed();
    for _ in 0..5 {
        assert!(matches!(policy.decide(&Access::command("ls src a b c")), Verdict::Allow { .. }));
    }
    assert!(matches!(policy.decide(&Access::command("cat secret19999/x")), Verdict::Deny { .. }));
    let explained = policy.explain(&Access::command("ls src"));
    assert!(explained.parts.first().is_some_and(|part| part.findings.len() > 60_000));
    let all = began.elapsed();
    eprintln!("60,000 rules: read in {parsed:?}, all in {all:?}");
    assert!(all.as_secs() < 30, "{all:?}");
}
