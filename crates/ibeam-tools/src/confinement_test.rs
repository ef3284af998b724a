use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use ibeam_policy::{Policy, Rule};
use ibeam_protocol::PermissionMode;
use proptest::prelude::*;

use super::{ConfinementPlan, plan_confinement};
use crate::fixture::Fixture;
use crate::workspace::Workspace;

fn planned(fixture: &Fixture, allow: &[&str], deny: &[&str]) -> ConfinementPlan {
    let rules = |tokens: &[&str]| tokens.iter().map(|token| token.parse::<Rule>().unwrap()).collect();
    let mut policy = Policy::new(PermissionMode::Force, fixture.root(), fixture.outside("home"));
    policy.allow = rules(allow);
    policy.deny = rules(deny);
    plan_confinement(&Workspace::new(&fixture.root(), &[]).unwrap(), &policy.path_policy())
}

/// Paths relative to the directory that holds workspace and home.
fn relative_paths(fixture: &Fixture, paths: &[PathBuf]) -> Vec<String> {
    let base = fixture.outside("");
    let mut relative_paths: Vec<String> = paths
        .iter()
        .filter_map(|path| path.strip_prefix(&base).ok())
        .map(|path| path.display().to_string())
        .collect();
    relative_paths.sort();
    relative_paths
}

#[track_caller]
fn git(directory: &Path, arguments: &[&str]) {
    let ran = Command::new("git")
        .args(["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always"])
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
}

fn repository(directory: &Path) {
    std::fs::create_dir_all(directory).unwrap();
    git(directory, &["init", "-q", "-b", "main", "--template="]);
    git(directory, &["commit", "-q", "--allow-empty", "-m", "one"]);
}

#[test]
fn files_that_run_programs_are_read_only_and_the_rest_is_writable() {
    let fixture = Fixture::with(".vscode/tasks.json", "{}");
    repository(&fixture.root());
    fixture.put(".Mcp.json", "{}");
    fixture.put("sub/.envrc", "");
    let ConfinementPlan { confinement, is_complete: complete, notes, .. } = planned(&fixture, &[], &[]);
    assert!(complete && notes.is_empty(), "{notes:?}");
    assert_eq!(relative_paths(&fixture, &confinement.writable), ["ws", "ws/.git"]);
    let expect =
        ["ws/.Mcp.json", "ws/.git/config", "ws/.git/hooks", "ws/.git/info", "ws/.vscode", "ws/sub/.envrc"];
    assert_eq!(relative_paths(&fixture, &confinement.read_only), expect);
    assert_eq!(relative_paths(&fixture, &confinement.hidden), [""; 0]);
}

#[test]
fn a_rule_that_names_a_path_makes_it_writable() {
    let fixture = Fixture::with(".vscode/tasks.json", "{}");
    repository(&fixture.root());
    let allow = ["Write(.vscode/**)", "Write(.git/hooks/pre-commit)"];
    let confinement = planned(&fixture, &allow, &[]).confinement;
    assert_eq!(relative_paths(&fixture, &confinement.read_only), ["ws/.git/config", "ws/.git/info"]);
}

#[test]
fn existing_credentials_are_hidden_at_their_real_path() {
    let fixture = Fixture::new();
    std::fs::create_dir_all(fixture.outside("dotfiles/ssh")).unwrap();
    std::fs::create_dir_all(fixture.outside("home/.aws")).unwrap();
    std::os::unix::fs::symlink("../dotfiles/ssh", fixture.outside("home/.ssh")).unwrap();
    for name in ["dotfiles/ssh/id_rsa", "dotfiles/ssh/config", "home/.netrc"] {
        std::fs::write(fixture.outside(name), "").unwrap();
    }
    let confinement = planned(&fixture, &[], &[]).confinement;
    assert_eq!(relative_paths(&fixture, &confinement.hidden), ["dotfiles/ssh", "home/.aws", "home/.netrc"]);
    assert_eq!(relative_paths(&fixture, &confinement.visible), ["home"]);
    let confinement = planned(&fixture, &["Read(~/.ssh/config)"], &[]).confinement;
    assert_eq!(
        relative_paths(&fixture, &confinement.hidden),
        ["dotfiles/ssh/id_rsa", "home/.aws", "home/.netrc"]
    );
}

#[test]
fn a_workspace_in_a_hidden_directory_is_not_hidden() {
    let fixture = Fixture::with("f", "");
    std::fs::create_dir_all(fixture.outside("ws/.aws/inner")).unwrap();
    let home = fixture.root();
    let policy = Policy::new(PermissionMode::Force, home.join(".aws/inner"), home.clone());
    std::fs::write(home.join(".aws/key"), "").unwrap();
    let workspace = Workspace::new(&home.join(".aws/inner"), &[]).unwrap();
    let hidden = plan_confinement(&workspace, &policy.path_policy()).confinement.hidden;
    assert_eq!(relative_paths(&fixture, &hidden), ["ws/.aws/key"]);
}

#[test]
fn paths_that_deny_rules_cover_are_found() {
    let fixture = Fixture::with("sub/.env.local", "");
    for name in [".ENV", "deep/secrets/k", "secrets/k", "a.key", "b.txt", "keys.d/x"] {
        fixture.put(name, "");
    }
    fixture.link("b.txt", "c.key");
    let plan =
        planned(&fixture, &[], &["Read(.env*)", "Read(secrets/**)", "Write(**/*.key)", "Write(keys.d/)"]);
    assert!(plan.is_complete);
    assert_eq!(
        relative_paths(&fixture, &plan.confinement.hidden),
        ["ws/.ENV", "ws/secrets", "ws/sub/.env.local"]
    );
    assert_eq!(
        relative_paths(&fixture, &plan.confinement.read_only),
        ["ws/a.key", "ws/keys.d", "ws/keys.d/x"]
    );
}

#[test]
fn a_linked_work_tree_makes_only_its_own_repository_writable() {
    let fixture = Fixture::new();
    repository(&fixture.outside("main"));
    git(&fixture.outside("main"), &["worktree", "add", "-q", "../ws/tree"]);
    let workspace = |name: &str| Workspace::new(&fixture.path(name), &[]).unwrap();
    let policy = |name: &str| {
        Policy::new(PermissionMode::Force, fixture.path(name), fixture.outside("home")).path_policy()
    };
    let confinement = plan_confinement(&workspace("tree"), &policy("tree")).confinement;
    assert_eq!(relative_paths(&fixture, &confinement.writable), ["main/.git", "ws/tree"]);
    let expect = [
        "main/.git/config",
        "main/.git/hooks",
        "main/.git/info",
        "main/.git/worktrees/tree/commondir",
        "main/.git/worktrees/tree/gitdir",
        "ws/tree/.git",
    ];
    assert_eq!(relative_paths(&fixture, &confinement.read_only), expect);
    // A copy of the pointer names the same repository, which does not point back to it.
    fixture.put("fake/.git", fixture.bytes("tree/.git"));
    let confinement = plan_confinement(&workspace("fake"), &policy("fake")).confinement;
    assert_eq!(relative_paths(&fixture, &confinement.writable), ["ws/fake"]);
    // One that points back, but leads to a directory of another repository.
    fixture.put("evil/.git", "gitdir: d/worktrees/x\n");
    fixture.put("evil/d/worktrees/x/gitdir", format!("{}\n", fixture.path("evil/.git").display()));
    fixture.put("evil/d/worktrees/x/commondir", format!("{}\n", fixture.outside("main").display()));
    let confinement = plan_confinement(&workspace("evil"), &policy("evil")).confinement;
    assert_eq!(relative_paths(&fixture, &confinement.writable), ["ws/evil"]);
}

#[test]
fn a_git_file_that_names_the_workspace_makes_nothing_else_writable() {
    let fixture = Fixture::new();
    let path_policy = |root: &Path| {
        Policy::new(PermissionMode::Force, root.to_owned(), fixture.outside("home")).path_policy()
    };
    // `gitdir: .` in a directory under `worktrees`, with the grandparent as the common directory.
    let root = fixture.path("worktrees/x");
    fixture.put("worktrees/x/.git", "gitdir: .\n");
    fixture.put("worktrees/x/gitdir", format!("{}\n", root.join(".git").display()));
    fixture.put("worktrees/x/commondir", "../..\n");
    let writable = |root: &Path| {
        let confinement =
            plan_confinement(&Workspace::new(root, &[]).unwrap(), &path_policy(root)).confinement;
        relative_paths(&fixture, &confinement.writable)
    };
    assert_eq!(writable(&root), ["ws/worktrees/x"]);
    // Even where the grandparent looks like a repository, it contains the workspace.
    for name in ["objects", "refs"] {
        std::fs::create_dir(fixture.path(name)).unwrap();
    }
    fixture.put("HEAD", "ref: refs/heads/main\n");
    assert_eq!(writable(&root), ["ws/worktrees/x"]);
    // A directory in the work tree proves nothing about one outside of it.
    repository(&fixture.outside("main"));
    git(&fixture.outside("main"), &["worktree", "add", "-q", "../tree"]);
    let tree = fixture.outside("tree");
    std::fs::create_dir_all(tree.join("d/worktrees/x")).unwrap();
    std::fs::write(tree.join(".git"), "gitdir: d/worktrees/x\n").unwrap();
    std::fs::write(tree.join("d/worktrees/x/gitdir"), format!("{}\n", tree.join(".git").display())).unwrap();
    std::fs::write(tree.join("d/worktrees/x/commondir"), "../../../../main/.git\n").unwrap();
    assert_eq!(writable(&tree), ["tree"]);
    // The common directory must be a repository.
    let parent = fixture.outside("plain");
    std::fs::create_dir_all(parent.join("worktrees/y")).unwrap();
    let inner = fixture.path("y");
    fixture.put("y/.git", format!("gitdir: {}\n", parent.join("worktrees/y").display()));
    std::fs::write(parent.join("worktrees/y/gitdir"), format!("{}\n", inner.join(".git").display())).unwrap();
    std::fs::write(parent.join("worktrees/y/commondir"), "../..\n").unwrap();
    assert_eq!(writable(&inner), ["ws/y"]);
}

#[test]
fn a_repository_that_contains_the_home_directory_does_not_become_writable() {
    let fixture = Fixture::new();
    repository(&fixture.outside("main"));
    git(&fixture.outside("main"), &["worktree", "add", "-q", "../ws/tree"]);
    let root = fixture.path("tree");
    let workspace = Workspace::new(&root, &[]).unwrap();
    let home = fixture.outside("main/.git/home");
    let policy = Policy::new(PermissionMode::Force, root, home);
    let confinement = plan_confinement(&workspace, &policy.path_policy()).confinement;
    assert_eq!(relative_paths(&fixture, &confinement.writable), ["ws/tree"]);
}

#[test]
fn repositories_of_submodules_are_protected_like_the_main_one() {
    let fixture = Fixture::new();
    repository(&fixture.outside("other"));
    repository(&fixture.root());
    git(&fixture.root(), &["submodule", "add", "-q", "../other", "lib/sub"]);
    let confinement = planned(&fixture, &[], &[]).confinement;
    assert!(
        relative_paths(&fixture, &confinement.read_only)
            .contains(&"ws/.git/modules/lib/sub/config".to_owned())
    );
    let inner = fixture.path("lib/sub");
    let policy = Policy::new(PermissionMode::Force, inner.clone(), fixture.outside("home"));
    let confinement =
        plan_confinement(&Workspace::new(&inner, &[]).unwrap(), &policy.path_policy()).confinement;
    assert_eq!(relative_paths(&fixture, &confinement.writable), ["ws/.git/modules/lib/sub", "ws/lib/sub"]);
}

#[test]
fn protected_paths_are_read_only_at_any_depth() {
    let fixture = Fixture::with("packages/app/.vscode/tasks.json", "{}");
    repository(&fixture.root());
    repository(&fixture.path("vendor/lib"));
    git(&fixture.root(), &["init", "-q", "--bare", "--template=", "deep/er/repo.git"]);
    for name in [
        "packages/app/.husky/pre-commit",
        "packages/b/.Envrc",
        "vendor/lib/.git/hooks/pre-push",
        "h/.hg/hgrc",
    ] {
        fixture.put(name, "mine");
    }
    fixture.put("link/.git", "gitdir: ../vendor/lib/.git\n");
    fixture.put("node_modules/pkg/.vscode/tasks.json", "{}");
    fixture.put("other/HEAD", "");
    let expect = [
        "ws/.git/config",
        "ws/.git/hooks",
        "ws/.git/info",
        "ws/deep/er/repo.git/config",
        "ws/h/.hg/hgrc",
        "ws/link/.git",
        "ws/packages/app/.husky",
        "ws/packages/app/.vscode",
        "ws/packages/b/.Envrc",
        "ws/vendor/lib/.git/config",
        "ws/vendor/lib/.git/hooks",
    ];
    assert_eq!(relative_paths(&fixture, &planned(&fixture, &[], &[]).confinement.read_only), expect);
    let opened = planned(&fixture, &["Write(**/repo.git/**)", "Write(packages/**/.vscode/**)"], &[]);
    let read_only = relative_paths(&fixture, &opened.confinement.read_only);
    assert!(!read_only.contains(&"ws/deep/er/repo.git/config".to_owned()), "{read_only:?}");
    assert!(!read_only.contains(&"ws/packages/app/.vscode".to_owned()), "{read_only:?}");
}

#[test]
fn objects_that_hold_what_a_rule_denies_are_hidden() {
    let fixture = Fixture::with("s/a.pem", "secret");
    repository(&fixture.root());
    assert_eq!(
        relative_paths(&fixture, &planned(&fixture, &[], &["Read(**/*.pem)"]).confinement.hidden),
        ["ws/s/a.pem"]
    );
    git(&fixture.root(), &["add", "s/a.pem"]);
    let plan = planned(&fixture, &[], &["Read(**/*.pem)"]);
    assert_eq!(relative_paths(&fixture, &plan.confinement.hidden), ["ws/.git/objects", "ws/s/a.pem"]);
    let objects = plan.hidden_objects.unwrap();
    assert_eq!((objects.path.as_path(), objects.rule.starts_with("Read(/")), (Path::new("s/a.pem"), true));
    let shown = planned(&fixture, &["Read(.git/objects/**)"], &["Read(**/*.pem)"]);
    assert_eq!(relative_paths(&fixture, &shown.confinement.hidden), ["ws/s/a.pem"]);
    let other = planned(&fixture, &[], &["Read(**/*.key)"]);
    assert_eq!(
        (relative_paths(&fixture, &other.confinement.hidden), other.hidden_objects),
        (Vec::new(), None)
    );
}

#[test]
fn a_workspace_that_is_too_large_to_be_searched_is_reported() {
    let fixture = Fixture::new();
    for directory in 0..60 {
        let directory = fixture.path(&format!("d{directory}"));
        std::fs::create_dir(&directory).unwrap();
        for file in 0..1000 {
            std::fs::write(directory.join(file.to_string()), "").unwrap();
        }
    }
    fixture.put("d0/sub/.envrc", "");
    let plan = planned(&fixture, &[], &[]);
    assert!(plan.is_complete && plan.notes.concat().contains("too large"), "{:?}", plan.notes);
}

#[test]
fn credentials_that_are_created_later_are_hidden_afterwards() {
    let fixture = Fixture::new();
    std::fs::create_dir_all(fixture.outside("home/.config")).unwrap();
    std::fs::write(fixture.outside("home/.netrc"), "").unwrap();
    let ConfinementPlan { confinement, .. } =
        planned(&fixture, &["Read(~/.ssh/**)"], &["Read(~/private/**)"]);
    assert_eq!(relative_paths(&fixture, &confinement.hidden), ["home/.netrc"]);
    let later = relative_paths(&fixture, &confinement.hidden_when_created);
    for expected in ["home/.aws", "home/.gnupg", "home/private"] {
        assert!(later.iter().any(|path| path == expected), "{expected}: {later:?}");
    }
    for unexpected in ["home/.netrc", "home/.ssh"] {
        assert!(!later.iter().any(|path| path == unexpected), "{unexpected}: {later:?}");
    }
}

/// The kind of file at a path of a generated home directory.
#[derive(Clone, Copy, Debug)]
enum Entry {
    File,
    Directory,
    /// A directory that can be entered and not listed.
    UnlistableDirectory,
    LinkToDirectory,
    BrokenLink,
}

/// Entries of a home directory: each at the path of a credential, or at one of the directories above it.
fn home_entries() -> impl Strategy<Value = Vec<(prop::sample::Index, usize, Entry)>> {
    let kind = prop::sample::select(vec![
        Entry::File,
        Entry::Directory,
        Entry::UnlistableDirectory,
        Entry::LinkToDirectory,
        Entry::BrokenLink,
    ]);
    prop::collection::vec((any::<prop::sample::Index>(), 0..3_usize, kind), 0..24)
}

/// Creates an entry. Does nothing where something is in the way.
fn create(path: &Path, entry: Entry, elsewhere: &Path) {
    let _ = path.parent().map(fs::create_dir_all);
    let _ = match entry {
        Entry::File => fs::write(path, ""),
        Entry::Directory | Entry::UnlistableDirectory => fs::create_dir(path),
        Entry::LinkToDirectory => symlink(elsewhere, path),
        Entry::BrokenLink => symlink("nowhere", path),
    };
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn listed_directories_hide_the_same_paths_as_a_question_for_each_path(entries in home_entries()) {
        let fixture = Fixture::new();
        let home = fixture.outside("home");
        let elsewhere = fixture.outside("elsewhere");
        fs::create_dir_all(elsewhere.join("User")).unwrap();
        let policy = Policy::new(PermissionMode::Force, fixture.root(), home.clone()).path_policy();
        let paths = policy.hidden_paths();
        let below_home: Vec<&PathBuf> = paths.iter().filter(|path| path.starts_with(&home)).collect();
        let mut unlistable = Vec::new();
        for (index, above, entry) in entries {
            let path = index.get(&below_home).ancestors().take_while(|path| *path != home).nth(above);
            let Some(path) = path else { continue };
            create(path, entry, &elsewhere);
            if matches!(entry, Entry::UnlistableDirectory) && path.is_dir() {
                unlistable.push(path.to_owned());
            }
        }
        let set_mode = |mode| {
            for path in &unlistable {
                fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
            }
        };
        set_mode(0o300);
        let (plan, real_paths) = ibeam_testkit::without_root_access(|| {
            let workspace = Workspace::new(&fixture.root(), &[]).unwrap();
            let real_paths: Vec<_> = paths.iter().map(|path| path.canonicalize().ok()).collect();
            (plan_confinement(&workspace, &policy), real_paths)
        });
        set_mode(0o700);
        let real: BTreeSet<&PathBuf> = real_paths.iter().flatten().collect();
        let is_topmost = |path: &&&PathBuf| !path.ancestors().skip(1).any(|above| real.contains(&above.to_owned()));
        let hidden: Vec<PathBuf> = real.iter().filter(is_topmost).map(|path| (*path).clone()).collect();
        let absent = paths.iter().zip(&real_paths).filter(|(_, real)| real.is_none());
        let absent: Vec<PathBuf> = absent.map(|(path, _)| path.clone()).collect();
        prop_assert_eq!(plan.confinement.hidden, hidden);
        prop_assert_eq!(plan.confinement.hidden_when_created, absent);
    }
}
