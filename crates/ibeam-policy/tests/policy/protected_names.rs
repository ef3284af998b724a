//! Names that tools may not change, and the document that lists them.

use std::fmt::Write as _;
use std::path::PathBuf;

use ibeam_policy::names::{NameGroup, Protection, name_groups};
use ibeam_policy::{Access, Verdict};
use ibeam_protocol::PermissionMode;

use super::{Outcome, check, check_coverage, check_write, policy};

const DOCUMENT: &str = include_str!("../../../../docs/protected-names.md");
const START: &str = "<!-- table -->\n";

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
        check_write(&format!("/home/ann/work/{name}"), Outcome::Deny);
    }
    check_write("/home/ann/work/.gitmodules", Outcome::Allow);
    check_write("/home/ann/work/.github/workflows/ci.yml", Outcome::Allow);
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
fn only_a_file_named_head_is_protected() {
    for (path, expect) in [
        ("src/head/mod.rs", true),
        ("components/Head/index.tsx", true),
        ("HEAD/x", true),
        ("HEAD", false),
        ("sub/HEAD", false),
        ("sub/head", false),
        ("head/.git/config", false),
    ] {
        let access = Access::Write(PathBuf::from("/home/ann/work").join(path));
        let verdict = policy(PermissionMode::Force, &[], &[]).decide(&access);
        assert_eq!(matches!(verdict, Verdict::Allow { .. }), expect, "{path}: {verdict:?}");
    }
    check_coverage("Shell(touch)", "touch src/head/mod.rs", true);
    check_coverage("Shell(mkdir)", "mkdir -p src/head", true);
    check_coverage("Shell(touch)", "touch sub/HEAD", false);
    check_coverage("Shell(cp)", "cp a components/Head/index.tsx", true);
}

fn rendered() -> String {
    let mut text = String::from(START);
    for (protection, heading, column) in [
        (Protection::ReadOnly, "Kept from file tools and commands", "not changed, because"),
        (
            Protection::ReadOnlyForFileTools,
            "Kept from file tools, and in part from commands",
            "not changed, because",
        ),
        (Protection::Credential, "Credentials, below the home directory", "not read, because there are"),
        (Protection::SystemCredential, "Credentials of the system", "not read, because there are"),
    ] {
        write!(text, "\n## {heading}\n\n| names | {column} |\n|---|---|\n").unwrap();
        for NameGroup { names, reason, .. } in name_groups().filter(|group| group.protection == protection) {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            writeln!(text, "| {} | {reason} |", names.join(", ")).unwrap();
        }
    }
    text
}

#[test]
#[allow(clippy::disallowed_methods, reason = "writes the right text next to the other output of tests")]
fn the_document_shows_the_table() {
    let expect = rendered();
    let start = DOCUMENT.find(START).unwrap();
    if DOCUMENT[start..] != expect {
        let path = format!("{}/protected-names.md", env!("CARGO_TARGET_TMPDIR"));
        std::fs::write(&path, format!("{}{expect}", &DOCUMENT[..start])).unwrap();
        panic!("docs/protected-names.md does not show the table of names; `{path}` does: copy it");
    }
}

#[test]
fn a_lock_that_a_killed_git_left_may_be_removed() {
    let left = |path: &std::path::Path| path.ends_with(".git/index.lock");
    for (command, is_left, expect) in [
        ("rm .git/index.lock", true, Outcome::Allow),
        ("rm -f /home/ann/work/.git/index.lock", true, Outcome::Allow),
        ("unlink ./.git/index.lock", true, Outcome::Allow),
        ("rm .git/index.lock", false, Outcome::Deny),
        ("rm .git/index.lock .git/config", true, Outcome::Deny),
        ("rm .git/index", true, Outcome::Deny),
        ("rm -r .git", true, Outcome::Deny),
        ("rm .git/index.loc?", true, Outcome::Deny),
        ("rm sub/.git/index.lock", true, Outcome::Deny),
        ("mv x .git/index.lock", true, Outcome::Deny),
        ("cp x .git/index.lock", true, Outcome::Deny),
        ("echo x > .git/index.lock", true, Outcome::Deny),
        ("ln -s x .git/index.lock", true, Outcome::Deny),
    ] {
        let rules = ["Shell(rm)", "Shell(unlink)", "Shell(mv)", "Shell(cp)", "Shell(echo)", "Shell(ln)"];
        let mut policy = policy(PermissionMode::Default, &rules, &[]);
        if is_left {
            policy.is_left_lock = left;
        }
        check(&policy, Access::command(command), expect);
    }
}
