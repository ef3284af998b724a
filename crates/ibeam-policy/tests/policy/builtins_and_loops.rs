//! Built-ins of the shell, loops, and the directory of a command.

use std::path::PathBuf;

use ibeam_policy::{Access, Verdict};
use ibeam_protocol::PermissionMode;

use super::{
    check_all_covered, check_allowed_with_force, check_covered, check_denied, check_none_covered,
    check_not_covered, policy,
};

#[test]
fn a_builtin_that_evaluates_needs_a_rule_and_is_denied_by_deny_rules() {
    for command in [
        "wait -p 'a[$(touch p)]'",
        "ls & wait -n -p 'a[$(touch p)]'",
        "ls & wait -np 'a[$(touch p)]'",
        "ls & wait -fnp'a[$(touch p)]'",
        "ls & wait -n -p \"$x\"",
        "ls & wait $x",
        "command wait -p 'a[$(touch p)]'",
        "builtin wait -p 'a[$(touch p)]'",
        "printf -v 'a[$(touch p)]' x",
        "printf '-v' 'a[$(touch p)]' x",
        "read 'a[$(touch p)]' <<< x",
        "read -a 'a[$(touch p)]' <<< x",
        "read -p x 'a[$(touch p)]' <<< x",
        "unset 'a[$(touch p)]'",
        "unset -v 'a[$(touch p)]'",
        "test -v 'a[$(touch p)]'",
        "[ -v 'a[$(touch p)]' ]",
        "[[ -v a[$(touch p)] ]]",
        "test -R 'a[$(touch p)]'",
        "mapfile 'a[$(touch p)]' < x",
        "mapfile -C 'touch p' -c 1 a < x",
        "readarray -C 'touch p' a < x",
        "let 'a[$(touch p)]=1'",
        "y='a[$(touch p)]'; let x=y",
        "declare -i x='a[$(touch p)]'",
        "typeset -i x='a[$(touch p)]'",
        "f(){ local -i x='a[$(touch p)]'; }; f",
        "f(){ local -n r='a[$(touch p)]'; echo $r; }; f",
        "declare -n r='a[$(touch p)]'; echo $r",
        "export 'a[$(touch p)]=1'",
        "readonly 'a[$(touch p)]=1'",
        "getopts x 'a[$(touch p)]'",
        "exec {a[$(touch p)]}>x",
        "x='a[$(touch p)]'; echo ${!x}",
        "x='a[$(touch p)]'; echo $((x))",
        "x='a[$(touch p)]'; ((x))",
        "x='a[$(touch p)]'; [[ $x -eq 1 ]]",
        "x=ls; echo ${x:a[$(touch p)]}",
        "a=(1); a['$(touch p)']=1",
        "trap 'touch p' EXIT",
        "complete -C 'touch p' ls",
        "compgen -C 'touch p'",
        "bind -x '\"x\": touch p'",
        "enable -f ./e.so e",
        "hash -p ./e ls; ls",
        "alias ls=touch",
        "PROMPT_COMMAND='touch p'",
        "coproc touch p",
        "coproc NAME { touch p; }",
        "select x in a; do touch p; done",
        "jobs -x touch p",
        "fc -s touch",
        "history -w x; touch p",
        "shift 'a[$(touch p)]'",
        "exit 'a[$(touch p)]'",
        "break 'a[$(touch p)]'",
        "caller 'a[$(touch p)]'",
    ] {
        check_not_covered(
            &[
                "Shell(ls)",
                "Shell(echo)",
                "Shell(wait)",
                "Shell(unset)",
                "Shell(test)",
                "Shell(printf)",
                "Shell(read)",
            ],
            command,
        );
        check_denied(&["Shell(touch)"], command);
    }
}

#[test]
fn a_builtin_that_does_not_evaluate_needs_no_rule() {
    for command in [
        "ls & wait",
        "ls & wait $!",
        "ls & wait \"$!\"",
        "ls & wait %1",
        "ls & wait -n",
        "ls & pid=$!; wait $pid",
        "ls & pid=$!; ls; wait \"$pid\"; exit $?",
        "ls || exit 1",
        "ls; exit \"$code\"",
        "while true; do ls; break 2; done",
        "set -e; shift; ls",
        "ls & wait 12 13",
    ] {
        check_covered(&["Shell(ls)"], command);
        check_allowed_with_force(&["Shell(touch)"], command);
    }
    for command in
        ["ls & pid=$!; pid=$x; wait $pid", "ls & pid=$!; read pid < a; wait $pid", "ls & wait $pid"]
    {
        check_not_covered(&["Shell(ls)"], command);
    }
}

#[test]
fn a_loop_over_words_is_checked_for_each_word() {
    check_all_covered(&[
        ("wc", "for f in *.md; do wc -l \"$f\"; done"),
        ("wc", "for f in *.md; do wc -l \"${f}\"; done"),
        ("cat", "for f in a b src/c; do cat $f; done"),
        ("cat", "for d in a b; do for f in x y; do cat \"$d/$f\"; done; done"),
        ("grep", "for f in src/*.rs; do grep -n x \"$f\"; done"),
        ("head", "for f in *; do head -n 5 \"$f\"; done"),
        ("sort", "for f in ./*.txt; do sort \"$f\"; done"),
        ("cat", "while true; do for f in a; do cat \"$f\"; done; done"),
    ]);
    check_none_covered(&[
        ("sort", "for f in *; do sort \"$f\"; done"),
        ("sort", "for f in a -ox; do sort \"$f\"; done"),
        ("wc", "for f in *.md; do wc -l $f; done"),
        ("cat", "for f in ~/.ssh/id_rsa; do cat \"$f\"; done"),
        ("cat", "for f in ../.ssh/*; do cat \"$f\"; done"),
        ("cat", "for f in id_rsa; do cat ~/.ssh/\"$f\"; done"),
        ("cat", "for f in a; do f=../.ssh/id_rsa; cat \"$f\"; done"),
        ("cat", "for f in a; do read f < b; cat \"$f\"; done"),
        ("cat", "for f in a; do cat \"$f\"; done; cat \"$f\""),
        ("cat", "g(){ f=../.ssh/id_rsa; }; for f in a; do g; cat \"$f\"; done"),
        ("cat", "for f in $(ls); do cat \"$f\"; done"),
        ("cat", "for f in \"$x\"; do cat \"$f\"; done"),
        ("cat", "for f in {a,b}; do cat \"$f\"; done"),
        ("cat", "for f; do cat \"$f\"; done"),
        ("find", "for o in -delete; do find . $o; done"),
        ("touch", "for f in a /srv/b; do touch \"$f\"; done"),
        ("touch", "for f in .git/config; do touch \"$f\"; done"),
        ("cat", "for f in a b; do cat \"$f$x\"; done"),
        ("cat", "IFS=x; for f in a; do cat $f; done"),
        ("cat", "for c in cat touch; do $c p; done"),
    ]);
    check_denied(&["Read(.env*)"], "for f in .env; do cat \"$f\"; done");
    check_denied(&["Read(secret/**)"], "for f in k; do cat secret/\"$f\"; done");
    check_denied(&["Read(.env*)"], "for f in .e*; do cat \"$f\"; done");
}

#[track_caller]
fn decide_in(directory: &str, allow: &[&str], deny: &[&str], force: bool, command: &str) -> Verdict {
    let mode = if force { PermissionMode::Force } else { PermissionMode::Default };
    let access = Access::Command { text: command.to_owned(), directory: Some(PathBuf::from(directory)) };
    policy(mode, allow, deny).decide(&access)
}

#[test]
fn a_command_is_checked_in_its_directory() {
    for (directory, allow, deny, force, command) in [
        ("/home/ann/.ssh", "Shell(cat)", "", false, "cat id_rsa"),
        ("/home/ann/.ssh", "Shell(cat:*)", "", false, "cat id_rsa"),
        ("/home/ann/.ssh", "", "", true, "cat id_rsa"),
        ("/home/ann/.ssh", "", "", true, "true"),
        ("/home/ann", "Shell(cat)", "", false, "cat .ssh/id_rsa"),
        ("/home/ann", "Shell(grep)", "", false, "grep -r KEY"),
        ("/proc/self", "Shell(cat)", "", false, "cat environ"),
        ("/home/ann/work/secret", "", "Read(secret/**)", true, "cat k"),
        ("/home/ann/work/secret/deep", "", "Read(secret/)", true, "cat k"),
        ("/home/ann/work/a", "", "Read(a/k)", true, "cat k"),
        ("/home/ann/work/a", "", "Read(a/k)", true, "cat < k"),
        ("/home/ann/work/a", "", "Write(a/k)", true, "touch k"),
        ("/srv", "Shell(touch)", "", false, "touch x"),
        ("/srv", "", "", true, "touch x"),
        ("/srv", "", "", true, "echo x > y"),
        ("/home/ann/work/.git", "", "", true, "touch config"),
        ("/home/ann/work/.git", "", "", true, "echo x > hooks/post-commit"),
        ("/srv/repo", "Shell(git)", "", false, "git status"),
        ("/srv/repo", "Shell(make)", "", false, "make"),
        ("/srv/repo", "Shell(cargo)", "", false, "cargo test"),
        ("/srv/repo", "Shell(./run.sh)", "", false, "./run.sh"),
        ("/srv/repo", "Shell(./ls)", "", false, "./ls"),
        ("/home/ann/work/a", "", "Shell(touch)", true, "touch k"),
    ] {
        let list = |token: &'static str| if token.is_empty() { Vec::new() } else { vec![token] };
        let verdict = decide_in(directory, &list(allow), &list(deny), force, command);
        let (Verdict::Deny { reason, .. } | Verdict::Ask { reason, .. }) = verdict else {
            panic!("{command} in {directory}: {verdict:?}")
        };
        assert!(reason.contains(&format!("`{directory}`")), "{reason}");
    }
    for (directory, allow, command) in [
        ("/home/ann/work/src", "Shell(cat)", "cat main.rs"),
        ("/home/ann/work/src", "Shell(cat)", "cat ../README.md"),
        ("/usr/include", "Shell(cat)", "cat stdio.h"),
        ("/home/ann/work/src", "Shell(cargo)", "cargo test"),
        ("/home/ann/work/src", "Shell(touch)", "touch ../x"),
        ("/home/ann/work", "Shell(git)", "git status"),
    ] {
        let verdict = decide_in(directory, &[allow], &[], false, command);
        assert!(matches!(verdict, Verdict::Allow { .. }), "{command} in {directory}: {verdict:?}");
    }
}

#[test]
fn a_start_directory_needs_the_same_approval_as_its_files() {
    let mut policy = policy(PermissionMode::Default, &["Shell(ls)"], &["Shell(rm)"]);
    policy.ask.push("Read(notes/**)".parse().unwrap());
    let access = |text: &str| Access::Command {
        text: text.to_owned(),
        directory: Some(PathBuf::from("/home/ann/work/notes")),
    };
    assert!(matches!(policy.decide(&access("ls")), Verdict::Ask { .. }));
    // A question does not hide a denial.
    assert!(matches!(policy.decide(&access("rm x")), Verdict::Deny { .. }));
    assert!(matches!(policy.decide(&Access::command("ls")), Verdict::Allow { .. }));
}
