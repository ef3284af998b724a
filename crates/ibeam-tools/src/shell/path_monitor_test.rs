use std::collections::BTreeSet;
use std::os::fd::AsFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use ibeam_policy::{PathPolicy, Policy, Rule};
use ibeam_protocol::PermissionMode;

use super::attribution::Attribution;
use super::{PathFinding, ProtectedPathMonitor, ScanReport, findings_text};
use crate::fixture::{Fixture, runtime};
use crate::inventory::{Inventory, InventoryScan, ScanLimits};
use crate::workspace::Workspace;
use crate::{ToolSettings, plan_confinement};

/// A workspace with a monitor.
struct Guarded {
    fixture: Fixture,
    monitor: ProtectedPathMonitor,
}

impl Guarded {
    fn with_rules(allow: &[&str], deny: &[&str], fixture: Fixture) -> Self {
        Self::with_attribution(allow, deny, fixture, Attribution::Commands)
    }

    fn with_attribution(allow: &[&str], deny: &[&str], fixture: Fixture, attribution: Attribution) -> Self {
        let rules = |tokens: &[&str]| tokens.iter().map(|token| token.parse::<Rule>().unwrap()).collect();
        let mut policy = Policy::new(PermissionMode::Force, fixture.root(), fixture.outside("home"));
        policy.allow = rules(allow);
        policy.deny = rules(deny);
        let settings = ToolSettings {
            path_policy: policy.path_policy(),
            quarantine: Some(fixture.outside("quarantine")),
            ..ToolSettings::default()
        };
        let workspace = Arc::new(Workspace::new(&fixture.root(), &[]).unwrap());
        // As in a run, the first scan gets the listing that this makes.
        plan_confinement(&workspace, &settings.path_policy);
        Self { monitor: ProtectedPathMonitor::with_attribution(&workspace, &settings, attribution), fixture }
    }

    fn new(fixture: Fixture) -> Self {
        Self::with_rules(&[], &[], fixture)
    }

    /// Returns the findings after `command`, and checks that a further scan has none.
    #[track_caller]
    fn after(&self, command: &str) -> Vec<PathFinding> {
        self.report_after(command).findings
    }

    fn report_after(&self, command: &str) -> ScanReport {
        let found = runtime().block_on(async {
            self.monitor.scan_before().await;
            bash(&self.fixture.root(), command);
            self.monitor.scan_after().await
        });
        let again = runtime().block_on(async {
            self.monitor.scan_before().await;
            self.monitor.scan_after().await
        });
        assert_eq!(again, ScanReport::default(), "after `{command}`");
        found
    }

    #[track_caller]
    fn permits(&self, command: &str) {
        assert_eq!(self.after(command), [], "{command}");
    }

    /// Checks that `command` leads to a finding about this path only.
    #[track_caller]
    fn stops(&self, command: &str, path: &str) {
        let found = self.after(command);
        let paths: Vec<PathBuf> = found.iter().map(|finding| finding.path.clone()).collect();
        assert_eq!(paths, [self.fixture.path(path)], "`{command}`: {found:?}");
    }

    /// The names in the quarantine.
    fn quarantined(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.fixture.outside("quarantine"))
            .into_iter()
            .flatten()
            // Next to each directory is a file with the origins.
            .filter(|entry| entry.as_ref().unwrap().path().is_dir())
            .flat_map(|look| std::fs::read_dir(look.unwrap().path()).unwrap())
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn exists(&self, path: &str) -> bool {
        self.fixture.path(path).symlink_metadata().is_ok()
    }
}

#[track_caller]
fn bash(directory: &Path, command: &str) {
    let ran = Command::new("bash")
        .args(["-ec", command])
        .current_dir(directory)
        .envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_AUTHOR_NAME", "A"), ("GIT_AUTHOR_EMAIL", "a@b.c")])
        .envs([("GIT_COMMITTER_NAME", "A"), ("GIT_COMMITTER_EMAIL", "a@b.c")])
        .output()
        .unwrap();
    assert!(ran.status.success(), "{command}: {ran:?}");
}

fn repository() -> Fixture {
    let fixture = Fixture::with("README.md", "hello\n");
    bash(&fixture.root(), "git init -q -b main; git add .; git commit -q -m one");
    fixture
}

#[test]
fn a_protected_name_that_a_command_creates_is_moved_away() {
    let guarded = Guarded::new(Fixture::with("data/x", ""));
    guarded.stops("mkdir c; echo '{}' > c/mcp.json; mv c .cursor", ".cursor");
    guarded.stops("ln -s data .claude", ".claude");
    guarded.stops("echo '{}' > .Mcp.JSON", ".Mcp.JSON");
    guarded.stops("mkfifo .envrc", ".envrc");
    guarded.stops("mkdir -p .hg; echo '[hooks]' > .hg/hgrc", ".hg/hgrc");
    guarded.stops("mkdir objects refs; echo 'ref: refs/heads/main' > HEAD", "HEAD");
    for gone in [".cursor", ".claude", ".Mcp.JSON", ".envrc", ".hg/hgrc", "HEAD"] {
        assert!(!guarded.exists(gone), "{gone}");
    }
    assert_eq!(guarded.quarantined(), [".Mcp.JSON", ".claude", ".cursor", ".envrc", "HEAD", "hgrc"]);
    assert!(guarded.fixture.path("data/x").exists());
}

#[test]
fn ordinary_work_is_not_disturbed() {
    let guarded = Guarded::new(repository());
    guarded.permits("mkdir -p .github src; touch .gitignore .editorconfig src/HEAD; echo x > HEAD; rm HEAD");
    guarded.permits(
        "git checkout -q -b feature; echo y > f; git add f; git commit -q -m two; git checkout -q main",
    );
    guarded
        .permits("git merge -q feature; git tag v1; git stash -q -u || true; git gc -q; git repack -q -a -d");
    guarded.permits("git branch -q other; git branch -q --set-upstream-to=main other");
    guarded.permits("git worktree add -q tree; git init -q sub; git -C sub commit -q --allow-empty -m one");
    guarded.permits("git worktree remove tree");
    assert_eq!(guarded.quarantined(), [""; 0]);
}

#[test]
fn a_rebase_may_stop_and_continue_but_leaves_no_step_that_runs_a_command() {
    let guarded = Guarded::new(repository());
    guarded.permits(
        "git checkout -q -b side; echo side > README.md; git commit -q -a -m side; echo 2 > two; git add two; \
         git commit -q -m two; git checkout -q main; echo main > README.md; git commit -q -a -m main",
    );
    guarded.permits(
        "git checkout -q side; git rebase -q main >/dev/null 2>&1 || true; test -d .git/rebase-merge",
    );
    let steps = ".git/rebase-merge/git-rebase-todo";
    let before = std::fs::read(guarded.fixture.path(steps)).unwrap();
    for step in ["exec touch pwned", "x touch pwned"] {
        guarded.stops(&format!("echo '{step}' >> {steps}"), steps);
        assert_eq!(std::fs::read(guarded.fixture.path(steps)).unwrap(), before);
    }
    guarded.stops(
        &format!("cp {steps} list; echo 'x touch pwned' >> list; ln -sf \"$PWD/list\" {steps}"),
        steps,
    );
    guarded.permits(
        "echo both > README.md; git add README.md; GIT_EDITOR=true git rebase --continue >/dev/null 2>&1",
    );
    assert!(!guarded.exists("pwned") && !guarded.exists(".git/rebase-merge"));
    // A directory that did not exist.
    guarded.stops(&format!("mkdir .git/rebase-merge; echo 'exec touch pwned' > {steps}"), steps);
    guarded.permits("rm -r .git/rebase-merge");
    guarded.stops(
        "mkdir made; echo 'exec touch pwned' > made/git-rebase-todo; ln -s ../made .git/rebase-merge",
        ".git/rebase-merge",
    );
}

#[test]
fn a_step_that_the_user_added_stays() {
    let guarded = Guarded::new(repository());
    let steps = ".git/rebase-merge/git-rebase-todo";
    bash(&guarded.fixture.root(), "mkdir .git/rebase-merge");
    let list = "pick 1\nexec make test\npick 2\nexec make test\n";
    std::fs::write(guarded.fixture.path(steps), list).unwrap();
    guarded.permits(&format!("printf 'pick 2\\nexec make test\\n' > {steps}"));
    guarded.stops(&format!("printf 'pick 2\\nexec make evil\\n' > {steps}"), steps);
    guarded.permits("rm -r .git/rebase-merge");
}

#[test]
fn a_repository_that_a_command_creates_stays() {
    let guarded = Guarded::new(Fixture::with("f", "x"));
    guarded.permits("git init -q -b main; git add f; git commit -q -m one");
    guarded.permits("git remote add origin https://example.org/a.git; git config user.name B");
    guarded.stops("git config core.fsmonitor 'touch x'", ".git/config");
    guarded.stops("printf x > .git/hooks/pre-commit", ".git/hooks/pre-commit");
    bash(&guarded.fixture.root(), "git remote get-url origin; git commit -q --allow-empty -m two");

    let cloned = Guarded::new(Fixture::new());
    bash(&cloned.fixture.outside(""), "git init -q o; git -C o commit -q --allow-empty -m one");
    cloned.permits("git clone -q ../o .");
}

#[test]
fn files_that_git_does_not_write_are_removed_from_a_new_repository() {
    let guarded = Guarded::new(Fixture::new());
    let found = guarded.after(
        "git init -q; git config alias.st '!touch x'; printf x > .git/hooks/post-checkout; echo '* filter=x' > \
         .git/info/attributes; echo ../evil > .git/commondir",
    );
    assert_eq!(found.len(), 4, "{found:?}");
    assert!(guarded.exists(".git/HEAD") && guarded.exists(".git/hooks/pre-commit.sample"));
    assert!(!guarded.exists(".git/commondir"));
    guarded.stops("mv .git g; echo 'gitdir: g' > .git", ".git");
    guarded.permits("mv g .git");
}

#[test]
fn changes_that_make_git_run_programs_are_restored() {
    let fixture = repository();
    fixture.put(".git/hooks/pre-push", "mine");
    fixture.put(".vscode/tasks.json", "mine");
    let guarded = Guarded::new(fixture);
    let config = guarded.fixture.bytes(".git/config");
    let mode = |path: &str| guarded.fixture.path(path).metadata().unwrap().permissions().mode() & 0o777;
    let mode_of_hook = mode(".git/hooks/pre-push");
    guarded.stops("echo '[core] pager = x' >> .git/config", ".git/config");
    guarded.stops("git remote add origin elsewhere", ".git/config");
    guarded.stops("rm .git/hooks/pre-push", ".git/hooks/pre-push");
    guarded.stops("chmod 777 .git/hooks/pre-push", ".git/hooks/pre-push");
    guarded.stops("rm -r .git/hooks; ln -s ../evil .git/hooks", ".git/hooks");
    guarded.stops(
        "mv .git g2; mkdir -p .git/hooks; cp -a g2/. .git/; printf x > .git/hooks/pre-commit",
        ".git/hooks/pre-commit",
    );
    guarded.stops("echo yours > .vscode/tasks.json", ".vscode/tasks.json");
    guarded.stops("rm -r .vscode", ".vscode");
    guarded.stops("mv .vscode v; ln -s v .vscode", ".vscode");
    assert_eq!(guarded.fixture.bytes(".git/config"), config);
    assert_eq!(guarded.fixture.bytes(".vscode/tasks.json"), b"mine");
    assert_eq!(mode(".git/hooks/pre-push"), mode_of_hook);
    guarded.permits("touch .vscode/tasks.json; git status");
    guarded.permits("rm -rf .git");
}

#[test]
fn repositories_of_submodules_are_watched_too() {
    let fixture = repository();
    bash(&fixture.outside(""), "git init -q o; git -C o commit -q --allow-empty -m one");
    let guarded = Guarded::new(fixture);
    guarded.permits("mkdir .git/modules; git clone -q ../o lib --separate-git-dir .git/modules/lib");
    guarded.stops("git -C lib config core.fsmonitor x", ".git/modules/lib/config");
    guarded.stops("printf x > .git/modules/lib/hooks/post-commit", ".git/modules/lib/hooks/post-commit");
}

#[test]
fn a_rule_that_names_the_path_lifts_the_protection() {
    let guarded =
        Guarded::with_rules(&["Write(.vscode/**)", "Write(.git/hooks/pre-commit)"], &[], repository());
    guarded.permits("mkdir .vscode; echo '{}' > .vscode/tasks.json; printf x > .git/hooks/pre-commit");
    guarded.permits("rm -r .vscode");
    guarded.stops("printf x > .git/hooks/post-commit", ".git/hooks/post-commit");
}

#[test]
fn changes_below_a_deny_rule_are_removed_or_restored_at_any_depth() {
    let guarded =
        Guarded::with_rules(&[], &["Write(**/*.key)", "Write(src/)"], Fixture::with("src/main.rs", "fn"));
    guarded.stops("mkdir -p a/b; echo x > a/b/new.key", "a/b/new.key");
    guarded.stops("echo y > src/main.rs", "src/main.rs");
    guarded.stops("echo y > src/more.rs", "src/more.rs");
    guarded.stops("rm -r src", "src");
    guarded.permits("echo y > other.rs");
    assert_eq!(guarded.fixture.bytes("src/main.rs"), b"fn");
}

#[test]
fn changes_by_people_between_commands_stay() {
    let guarded = Guarded::new(Fixture::new());
    guarded.permits("true");
    guarded.fixture.put(".vscode/settings.json", "mine");
    guarded.permits("true");
    assert_eq!(guarded.fixture.bytes(".vscode/settings.json"), b"mine");
}

#[test]
fn a_directory_too_large_to_watch_is_left_alone_except_its_own_name() {
    let fixture = Fixture::new();
    std::fs::create_dir(fixture.path(".vscode")).unwrap();
    for number in 0..5000 {
        fixture.put(&format!(".vscode/{number}"), "mine");
    }
    let guarded = Guarded::new(fixture);
    guarded.permits("touch .vscode/new; rm .vscode/7");
    guarded.stops("mv .vscode other", ".vscode");
}

#[test]
fn a_change_that_keeps_times_and_size_is_detected() {
    let guarded = Guarded::new(Fixture::with(".envrc", "mine"));
    for _ in 0..20 {
        guarded.stops("printf work > .envrc", ".envrc");
        assert_eq!(guarded.fixture.bytes(".envrc"), b"mine");
    }
}

#[test]
fn an_unchanged_directory_is_not_listed_again() {
    let fixture = Fixture::with("a/b/f", "x");
    fixture.put("quarantine/.envrc", "moved away");
    let (root, quarantine) = (fixture.root(), fixture.path("quarantine"));
    let directory = std::fs::File::open(&root).unwrap();
    let scan = |known: &Inventory, quarantine| {
        let parameters = InventoryScan {
            root: directory.as_fd(),
            path: &root,
            path_policy: &PathPolicy::default(),
            quarantine,
            skipped: &[],
            walked: None,
            first: &BTreeSet::new(),
            limits: ScanLimits { entries: 100, time: Duration::from_secs(60) },
            is_first: true,
            // No change is fresh.
            fresh_from: i128::MAX,
        };
        Inventory::scan(&parameters, known)
    };
    let first = scan(&Inventory::default(), None);
    std::fs::write(root.join("a/b/new"), "").unwrap();
    let second = scan(&first, Some(quarantine.as_path()));
    let is_same = |path: &str| {
        let [old, new] = [&first, &second].map(|inventory| inventory.directories.get(Path::new(path)));
        Arc::ptr_eq(old.unwrap(), new.unwrap())
    };
    assert!(is_same("") && is_same("a") && !is_same("a/b"));
    // What the first listing did not leave out is left out now.
    let has_quarantine = |found: &Inventory| found.directories.contains_key(Path::new("quarantine"));
    assert!(has_quarantine(&first) && !has_quarantine(&second));
}

#[test]
fn the_first_scan_takes_the_listing_of_the_planned_sandbox_unless_a_rule_denies_writing() {
    for (deny, is_kept) in [(&[][..], true), (&["Write(*.key)"], false)] {
        let guarded = Guarded::with_rules(&[], deny, Fixture::with("a/b/f", "x"));
        let workspace = &guarded.monitor.0.as_ref().unwrap().workspace;
        let root = guarded.fixture.root();
        let listing = workspace.take_listing(&root);
        assert_eq!(listing.is_some(), is_kept, "{deny:?}");
        workspace.keep_listing(&root, listing.unwrap_or_default());
        runtime().block_on(guarded.monitor.scan_before());
        assert!(workspace.take_listing(&root).is_none());
    }
}

#[test]
fn a_removed_workspace_leaves_nothing_to_restore() {
    let guarded = Guarded::new(Fixture::with(".envrc", "mine"));
    guarded.permits("rm -r \"$PWD\"");
}

#[test]
fn changes_of_a_running_background_command_are_not_accepted_as_the_state_before() {
    let guarded = Guarded::new(Fixture::new());
    runtime().block_on(async {
        guarded.monitor.scan_before().await;
        bash(&guarded.fixture.root(), "mkdir .cursor");
        guarded.monitor.scan_before().await;
        assert_eq!(guarded.monitor.scan_after().await.findings.len(), 1);
        bash(&guarded.fixture.root(), "mkdir .cursor");
        guarded.monitor.scan_after_background().await;
        assert_eq!(guarded.monitor.take_pending().findings.len(), 1);
        assert_eq!(guarded.monitor.take_pending(), ScanReport::default());
    });
}

#[test]
fn what_no_command_made_is_reported_once_and_left_alone() {
    let fixture = repository();
    fixture.put(".envrc", "mine");
    fixture.put("sub/.vscode/tasks.json", "{}");
    let guarded = Guarded::with_attribution(&[], &["Write(kept/**)"], fixture, Attribution::Others);
    let report = guarded.report_after(
        "rm .envrc; git config core.pager x; git remote add o x; echo 1 > sub/.vscode/tasks.json; mkdir -p .idea kept; \
         echo > .idea/a; echo > .idea/b; echo > kept/file; mkdir .husky",
    );
    let foreign = [".husky", ".idea", "kept"].map(|name| guarded.fixture.path(name));
    assert_eq!(report, ScanReport { findings: Vec::new(), foreign: foreign.into() });
    assert!(!guarded.exists(".envrc") && guarded.exists(".idea/a") && guarded.exists(".husky"));
    assert_eq!(guarded.fixture.bytes("sub/.vscode/tasks.json"), b"1\n");
    assert!(String::from_utf8(guarded.fixture.bytes(".git/config")).unwrap().contains("pager"));
    assert_eq!(guarded.quarantined(), [""; 0]);
    // A later change is not a report again.
    assert_eq!(guarded.report_after("rm -r .husky; true"), ScanReport::default());
    assert_eq!(guarded.report_after("mkdir .husky"), ScanReport::default());
}

#[test]
fn a_linked_work_tree_is_watched_in_its_repository() {
    let fixture = Fixture::new();
    let main = fixture.outside("main");
    bash(&fixture.outside(""), "git init -q main; git -C main commit -q --allow-empty -m one");
    bash(&main, "rmdir ../ws; git worktree add -q ../ws");
    let guarded = Guarded::new(fixture);
    guarded.permits("echo x > f; git add f; git commit -q -m two");
    let found = guarded
        .after("git config core.pager x; printf x > \"$(git rev-parse --git-common-dir)/hooks/pre-commit\"");
    let paths: Vec<PathBuf> = found.into_iter().map(|finding| finding.path).collect();
    assert_eq!(paths, [main.join(".git/config"), main.join(".git/hooks/pre-commit")]);
    guarded.stops("echo 'gitdir: evil' > .git", ".git");
}

#[test]
fn a_finding_is_reported_with_a_suggestion() {
    let found = [PathFinding {
        path: "/w/.cursor".into(),
        description: "was created and is now at `/q/.cursor`".to_owned(),
    }];
    assert_eq!(
        findings_text(&found),
        "(stopped by the sandbox: commands must not change protected paths. `/w/.cursor` was created and is now at \
         `/q/.cursor`. A person may allow it with `--allow 'Write(/w/.cursor)'`)\n"
    );
}

#[test]
fn configuration_of_a_new_repository_below_the_root_is_plain_or_removed() {
    let guarded = Guarded::new(repository());
    guarded.permits("git init -q sub; git -C sub commit -q --allow-empty -m one; git clone -q sub a/b/copy");
    guarded.permits("git clone -q --bare sub bare.git; git -C sub worktree add -q ../linked");
    guarded.stops(
        "git -C sub config core.fsmonitor 'touch x'; git update-index --add --cacheinfo \
         160000,$(git -C sub rev-parse HEAD),sub",
        "sub/.git/config",
    );
    guarded.stops("printf x > a/b/copy/.git/hooks/post-commit", "a/b/copy/.git/hooks/post-commit");
    guarded.stops("git --git-dir bare.git config core.fsmonitor x", "bare.git/config");
    guarded.stops("printf x > bare.git/hooks/post-update", "bare.git/hooks/post-update");
    guarded.stops("echo ../../evil > bare.git/commondir", "bare.git/commondir");
    guarded.stops(
        "git init -q more; mkdir d; mv more/.git d/.g; echo '[core] pager = x' >> d/.g/config; \
         mv d/.g d/.git",
        "d/.git/config",
    );
    guarded.stops(
        "mkdir -p evil/repo.git; cd evil/repo.git; mkdir refs objects hooks; printf 'ref: refs/heads/main' \
         > HEAD; printf '[core]\nfsmonitor=x\n' > config",
        "evil/repo.git/config",
    );
    guarded.stops("mkdir e; cp -r .git e/.git; printf x > e/.git/hooks/pre-push", "e/.git/hooks/pre-push");
    guarded.stops("git init -q x; rm -rf x/.git/hooks; ln -s ../../evil x/.git/hooks", "x/.git/hooks");
    guarded.stops("mkdir y; ln -s ../evil/repo.git y/.git", "y/.git");
    guarded.stops("mkdir z; echo 'gitdir: /nowhere/evil' > z/.git", "z/.git");
    guarded.stops("mkdir w; echo 'gitdir: .' > w/.git", "w/.git");
    guarded.stops(
        "git init -q v; echo '[core] hooksPath = h' > v/.git/config.worktree",
        "v/.git/config.worktree",
    );
    guarded.stops("mkdir -p u/.jj/repo; echo x > u/.jj/repo/config.toml", "u/.jj/repo/config.toml");
    for (name, evil) in [("sub/.git/config", "fsmonitor"), ("bare.git/config", "fsmonitor")] {
        assert!(!String::from_utf8(guarded.fixture.bytes(name)).unwrap().contains(evil), "{name}");
    }
    assert!(!guarded.exists("d/.git/config") && guarded.exists("d/.git/HEAD"));
    // A command of the person does not run anything afterwards.
    bash(&guarded.fixture.root(), "git status >/dev/null");
}

#[test]
fn existing_protected_paths_below_the_root_are_restored() {
    let fixture = repository();
    for name in [
        "packages/app/.vscode/tasks.json",
        "packages/app/.envrc",
        "a/.husky/pre-commit",
        "b/.Cursor/mcp.json",
    ] {
        fixture.put(name, "mine");
    }
    bash(&fixture.root(), "git init -q vendor/lib; git init -q --bare deep/er/repo.git");
    fixture.put("vendor/lib/.git/hooks/pre-push", "mine");
    fixture.put("node_modules/pkg/.vscode/tasks.json", "mine");
    let guarded = Guarded::new(fixture);
    guarded.stops("echo PWN >> packages/app/.vscode/tasks.json", "packages/app/.vscode/tasks.json");
    guarded.stops("rm packages/app/.envrc", "packages/app/.envrc");
    guarded.stops("ln packages/app/.envrc y; echo PWN >> y", "packages/app/.envrc");
    guarded.stops("ln -sf ../evil a/.husky/pre-commit", "a/.husky/pre-commit");
    guarded.stops("mv b/.Cursor b/c; mkdir b/.Cursor", "b/.Cursor/mcp.json");
    guarded.stops("git -C vendor/lib config core.fsmonitor x", "vendor/lib/.git/config");
    guarded.stops("echo PWN > vendor/lib/.git/hooks/pre-push", "vendor/lib/.git/hooks/pre-push");
    guarded.stops(
        "rm -rf vendor/lib/.git; git init -q vendor/lib; git -C vendor/lib config alias.x '!y'; \
         printf mine > vendor/lib/.git/hooks/pre-push",
        "vendor/lib/.git/config",
    );
    guarded.stops("printf x > deep/er/repo.git/hooks/pre-receive", "deep/er/repo.git/hooks/pre-receive");
    guarded.stops("echo PWN >> node_modules/pkg/.vscode/tasks.json", "node_modules/pkg/.vscode/tasks.json");
    assert_eq!(guarded.fixture.bytes("packages/app/.envrc"), b"mine");
    assert_eq!(guarded.fixture.bytes("node_modules/pkg/.vscode/tasks.json"), b"mine");
    guarded.permits("rm -rf vendor/lib packages; mv deep/er deep/down; rm -rf node_modules");
    guarded.permits("mkdir -p node_modules/pkg/.vscode; echo new > node_modules/pkg/.vscode/tasks.json");
}

#[test]
fn a_protected_name_below_the_root_is_removed_wherever_a_command_creates_it() {
    let guarded = Guarded::new(Fixture::with("a/b/c/f", "x"));
    guarded.stops("mkdir a/b/c/.vscode; echo x > a/b/c/.vscode/tasks.json", "a/b/c/.vscode");
    guarded.stops(
        "mkdir -p /tmp/ibeam-$$/d; touch /tmp/ibeam-$$/d/.envrc; mv /tmp/ibeam-$$/d a/moved",
        "a/moved/.envrc",
    );
    guarded.stops("mkdir -p t/u; touch t/u/.mcp.json; chmod 000 t/u; chmod 500 t .", "t/u/.mcp.json");
    assert_eq!(guarded.fixture.root().metadata().unwrap().permissions().mode() & 0o777, 0o500);
    guarded.permits("chmod 755 . t t/u; mkdir -p some/dir; echo x > some/dir/file");
}

#[test]
fn a_directory_with_protected_files_may_be_moved_unchanged() {
    let fixture = repository();
    fixture.put("packages/app/.vscode/tasks.json", "mine");
    fixture.put("node_modules/a/.vscode/tasks.json", "mine");
    bash(&fixture.root(), "git init -q vendor/lib; git -C vendor/lib config core.pager mine");
    let guarded = Guarded::new(fixture);
    guarded.permits("mv packages/app packages/other; mv vendor/lib elsewhere");
    // Commands may make such names in packages.
    guarded.permits(
        "mv node_modules/a node_modules/b; mkdir -p node_modules/c/d; touch node_modules/c/d/.envrc",
    );
    guarded.stops("mv node_modules/b lib", "lib/.vscode");
    guarded.stops("mv node_modules modules", "modules/c/d/.envrc");
    guarded.stops(
        "mv packages/other packages/third; echo PWN > packages/third/.vscode/tasks.json",
        "packages/third/.vscode/tasks.json",
    );
    guarded.stops("mv elsewhere/.git elsewhere/g; mkdir n; mv elsewhere/g n/.git", "n/.git/config");
}

#[test]
fn new_files_in_a_directory_that_is_too_large_are_removed_with_it() {
    let guarded = Guarded::new(Fixture::new());
    guarded.stops(
        "git init -q; mkdir -p .git/hooks; cd .git/hooks; touch $(seq 1 5000); echo x > post-commit",
        ".git/hooks",
    );
    assert!(!guarded.exists(".git/hooks/post-commit") && guarded.exists(".git/HEAD"));
    guarded.stops(
        "mkdir -p $(printf 'd%.0s/' $(seq 1 40)).git/hooks; cd $(printf 'd%.0s/' $(seq 1 40)).git; \
         mkdir objects refs; touch HEAD; printf x > hooks/pre-push",
        &format!("{}.git/hooks/pre-push", "d/".repeat(40)),
    );
    // Longer than any path that the system accepts at once.
    guarded.stops(
        "for i in $(seq 1 30); do n=$(printf 'n%.0s' $(seq 1 200)); mkdir $n; cd $n; done; touch .envrc",
        &"n".repeat(200),
    );
}

#[test]
fn a_deny_rule_for_writing_applies_at_any_depth_and_to_git() {
    let guarded = Guarded::with_rules(&[], &["Write(*.key)"], repository());
    let deep = "d/".repeat(40);
    guarded.stops(&format!("mkdir -p {deep}; echo x > {deep}z.key"), &format!("{deep}z.key"));
    guarded.stops("echo x > .git/z.key", ".git/z.key");
    guarded.stops("mkdir .git/objects/zz; echo x > .git/objects/zz/z.key", ".git/objects/zz/z.key");
}
