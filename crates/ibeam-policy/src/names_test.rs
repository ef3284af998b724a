use std::collections::HashSet;
use std::path::Path;

use super::{
    Protection, entries, find_credential, find_protected_name, first_protected_name, is_read_only_path,
    name_groups,
};

#[track_caller]
fn check_protected(path: &str, expect: Option<&str>) {
    assert_eq!(first_protected_name(Path::new(path), 0).map(|entry| entry.name), expect, "{path}");
}

#[track_caller]
fn check_read_only(path: &str, expect: bool) {
    assert_eq!(is_read_only_path(Path::new(path)), expect, "{path}");
}

#[track_caller]
fn check_credential(path: &str, expect: Option<&str>) {
    let found = find_credential(Path::new(path), Path::new("/home/ann"));
    assert_eq!(found.map(|entry| entry.name), expect, "{path}");
}

#[test]
fn names_in_the_table_are_unique_and_have_a_reason() {
    let mut seen = HashSet::new();
    for entry in entries() {
        let check_credential =
            matches!(entry.protection, Protection::Credential | Protection::SystemCredential);
        assert!(seen.insert((check_credential, entry.name.to_lowercase())), "{} is there twice", entry.name);
        assert!(!entry.name.ends_with('/') && !entry.name.contains("//"), "{}", entry.name);
        let absolute = entry.name.starts_with('/');
        assert_eq!(absolute, entry.protection == Protection::SystemCredential, "{}", entry.name);
    }
    let mut reasons = HashSet::new();
    for group in name_groups() {
        assert!(!group.names.is_empty() && reasons.insert(group.reason), "{}", group.reason);
    }
}

#[test]
fn every_entry_is_found_by_its_own_name_in_any_case_and_below_it() {
    for entry in entries() {
        let name = entry.name.replace('*', "x");
        for name in [name.clone(), name.to_uppercase()] {
            match entry.protection {
                Protection::ReadOnly | Protection::ReadOnlyForFileTools => {
                    let found = find_protected_name(Path::new("packages/app").join(&name).as_path());
                    // A longer entry may be below a shorter one.
                    assert!(found.is_some(), "{name}");
                    assert!(
                        first_protected_name(Path::new("/home/ann/work").join(&name).as_path(), 3).is_some(),
                        "{name}"
                    );
                    let below = Path::new("/home/ann/work/a").join(&name).join("b");
                    assert_eq!(
                        first_protected_name(&below, 3).is_some(),
                        entry.name != super::HEAD,
                        "{name}/b"
                    );
                }
                Protection::Credential => {
                    let path = Path::new("/home/ann").join(&name);
                    assert!(find_credential(&path, Path::new("/home/ann")).is_some(), "{name}");
                    assert!(find_credential(&path.join("b"), Path::new("/home/ann")).is_some(), "{name}/b");
                    assert!(find_credential(&path, Path::new("/home/bob")).is_none(), "{name}");
                }
                Protection::SystemCredential => {}
            }
        }
        if entry.protection == Protection::SystemCredential {
            for home in ["/home/ann", "/", "/etc"] {
                assert!(find_credential(Path::new(entry.name), Path::new(home)).is_some(), "{}", entry.name);
            }
        }
    }
}

#[test]
fn automatically_run_names_are_protected_at_any_depth() {
    check_protected("/w/.pre-commit-config.yaml", Some(".pre-commit-config.yaml"));
    check_protected("/w/sub/lefthook.yml", Some("lefthook.yml"));
    check_protected("/w/.githooks/pre-commit", Some(".githooks"));
    check_protected("/w/a/.cargo/config.toml", Some(".cargo/config.toml"));
    check_protected("/w/.Cargo/CONFIG.toml", Some(".cargo/config.toml"));
    check_protected("/w/.cargo/conf~1.tom", None);
    check_protected("/w/.cargo/config~1.tom", Some(".cargo/config.toml"));
    check_protected("/w/proj.code-workspace", Some("*.code-workspace"));
    check_protected("/w/Proj.CODE-Workspace.", Some("*.code-workspace"));
    check_protected("/w/proj.code-workspace::$DATA", Some("*.code-workspace"));
    check_protected("/w/proj.code\u{200d}-workspace", Some("*.code-workspace"));
    check_protected("/w/proj~1.cod", Some("*.code-workspace"));
    check_protected("/w/.config/git/config", Some(".config/git"));
    check_protected("/w/.config/systemd/user/x.service", Some(".config/systemd"));
    check_protected("/w/.local/bin/ls", Some(".local/bin"));
    check_protected("/w/.github/hooks/x.json", Some(".github/hooks"));
}

#[test]
fn ordinary_names_are_not_protected() {
    for path in [
        "/w/package.json",
        "/w/.eslintrc.json",
        "/w/.editorconfig",
        "/w/.github/workflows/ci.yml",
        "/w/.gitignore",
        "/w/.gitattributes",
        "/w/.gitmodules",
        "/w/.tool-versions",
        "/w/.cargo/audit.toml",
        "/w/.config/nextest.toml",
        "/w/config.toml",
        "/w/bin/x",
        "/w/local/bin/x",
        "/w/hooks/useState.ts",
        "/w/src/head/mod.rs",
        "/w/components/Head/index.tsx",
        "/w/src/head.rs",
        "/w/lefthook/readme.md",
        "/w/my-code-workspace",
        "/w/a.code-workspaces",
        "/w/AGENTS.md",
        "/w/CLAUDE.md",
    ] {
        check_protected(path, None);
    }
    check_protected("/w/HEAD", Some("HEAD"));
    check_protected("/w/sub/head", Some("HEAD"));
}

#[test]
fn nested_names_count_only_below_the_workspace() {
    let find = |path: &str, own| first_protected_name(Path::new(path), own).map(|entry| entry.name);
    assert_eq!(find("/home/ann/.config/fish/config.fish", 4), None);
    assert_eq!(find("/home/ann/.config/fish/config.fish", 3), Some(".config/fish"));
    assert_eq!(find("/home/ann/.config/fish/.bashrc", 4), Some(".bashrc"));
    assert_eq!(find("/home/ann/.git/hooks/x", 4), Some(".git"));
}

#[test]
fn read_only_paths_exclude_files_that_version_control_writes() {
    for (path, expect) in [
        (".git", false),
        (".GIT", true),
        ("git~1", true),
        (".hg", false),
        (".hg/hgrc", true),
        ("HEAD", false),
        ("a/b/.envrc", true),
        ("a/.vscode", true),
        ("a/.vscode/tasks.json", false),
        (".cargo", false),
        (".cargo/config.toml", true),
        ("sub/.cargo/config.toml", true),
        (".cargo/registry/config.toml", false),
        (".config", false),
        (".config/fish", true),
        ("x.code-workspace", true),
        ("src/main.rs", false),
        ("", false),
    ] {
        check_read_only(path, expect);
    }
}

#[test]
fn credentials_of_other_programs_are_found_below_the_home_directory() {
    check_credential("/home/ann/.claude.json", Some(".claude.json"));
    check_credential("/home/ann/.claude/.credentials.json", Some(".claude/.credentials.json"));
    check_credential("/home/ann/.Claude/.Credentials.JSON", Some(".claude/.credentials.json"));
    check_credential("/home/ann/.claude/CLAUDE.md", None);
    check_credential("/home/ann/.config/github-copilot/apps.json", Some(".config/github-copilot"));
    check_credential("/home/ann/.gradle/gradle.properties", Some(".gradle/gradle.properties"));
    check_credential("/home/ann/.gradle/caches/x", None);
    check_credential("/home/ann/.m2/repository/x", None);
    check_credential(
        "/home/ann/.config/BraveSoftware/Brave-Browser/Default/Cookies",
        Some(".config/BraveSoftware"),
    );
    check_credential("/home/ann/.cargo/credentials.toml", Some(".cargo/credentials.toml"));
    check_credential("/home/ann/.cargo/registry/x", None);
    check_credential("/home/ann/.cargo/config.toml", None);
    check_credential("/home/ann/.gitconfig", None);
    check_credential("/home/ann/.config/git/config", None);
    check_credential("/home/ann/.config/git/credentials", Some(".config/git/credentials"));
    check_credential("/home/ann/work/.aws/credentials", None);
    check_credential("/etc/wireguard/wg0.conf", Some("/etc/wireguard"));
    check_credential("/etc/shadows", None);
}
