//! Verdicts of the policy, as tables: rules, access, verdict.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "clippy knows only functions marked #[test] as tests"
)]

use std::path::PathBuf;

use ibeam_policy::{Access, Policy, Rule, Verdict};
use ibeam_protocol::PermissionMode;
use proptest::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Allow,
    Deny,
    Ask,
}

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

#[track_caller]
fn check(policy: &Policy, access: Access, expect: Outcome) {
    let verdict = policy.decide(&access);
    assert_eq!(outcome_of(&verdict), expect, "{access:?}: {verdict:?}");
}

#[track_caller]
fn read(path: &str, expect: Outcome) {
    check(&policy(PermissionMode::Default, &[], &[]), Access::Read(path.into()), expect);
}

#[track_caller]
fn write(path: &str, expect: Outcome) {
    check(&policy(PermissionMode::Force, &[], &[]), Access::Write(path.into()), expect);
}

#[track_caller]
fn covered(allow: &[&str], command: &str) {
    check(&policy(PermissionMode::Default, allow, &[]), Access::command(command), Outcome::Allow);
}

#[track_caller]
fn not_covered(allow: &[&str], command: &str) {
    let verdict = policy(PermissionMode::Default, allow, &[]).decide(&Access::command(command));
    assert_ne!(outcome_of(&verdict), Outcome::Allow, "{command}: {verdict:?}");
}

#[track_caller]
fn denied(deny: &[&str], command: &str) {
    check(&policy(PermissionMode::Force, &[], deny), Access::command(command), Outcome::Deny);
}

#[track_caller]
fn forced(deny: &[&str], command: &str) {
    check(&policy(PermissionMode::Force, &[], deny), Access::command(command), Outcome::Allow);
}

// ---- tokens

#[test]
fn a_token_prints_as_it_is_written() {
    for token in [
        "Shell(ls)",
        "Shell(git:status*)",
        "Read(~/x/**)",
        "Write(src/)",
        "WebFetch(*.a.test)",
        "WebFetch(a.test:8080)",
        "Mcp(db:read*)",
    ] {
        assert_eq!(token.parse::<Rule>().unwrap().to_string(), token);
    }
    assert_eq!(" Shell( touch ) ".parse::<Rule>().unwrap().to_string(), "Shell(touch)");
}

#[test]
fn an_invalid_token_is_reported_with_the_valid_forms() {
    for token in [
        "Shel(touch)",
        "Shell(touch",
        "Shell()",
        "ls",
        "Shell(rm -rf)",
        "Read([)",
        "Mcp(db)",
        "WebFetch(http://a)",
        "WebFetch(a:0)",
        "WebFetch(a:65536)",
        "WebFetch(a:+80)",
        "WebFetch(a:)",
        "WebFetch(:80)",
        "Read(../x)",
    ] {
        let message = token.parse::<Rule>().unwrap_err().to_string();
        assert!(message.contains(&format!("`{token}`")) && message.contains("`Shell(program)`"), "{message}");
    }
}

// ---- files

#[test]
fn the_workspace_and_extra_directories_may_be_read_and_written() {
    for path in [
        "/home/ann/work/README.md",
        "/home/ann/work/.env",
        "/srv/extra/deep/er.txt",
        "/home/ann/work/gitconfig.md",
    ] {
        read(path, Outcome::Allow);
        write(path, Outcome::Allow);
    }
}

#[test]
fn nothing_outside_is_writable_even_with_force() {
    for path in [
        "/home/ann/other.txt",
        "/home/ann/work-evil/x",
        "/etc/hosts",
        "/home/ann/.bashrc",
        "relative",
        "/home/ann/work/../x",
        "/a\0b",
    ] {
        write(path, Outcome::Deny);
    }
}

#[test]
fn files_outside_are_readable_except_credentials_and_process_state() {
    read("/usr/include/stdio.h", Outcome::Allow);
    read("/proc/cpuinfo", Outcome::Allow);
    for path in [
        "/home/ann/.ssh/id_rsa",
        "/home/ann/.AWS/credentials",
        "/home/ann/.config/ibeam/auth.json",
        "/proc/self/environ",
        "/proc/7/environ",
        "/dev/stdin",
        "/var/state/auth.json",
    ] {
        read(path, Outcome::Deny);
    }
}

#[test]
fn protected_names_are_not_writable_in_any_spelling() {
    for name in [
        ".git/config",
        ".git",
        "sub/.git/hooks/x",
        ".GIT/config",
        ".git./config",
        ".g\u{200c}it/config",
        "GIT~1/config",
        "mcp~1.jso",
        ".git::$INDEX_ALLOCATION/config",
        ".cursor /mcp.json",
        ".\u{17f}sh/config",
        ".ibeam/config.toml",
        ".vscode/tasks.json",
        ".envrc",
        "HEAD",
        ".mcp.json",
        "sub/.bashrc",
    ] {
        write(&format!("/home/ann/work/{name}"), Outcome::Deny);
    }
    write("/home/ann/work/.gitmodules", Outcome::Allow);
    write("/home/ann/work/.github/workflows/ci.yml", Outcome::Allow);
}

#[test]
fn a_token_that_names_a_protected_or_outside_path_allows_it() {
    let explicit = policy(PermissionMode::Default, &["Write(.vscode/**)", "Write(/tmp/out.txt)"], &[]);
    check(&explicit, Access::Write("/home/ann/work/.vscode/tasks.json".into()), Outcome::Allow);
    check(&explicit, Access::Write("/tmp/out.txt".into()), Outcome::Allow);
    check(&explicit, Access::Write("/tmp/other.txt".into()), Outcome::Deny);
    let broad = policy(PermissionMode::Force, &["Write(**)"], &[]);
    check(&broad, Access::Write("/home/ann/work/.vscode/tasks.json".into()), Outcome::Deny);
    let key = policy(PermissionMode::Default, &["Read(~/.ssh/config)"], &[]);
    check(&key, Access::Read("/home/ann/.ssh/config".into()), Outcome::Allow);
    check(&key, Access::Read("/home/ann/.ssh/id_rsa".into()), Outcome::Deny);
}

#[test]
fn plan_and_ask_modes_change_nothing() {
    for mode in [PermissionMode::Plan, PermissionMode::Ask] {
        let policy = policy(mode, &["Shell(ls)", "Write(**)"], &[]);
        check(&policy, Access::Read("/home/ann/work/a".into()), Outcome::Allow);
        check(&policy, Access::Write("/home/ann/work/a".into()), Outcome::Deny);
        check(&policy, Access::command("ls"), Outcome::Deny);
    }
}

#[test]
fn a_deny_rule_wins_over_all_others() {
    let policy = policy(
        PermissionMode::Force,
        &["Read(.env)", "Write(**)"],
        &["Read(.env*)", "Write(**/*.key)", "Read(secrets/)"],
    );
    for (access, expect) in [
        (Access::Read("/home/ann/work/.env".into()), Outcome::Deny),
        (Access::Read("/home/ann/work/sub/.env.local".into()), Outcome::Deny),
        (Access::Write("/home/ann/work/.env".into()), Outcome::Deny),
        (Access::Write("/home/ann/work/a.KEY".into()), Outcome::Deny),
        (Access::Read("/home/ann/work/secrets".into()), Outcome::Deny),
        (Access::Read("/home/ann/work/secrets/a/b".into()), Outcome::Deny),
        (Access::Read("/home/ann/work/a.key".into()), Outcome::Allow),
    ] {
        check(&policy, access, expect);
    }
}

// ---- commands that a rule covers

const USUAL: &[&str] = &[
    "Shell(ls)",
    "Shell(cat)",
    "Shell(grep)",
    "Shell(git)",
    "Shell(echo)",
    "Shell(find)",
    "Shell(sed)",
    "Shell(awk)",
    "Shell(sort)",
    "Shell(cd)",
    "Shell(cp)",
    "Shell(true)",
    "Shell(cargo)",
    "Shell(tar)",
];

#[test]
fn ordinary_commands_are_covered() {
    for command in [
        "ls -la",
        "/bin/ls",
        "ls && git status --short || true; cat a | sort\nls\n",
        "echo 'a; b && c | d'",
        "echo \"cost: \\$5\" it\\'s",
        "grep -n 'foo$' src/*.rs 2>/dev/null",
        "cat < README.md 2>&1",
        "git log --format='%h;%s' -1",
        "git -C sub show HEAD:README.md",
        "git -C /home/ann/work status",
        "grep -rn KEY src",
        "find . -path ./.git -prune -o -name '*.md' -print",
        "sed -n '1,2p' README.md",
        "sed -e 's/a\\/b/c/g; /x/d' README.md",
        "awk -F: '$3 >= 5 || NR == 1 {print $1}' README.md",
        "LC_ALL=C sort README.md",
        "cd src && ls ..",
        "timeout 5 nice -n 3 ls",
        "bash -c 'ls && cat x'",
        "env NO_COLOR=1 cargo test",
        "! ls",
        "cp a b/c",
        "tar -tf a.tar",
    ] {
        covered(USUAL, command);
    }
}

#[test]
fn syntax_runs_only_the_commands_in_it() {
    for command in [
        "ls &",
        "ls & cat x",
        "echo $(ls)",
        "echo `ls`",
        "echo \"$(ls)\"",
        "echo $HOME",
        "cat <<EOF\nx\nEOF",
        "cat <<< x",
        "(ls)",
        "{ ls; }",
        "if true; then ls; fi",
        "echo {a,b}",
        "ls |& cat",
        "ls # x",
        "for f in *.md; do echo \"$f\"; done",
        "for f in a b\ndo\n  ls\ndone",
        "while read -r line; do echo \"$line\"; done < README.md",
        "if [ -f README.md ]; then cat README.md; else exit 1; fi",
        "if ls; then cat x; elif grep a b; then ls; fi",
        "[ -n \"$x\" ] && [[ $x == *.md ]] || ls",
        "case \"$x\" in\n  a|b) ls ;;\n  *) cat README.md;;\nesac",
        "x=1; echo $x",
        "n=0; for i in 1 2; do n=$((n+1)); done; echo $n; ls",
        "for ((i=0; i<3; i++)); do echo $i; done; ls",
        "set -euo pipefail; ls",
        "list() { ls \\\"a\\\"; }; list",
        "say() { echo \"$1\"; }\nsay x",
        "git commit -q -m \"$(cat <<'EOF'\nOne line\n\nand `more` $(lines)\nEOF\n)\"",
        "cat <<'A' | grep x && ls\n$(touch p)\nA\nls",
        "cat <<-END\n\tx $HOME $(ls)\n\tEND",
        "echo \"${x:-none}\" ${#x} ${x%.md} $? $# \"$@\" $((1 + 2))",
        "echo \"日本語\u{3000}é\" 'x\u{200b}y'",
        "ls  \t -l   # the rest; touch x",
        "(cd src && ls) && { cat a; cat b; } | sort",
        "find . -name '*.md' -exec grep -l x {} +; ls",
        "export LC_ALL=C; ls",
        "ls 2>&1 >/dev/null",
        "time ls",
        "cat a | while read -r l; do echo \"$l\"; done",
        "bash -c 'for f in a b; do ls; done'",
    ] {
        covered(&[USUAL, &["Shell(test)", "Shell(grep:*)", "Shell([)"]].concat(), command);
    }
}

#[test]
fn a_pipe_from_a_command_is_not_a_file() {
    covered(&["Shell(diff)", "Shell(sort)"], "diff <(sort a) <(sort b)");
    not_covered(&["Shell(diff)", "Shell(sort)"], "diff <(sort a) <(touch b)");
}

#[test]
fn an_unanalyzable_command_is_not_covered() {
    for command in [
        "",
        "   ",
        "ls(){ cat x; }; ls",
        "ls\r\ncat x",
        "ls \\\n; cat",
        "ls ;; cat",
        "ls &&",
        "&& ls",
        "X=1 ls",
        "'l",
        "echo \u{7}",
        "[[ a ]]",
        "l?",
        "~/ls",
        "cat ~root/x",
        // the grammar accepts some of these, but parses them differently than bash
        "ls $'a\\\\' ; touch x '",
        "{ls; }",
        "time { ls; }",
        "time x=1 touch p",
        "time ! x='a b' touch p",
        "ls ;; cat x",
        "[ a > b ]",
        "[ -f a && -f b ]",
        "ls \\ ; cat",
        "cat <<A\\B\nx\nAB",
        "cat <<'E' \"\n\"\nx\nE\ncat y",
        "cat <<A <<B\nx\nA\ny\nB",
        "echo `echo '`' `",
        "((ls); cat x)",
        "echo $((ls); cat x)",
        "echo $[1+1]",
        "echo $\"x\"",
        "{fd}>/dev/null ls",
        "case x in a) echo esac",
        "ls \u{a0}x",
        "l\u{200b}s",
        "ls {a,b}",
        // evaluation
        "echo ${x@P}",
        "echo ${!x}",
        "echo ${x:=$(ls)}",
        "echo \"${x:-'$(touch p)'}\"",
        "echo ${a[$(ls)]}",
        "a[$(ls)]=1; ls",
        "x='a[$(touch p)]'; echo $((x))",
        "f(){ echo $(($1)); }; f 'a[$(touch p)]'",
        "[[ -v $x ]] && ls",
        "[[ $x -eq 1 ]] && ls",
        "[[ a =~ $(ls) ]] && ls",
        // names whose meaning changes afterwards
        "ls(){ cat x; }; ls",
        "cd(){ :; }; cd /; ls",
        "for PATH in bin; do ls; done",
        "export PATH=bin; ls",
        "PATH=bin; ls",
        "read PATH < x; ls",
        // words with any value
        "sort $x",
        "sort \"$x\"",
        "cat $(echo x)",
        "cat \"$x\"",
        "find . $x",
        "git $x",
        "$x",
        "\"$(ls)\"",
        "${x:-ls}",
        "f(){ \"$@\"; }; f touch x",
        "sh -c \"$x\"",
        "bash <(ls)",
        "env $x ls",
        "ls > $x",
        "for i in 1 2; do cp a ../b; cd ..; done",
        // for shells other than bash
        "sh -c '[[ a > b ]]; ls'",
        "sh -c 'diff <(ls) <(ls)'",
        "zsh -c 'ls'",
        "ls > a.txt",
        "ls >> a.txt",
        "ls &> a.txt",
        "ls > *",
        "ls >&x",
        "cat a=~/x",
    ] {
        not_covered(USUAL, command);
    }
}

#[test]
fn every_part_of_a_list_must_be_covered() {
    for command in [
        "ls; touch x",
        "ls && touch x",
        "ls | tee x",
        "ls\ntouch x",
        "timeout 1 touch x",
        "sh -c 'ls; touch x'",
        "xargs touch",
        "./ls",
        "/tmp/ls",
        "command touch x",
        "! touch x",
    ] {
        not_covered(USUAL, command);
    }
}

#[test]
fn unusual_arguments_are_not_covered() {
    for command in [
        "git -c alias.x='!touch p' x",
        "git --exec-path=/x foo",
        "git grep -O'sh -c id' x",
        "git config core.pager x",
        "git push",
        "git diff --output=x",
        "find . -delete",
        "find . -exec touch x \\;",
        "sort a -o b",
        "sort -ro b a",
        "sort --compress-prog=x a",
        "sed -i s/a/b/ x",
        "sed -ni p x",
        "sed '1w x' y",
        "sed '1e id' y",
        "sed 's/a/b/e' y",
        "sed -f s y",
        "awk 'BEGIN{system(\"id\")}'",
        "awk '{print > \"x\"}'",
        "awk -f x",
        "tar -xf a.tar",
        "tar xf a.tar",
        "tar cf x --to-command=id a",
        "tar -I id -tf a",
        "cp a /tmp/b",
        "cp a ../b",
        "cd .. && cp a b",
        "cp a .git/hooks/pre-commit",
        "cat ~/.ssh/id_rsa",
        "cat ../.ssh/id_rsa",
        "cat ~/.s*/id_rsa",
        "cargo install x",
        "cat /proc/self/environ",
        "cargo --config x=y build",
        "cd - && cp a b",
        "grep -r KEY ~",
        "grep -r KEY /",
        "cd / && grep -r KEY",
        "tar -cf a.tar ..",
        "git -C /srv/other status",
        "cd .. && git status",
        "git init x",
    ] {
        not_covered(USUAL, command);
    }
}

#[test]
fn a_token_with_arguments_covers_what_it_names() {
    covered(&["Shell(find:*)"], "find . -name x -exec wc -l {} \\;");
    covered(&["Shell(git:status*)"], "git --no-pager status --short");
    covered(&["Shell(cargo:publish --dry-run)"], "cargo publish --dry-run");
    not_covered(&["Shell(cargo:publish --dry-run)"], "cargo publish");
    not_covered(&["Shell(git:log*)"], "git -c alias.log=x log");
    not_covered(&["Shell(git:status*)"], "git push");
    covered(&["Shell(touch)"], "touch a");
    not_covered(&["Shell(touch)"], "touch /tmp/a");
    covered(&["Shell(ls)", "Write(out/*.txt)"], "ls > out/a.txt");
}

#[test]
fn the_reason_contains_a_way_to_allow_the_call() {
    let Verdict::Ask { rule, reason } =
        policy(PermissionMode::Default, &[], &[]).decide(&Access::command("cargo test"))
    else {
        panic!("not asked")
    };
    assert_eq!(rule, "default");
    assert_eq!(
        reason,
        "the command `cargo test` is not covered by an allow rule; a person may allow it with `--allow \
         'Shell(cargo)'` or `--force`"
    );
}

// ---- commands that a rule denies

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
        denied(&["Shell(touch)"], command);
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
        denied(&["Shell(touch)"], command);
        forced(&[], command);
    }
}

#[test]
fn a_deny_rule_does_not_affect_other_commands() {
    forced(&["Shell(rm)"], "x(){ y; }; x");
    forced(&["Shell(rm)"], "for f in *.md; do wc -l \"$f\"; done");
    forced(&["Shell(rm)"], "set -e; x=$(git rev-parse HEAD); echo \"$x\" > out.txt");
    forced(&["Shell(git:push*)"], "git commit -m \"$(cat <<'E'\npush rm touch\nE\n)\"");
    forced(&["Shell(rm)"], "cat > a.sh <<'E'\nrm -rf /\nE");
    forced(&["Shell(rm)"], "mkdir d0 && rmdir d0");
    forced(&["Shell(touch)"], "echo touch this; grep -c touch README.md || true");
    forced(&["Shell(git:push*)"], "git status");
    forced(&["Read(secrets/**)"], "ls src/*.rs");
}

#[test]
fn path_rules_apply_to_the_words_of_commands() {
    denied(&["Read(.env*)"], "cat .env");
    denied(&["Read(.env*)"], "cat < .env");
    denied(&["Read(.env*)"], "cat .e?v");
    denied(&["Read(.env*)"], "git show HEAD:.env");
    denied(&["Read(.env*)"], "grep -r KEY .");
    denied(&["Read(secrets/**)"], "cat */k");
    denied(&["Write(**/*.key)"], "cp README.md server.key");
    denied(&["Shell(git:push*)"], "git -C . push origin");
    forced(&["Write(**/*.key)"], "cat server.key");
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
        denied(&[], command);
    }
    forced(&[], "echo x > out.txt && rm out.txt");
}

// ---- limits

#[test]
fn a_long_command_is_analyzed_and_an_endless_one_is_refused() {
    let long = "a".repeat(70_000);
    covered(&["Shell(echo)"], &format!("echo {long}"));
    not_covered(&["Shell(echo)"], &format!("echo {long}; touch p"));
    let lists = "echo a && ".repeat(7_000);
    covered(&["Shell(echo)"], &format!("{lists}echo b"));
    not_covered(&["Shell(echo)"], &format!("{lists}touch p"));
    let lines = "cat <<'E'\nx\nE\n".repeat(40);
    covered(&["Shell(cat)"], &lines);
    let endless = ["(", "$(", "`", "\"", "{ ", "[[ ", "a <<E\n", "if ", "${x:-", "<(", "((", "f() { "];
    for piece in endless {
        not_covered(&["Shell(echo)", "Shell(a)"], &piece.repeat(70_000 / piece.len()));
        if !matches!(piece, "[[ " | "if ") {
            not_covered(&["Shell(echo)", "Shell(a)"], &format!("echo {}", piece.repeat(301)));
        }
    }
    let nested = format!("{}ls{}", "(".repeat(300), ")".repeat(300));
    not_covered(&["Shell(ls)"], &nested);
    not_covered(&["Shell(echo)"], &format!("echo {}", "a".repeat(1_000_000)));
}

#[test]
fn non_ascii_characters_are_parts_of_words() {
    covered(&["Shell(echo)"], "echo \u{10ffff} '\u{10ffff}' é日本\u{1f600} > /dev/null");
    not_covered(&["Shell(echo)"], "echo a; é");
    not_covered(&["Shell(echo)"], "xé=1; echo a");
    not_covered(&["Shell(echo)"], "echo 1\u{10ffff}>\u{10ffff}");
    denied(&["Shell(touch)"], "t\u{200b}ouch x");
    denied(&["Shell(touch)"], "é\u{a0}touch x");
}

// ---- ask rules and the sandbox

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
        policy.approval = ibeam_policy::ApprovalMode::Allowlist;
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
            policy.approval = ibeam_policy::ApprovalMode::Strict;
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

// ---- properties

fn token() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "Shell(ls)",
        "Shell(touch)",
        "Shell(git:push*)",
        "Read(.env*)",
        "Write(src/**)",
        "Read(/etc/**)",
        "Mcp(a:b)",
        "Shell(*)",
    ])
}

/// Text that is often almost a command.
fn command() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "ls",
            "touch",
            "git",
            "push",
            " ",
            " ",
            ";",
            "&&",
            "|",
            "\n",
            "'",
            "\"",
            "\\",
            "$",
            "`",
            "(",
            "<",
            ">",
            ".env",
            "src/a",
            "-c",
            "sh",
            "env",
            "*",
            "~",
            "/",
            "..",
            "timeout 1 ",
            "xargs ",
            "sed ",
            "s/a/b/",
            "="
        ])
        .prop_map(str::to_owned),
        "\\PC{0,3}",
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

fn access() -> impl Strategy<Value = Access> {
    prop_oneof![
        command().prop_map(Access::command),
        ".*".prop_map(Access::command),
        command().prop_map(|text| Access::Read(PathBuf::from(format!("/{text}")))),
        ".*".prop_map(|text| Access::Write(PathBuf::from(text))),
    ]
}

proptest! {
    #[test]
    fn a_deny_rule_never_allows_more(access in access(), allow in prop::collection::vec(token(), 0..3), deny in prop::collection::vec(token(), 0..3), more in token(), force in any::<bool>()) {
        let mode = if force { PermissionMode::Force } else { PermissionMode::Default };
        let before = policy(mode, &allow, &deny);
        let narrower = policy(mode, &allow, &[deny.as_slice(), &[more]].concat());
        if outcome_of(&narrower.decide(&access)) == Outcome::Allow {
            prop_assert_eq!(outcome_of(&before.decide(&access)), Outcome::Allow);
        }
    }

    #[test]
    fn a_rule_parses_or_gives_a_reason(token in ".*", inner in "\\PC*") {
        let _ = token.parse::<Rule>();
        for kind in ["Shell", "Read", "Write", "WebFetch", "Mcp"] {
            if let Ok(rule) = format!("{kind}({inner})").parse::<Rule>() {
                let printed = rule.to_string();
                prop_assert_eq!(printed.parse::<Rule>().map(|again| again.to_string()), Ok(printed.clone()));
            }
        }
    }

    #[test]
    fn quotes_around_a_word_do_not_change_the_verdict(words in prop::collection::vec("[a-z]{1,3}|-[a-z]|\\.env|src/a|[|]|;", 1..6), which in 0usize..6, quote in 0usize..3) {
        let text = words.join(" ");
        let mut quoted = words.clone();
        let which = which % quoted.len();
        if !matches!(quoted[which].as_str(), "|" | ";" | "if" | "do" | "fi" | "in") {
            quoted[which] = match quote {
                0 => format!("'{}'", quoted[which]),
                1 => format!("\"{}\"", quoted[which]),
                _ => format!("{}''", quoted[which]),
            };
        }
        let policy = policy(PermissionMode::Default, &["Shell(ls)", "Shell(a)", "Shell(b:*)"], &["Shell(c)", "Read(.env*)"]);
        let decide = |text: &str| outcome_of(&policy.decide(&Access::command(text)));
        prop_assert_eq!(decide(&text), decide(&quoted.join(" ")));
    }

    #[test]
    fn text_around_an_uncovered_command_does_not_cover_it(before in command(), after in command()) {
        let policy = policy(PermissionMode::Default, &["Shell(ls)", "Shell(git)", "Shell(xargs)", "Shell(sed)"], &[]);
        for text in [format!("{before}\ntouch p\n{after}"), format!("ls {before}; touch p; {after}"), format!("ls $(touch p) {after}")] {
            let verdict = policy.decide(&Access::command(text.clone()));
            // Inside quotes it is data, and no program has that name.
            let explained = policy.explain(&Access::command(text.clone()));
            let runs = explained.parts.iter().any(|part| part.programs.iter().any(|name| name == "touch"));
            prop_assert!(outcome_of(&verdict) != Outcome::Allow || !runs, "{text:?}: {verdict:?}");
            let plain = |text: &str| !text.contains(['\'', '"', '\\', '<', '#', '$', '`', '(']);
            if plain(&before) && plain(&after) {
                prop_assert_ne!(outcome_of(&verdict), Outcome::Allow, "{:?}", text);
            }
        }
    }

    #[test]
    fn without_rules_no_command_runs(text in command()) {
        let verdict = policy(PermissionMode::Default, &[], &[]).decide(&Access::command(text));
        prop_assert_ne!(outcome_of(&verdict), Outcome::Allow);
    }
}

// ---- MCP

#[track_caller]
fn mcp(policy: &Policy, name: &str, read_only: bool, expect: Outcome) {
    let (server, tool) = name.split_once(':').unwrap();
    check(policy, Access::Mcp { server: server.into(), tool: tool.into(), read_only }, expect);
}

#[test]
fn an_mcp_tool_needs_a_rule_or_a_person() {
    mcp(&policy(PermissionMode::Default, &[], &[]), "db:query", false, Outcome::Ask);
    mcp(&policy(PermissionMode::Default, &[], &[]), "db:query", true, Outcome::Ask);
    mcp(&policy(PermissionMode::Default, &["Mcp(db:query)"], &[]), "db:query", false, Outcome::Allow);
    mcp(&policy(PermissionMode::Default, &["Mcp(db:*)"], &[]), "db:drop", false, Outcome::Allow);
    mcp(&policy(PermissionMode::Default, &["Mcp(db:que*)"], &[]), "db:drop", false, Outcome::Ask);
    mcp(&policy(PermissionMode::Default, &["Mcp(db:*)"], &[]), "other:query", false, Outcome::Ask);
    mcp(&policy(PermissionMode::Force, &[], &[]), "db:drop", false, Outcome::Allow);
}

#[test]
fn a_denied_mcp_tool_is_denied_whatever_other_rules_allow() {
    mcp(&policy(PermissionMode::Force, &["Mcp(*:*)"], &["Mcp(db:drop)"]), "db:drop", true, Outcome::Deny);
    mcp(&policy(PermissionMode::Force, &[], &["Mcp(db:DROP*)"]), "DB:drop_table", false, Outcome::Deny);
    mcp(&policy(PermissionMode::Force, &[], &["Mcp(db:drop)"]), "db:query", false, Outcome::Allow);
}

#[test]
fn read_only_modes_allow_only_read_only_mcp_tools() {
    for mode in [PermissionMode::Plan, PermissionMode::Ask] {
        mcp(&policy(mode, &["Mcp(*:*)"], &[]), "db:drop", false, Outcome::Deny);
        mcp(&policy(mode, &["Mcp(*:*)"], &[]), "db:query", true, Outcome::Allow);
        mcp(&policy(mode, &[], &[]), "db:query", true, Outcome::Ask);
    }
}

// ---- the web

#[track_caller]
fn fetch(url: &str, expect: Outcome) {
    let policy = policy(
        PermissionMode::Default,
        &["WebFetch(docs.test)", "WebFetch(*.good.test)"],
        &["WebFetch(bad.good.test)"],
    );
    check(&policy, Access::Fetch { url: url.into() }, expect);
}

#[test]
fn a_port_other_than_the_web_ports_must_be_named() {
    let fetch = |allow: &[&str], deny: &[&str], url: &str, expect| {
        let policy = policy(PermissionMode::Default, allow, deny);
        check(&policy, Access::Fetch { url: url.into() }, expect);
    };
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
        fetch(&[token], &[], url, expect);
    }
    // A deny rule without a port applies to every port.
    fetch(&["WebFetch(*:22)"], &["WebFetch(docs.test)"], "http://docs.test:22/", Outcome::Deny);
    fetch(&["WebFetch(*)"], &["WebFetch(docs.test:22)"], "http://docs.test/", Outcome::Allow);
}

#[test]
fn a_domain_matches_only_the_complete_host() {
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
        fetch(url, Outcome::Allow);
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
        fetch(url, Outcome::Ask);
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
        fetch(url, Outcome::Deny);
    }
}
