//! Computes which paths the sandbox makes writable, read-only or invisible for commands.
//!
//! Reads the disk once, before the first command. Resolves links, so that the real path is protected whatever its name.
//! Searches a limited number of entries for paths that deny rules cover, and reports when the search was incomplete.

use std::collections::{BTreeSet, VecDeque};
use std::fs::Metadata;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use ibeam_policy::{PathPolicy, read_only_git_entries};
use ibeam_sandbox::{Confinement, paths_that_may_exist};

use crate::file_id::FileIds;
use crate::git_directory::{GitDirectories, read_pointer};
use crate::git_index;
use crate::inventory::{Inventory, InventoryScan, ListedDirectory, ScanLimits, fresh_from};
use crate::workspace::Workspace;

/// Maximum entries that are searched for paths that deny rules cover.
const MAX_SEARCHED_ENTRIES: usize = 200_000;
/// Maximum paths of one kind that are passed to the sandbox: each is a mount.
const MAX_MOUNTS: usize = 4096;
/// Maximum entries of a hidden directory in which a rule allows a part.
const MAX_SIBLINGS: usize = 4096;
/// Maximum entries of the workspace that are searched for protected names before a run.
const MAX_LISTED_ENTRIES: usize = 50_000;
/// Time limit of that search.
const LISTING_TIME_LIMIT: Duration = Duration::from_millis(50);
/// Directories that programs generate, and remove completely.
const REGENERATED_DIRECTORIES: [&str; 4] = ["node_modules", "target", ".venv", "venv"];
/// Maximum entries that are searched for hard links to denied files.
const MAX_LINK_SEARCH_ENTRIES: usize = 50_000;

/// Which paths commands may access.
#[derive(Clone, Debug, Default)]
pub struct ConfinementPlan {
    /// The path settings of the sandbox; the caller adds the other settings.
    pub confinement: Confinement,
    /// Whether every path that a deny rule covers was found. Otherwise some of them are protected only from the file
    /// tools and by the analysis of commands.
    pub is_complete: bool,
    /// Notes for people about these limits: English sentences without a full stop.
    pub notes: Vec<String>,
    /// The reason why commands do not see git's objects; `None` if they see them.
    pub hidden_objects: Option<HiddenGitObjects>,
}

/// Git objects that commands do not see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HiddenGitObjects {
    /// A tracked file that a rule denies to read, relative to its work tree.
    pub path: PathBuf,
    /// The allow rule that makes the objects visible.
    pub rule: String,
}

/// Determines which paths of `workspace` commands may access. Creates those directories in `.git` that could not be
/// protected if they did not exist.
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
    for (root, directory) in workspace.held_directories() {
        builder.add_repository(root);
        let listing = builder.protect_below(root, directory);
        // Where a rule denies writing, the monitor lists more.
        if !path_policy.has_write_denials() {
            workspace.keep_listing(root, listing);
        }
    }
    for path in path_policy.protected_paths() {
        builder.protect(path);
    }
    let candidates = path_policy.hidden_paths();
    let mut present = paths_that_may_exist(&candidates).into_iter().peekable();
    for hidden in &candidates {
        let may_exist = present.next_if(|path| std::ptr::eq(*path, hidden)).is_some();
        if path_policy.allows_hidden(hidden) {
            continue;
        }
        match may_exist.then(|| hidden.canonicalize()) {
            Some(Ok(real)) => builder.hide(hidden, real, 0),
            // Where a rule allows a part of it, the rest cannot be listed yet, so all of it is hidden.
            Some(Err(_)) | None => builder.hidden_when_created.push(hidden.clone()),
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
        notes.push("deny rules cover more paths than could be found or hidden".to_owned());
    }
    let below_writable = |path: &&PathBuf| writable.iter().any(|root| path.starts_with(root));
    let hides = |path: &&PathBuf| path.ancestors().skip(1).any(|above| hidden.contains(above));
    let confinement = Confinement {
        read_only: read_only.iter().filter(below_writable).cloned().collect(),
        hidden: hidden.iter().filter(|path| !hides(path)).cloned().collect(),
        hidden_when_created,
        covered: path_policy.surrounding_dirs().to_vec(),
        visible: path_policy.home().and_then(|home| home.canonicalize().ok()).into_iter().collect(),
        writable: writable.into_iter().collect(),
        ..Confinement::default()
    };
    ConfinementPlan { confinement, is_complete, notes, hidden_objects }
}

/// Returns the files that may not be read, by device and inode: those that deny rules cover, and credentials. Searches
/// a limited number of entries. Files with one name count too, since they may get another name at any time.
pub(crate) fn denied_files(path_policy: &PathPolicy) -> FileIds {
    let mut found = FileIds::new();
    let mut remaining = MAX_LINK_SEARCH_ENTRIES;
    let searched = path_policy.search_roots().into_iter().map(|path| (path, false));
    let hidden = path_policy.hidden_paths();
    let hidden = paths_that_may_exist(&hidden).into_iter().filter(|path| !path_policy.allows_read(path));
    let hidden = hidden.filter_map(|path| Some((path.canonicalize().ok()?, true)));
    // Level by level: a large browser profile must not use up the entries that small key files need.
    let mut pending: VecDeque<(PathBuf, bool)> = hidden.chain(searched).collect();
    while let Some((path, is_denied)) = pending.pop_front() {
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
                pending.push_back((entry.path(), is_denied));
            }
        }
    }
    found
}

/// The files that commands do not see, for helpers outside of the sandbox that save or copy files. Decided by the same
/// policy as the mounts of the sandbox.
#[derive(Debug)]
pub struct HiddenFiles {
    path_policy: PathPolicy,
    /// The hidden files, by device and inode; found when the first file with several names is checked.
    ids: OnceLock<FileIds>,
}

impl HiddenFiles {
    /// Returns the files that this policy hides.
    pub fn new(path_policy: PathPolicy) -> Self {
        Self { path_policy, ids: OnceLock::new() }
    }

    /// Whether the file at `path`, which is absolute and resolved, is hidden.
    pub fn contains(&self, path: &Path) -> bool {
        self.path_policy.hides(path)
    }

    /// Whether a file with this metadata has several names, and is hidden under one of them.
    pub fn has_other_name(&self, file: &Metadata) -> bool {
        let ids = || self.ids.get_or_init(|| denied_files(&self.path_policy));
        file.is_file() && file.nlink() > 1 && ids().contains(&(file.dev(), file.ino()))
    }

    /// Whether a file below `directory` may be hidden.
    pub fn may_be_below(&self, directory: &Path) -> bool {
        self.path_policy.has_read_denials() || self.path_policy.may_hide_below(directory)
    }
}

/// Whether the file is a hard link to one that may not be read. Searches only where it has several names.
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
    /// Makes the git directories of a root writable, except for the entries that make git run programs.
    fn add_repository(&mut self, root: &Path) {
        let GitDirectories { repositories, linked_worktrees } =
            GitDirectories::find(root, self.path_policy.home());
        for directory in repositories {
            // A command could create what does not exist; what exists is read-only.
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

    /// Protects the protected names in each directory of a root, and in each repository below it. [`crate::shell`]
    /// monitors what the search did not reach. Returns the listing.
    fn protect_below(&mut self, root: &Path, directory: BorrowedFd<'_>) -> Inventory {
        let parameters = InventoryScan {
            root: directory,
            path: root,
            path_policy: &PathPolicy::default(),
            quarantine: None,
            // Programs remove and recreate such directories completely, which a mount inside would prevent.
            skipped: &REGENERATED_DIRECTORIES,
            walked: None,
            first: &BTreeSet::new(),
            limits: ScanLimits { entries: MAX_LISTED_ENTRIES, time: LISTING_TIME_LIMIT },
            is_first: true,
            fresh_from: fresh_from(),
        };
        let inventory = Inventory::scan(&parameters, &Inventory::default());
        let mut is_complete = inventory.unlisted.is_empty();
        for (rel_path, found) in inventory.directories_with_protected_paths() {
            is_complete &= self.read_only.len() < MAX_MOUNTS;
            if self.read_only.len() < MAX_MOUNTS {
                self.protect_in(&root.join(rel_path), found, rel_path.as_os_str().is_empty());
            }
        }
        if !is_complete {
            self.notes.push(format!(
                "the workspace is too large to be searched completely at the start: protected files beyond the first \
                 {MAX_LISTED_ENTRIES} entries are restored after each command instead of being read-only"
            ));
        }
        inventory
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
                    if let Some(directory) = read_pointer(&entry, b"gitdir: ").map(|target| path.join(target))
                    {
                        self.hide_objects(path, &directory);
                    }
                }
            }
        }
        if found.is_repository {
            self.protect_git_directory(path);
        }
    }

    /// Makes read-only what configures git in one of its directories.
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

    /// Hides the objects of a repository that tracks a denied file, because they contain its content.
    fn hide_objects(&mut self, work_tree: &Path, directory: &Path) {
        if !self.path_policy.has_read_denials() {
            return;
        }
        let is_denied = |path: &Path| self.path_policy.denies_read(&work_tree.join(path));
        let Some(path) = git_index::find_file(&work_tree.join(".git"), is_denied) else { return };
        let common = read_pointer(&directory.join("commondir"), b"").map(|common| directory.join(common));
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

    /// Hides `real`, which policy lists as `named`, completely. If a rule allows a part of the directory, or a root
    /// lies in it, hides everything else.
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

    /// Finds the paths that deny rules with wildcards cover.
    fn search_deny_rules(&mut self) {
        let mut pending: Vec<PathBuf> =
            self.path_policy.search_roots().into_iter().filter_map(|path| path.canonicalize().ok()).collect();
        let mut remaining = MAX_SEARCHED_ENTRIES;
        while let Some(directory) = pending.pop() {
            for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
                let Some(next_remaining) = remaining.checked_sub(1) else {
                    self.is_complete = false;
                    return;
                };
                remaining = next_remaining;
                let Ok(kind) = entry.file_type() else { continue };
                // The target of a link is covered by its own name or not at all.
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
                    pending.push(path);
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
