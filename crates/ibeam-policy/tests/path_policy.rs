//! What the sandbox is told of a policy, as tables.

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
fn opens(allow: &[&str], path: &str, expect: bool) {
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
fn a_rule_for_one_credential_opens_its_directory_and_no_other() {
    let path_policy = path_policy(&["Read(~/.ssh/config)"], &[]);
    assert!(path_policy.may_allow_read_below(Path::new("/home/ann/.ssh")));
    assert!(path_policy.allows_read(Path::new("/home/ann/.ssh/config")));
    assert!(!path_policy.allows_read(Path::new("/home/ann/.ssh/id_rsa")));
    assert!(!path_policy.may_allow_read_below(Path::new("/home/ann/.aws")));
}

#[test]
fn only_a_rule_that_spells_a_protected_place_lets_commands_change_it() {
    opens(&[], ".git/hooks", false);
    opens(&["Write(**)"], ".git/hooks", false);
    opens(&["Write(notes.txt)"], ".git/hooks", false);
    opens(&["Write(.vscode/**)"], ".git/hooks", false);
    opens(&["Write(.git/hooks/pre-commit)"], ".git/hooks", true);
    opens(&["Write(.git/hooks/pre-commit)"], ".git/hooks/post-commit", false);
    opens(&["Write(.git/**)"], ".git/config", true);
    opens(&["Write(.vscode/**)"], ".vscode", true);
    opens(&[], "src/main.rs", true);
}

#[test]
fn denied_places_are_searched_where_they_can_lie() {
    assert!(path_policy(&["Write(**)"], &["Shell(rm)"]).search_roots().is_empty());
    let everywhere = [PathBuf::from("/home/ann/work"), PathBuf::from("/srv/extra")];
    assert_eq!(path_policy(&[], &["Write(**/*.key)"]).search_roots(), everywhere);
    assert_eq!(path_policy(&[], &["Read(.env*)", "Write(src/**)"]).search_roots(), everywhere);
    assert_eq!(path_policy(&[], &["Read(~/keys/*.pem)"]).search_roots(), [PathBuf::from("/home/ann/keys")]);
}

#[test]
fn names_that_decide_are_told() {
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
fn denials_compare_names_as_the_most_forgiving_file_system() {
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
