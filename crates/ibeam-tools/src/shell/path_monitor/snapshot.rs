//! The state of the watched paths, read by descriptor, with the content of small files.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ibeam_policy::{PathPolicy, read_only_git_entries, read_only_nested_paths};
use ibeam_sandbox::FileId;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::rebase;
use super::watched_directory::{WatchKind, WatchedDirectory};
use crate::file_id::file_id;
use crate::inventory::{Inventory, InventoryScan, ListedDirectory, ScanLimits, fingerprint, fresh_from};
use crate::mode_overrides::ModeOverrides;
use crate::{beneath, git_index};

/// The content of a larger file is not stored, so that it cannot be restored.
const CONTENT_LIMIT: u64 = 256 << 10;
/// Maximum bytes of content that are stored for one watched directory.
const TOTAL_CONTENT_LIMIT: u64 = 16 << 20;
/// Maximum entries that are watched below one protected path.
const ENTRY_LIMIT: usize = 4096;
/// Maximum entries of submodules and linked work trees of a repository.
const PART_LIMIT: usize = 65_536;
/// Maximum entries that one scan lists, besides unchanged directories.
const LISTED_LIMIT: usize = 1_000_000;
/// Time limit for listing what existed before the first command.
const SCAN_TIME_LIMIT: Duration = Duration::from_secs(3);
/// Maximum depth of directories below one protected path.
const DEPTH_LIMIT: usize = 32;

/// The watched entries below a directory, by relative path.
#[derive(Debug, Default)]
pub(super) struct Snapshot {
    pub(super) entries: BTreeMap<PathBuf, SnapshotEntry>,
    /// Paths of which not everything was scanned: what is new or missing below them may have existed before.
    pub(super) incomplete: BTreeSet<PathBuf>,
    /// The directories of a root.
    pub(super) inventory: Inventory,
    /// Git directories of a root.
    pub(super) repositories: BTreeSet<PathBuf>,
    /// Work trees of submodules, from the index of a root's repository; read only where the inventory is incomplete.
    gitlinks: BTreeSet<PathBuf>,
}

/// The state of a path.
#[derive(Clone, Debug)]
pub(super) struct SnapshotEntry {
    /// Changes with every change: device, inode, size, times.
    fingerprint: [i128; 6],
    /// The file changed just before the scan, so an equal fingerprint proves nothing.
    is_fresh: bool,
    mode: u32,
    kind: EntryKind,
    /// Device and inode of the directory in which it is.
    pub(super) parent: FileId,
}

#[derive(Clone, Debug, PartialEq)]
enum EntryKind {
    Directory,
    /// With its content, if it is small.
    File(Option<Arc<[u8]>>),
    Link(OsString),
    /// A pipe, socket or device.
    Other,
}

impl SnapshotEntry {
    pub(super) fn is_directory(&self) -> bool {
        self.kind == EntryKind::Directory
    }

    pub(super) fn content(&self) -> Option<&[u8]> {
        match &self.kind {
            EntryKind::File(content) => content.as_deref(),
            EntryKind::Directory | EntryKind::Link(_) | EntryKind::Other => None,
        }
    }

    /// Whether the entry could be restored.
    pub(super) fn is_restorable(&self) -> bool {
        !matches!(self.kind, EntryKind::File(None) | EntryKind::Other)
    }

    /// Whether both have the same content and mode, whatever their times.
    pub(super) fn equals_ignoring_times(&self, other: &Self) -> bool {
        let same_file = match (&self.kind, &other.kind) {
            (EntryKind::File(None), EntryKind::File(None)) | (EntryKind::Other, EntryKind::Other) => {
                self.fingerprint == other.fingerprint
            }
            (one, another) => one == another,
        };
        same_file && (self.mode == other.mode || self.is_directory())
    }

    /// Returns the device and inode, as numbers of the system.
    pub(super) fn id(&self) -> FileId {
        let (device, inode) = self.identity();
        (u64::try_from(device).unwrap_or_default(), u64::try_from(inode).unwrap_or_default())
    }

    /// Returns the device and inode.
    pub(super) fn identity(&self) -> (i128, i128) {
        let [device, inode, ..] = self.fingerprint;
        (device, inode)
    }

    /// Restores the entry if nothing is there; creates missing parent directories.
    pub(super) fn restore(
        &self,
        watched: &WatchedDirectory<'_>,
        rel_path: &Path,
        modes: &mut ModeOverrides,
    ) -> Result<(), Errno> {
        let parent = match modes.open_to_change(watched.directory, parent_of(rel_path)) {
            Err(Errno::NOENT) => create_parents(watched, parent_of(rel_path))?,
            opened => opened?,
        };
        let name = rel_path.file_name().unwrap_or_default();
        let mode = Mode::from_raw_mode(self.mode & 0o7777);
        match &self.kind {
            EntryKind::Directory => match rustix::fs::mkdirat(&parent, name, mode) {
                Err(Errno::EXIST) => Ok(()),
                made => made,
            },
            EntryKind::File(Some(content)) => {
                let flags =
                    OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let mut file = File::from(rustix::fs::openat(&parent, name, flags, mode)?);
                let written = file.write_all(content);
                written.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
                rustix::fs::fchmod(&file, mode)
            }
            EntryKind::Link(target) => rustix::fs::symlinkat(target, &parent, name),
            EntryKind::File(None) | EntryKind::Other => Err(Errno::FBIG),
        }
    }
}

fn create_parents(watched: &WatchedDirectory<'_>, rel_path: &Path) -> Result<OwnedFd, Errno> {
    let mut directory = beneath::open_directory(watched.directory, Path::new("."))?;
    for name in rel_path.iter() {
        match rustix::fs::mkdirat(&directory, name, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
        directory = beneath::open_directory(directory.as_fd(), Path::new(name))?;
    }
    Ok(directory)
}

impl Snapshot {
    /// Scans everything watched below `watched` for the first time; `listing` was made before.
    pub(super) fn first(
        watched: &WatchedDirectory<'_>,
        listing: Option<Inventory>,
        path_policy: &PathPolicy,
    ) -> Self {
        let old = Self { inventory: listing.unwrap_or_default(), ..Self::default() };
        Self::scan(watched, &old, true, path_policy)
    }

    /// Scans again; what has not changed since `old` is not read again.
    pub(super) fn take(watched: &WatchedDirectory<'_>, old: &Self, path_policy: &PathPolicy) -> Self {
        Self::scan(watched, old, false, path_policy)
    }

    fn scan(watched: &WatchedDirectory<'_>, old: &Self, is_first: bool, path_policy: &PathPolicy) -> Self {
        let mut scanner = Scanner {
            watched,
            old,
            is_first,
            path_policy,
            found: Self::default(),
            current_path: PathBuf::new(),
            entry_count: 0,
            remaining_bytes: TOTAL_CONTENT_LIMIT,
            fresh_from: fresh_from(),
            mode_overrides: ModeOverrides::default(),
        };
        match watched.watch {
            WatchKind::Root => scanner.scan_root(),
            WatchKind::Repository => scanner.scan_repository(watched.directory, Path::new("")),
            WatchKind::WorkTree => scanner.scan_work_tree(watched.directory, Path::new("")),
        }
        scanner.found
    }

    /// Whether something at `rel_path` may have been missed.
    pub(super) fn may_have_missed(&self, rel_path: &Path) -> bool {
        self.incomplete.iter().any(|path| path != rel_path && rel_path.starts_with(path))
            || self.inventory.is_unlisted(rel_path)
    }

    /// Returns the git directories, and the `.git` entries that lead to one.
    pub(super) fn all_repositories(&self) -> BTreeSet<PathBuf> {
        let is_git = |rel_path: &&PathBuf| rel_path.file_name().is_some_and(|name| name == ".git");
        self.repositories.iter().chain(self.entries.keys().filter(is_git)).cloned().collect()
    }

    /// Whether `rel_path` lies in a submodule, according to the index of the repository.
    pub(super) fn is_in_gitlink(&self, rel_path: &Path) -> bool {
        rel_path.ancestors().any(|above| self.gitlinks.contains(above))
    }

    /// Returns the known directories below a protected path, and itself.
    pub(super) fn directories_below<'a>(
        &'a self,
        rel_path: &'a Path,
    ) -> impl Iterator<Item = &'a SnapshotEntry> {
        let below =
            self.entries.range(rel_path.to_owned()..).take_while(move |(path, _)| path.starts_with(rel_path));
        below.map(|(_, entry)| entry).filter(|entry| entry.is_directory())
    }

    /// Returns the git directory in which `rel_path` lies.
    pub(super) fn enclosing_repository<'a>(&self, rel_path: &'a Path) -> Option<&'a Path> {
        let mut above: Vec<&Path> = rel_path.ancestors().collect();
        above.reverse();
        let is_git = |path: &&&Path| path.file_name().is_some_and(|name| name == ".git");
        let is_known = |path: &&&Path| self.repositories.contains(**path);
        let outer = above.iter().skip(1).find(is_known);
        above.iter().find(is_git).or(outer).or_else(|| above.first().filter(is_known)).copied()
    }
}

struct Scanner<'a> {
    watched: &'a WatchedDirectory<'a>,
    old: &'a Snapshot,
    is_first: bool,
    path_policy: &'a PathPolicy,
    found: Snapshot,
    /// The protected path that is being scanned, and the number of entries found in it.
    current_path: PathBuf,
    entry_count: usize,
    /// Bytes of content that may still be stored.
    remaining_bytes: u64,
    /// In seconds since the Unix epoch.
    fresh_from: i128,
    mode_overrides: ModeOverrides,
}

impl Scanner<'_> {
    fn scan_root(&mut self) {
        let walked = self.watched.home.map(|home| home_directories(self.watched.path, home));
        let mut scan = InventoryScan {
            root: self.watched.directory,
            path: self.watched.path,
            path_policy: self.path_policy,
            quarantine: Some(self.watched.quarantine),
            skipped: &[],
            walked: walked.as_deref(),
            first: &BTreeSet::new(),
            limits: ScanLimits { entries: LISTED_LIMIT, time: SCAN_TIME_LIMIT },
            is_first: self.is_first,
            fresh_from: self.fresh_from,
        };
        let mut inventory = Inventory::scan(&scan, &self.old.inventory);
        // Where not everything can be listed, the directories that `git status` would enter are listed first.
        let gitlinks = if inventory.unlisted.is_empty() {
            BTreeSet::new()
        } else {
            git_index::gitlinks(&self.watched.path.join(".git")).into_iter().collect()
        };
        if !gitlinks.is_empty() {
            scan.first = &gitlinks;
            scan.is_first = false;
            inventory = Inventory::scan(&scan, &inventory);
        }
        for (rel_path, directory) in inventory.directories_with_protected_paths() {
            self.scan_directory(rel_path, directory);
        }
        for rel_path in self
            .path_policy
            .protected_paths()
            .iter()
            .filter_map(|path| path.strip_prefix(self.watched.path).ok())
        {
            if let Ok(parent) = self.mode_overrides.open_to_list(self.watched.directory, parent_of(rel_path))
                && let Some(name) = rel_path.file_name()
            {
                self.record_tree(parent.as_fd(), rel_path.to_owned(), name, 0);
            }
        }
        self.found.inventory = inventory;
        self.found.gitlinks = gitlinks;
    }

    /// Records what is watched in one directory of a root.
    fn scan_directory(&mut self, rel_path: &Path, found: &ListedDirectory) {
        let relative = if rel_path.as_os_str().is_empty() { Path::new(".") } else { rel_path };
        let Ok(directory) = self.mode_overrides.open_to_list(self.watched.directory, relative) else {
            return;
        };
        let directory = directory.as_fd();
        for name in &found.protected {
            if name == ".git" {
                self.scan_dot_git(directory, &rel_path.join(name));
            } else {
                self.record_tree(directory, rel_path.join(name), name, 0);
            }
        }
        if found.is_repository {
            if rel_path.as_os_str().is_empty() {
                // A command that turns the root into a repository loses the file that makes it one.
                let heads = list_names(directory, PART_LIMIT).0;
                for name in heads.iter().filter(|name| name.as_bytes().eq_ignore_ascii_case(b"head")) {
                    self.record_tree(directory, PathBuf::from(name), name, 0);
                }
            }
            self.found.repositories.insert(rel_path.to_owned());
            self.scan_repository(directory, rel_path);
        }
        for name in &found.denied {
            self.record_tree(directory, rel_path.join(name), name, 0);
        }
    }

    fn scan_dot_git(&mut self, parent: BorrowedFd<'_>, rel_path: &Path) {
        let Some(directory) = self.record_entry(parent, rel_path, OsStr::new(".git")) else { return };
        self.found.repositories.insert(rel_path.to_owned());
        self.scan_repository(directory.as_fd(), rel_path);
    }

    fn scan_repository(&mut self, directory: BorrowedFd<'_>, rel_path: &Path) {
        for name in read_only_git_entries().iter().map(OsStr::new) {
            self.record_tree(directory, rel_path.join(name), name, 0);
        }
        self.scan_rebase(directory, rel_path);
        if let Ok(modules) = self.mode_overrides.open_to_list(directory, Path::new("modules")) {
            self.scan_submodules(modules.as_fd(), &rel_path.join("modules"), 0);
        }
        if let Ok(trees) = self.mode_overrides.open_to_list(directory, Path::new("worktrees")) {
            let rel_path = rel_path.join("worktrees");
            for name in self.list_parts(trees.as_fd(), &rel_path) {
                if let Ok(tree) = self.mode_overrides.open_to_list(trees.as_fd(), Path::new(&name)) {
                    self.scan_work_tree(tree.as_fd(), &rel_path.join(name));
                }
            }
        }
    }

    /// Returns the names in a directory of submodules or work trees.
    fn list_parts(&mut self, directory: BorrowedFd<'_>, rel_path: &Path) -> Vec<OsString> {
        let (names, is_complete) = list_names(directory, PART_LIMIT);
        if !is_complete {
            self.found.incomplete.insert(rel_path.to_owned());
        }
        names
    }

    fn scan_work_tree(&mut self, directory: BorrowedFd<'_>, rel_path: &Path) {
        for name in ["commondir", "config.worktree"].map(OsStr::new) {
            self.record_tree(directory, rel_path.join(name), name, 0);
        }
        self.scan_rebase(directory, rel_path);
    }

    /// Records what a stopped rebase would run when a person continues it.
    fn scan_rebase(&mut self, directory: BorrowedFd<'_>, rel_path: &Path) {
        let rel_path = rel_path.join(rebase::DIRECTORY);
        if let Some(inner) = self.record_entry(directory, &rel_path, OsStr::new(rebase::DIRECTORY)) {
            self.record_tree(
                inner.as_fd(),
                rel_path.join(rebase::STEPS_FILE),
                OsStr::new(rebase::STEPS_FILE),
                0,
            );
        }
    }

    /// The name of a submodule may be any path.
    fn scan_submodules(&mut self, directory: BorrowedFd<'_>, rel_path: &Path, depth: usize) {
        for name in self.list_parts(directory, rel_path) {
            let Ok(inner) = self.mode_overrides.open_to_list(directory, Path::new(&name)) else { continue };
            let rel_path = rel_path.join(&name);
            if rustix::fs::statat(&inner, "HEAD", AtFlags::SYMLINK_NOFOLLOW).is_ok() {
                self.scan_repository(inner.as_fd(), &rel_path);
            } else if depth < DEPTH_LIMIT {
                self.scan_submodules(inner.as_fd(), &rel_path, depth + 1);
            } else {
                self.found.incomplete.insert(rel_path);
            }
        }
    }

    /// Records the entry `name`, known as `rel_path`, and everything below it.
    fn record_tree(&mut self, parent: BorrowedFd<'_>, rel_path: PathBuf, name: &OsStr, depth: usize) {
        if depth == 0 {
            self.current_path.clone_from(&rel_path);
            self.entry_count = 0;
        }
        self.entry_count += 1;
        if depth > DEPTH_LIMIT || self.entry_count > ENTRY_LIMIT {
            self.found.incomplete.insert(self.current_path.clone());
            return;
        }
        let Some(directory) = self.record_entry(parent, &rel_path, name) else { return };
        let (names, is_complete) = list_names(directory.as_fd(), ENTRY_LIMIT);
        if !is_complete {
            self.found.incomplete.insert(self.current_path.clone());
        }
        for name in names {
            self.record_tree(directory.as_fd(), rel_path.join(&name), &name, depth + 1);
        }
    }

    /// Records the entry `name` alone, and opens it if it is an accessible directory.
    fn record_entry(&mut self, parent: BorrowedFd<'_>, rel_path: &Path, name: &OsStr) -> Option<OwnedFd> {
        let stat = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let entry = self.read_entry(parent, rel_path, name, &stat);
        let is_directory = entry.is_directory();
        self.found.entries.insert(rel_path.to_owned(), entry);
        if is_directory { self.mode_overrides.open_to_list(parent, Path::new(name)).ok() } else { None }
    }

    fn read_entry(
        &mut self,
        parent: BorrowedFd<'_>,
        rel_path: &Path,
        name: &OsStr,
        stat: &Stat,
    ) -> SnapshotEntry {
        let fingerprint = fingerprint(stat);
        let parent_id = rustix::fs::fstat(parent).map(|found| file_id(&found)).unwrap_or_default();
        let is_fresh = i128::from(stat.st_ctime) >= self.fresh_from;
        if let Some(known) =
            self.old.entries.get(rel_path).filter(|known| known.fingerprint == fingerprint && !known.is_fresh)
        {
            self.remaining_bytes = self
                .remaining_bytes
                .saturating_sub(known.content().map_or(0, |content| content.len() as u64));
            return SnapshotEntry { parent: parent_id, ..known.clone() };
        }
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => EntryKind::Directory,
            FileType::RegularFile => {
                let size = u64::try_from(stat.st_size).unwrap_or_default();
                let content = read_content(parent, name, size, self.remaining_bytes.min(CONTENT_LIMIT));
                self.remaining_bytes -= content.as_ref().map_or(0, |content| content.len() as u64);
                EntryKind::File(content)
            }
            FileType::Symlink => match rustix::fs::readlinkat(parent, name, Vec::new()) {
                Ok(target) => EntryKind::Link(OsStr::from_bytes(target.as_bytes()).to_owned()),
                Err(_) => EntryKind::Other,
            },
            FileType::Fifo
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Socket
            | FileType::Unknown => EntryKind::Other,
        };
        SnapshotEntry { fingerprint, is_fresh, mode: stat.st_mode, kind, parent: parent_id }
    }
}

/// Returns the directories of a home directory in which protected names may lie, relative to the root that holds it.
fn home_directories(root: &Path, home: &Path) -> Vec<PathBuf> {
    let home = home.strip_prefix(root).unwrap_or(Path::new(""));
    let nested = read_only_nested_paths().iter().filter_map(|path| Path::new(path).parent());
    nested.map(|parent| home.join(parent)).chain([home.to_owned()]).collect()
}

/// Returns the content of a regular file, of about `size` and at most `limit` bytes; never waits.
fn read_content(parent: BorrowedFd<'_>, name: &OsStr, size: u64, limit: u64) -> Option<Arc<[u8]>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(beneath::open(parent, Path::new(name), flags).ok()?);
    // With one byte more than the file has, its end is found without another buffer.
    let mut content = Vec::with_capacity(usize::try_from(size.min(limit)).ok()? + 1);
    file.take(limit + 1).read_to_end(&mut content).ok()?;
    (content.len() as u64 <= limit).then(|| content.into())
}

/// Returns the names in a directory, except `.` and `..`, and whether these are all.
pub(super) fn list_names(directory: BorrowedFd<'_>, limit: usize) -> (Vec<OsString>, bool) {
    let listed = beneath::open(directory, Path::new("."), OFlags::RDONLY | OFlags::DIRECTORY);
    let Ok(entries) = listed.and_then(Dir::new) else { return (Vec::new(), false) };
    let names = entries.flatten().map(|entry| OsStr::from_bytes(entry.file_name().to_bytes()).to_owned());
    let mut names = names.filter(|name| name != "." && name != "..");
    let taken = names.by_ref().take(limit).collect();
    (taken, names.next().is_none())
}

/// Returns the parent of `rel_path`, for opening it beneath a watched directory.
pub(super) fn parent_of(rel_path: &Path) -> &Path {
    rel_path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
