//! What the sandbox is told of a policy, as tables.

#![allow(clippy::unwrap_used, reason = "clippy knows only functions marked #[test] as tests")]

use std::path::{Path, PathBuf};

use ibeam_policy::{Policy, Rule, Shield, is_kept_at_root, kept_in_git};
use ibeam_protocol::PermissionMode;

fn shield(allow: &[&str], deny: &[&str]) -> Shield {
    let rules = |tokens: &[&str]| tokens.iter().map(|token| token.parse::<Rule>().unwrap()).collect();
    let mut policy =
        Policy::new(PermissionMode::Force, PathBuf::from("/home/ann/work"), PathBuf::from("/home/ann"));
    policy.private = vec![PathBuf::from("/home/ann/.local/share/ibeam")];
    policy.extra_dirs = vec![PathBuf::from("/srv/extra")];
    policy.allow = rules(allow);
    policy.deny = rules(deny);
    policy.shield()
}

#[track_caller]
fn opens(allow: &[&str], path: &str, expect: bool) {
    assert_eq!(shield(allow, &[]).opens(&Path::new("/home/ann/work").join(path)), expect, "{allow:?} {path}");
}

#[test]
fn credentials_private_directories_and_named_denials_are_hidden() {
    let hidden = shield(&[], &["Read(/srv/keys/**)", "Read(secrets/)", "Read(.env*)"]).hidden();
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
    assert!(Shield::default().hidden().is_empty());
}

#[test]
fn a_rule_for_one_credential_opens_its_directory_and_no_other() {
    let shield = shield(&["Read(~/.ssh/config)"], &[]);
    assert!(shield.opens_below(Path::new("/home/ann/.ssh")));
    assert!(shield.may_read(Path::new("/home/ann/.ssh/config")));
    assert!(!shield.may_read(Path::new("/home/ann/.ssh/id_rsa")));
    assert!(!shield.opens_below(Path::new("/home/ann/.aws")));
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
    assert!(shield(&["Write(**)"], &["Shell(rm)"]).search().is_empty());
    let everywhere = [PathBuf::from("/home/ann/work"), PathBuf::from("/srv/extra")];
    assert_eq!(shield(&[], &["Write(**/*.key)"]).search(), everywhere);
    assert_eq!(shield(&[], &["Read(.env*)", "Write(src/**)"]).search(), everywhere);
    assert_eq!(shield(&[], &["Read(~/keys/*.pem)"]).search(), [PathBuf::from("/home/ann/keys")]);
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
        assert_eq!(is_kept_at_root(name), expect, "{name}");
    }
    assert!(kept_in_git().contains(&"hooks"));
}

#[test]
fn denials_compare_names_as_the_most_forgiving_file_system() {
    let shield = shield(&[], &["Write(**/*.key)", "Read(\u{c4}rger.txt)", "Read(.env*)"]);
    for (path, expect) in [
        ("a.KEY", true),
        ("a.key.", true),
        ("a.k\u{200d}ey", true),
        ("a.key::$DATA", true),
        ("a.keys", false),
    ] {
        assert_eq!(shield.denies_write(&Path::new("/home/ann/work").join(path)), expect, "{path:?}");
    }
    for (path, expect) in
        [("a\u{308}rger.txt", true), ("sub/\u{e4}RGER.TXT", true), (".Env", true), ("arger.txt", false)]
    {
        assert_eq!(shield.denies_read(&Path::new("/home/ann/work").join(path)), expect, "{path:?}");
    }
}
