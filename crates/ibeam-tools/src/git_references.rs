//! Finds the paths in the work tree that git's configuration names: directories of hooks, included files, programs; and
//! those to which links with protected names lead.
//!
//! Such a path makes git or another program run something, although its name does not show it. Reads the configuration of the
//! repository, of the user and of the system, with included files, each up to a size. Conditions are not evaluated: a
//! conditional include always counts.

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

use ibeam_policy::{is_read_only_name, read_only_git_entries, read_only_nested_paths};

use crate::git_config;
use crate::git_directory::{GitDirectories, MAX_CONFIG_BYTES, read_small_file};

/// Maximum number of configuration files that include each other.
const MAX_CONFIG_FILES: usize = 32;
/// The names of hooks, for a root that is the directory of hooks itself.
const HOOK_NAMES: [&str; 28] = [
    "applypatch-msg",
    "commit-msg",
    "fsmonitor-watchman",
    "p4-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
    "p4-prepare-changelist",
    "post-applypatch",
    "post-checkout",
    "post-commit",
    "post-index-change",
    "post-merge",
    "post-receive",
    "post-rewrite",
    "post-update",
    "pre-applypatch",
    "pre-auto-gc",
    "pre-commit",
    "pre-merge-commit",
    "pre-push",
    "pre-rebase",
    "pre-receive",
    "prepare-commit-msg",
    "proc-receive",
    "push-to-checkout",
    "reference-transaction",
    "sendemail-validate",
    "update",
];
/// Keys whose value is a program; `*` matches any name.
const PROGRAM_KEYS: [&str; 21] = [
    "core.fsmonitor",
    "core.sshcommand",
    "core.editor",
    "core.pager",
    "core.askpass",
    "core.gitproxy",
    "core.alternaterefscommand",
    "sequence.editor",
    "gpg.program",
    "gpg.*.program",
    "gpg.ssh.defaultkeycommand",
    "credential.helper",
    "credential.*.helper",
    "filter.*",
    "diff.*",
    "diff.external",
    "merge.*",
    "difftool.*",
    "mergetool.*",
    "alias.*",
    "pager.*",
];

/// Returns the paths in `roots` that the present configuration names, and those that links with protected names in a root
/// or in its git directory name, whether they exist or not.
pub fn indirectly_protected_paths(roots: &[PathBuf], home: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for root in roots {
        let mut files =
            vec![PathBuf::from("/etc/gitconfig"), home.join(".config/git/config"), home.join(".gitconfig")];
        for directory in GitDirectories::find(root, Some(home)).repositories {
            files.extend(["config", "config.worktree"].map(|name| directory.join(name)));
            if directory.starts_with(root) && !directory.iter().any(|name| name == ".git") {
                found.extend(read_only_git_entries().iter().map(|name| directory.join(name)));
            }
        }
        let mut reader = ConfigReader { root, home, files, found: &mut found };
        reader.read();
        for link in protected_links(root) {
            if let Ok(target) = link.read_link() {
                let target = reader.resolve(link.parent().unwrap_or(root), &target.to_string_lossy());
                reader.add(target);
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Returns what may be links with protected names in a root and in its git directory. Asks for no path of several names
/// whose first name the root does not have.
fn protected_links(root: &Path) -> Vec<PathBuf> {
    let git_entries = read_only_git_entries().iter().map(|name| format!(".git/{name}"));
    let nested = read_only_nested_paths().iter().map(|path| (*path).to_owned());
    let nested: Vec<String> = nested.chain(git_entries).collect();
    let first_names: HashSet<String> = nested.iter().map(|path| first_name(path)).collect();
    let (mut links, mut present) = (Vec::new(), HashSet::new());
    let entries = std::fs::read_dir(root);
    let mut is_complete = entries.is_ok();
    for entry in entries.into_iter().flatten() {
        let Ok(entry) = entry else {
            is_complete = false;
            continue;
        };
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        // The names are compared last: the table of protected names takes longer to build than all the rest.
        if entry.file_type().is_ok_and(|kind| kind.is_symlink()) && is_read_only_name(name) {
            links.push(root.join(name));
        }
        present.extend(first_names.get(&name.to_ascii_lowercase()));
    }
    let may_exist = |path: &&String| !is_complete || present.contains(&first_name(path));
    links.extend(nested.iter().filter(may_exist).map(|path| root.join(path)));
    links
}

/// Returns the first name of a path in lower case.
fn first_name(path: &str) -> String {
    path.split('/').next().unwrap_or(path).to_ascii_lowercase()
}

struct ConfigReader<'a> {
    root: &'a Path,
    home: &'a Path,
    /// Files to read, and those that were read.
    files: Vec<PathBuf>,
    found: &'a mut Vec<PathBuf>,
}

impl ConfigReader<'_> {
    fn read(&mut self) {
        let mut index = 0;
        while let Some(file) = self.files.get(index).cloned().filter(|_| index < MAX_CONFIG_FILES) {
            index += 1;
            let Some(text) = read_small_file(&file, MAX_CONFIG_BYTES) else { continue };
            for (key, value) in git_config::entries(&text).unwrap_or_default() {
                self.add_entry(&file, &key, &value);
            }
        }
    }

    fn add_entry(&mut self, file: &Path, key: &str, value: &str) {
        if key == "core.hookspath" {
            self.add_hooks(value);
        } else if key == "include.path" || (key.starts_with("includeif.") && key.ends_with(".path")) {
            let included = self.resolve(file.parent().unwrap_or(self.root), value);
            self.add(included.clone());
            if !self.files.contains(&included) {
                self.files.push(included);
            }
        } else if is_program_key(key) {
            // The value is a shell command, in which any word may be the program.
            let words = value.trim_start_matches('!').split_whitespace();
            for word in words.map(|word| word.trim_matches(['"', '\'', ';'])) {
                let path = self.resolve(self.root, word);
                if word.contains('/') && path.symlink_metadata().is_ok_and(|metadata| !metadata.is_dir()) {
                    self.add(path);
                }
            }
        }
    }

    fn add_hooks(&mut self, value: &str) {
        let directory = self.resolve(self.root, value);
        if self.root.starts_with(&directory) {
            for name in HOOK_NAMES {
                self.add(directory.join(name));
            }
        } else {
            self.add(directory);
        }
    }

    /// Adds a path in the root, and the target of its links.
    fn add(&mut self, path: PathBuf) {
        let real = path.canonicalize().ok().filter(|real| *real != path);
        let is_inside = |path: &PathBuf| path != self.root && path.starts_with(self.root);
        self.found.extend(std::iter::once(path).chain(real).filter(is_inside));
    }

    /// Returns the path that `value` names relative to `directory`, without `.` and `..`.
    fn resolve(&self, directory: &Path, value: &str) -> PathBuf {
        let path = match value.strip_prefix("~/") {
            Some(below) => self.home.join(below),
            None => directory.join(value),
        };
        let mut normalized = PathBuf::new();
        for component in path.components() {
            match component {
                Component::ParentDir => {
                    normalized.pop();
                }
                Component::CurDir => {}
                Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                    normalized.push(component)
                }
            }
        }
        normalized
    }
}

fn is_program_key(key: &str) -> bool {
    PROGRAM_KEYS.iter().any(|program| match program.split_once('*') {
        Some((before, after)) => key.strip_prefix(before).is_some_and(|rest| rest.ends_with(after)),
        None => key == *program,
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use super::indirectly_protected_paths;
    use crate::fixture::Fixture;

    #[track_caller]
    fn check(fixture: &Fixture, expect: &[&str]) {
        let root = fixture.root();
        let found = indirectly_protected_paths(std::slice::from_ref(&root), &fixture.outside("home"));
        let found: Vec<PathBuf> =
            found.into_iter().filter_map(|path| path.strip_prefix(&root).ok().map(PathBuf::from)).collect();
        assert_eq!(found, expect.iter().map(PathBuf::from).collect::<Vec<_>>());
    }

    fn repository(config: &str) -> Fixture {
        let fixture = Fixture::with(".git/config", config);
        fixture.put(".git/HEAD", "ref: refs/heads/main\n");
        std::fs::create_dir_all(fixture.outside("home/.config/git")).unwrap();
        fixture
    }

    #[test]
    fn hooks_included_files_and_programs_in_the_work_tree_are_found() {
        let fixture = repository(
            "[core]\n hooksPath = ./h/../.githooks\n fsmonitor = tools/watch -v\n[include]\n path = ../shared.config\n\
             [filter \"x\"]\n clean = sh ./tools/clean %f\n process = none/there\n[alias]\n z = !tools/run\n",
        );
        fixture
            .put("shared.config", "[core]\n sshCommand = \"tools/ssh\"\n[include]\n path = shared.config\n");
        for name in ["watch", "clean", "run", "ssh", "other"] {
            fixture.put(&format!("tools/{name}"), "");
        }
        check(
            &fixture,
            &[".githooks", "shared.config", "tools/clean", "tools/run", "tools/ssh", "tools/watch"],
        );
    }

    #[test]
    fn the_targets_of_links_with_protected_names_are_found() {
        let fixture = repository("");
        fixture.put("tools/hooks/pre-push", "");
        fixture.put("settings/tasks.json", "");
        fixture.put(".config/other", "");
        for (target, link) in [
            ("../tools/hooks", ".git/hooks"),
            ("./settings", ".vscode"),
            ("missing/../later", ".envrc"),
            ("/etc", ".idea"),
            ("settings", "ordinary"),
            ("../editor", ".config/nvim"),
        ] {
            fixture.link(target, link);
        }
        check(&fixture, &["editor", "later", "settings", "tools/hooks"]);
        std::fs::set_permissions(fixture.root(), PermissionsExt::from_mode(0o300)).unwrap();
        ibeam_testkit::without_root_access(|| check(&fixture, &["editor", "tools/hooks"]));
        std::fs::set_permissions(fixture.root(), PermissionsExt::from_mode(0o700)).unwrap();
    }

    #[test]
    fn the_configuration_of_the_user_and_of_the_work_tree_counts() {
        let fixture = repository("");
        std::fs::write(fixture.outside("home/.gitconfig"), "[core]\n hooksPath = .hooks\n").unwrap();
        std::fs::write(fixture.outside("home/.config/git/config"), "[core]\n hooksPath = ~/h\n").unwrap();
        fixture.put(".git/config.worktree", "[core]\n hooksPath = .w\n");
        check(&fixture, &[".hooks", ".w"]);
    }

    #[test]
    fn a_root_that_is_the_directory_of_hooks_is_protected_by_their_names() {
        let fixture = repository("[core]\n hooksPath = .\n");
        let found = indirectly_protected_paths(&[fixture.root()], &fixture.outside("home"));
        assert!(found.contains(&fixture.path("pre-commit")) && !found.contains(&fixture.root()), "{found:?}");
    }

    #[test]
    fn a_git_directory_under_another_name_is_found_by_references_to_it() {
        for is_link in [false, true] {
            let fixture = Fixture::with(".bare/config", "[core]\n hooksPath = hooks-of-mine\n");
            fixture.put(".bare/HEAD", "ref: refs/heads/main\n");
            for name in [".bare/objects", ".bare/refs"] {
                std::fs::create_dir(fixture.path(name)).unwrap();
            }
            if is_link {
                fixture.link(".bare", ".git");
            } else {
                fixture.put(".git", "gitdir: ./.bare\n");
            }
            check(
                &fixture,
                &[
                    ".bare/commondir",
                    ".bare/config",
                    ".bare/config.worktree",
                    ".bare/hooks",
                    ".bare/info",
                    "hooks-of-mine",
                ],
            );
        }
    }

    #[test]
    fn a_fifo_in_place_of_a_configuration_does_not_block() {
        let fixture = repository("[include]\n path = ../pipe\n[core]\n hooksPath = h\n");
        fixture.fifo("pipe");
        std::fs::remove_file(fixture.path(".git/config")).unwrap();
        fixture.fifo(".git/config");
        check(&fixture, &[]);
    }
}
