//! The part of a policy that the sandbox uses, as tables.

#![allow(clippy::unwrap_used, reason = "clippy knows only functions marked #[test] as tests")]

use std::path::{Path, PathBuf};

use ibeam_policy::{PathPolicy, Policy, Rule, is_read_only_name, read_only_git_entries};
use ibeam_protocol::PermissionMode;

fn path_policy(allow: &[&str], deny: &[&str]) -> PathPolicy {
    let rules = |tokens: &[&str]| tokens.iter().map(|token| token.parse::<Rule>().unwrap()).collect();
    let mut policy =
        Policy::new(PermissionMode::Force, PathBuf::from("/home/ann/work"), PathBuf::from("/home/ann"));
    policy.private_dirs = vec![PathBuf::from("/home/ann/.local/share/ibeam")];
    policy.extra_dirs = vec![PathBuf::from("/srv/extra")];
    policy.allow = rules(allow);
    policy.deny = rules(deny);
    policy.path_policy()
}

#[track_caller]
fn check_exempts(allow: &[&str], path: &str, expect: bool) {
    assert_eq!(
        path_policy(allow, &[]).exempts(&Path::new("/home/ann/work").join(path)),
        expect,
        "{allow:?} {path}"
    );
}

#[test]
fn credentials_private_directories_and_named_denials_are_hidden() {
    let hidden = path_policy(&[], &["Read(/srv/keys/**)", "Read(secrets/)", "Read(.env*)"]).hidden_paths();
    for path in [
        "/home/ann/.ssh",
        "/etc/shadow",
        "/home/ann/.local/share/ibeam",
        "/srv/keys",
        "/home/ann/work/secrets",
    ] {
        assert!(hidden.contains(&PathBuf::from(path)), "{path}");
    }
    assert!(!hidden.contains(&PathBuf::from("/dev")) && !hidden.contains(&PathBuf::from("/proc")));
    assert!(PathPolicy::default().hidden_paths().is_empty());
}

#[test]
fn a_hidden_path_is_shown_only_by_a_rule_about_reading() {
    let deny = ["Read(/srv/keys/**)", "Read(secrets/)", "Read(~/private/**)", "Read(/srv/one)"];
    let rules = ["Write(~/.ssh/**)", "Shell(cat)", "Read(~/.ssh)", "Read(/etc/shadow)", "Read(/srv/keys/a)"];
    let rows = [&[], &rules[..2], &rules[..3], &rules[..]];
    for (allow, shown) in rows.into_iter().zip([0, 0, 1, 2]) {
        let policy = path_policy(allow, &deny);
        let hidden = policy.hidden_paths();
        assert!(hidden.iter().all(|path| policy.allows_hidden(path) == policy.allows_read(path)));
        assert_eq!(hidden.iter().filter(|path| policy.allows_hidden(path)).count(), shown, "{allow:?}");
    }
}

#[test]
fn of_a_directory_around_the_workspace_only_the_workspace_can_be_read() {
    let mut policy = Policy::new(
        PermissionMode::Force,
        PathBuf::from("/fleet/tasks/a/workspace"),
        PathBuf::from("/home/ann"),
    );
    policy.surrounding_dirs = vec![PathBuf::from("/fleet")];
    policy.extra_dirs = vec![PathBuf::from("/fleet/extra")];
    let path_policy = policy.path_policy();
    for (path, expect) in [
        ("/fleet", true),
        ("/fleet/ledger.sqlite", true),
        ("/fleet/tasks/a", true),
        ("/fleet/tasks/b/workspace/x", true),
        ("/fleet/tasks/a/workspace/x", false),
        ("/fleet/extra/x", false),
        ("/other", false),
    ] {
        assert_eq!(path_policy.hides(Path::new(path)), expect, "{path}");
    }
}

#[test]
fn a_rule_for_one_credential_exempts_only_its_directory() {
    let path_policy = path_policy(&["Read(~/.ssh/config)"], &[]);
    assert!(path_policy.may_allow_read_below(Path::new("/home/ann/.ssh")));
    assert!(path_policy.allows_read(Path::new("/home/ann/.ssh/config")));
    assert!(!path_policy.allows_read(Path::new("/home/ann/.ssh/id_rsa")));
    assert!(!path_policy.may_allow_read_below(Path::new("/home/ann/.aws")));
}

#[test]
fn only_a_rule_that_names_a_protected_path_exempts_it() {
    check_exempts(&[], ".git/hooks", false);
    check_exempts(&["Write(**)"], ".git/hooks", false);
    check_exempts(&["Write(notes.txt)"], ".git/hooks", false);
    check_exempts(&["Write(.vscode/**)"], ".git/hooks", false);
    check_exempts(&["Write(.git/hooks/pre-commit)"], ".git/hooks", true);
    check_exempts(&["Write(.git/hooks/pre-commit)"], ".git/hooks/post-commit", false);
    check_exempts(&["Write(.git/**)"], ".git/config", true);
    check_exempts(&["Write(.vscode/**)"], ".vscode", true);
    check_exempts(&[], "src/main.rs", true);
}

#[test]
fn search_roots_contain_all_denied_paths() {
    assert!(path_policy(&["Write(**)"], &["Shell(rm)"]).search_roots().is_empty());
    let everywhere = [PathBuf::from("/home/ann/work"), PathBuf::from("/srv/extra")];
    assert_eq!(path_policy(&[], &["Write(**/*.key)"]).search_roots(), everywhere);
    assert_eq!(path_policy(&[], &["Read(.env*)", "Write(src/**)"]).search_roots(), everywhere);
    assert_eq!(path_policy(&[], &["Read(~/keys/*.pem)"]).search_roots(), [PathBuf::from("/home/ann/keys")]);
}

#[test]
fn read_only_names_are_reported() {
    for (name, expect) in [
        (".mcp.json", true),
        (".VSCode", true),
        ("vscode~1", true),
        (".git", false),
        (".GIT", true),
        ("git~1", true),
        (".gitignore", false),
        ("HEAD", false),
    ] {
        assert_eq!(is_read_only_name(name), expect, "{name}");
    }
    assert!(read_only_git_entries().contains(&"hooks"));
}

#[test]
fn denials_compare_names_like_the_most_lenient_file_system() {
    let path_policy = path_policy(&[], &["Write(**/*.key)", "Read(\u{c4}rger.txt)", "Read(.env*)"]);
    for (path, expect) in [
        ("a.KEY", true),
        ("a.key.", true),
        ("a.k\u{200d}ey", true),
        ("a.key::$DATA", true),
        ("a.keys", false),
    ] {
        assert_eq!(path_policy.denies_write(&Path::new("/home/ann/work").join(path)), expect, "{path:?}");
    }
    for (path, expect) in
        [("a\u{308}rger.txt", true), ("sub/\u{e4}RGER.TXT", true), (".Env", true), ("arger.txt", false)]
    {
        assert_eq!(path_policy.denies_read(&Path::new("/home/ann/work").join(path)), expect, "{path:?}");
    }
}
