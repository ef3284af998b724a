//! Commands that allow rules cover.

use ibeam_policy::{Access, Verdict};
use ibeam_protocol::PermissionMode;

use super::{Outcome, check, check_covered, check_not_covered, policy};

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
        check_covered(USUAL, command);
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
        check_covered(&[USUAL, &["Shell(test)", "Shell(grep:*)", "Shell([)"]].concat(), command);
    }
}

#[test]
fn a_pipe_from_a_command_is_not_a_file() {
    check_covered(&["Shell(diff)", "Shell(sort)"], "diff <(sort a) <(sort b)");
    check_not_covered(&["Shell(diff)", "Shell(sort)"], "diff <(sort a) <(touch b)");
}

/// The host of an address is not a file at the root of the file system.
#[test]
fn an_address_is_not_a_path_outside() {
    for (command, expect) in [
        ("wget https://etc/x", Outcome::Allow),
        ("docker push https://x", Outcome::Allow),
        ("wget file:///etc/x", Outcome::Ask),
        ("docker run -v https://x:/etc y", Outcome::Ask),
    ] {
        let policy = policy(PermissionMode::Default, &["Shell(wget:*)", "Shell(docker:*)"], &[]);
        check(&policy, Access::command(command), expect);
    }
}

#[test]
fn a_reason_contains_the_effect_of_a_program_or_a_sub_command() {
    for (command, expect) in [
        ("zip -r a.zip src", "it can run programs that its options or its configuration name"),
        ("dd if=a of=b", "it can change devices and mounts, or any file that it is given"),
        ("docker ps", "it connects to other machines or services"),
        ("gcc a.c", "it can run programs and plug-ins that options or files name"),
        ("sudo ls", "it runs the program that its arguments name"),
        ("sqlite3 a.db", "it runs code from its arguments, its input or a file"),
        ("git pull", "it uses the sub-command `pull`, which can connect to other repositories"),
        ("git clean -fd", "it uses the sub-command `clean`, which can delete what nothing else keeps"),
        ("git config a.b c", "it uses the sub-command `config`, which decides which programs git runs"),
        (
            "git frobnicate",
            "it uses the sub-command `frobnicate`, which is not one of those whose effects are known",
        ),
        ("gh auth status", "it has a sub-command that does more than list and show"),
    ] {
        let verdict = policy(PermissionMode::Default, &[], &[]).decide(&Access::command(command));
        let Verdict::Ask { reason, .. } = &verdict else { panic!("{command}: {verdict:?}") };
        assert!(reason.contains(&format!("{expect}; a person")), "{reason}");
    }
}

/// A word that the shell computes may be any file, also a protected one, which not even a rule for any arguments opens.
#[test]
fn a_computed_word_of_a_program_that_writes_is_a_question_without_a_sandbox() {
    let allow =
        ["Shell(cp:*)", "Shell(touch:*)", "Shell(tee:*)", "Shell(echo:*)", "Shell(cat:*)", "Shell(make:*)"];
    for command in [
        "p=.git; cp a $p/config",
        "touch \"$(printf .vscode)/tasks.json\"",
        "touch ${x}ode/tasks.json",
        "echo x | tee build/$p",
        "read p; cp a \"$p\"",
        "cp --target-directory=$p a",
    ] {
        let mut policy = policy(PermissionMode::Default, &allow, &[]);
        check(&policy, Access::command(command), Outcome::Ask);
        policy.sandboxed = true;
        check(&policy, Access::command(command), Outcome::Allow);
        policy.sandboxed = false;
        policy.mode = PermissionMode::Force;
        check(&policy, Access::command(command), Outcome::Allow);
    }
    let policy = policy(PermissionMode::Default, &allow, &[]);
    for command in ["cat $p", "echo $p", "make -j$n", "for f in a b; do cp $f c; done", "touch a b"] {
        check(&policy, Access::command(command), Outcome::Allow);
    }
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
        check_not_covered(USUAL, command);
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
        check_not_covered(USUAL, command);
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
        check_not_covered(USUAL, command);
    }
}

#[test]
fn a_token_with_arguments_covers_what_it_names() {
    check_covered(&["Shell(find:*)"], "find . -name x -exec wc -l {} \\;");
    check_covered(&["Shell(git:status*)"], "git --no-pager status --short");
    check_covered(&["Shell(cargo:publish --dry-run)"], "cargo publish --dry-run");
    check_not_covered(&["Shell(cargo:publish --dry-run)"], "cargo publish");
    check_not_covered(&["Shell(git:log*)"], "git -c alias.log=x log");
    check_not_covered(&["Shell(git:status*)"], "git push");
    check_covered(&["Shell(touch)"], "touch a");
    check_not_covered(&["Shell(touch)"], "touch /tmp/a");
    check_covered(&["Shell(ls)", "Write(out/*.txt)"], "ls > out/a.txt");
}

#[test]
fn the_reason_names_a_rule_that_would_allow_the_call() {
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
