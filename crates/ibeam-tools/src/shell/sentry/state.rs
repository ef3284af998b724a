//! What stands at watched places: found by descriptor, remembered with the content of small files.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ibeam_policy::{Shield, is_kept_at_root, kept_in_git, kept_in_stores};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::{Base, rebase};
use crate::beneath;

/// A larger file is told when it changes, and cannot be put back.
const CONTENT: u64 = 256 << 10;
/// Content that is remembered of one base.
const REMEMBERED: u64 = 16 << 20;
/// A file that changed less than this ago may change again without a trace in its times, where the system's clock
/// for them is coarse.
const FRESH: Duration = Duration::from_secs(1);
/// Entries that are watched below one protected place.
const WATCHED: usize = 4096;
/// Entries of a root that are looked at by name.
const LISTED: usize = 1_000_000;
/// Entries that are looked at for deny rules.
const SEARCHED: usize = 100_000;
/// Directories in each other.
const DEPTH: usize = 32;

/// What is watched of a base.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Watch {
    /// A directory of the workspace.
    Root,
    /// A directory of git with a configuration of its own.
    Repository,
    /// The directory of a linked work tree.
    WorkTree,
}

/// The watched entries below a base, by their way from it.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) entries: BTreeMap<PathBuf, Entry>,
    /// Places of which not everything was seen: what is new or missing below them may have been overlooked before.
    cut: BTreeSet<PathBuf>,
    /// The same of what deny rules cover.
    search_cut: bool,
}

/// What stands at a place.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// What changes with every change: device, inode, size, times.
    mark: [i128; 6],
    /// It has changed just before the look, so that the mark proves nothing.
    is_fresh: bool,
    mode: u32,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Directory,
    /// With its content, where that is small.
    File(Option<Arc<[u8]>>),
    Link(OsString),
    /// A pipe, socket or device.
    Other,
}

impl Entry {
    pub(super) fn is_directory(&self) -> bool {
        self.kind == Kind::Directory
    }

    pub(super) fn content(&self) -> Option<&[u8]> {
        match &self.kind {
            Kind::File(content) => content.as_deref(),
            Kind::Directory | Kind::Link(_) | Kind::Other => None,
        }
    }

    /// Whether it could be put back.
    pub(super) fn is_kept(&self) -> bool {
        !matches!(self.kind, Kind::File(None) | Kind::Other)
    }

    /// Whether the two say the same, whatever their times.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let same_file = match (&self.kind, &other.kind) {
            (Kind::File(None), Kind::File(None)) | (Kind::Other, Kind::Other) => self.mark == other.mark,
            (one, another) => one == another,
        };
        same_file && (self.mode == other.mode || self.is_directory())
    }

    /// Puts it where it was, if nothing is there.
    pub(super) fn put_back(&self, base: &Base<'_>, way: &Path) -> Result<(), Errno> {
        let parent = beneath::directory(base.directory, parent(way))?;
        let name = way.file_name().unwrap_or_default();
        let mode = Mode::from_raw_mode(self.mode & 0o7777);
        match &self.kind {
            Kind::Directory => match rustix::fs::mkdirat(&parent, name, mode) {
                Err(Errno::EXIST) => Ok(()),
                made => made,
            },
            Kind::File(Some(content)) => {
                let flags =
                    OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let mut file = File::from(rustix::fs::openat(&parent, name, flags, mode)?);
                let written = file.write_all(content);
                written.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
                rustix::fs::fchmod(&file, mode)
            }
            Kind::Link(target) => rustix::fs::symlinkat(target, &parent, name),
            Kind::File(None) | Kind::Other => Err(Errno::FBIG),
        }
    }
}

impl State {
    /// Looks at everything watched below `base`; what has not changed since `old` is not read again.
    pub(super) fn look(base: &Base<'_>, old: &Self, shield: &Shield, held: &[PathBuf]) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let fresh_from = i128::from(now.saturating_sub(FRESH).as_secs());
        let mut look = Look {
            base,
            old,
            shield,
            held,
            found: Self::default(),
            top: PathBuf::new(),
            watched: 0,
            bytes: REMEMBERED,
            left: SEARCHED,
            fresh_from,
        };
        match base.watch {
            Watch::Root => look.root(),
            Watch::Repository => look.repository(base.directory, Path::new("")),
            Watch::WorkTree => look.work_tree(base.directory, Path::new("")),
        }
        look.found
    }

    /// Whether something at `way` may have been overlooked.
    pub(super) fn may_overlook(&self, way: &Path, is_denied: bool) -> bool {
        (is_denied && self.search_cut) || self.cut.iter().any(|top| top != way && way.starts_with(top))
    }
}

struct Look<'a> {
    base: &'a Base<'a>,
    old: &'a State,
    shield: &'a Shield,
    held: &'a [PathBuf],
    found: State,
    /// The protected place that is looked at, and how many entries were found in it.
    top: PathBuf,
    watched: usize,
    /// Content that may still be remembered.
    bytes: u64,
    left: usize,
    /// In seconds of the system's clock.
    fresh_from: i128,
}

impl Look<'_> {
    fn root(&mut self) {
        let directory = self.base.directory;
        let (mut objects, mut refs, mut heads) = (false, false, Vec::new());
        for name in names(directory, LISTED) {
            match name.as_bytes() {
                b"objects" => objects = true,
                b"refs" => refs = true,
                b".git" => self.git(directory),
                other if other.eq_ignore_ascii_case(b"head") => heads.push(name),
                _ => {
                    if is_kept_at_root(&name.to_string_lossy()) {
                        self.tree(directory, PathBuf::from(&name), &name, 0);
                    }
                }
            }
        }
        // The three together are a bare repository, whose configuration git obeys.
        if objects && refs {
            for name in heads {
                self.tree(directory, PathBuf::from(&name), &name, 0);
            }
        }
        for way in kept_in_stores().iter().map(Path::new) {
            if let Ok(parent) = beneath::directory(directory, parent(way)) {
                self.tree(parent.as_fd(), way.to_owned(), way.file_name().unwrap_or_default(), 0);
            }
        }
        if self.shield.denies_writes() {
            self.denied(directory, Path::new(""), 0);
        }
    }

    fn git(&mut self, root: BorrowedFd<'_>) {
        let way = Path::new(".git");
        let Some(directory) = self.enter(root, way, OsStr::new(".git")) else { return };
        self.repository(directory.as_fd(), way);
    }

    fn repository(&mut self, directory: BorrowedFd<'_>, way: &Path) {
        for name in kept_in_git().iter().map(OsStr::new) {
            self.tree(directory, way.join(name), name, 0);
        }
        self.rebase(directory, way);
        if let Ok(modules) = beneath::directory(directory, Path::new("modules")) {
            self.modules(modules.as_fd(), &way.join("modules"), 0);
        }
        if let Ok(trees) = beneath::directory(directory, Path::new("worktrees")) {
            for name in names(trees.as_fd(), WATCHED) {
                if let Ok(tree) = beneath::directory(trees.as_fd(), Path::new(&name)) {
                    self.work_tree(tree.as_fd(), &way.join("worktrees").join(name));
                }
            }
        }
    }

    fn work_tree(&mut self, directory: BorrowedFd<'_>, way: &Path) {
        for name in ["commondir", "config.worktree"].map(OsStr::new) {
            self.tree(directory, way.join(name), name, 0);
        }
        self.rebase(directory, way);
    }

    /// What a rebase that stopped would run when somebody continues it.
    fn rebase(&mut self, directory: BorrowedFd<'_>, way: &Path) {
        let way = way.join(rebase::DIRECTORY);
        if let Some(inner) = self.enter(directory, &way, OsStr::new(rebase::DIRECTORY)) {
            self.tree(inner.as_fd(), way.join(rebase::STEPS), OsStr::new(rebase::STEPS), 0);
        }
    }

    /// Submodules may have any path as their name.
    fn modules(&mut self, directory: BorrowedFd<'_>, way: &Path, depth: usize) {
        for name in names(directory, WATCHED) {
            let Ok(inner) = beneath::directory(directory, Path::new(&name)) else { continue };
            let way = way.join(&name);
            if rustix::fs::statat(&inner, "HEAD", AtFlags::SYMLINK_NOFOLLOW).is_ok() {
                self.repository(inner.as_fd(), &way);
            } else if depth < 8 {
                self.modules(inner.as_fd(), &way, depth + 1);
            }
        }
    }

    /// Notes what stands at `name`, known as `way`, and everything below it.
    fn tree(&mut self, parent: BorrowedFd<'_>, way: PathBuf, name: &OsStr, depth: usize) {
        if depth == 0 {
            self.top.clone_from(&way);
            self.watched = 0;
        }
        self.watched += 1;
        if depth > DEPTH || self.watched > WATCHED {
            self.found.cut.insert(self.top.clone());
            return;
        }
        let Some(directory) = self.enter(parent, &way, name) else { return };
        let names = names(directory.as_fd(), WATCHED);
        if names.len() == WATCHED {
            self.found.cut.insert(self.top.clone());
        }
        for name in names {
            self.tree(directory.as_fd(), way.join(&name), &name, depth + 1);
        }
    }

    /// Notes what stands at `name` alone, and opens it where it is a directory that can be.
    fn enter(&mut self, parent: BorrowedFd<'_>, way: &Path, name: &OsStr) -> Option<OwnedFd> {
        let path = self.base.path.join(way);
        if self.held.iter().any(|held| path.starts_with(held)) {
            return None;
        }
        let stat = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let entry = self.entry(parent, way, name, &stat);
        let is_directory = entry.is_directory();
        self.found.entries.insert(way.to_owned(), entry);
        if is_directory {
            beneath::open(parent, Path::new(name), OFlags::RDONLY | OFlags::DIRECTORY).ok()
        } else {
            None
        }
    }

    fn entry(&mut self, parent: BorrowedFd<'_>, way: &Path, name: &OsStr, stat: &Stat) -> Entry {
        let mark = mark(stat);
        let is_fresh = i128::from(stat.st_ctime) >= self.fresh_from;
        if let Some(known) = self.old.entries.get(way).filter(|known| known.mark == mark && !known.is_fresh) {
            self.bytes = self.bytes.saturating_sub(known.content().map_or(0, |content| content.len() as u64));
            return known.clone();
        }
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => Kind::Directory,
            FileType::RegularFile => {
                let content = content(parent, name, self.bytes.min(CONTENT));
                self.bytes -= content.as_ref().map_or(0, |content| content.len() as u64);
                Kind::File(content)
            }
            FileType::Symlink => match rustix::fs::readlinkat(parent, name, Vec::new()) {
                Ok(target) => Kind::Link(OsStr::from_bytes(target.as_bytes()).to_owned()),
                Err(_) => Kind::Other,
            },
            FileType::Fifo
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Socket
            | FileType::Unknown => Kind::Other,
        };
        Entry { mark, is_fresh, mode: stat.st_mode, kind }
    }

    /// Notes what deny rules cover, wherever it is.
    fn denied(&mut self, directory: BorrowedFd<'_>, way: &Path, depth: usize) {
        let Ok(listed) = beneath::open(directory, Path::new("."), OFlags::RDONLY | OFlags::DIRECTORY) else {
            return;
        };
        let Ok(entries) = Dir::new(listed) else { return };
        for entry in entries.flatten() {
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            let Some(left) = self.left.checked_sub(1) else {
                self.found.search_cut = true;
                return;
            };
            if name == "." || name == ".." || name == ".git" {
                continue;
            }
            self.left = left;
            let way = way.join(name);
            if self.shield.denies_write(&self.base.path.join(&way)) {
                self.tree(directory, way, name, 0);
            } else if depth < DEPTH
                && matches!(entry.file_type(), FileType::Directory | FileType::Unknown)
                && let Ok(inner) =
                    beneath::open(directory, Path::new(name), OFlags::RDONLY | OFlags::DIRECTORY)
            {
                self.denied(inner.as_fd(), &way, depth + 1);
            }
        }
    }
}

fn mark(stat: &Stat) -> [i128; 6] {
    [
        i128::from(stat.st_dev),
        i128::from(stat.st_ino),
        i128::from(stat.st_size),
        i128::from(stat.st_mode),
        // Nobody but the kernel sets it.
        i128::from(stat.st_ctime),
        i128::from(stat.st_ctime_nsec),
    ]
}

/// The content of a regular file of at most so many bytes; never waits.
fn content(parent: BorrowedFd<'_>, name: &OsStr, limit: u64) -> Option<Arc<[u8]>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(beneath::open(parent, Path::new(name), flags).ok()?);
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= limit).then(|| bytes.into())
}

/// The names in a directory, but `.` and `..`.
pub(super) fn names(directory: BorrowedFd<'_>, limit: usize) -> Vec<OsString> {
    let listed = beneath::open(directory, Path::new("."), OFlags::RDONLY | OFlags::DIRECTORY);
    let Ok(entries) = listed.and_then(Dir::new) else { return Vec::new() };
    let names = entries.flatten().map(|entry| OsStr::from_bytes(entry.file_name().to_bytes()).to_owned());
    names.filter(|name| name != "." && name != "..").take(limit).collect()
}

/// The directory that `way` lies in, to be opened beneath a base.
pub(super) fn parent(way: &Path) -> &Path {
    way.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
