//! What commands may touch, from what the policy says and what exists.
//!
//! Looks at the disk once, before the first command. Resolves found, so that what is hidden or kept is the place
//! itself and not a name of it. Searches a bounded part for what deny rules cover, and says when that was not all.

use std::collections::{BTreeSet, VecDeque};
use std::fs::Metadata;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ibeam_policy::{PathPolicy, read_only_git_entries};
use ibeam_sandbox::{Confinement, filter_existing};

use crate::files::FileIds;
use crate::git_directory::{GitDirectories, pointer};
use crate::git_index;
use crate::shell::inventory::{Inventory, InventoryScan, ListedDirectory, ScanLimits};
use crate::workspace::Workspace;

/// Entries of directories that are looked at for deny rules.
const MAX_SEARCHED_ENTRIES: usize = 200_000;
/// Places of one kind that are told to the sandbox: each is a mount.
const MAX_MOUNTS: usize = 4096;
/// Entries of a hidden directory of which a rule opens some.
const MAX_SIBLINGS: usize = 4096;
/// Entries of the workspace that are looked at for protected names before a run.
const MAX_LISTED_ENTRIES: usize = 50_000;
/// Time for that.
const LISTING_TIME_LIMIT: Duration = Duration::from_millis(50);
/// Directories that programs make from nothing, and remove whole.
const REGENERATED_DIRECTORIES: [&str; 4] = ["node_modules", "target", ".venv", "venv"];
/// Entries of directories that are looked at for the files that may not be read.
const MAX_LINK_SEARCH_ENTRIES: usize = 50_000;

/// What commands may touch.
#[derive(Clone, Debug, Default)]
pub struct ConfinementPlan {
    /// For the launcher; the caller adds what is no matter of paths.
    pub confinement: Confinement,
    /// Everything that a deny rule covers was found. Otherwise some of it is kept from commands by their analysis
    /// only, and from the file tools as ever.
    pub is_complete: bool,
    /// What a person should know of these bounds, in English sentences without a full stop.
    pub notes: Vec<String>,
    /// Why commands see no objects of git, where that is so.
    pub hidden_objects: Option<HiddenGitObjects>,
}

/// Objects of git that commands do not see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HiddenGitObjects {
    /// A file that git tracks and a rule denies to read, relative to its work tree.
    pub path: PathBuf,
    /// The rule that shows the objects when it is allowed.
    pub rule: String,
}

/// Finds what commands may touch in `workspace`, and makes the directories of `.git` that could not be kept as
/// they are if they were not there.
pub fn plan_confinement(workspace: &Workspace, path_policy: &PathPolicy) -> ConfinementPlan {
    let mut builder = PlanBuilder {
        path_policy,
        writable: workspace.directories().map(Path::to_owned).collect(),
        read_only: BTreeSet::new(),
        hidden: BTreeSet::new(),
        hidden_when_created: Vec::new(),
        is_complete: true,
        notes: Vec::new(),
        hidden_objects: None,
    };
    for (root, directory) in workspace.held() {
        builder.add_repository(root);
        builder.protect_below(root, directory);
    }
    for path in path_policy.protected_paths() {
        builder.protect(path);
    }
    let candidates = path_policy.hidden_paths();
    let present: BTreeSet<PathBuf> = filter_existing(&candidates).into_iter().collect();
    for hidden in candidates {
        match present.contains(&hidden).then(|| hidden.canonicalize()) {
            Some(Ok(real)) => {
                if !path_policy.allows_read(&hidden) {
                    builder.hide(&hidden, real, 0);
                }
            }
            // Where a rule opens a part of it, the rest cannot be known yet: then it is hidden whole.
            Some(Err(_)) | None => {
                if !path_policy.allows_read(&hidden) {
                    builder.hidden_when_created.push(hidden);
                }
            }
        }
    }
    builder.search_deny_rules();
    let PlanBuilder {
        writable,
        read_only,
        hidden,
        hidden_when_created,
        is_complete,
        mut notes,
        hidden_objects,
        ..
    } = builder;
    if !is_complete {
        notes.push("deny rules cover more places than could be found or hidden".to_owned());
    }
    let below_writable = |path: &&PathBuf| writable.iter().any(|root| path.starts_with(root));
    let hides = |path: &&PathBuf| path.ancestors().skip(1).any(|above| hidden.contains(above));
    let confinement = Confinement {
        read_only: read_only.iter().filter(below_writable).cloned().collect(),
        hidden: hidden.iter().filter(|path| !hides(path)).cloned().collect(),
        hidden_when_created,
        visible: path_policy.home().and_then(|home| home.canonicalize().ok()).into_iter().collect(),
        writable: writable.into_iter().collect(),
        ..Confinement::default()
    };
    ConfinementPlan { confinement, is_complete, notes, hidden_objects }
}

/// The files that may not be read, by device and inode: of what deny rules cover, and of credentials. Searches a
/// bounded part. How many names they have at this moment says nothing of another.
pub(crate) fn denied_files(path_policy: &PathPolicy) -> FileIds {
    let mut found = FileIds::new();
    let mut remaining = MAX_LINK_SEARCH_ENTRIES;
    let searched = path_policy.search_roots().into_iter().map(|path| (path, false));
    let hidden = filter_existing(&path_policy.hidden_paths())
        .into_iter()
        .filter(|path| !path_policy.allows_read(path));
    let hidden = hidden.filter_map(|path| Some((path.canonicalize().ok()?, true)));
    // Level by level: a large profile of a browser must not use up what small files of keys need.
    let mut ahead: VecDeque<(PathBuf, bool)> = hidden.chain(searched).collect();
    while let Some((path, is_denied)) = ahead.pop_front() {
        let Ok(metadata) = path.symlink_metadata() else { continue };
        let is_denied = is_denied || path_policy.denies_read(&path);
        if metadata.is_file() && is_denied {
            found.insert((metadata.dev(), metadata.ino()));
        }
        if !metadata.is_dir() || is_system_path(&path) {
            continue;
        }
        for entry in std::fs::read_dir(&path).into_iter().flatten().flatten() {
            let Some(next_remaining) = usize::checked_sub(remaining, 1) else { return found };
            remaining = next_remaining;
            let may_matter = entry.file_type().is_ok_and(|kind| kind.is_dir() || kind.is_file());
            if may_matter
                && (is_denied
                    || entry.file_type().is_ok_and(|kind| kind.is_dir())
                    || path_policy.denies_read(&entry.path()))
            {
                ahead.push_back((entry.path(), is_denied));
            }
        }
    }
    found
}

/// Whether the file is one of those that may not be read, under another name. Searches only where it has several.
pub fn is_hard_link_to_denied(path_policy: &PathPolicy, file: &Metadata) -> bool {
    file.nlink() > 1 && denied_files(path_policy).contains(&(file.dev(), file.ino()))
}

struct PlanBuilder<'a> {
    path_policy: &'a PathPolicy,
    writable: BTreeSet<PathBuf>,
    read_only: BTreeSet<PathBuf>,
    hidden: BTreeSet<PathBuf>,
    hidden_when_created: Vec<PathBuf>,
    is_complete: bool,
    notes: Vec<String>,
    hidden_objects: Option<HiddenGitObjects>,
}

impl PlanBuilder<'_> {
    /// The git directories of a root become writable, but for what makes git run something.
    fn add_repository(&mut self, root: &Path) {
        let GitDirectories { repositories, linked_worktrees } =
            GitDirectories::find(root, self.path_policy.home());
        for directory in repositories {
            // What is not there can be made by a command; what is there is kept.
            if directory.join("HEAD").exists() {
                for name in ["hooks", "info"] {
                    let _ = std::fs::create_dir(directory.join(name));
                }
            }
            self.protect_git_directory(&directory);
            self.hide_objects(root, &directory);
            self.writable.insert(directory);
        }
        for directory in linked_worktrees {
            for name in ["commondir", "gitdir", "config.worktree"] {
                self.protect(&directory.join(name));
            }
        }
        let entry = root.join(".git");
        if entry.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
            self.protect(&entry);
        }
    }

    /// Keeps what is protected by its name in each directory of a root, and in each repository below it. What was not
    /// reached is watched by the sentry.
    fn protect_below(&mut self, root: &Path, directory: BorrowedFd<'_>) {
        let walk = InventoryScan {
            root: directory,
            path: root,
            path_policy: &PathPolicy::default(),
            quarantine: None,
            // Such directories are removed and made again whole, which a mount in them would prevent.
            skipped: &REGENERATED_DIRECTORIES,
            first: &BTreeSet::new(),
            bounds: ScanLimits { entries: MAX_LISTED_ENTRIES, time: LISTING_TIME_LIMIT },
            fresh_from: i128::MAX,
        };
        let inventory = Inventory::new(&walk, None);
        let mut is_complete = inventory.unlisted.is_empty();
        for (rel_path, found) in inventory.with_protected_paths() {
            is_complete &= self.read_only.len() < MAX_MOUNTS;
            if self.read_only.len() < MAX_MOUNTS {
                self.protect_in(&root.join(rel_path), found, rel_path.as_os_str().is_empty());
            }
        }
        if !is_complete {
            self.notes.push(format!(
                "the workspace is too large to be searched whole at the start: protected files beyond the first \
                 {MAX_LISTED_ENTRIES} entries are put back after each command instead of being read-only"
            ));
        }
    }

    fn protect_in(&mut self, path: &Path, found: &ListedDirectory, is_root: bool) {
        for name in &found.protected {
            let entry = path.join(name);
            if name != ".git" {
                self.protect(&entry);
            } else if !is_root && let Ok(metadata) = entry.symlink_metadata() {
                if metadata.is_dir() {
                    self.protect_git_directory(&entry);
                    self.hide_objects(path, &entry);
                } else if metadata.is_file() {
                    self.protect(&entry);
                    if let Some(directory) = pointer(&entry, b"gitdir: ").map(|target| path.join(target)) {
                        self.hide_objects(path, &directory);
                    }
                }
            }
        }
        if found.is_repository {
            self.protect_git_directory(path);
        }
    }

    /// Keeps what git obeys in one of its directories.
    fn protect_git_directory(&mut self, directory: &Path) {
        let name = directory.file_name().unwrap_or_default().to_string_lossy();
        let is_named = directory.iter().any(|name| name == ".git");
        for path in read_only_git_entries().iter().map(|name| directory.join(name)) {
            if is_named {
                self.protect(&path);
            } else if !self.path_policy.exempts_by_name(&path, &name)
                && let Ok(real) = path.canonicalize()
            {
                self.read_only.insert(real);
            }
        }
    }

    /// Hides the objects of a repository that tracks what a rule denies: they hold its content too.
    fn hide_objects(&mut self, work_tree: &Path, directory: &Path) {
        if !self.path_policy.denies_reads() {
            return;
        }
        let is_denied = |path: &Path| self.path_policy.denies_read(&work_tree.join(path));
        let Some(path) = git_index::find_file(&work_tree.join(".git"), is_denied) else { return };
        let common = pointer(&directory.join("commondir"), b"").map(|common| directory.join(common));
        let common = common.as_deref().unwrap_or(directory);
        for name in ["objects", "lfs"] {
            if let Ok(real) = common.join(name).canonicalize()
                && !self.path_policy.allows_read_by_name(&real, name)
                && self.hidden.insert(real)
                && name == "objects"
            {
                self.hidden_objects.get_or_insert(HiddenGitObjects {
                    path: path.clone(),
                    rule: format!("Read({})", common.join("objects/**").display()),
                });
            }
        }
    }

    fn protect(&mut self, path: &Path) {
        if !self.path_policy.exempts(path)
            && let Ok(real) = path.canonicalize()
        {
            self.read_only.insert(real);
        }
    }

    /// Hides `real`, known as `named`, whole; or, where a rule opens a part or a root lies in it, all the rest.
    fn hide(&mut self, named: &Path, real: PathBuf, depth: usize) {
        if self.hidden.len() >= MAX_MOUNTS || depth > 16 {
            self.is_complete = false;
            return;
        }
        let holds_root = self.writable.iter().any(|root| root.starts_with(&real));
        if !holds_root && !self.path_policy.may_allow_read_below(named) {
            self.hidden.insert(real);
            return;
        }
        if self.writable.contains(&real) || !real.is_dir() {
            return;
        }
        for (count, entry) in std::fs::read_dir(&real).into_iter().flatten().flatten().enumerate() {
            self.is_complete &= count < MAX_SIBLINGS;
            let named = named.join(entry.file_name());
            if !self.path_policy.allows_read(&named)
                && let Ok(real) = entry.path().canonicalize()
            {
                self.hide(&named, real, depth + 1);
            }
        }
    }

    /// What deny rules with wildcards cover.
    fn search_deny_rules(&mut self) {
        let mut ahead: Vec<PathBuf> =
            self.path_policy.search_roots().into_iter().filter_map(|path| path.canonicalize().ok()).collect();
        let mut remaining = MAX_SEARCHED_ENTRIES;
        while let Some(directory) = ahead.pop() {
            for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
                let Some(next_remaining) = remaining.checked_sub(1) else {
                    self.is_complete = false;
                    return;
                };
                remaining = next_remaining;
                let Ok(kind) = entry.file_type() else { continue };
                // What a link leads to is covered by its own name or not at all.
                if kind.is_symlink() || is_system_path(&entry.path()) {
                    continue;
                }
                let path = entry.path();
                if self.hidden.contains(&path) {
                    continue;
                }
                if self.path_policy.denies_read(&path) {
                    self.is_complete &= self.hidden.len() < MAX_MOUNTS;
                    if self.is_complete {
                        self.hidden.insert(path);
                    }
                    continue;
                }
                if self.path_policy.denies_write(&path) {
                    self.is_complete &= self.read_only.len() < MAX_MOUNTS;
                    if self.is_complete {
                        self.read_only.insert(path.clone());
                    }
                }
                if kind.is_dir() {
                    ahead.push(path);
                }
            }
        }
    }
}

fn is_system_path(path: &Path) -> bool {
    [&b"/proc"[..], b"/sys", b"/dev"].contains(&path.as_os_str().as_bytes())
}

#[cfg(test)]
#[path = "confinement_test.rs"]
mod tests;
