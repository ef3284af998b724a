//! Determines the files of a snapshot, reads those that changed, and writes their objects, the trees and the index.
//!
//! Commands of models may change the work tree meanwhile. So each file is opened without following links, and what was
//! opened is checked again. The names that git refuses in an index are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ibeam_files::regular_file;
use ibeam_protocol::SessionId;
use rustix::fs::{Access, AtFlags, CWD, FileType, Mode, OFlags, accessat, openat, readlinkat, statat};
use rustix::io::Errno;

use super::file_snapshot::{IgnoredFiles, MAX_INDEX_BYTES, Snapshot};
use super::index_file::{self, FileStat};
use super::object_id::ObjectId;
use super::object_store::ObjectStore;
use super::objects::FileMode;
use super::repository::{CheckpointError, Repository, paths};
use super::restore::open_parent;
use super::tree_writer::write_trees;

/// The size of the largest file that is saved, in bytes.
const MAX_FILE_BYTES: u64 = 64 << 20;
/// The largest total size of new and changed files, in bytes.
const MAX_TOTAL_BYTES: u64 = 2 << 30;
/// The largest number of new and changed files.
const MAX_FILES: usize = 500_000;
/// The largest number of files that a checkpoint leaves out.
const MAX_LEFT_OUT: usize = 1000;
/// The number of attempts to read a file that becomes shorter meanwhile.
const MAX_READS: u32 = 4;

/// The beginning of the names of temporary indexes.
pub(super) const INDEX_COPY_PREFIX: &str = "index.";

/// Builds a snapshot, on a thread that may wait.
pub(super) struct SnapshotBuilder {
    pub(super) repository: Repository,
    pub(super) ignored: IgnoredFiles,
    /// The files that the ignore rules do not cover, each with a zero byte after it; a repository inside ends in `/`.
    pub(super) listed: Vec<u8>,
    /// The files that the repository of the user tracks, in the same form.
    pub(super) tracked: Vec<u8>,
    /// Whether the snapshot is not needed any more.
    pub(super) is_cancelled: Arc<AtomicBool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SavedFile {
    stat: FileStat,
    mode: FileMode,
    id: ObjectId,
}

#[derive(Default)]
struct LastSnapshot<'a> {
    files: BTreeMap<&'a [u8], SavedFile>,
    /// The time from which on a change of a file may be later than what was saved.
    written: (u32, u32),
    /// Whether objects are missing, so that all files must be read again.
    has_lost_objects: bool,
}

enum ReadFile {
    Saved(SavedFile),
    /// A file that is gone, or that must not be saved.
    Skipped,
    LeftOut,
}

impl SnapshotBuilder {
    /// Builds the snapshot.
    ///
    /// # Errors
    /// `Io`, `TooLarge`.
    pub(super) fn build(&self) -> Result<Snapshot, CheckpointError> {
        let path = self.repository.index();
        let last = File::open(&path).and_then(|file| {
            let written = index_file::modified(&file.metadata()?);
            Ok((regular_file::read_all(&file, MAX_INDEX_BYTES)?, written))
        });
        let (content, written) = last.unwrap_or_default();
        let algorithm = self.repository.hash_algorithm();
        let entries = index_file::parse(&content, algorithm).unwrap_or_default();
        let files = entries.iter().filter_map(|entry| {
            let file = SavedFile { stat: entry.stat, mode: entry.mode?, id: entry.id };
            Some((entry.path, file))
        });
        let mut last = LastSnapshot { files: files.collect(), written, has_lost_objects: false };
        if let Some(snapshot) = self.build_after(&last)? {
            return Ok(snapshot);
        }
        // The repository has removed objects that the index names.
        last.has_lost_objects = true;
        let built = self.build_after(&last)?;
        built.ok_or_else(|| CheckpointError::Damaged(path.display().to_string()))
    }

    /// Builds the snapshot; `None` if objects of the last one are missing.
    fn build_after(&self, last: &LastSnapshot<'_>) -> Result<Option<Snapshot>, CheckpointError> {
        let index = NewIndex::create(&self.repository.index())?;
        let store = self.repository.object_store();
        let mut files = SnapshotFiles::new(self, last, &store);
        for path in self.candidates(last) {
            if self.is_cancelled.load(Ordering::Relaxed) {
                return Err(CheckpointError::TimedOut(Duration::ZERO));
            }
            files.add(path)?;
        }
        files.read_changed()?;
        let changed = files.changed_directories();
        files.read_lost(&changed)?;
        let SnapshotFiles { files, left_out, has_read, .. } = files;
        let saved = files.iter().map(|(path, file)| (*path, file.mode, file.id));
        let written = write_trees(&store, saved, &changed);
        let tree = written.map_err(CheckpointError::io(self.repository.own_dir()))?;
        if tree.has_lost_objects {
            return Ok(None);
        }
        if has_read || files.len() != last.files.len() {
            let entries = files.iter().map(|(path, file)| (*path, file.stat, file.mode, file.id));
            index.keep(&index_file::serialize(entries, store.algorithm))?;
        }
        let left_out = left_out.iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect();
        Ok(Some(Snapshot { tree: tree.id.hex(), left_out }))
    }

    /// Returns the files that the snapshot may have.
    fn candidates<'a>(&'a self, last: &LastSnapshot<'a>) -> BTreeSet<&'a [u8]> {
        let listed = paths(&self.listed).map(|path| path.as_os_str().as_bytes());
        let (inner, mut candidates): (BTreeSet<&[u8]>, BTreeSet<&[u8]>) =
            listed.partition(|path| path.ends_with(b"/"));
        // Whether the file is in a repository of its own. Git does not list what such a repository has.
        let is_inner = |path: &[u8]| !inner.is_empty() && parents(path).any(|parent| inner.contains(parent));
        let tracked = paths(&self.tracked).map(|path| path.as_os_str().as_bytes());
        candidates.extend(tracked.filter(|path| !is_inner(path)));
        let saved = last.files.keys().copied();
        candidates.extend(saved.filter(|path| self.ignored == IgnoredFiles::Keep || is_inner(path)));
        candidates
    }
}

/// The files of a new snapshot.
struct SnapshotFiles<'a> {
    repository: &'a Repository,
    last: &'a LastSnapshot<'a>,
    store: &'a ObjectStore,
    is_cancelled: &'a AtomicBool,
    /// Whether some files of the work tree are never saved.
    has_exclusions: bool,
    /// Whether each parent directory is a directory and not a link.
    parents: BTreeMap<PathBuf, bool>,
    files: BTreeMap<&'a [u8], SavedFile>,
    left_out: BTreeSet<&'a [u8]>,
    /// The files that must be read, with what was found.
    to_read: Vec<(&'a [u8], FileStat)>,
    /// The size of all files that must be read.
    bytes: u64,
    has_read: bool,
}

impl<'a> SnapshotFiles<'a> {
    fn new(builder: &'a SnapshotBuilder, last: &'a LastSnapshot<'a>, store: &'a ObjectStore) -> Self {
        Self {
            repository: &builder.repository,
            last,
            store,
            is_cancelled: &builder.is_cancelled,
            has_exclusions: builder.repository.has_exclusions(),
            parents: BTreeMap::new(),
            files: BTreeMap::new(),
            left_out: BTreeSet::new(),
            to_read: Vec::new(),
            bytes: 0,
            has_read: false,
        }
    }

    /// Adds a file that may exist.
    fn add(&mut self, path: &'a [u8]) -> Result<(), CheckpointError> {
        let relative = Path::new(OsStr::from_bytes(path));
        let full = self.repository.top.join(relative);
        let is_excluded = self.has_exclusions && self.repository.is_excluded(&full);
        if is_excluded || !self.is_below_directories(relative) {
            return Ok(());
        }
        let Ok(found) = full.symlink_metadata() else { return Ok(()) };
        let Some(mode) = file_mode(&found) else { return Ok(()) };
        if !is_valid_path(path, mode) || self.repository.is_hidden_by_another_name(&found) {
            return Ok(());
        }
        let stat = FileStat::new(&found);
        let is_old = !self.last.has_lost_objects && !stat.is_modified_since(self.last.written);
        let same = self.last.files.get(path).filter(|last| last.stat == stat && last.mode == mode);
        if let Some(last) = same.filter(|_| is_old) {
            self.files.insert(path, *last);
            return Ok(());
        }
        if mode != FileMode::Link {
            let is_readable = accessat(CWD, &full, Access::READ_OK, AtFlags::EACCESS).is_ok();
            if found.size() > MAX_FILE_BYTES || !is_readable {
                return self.leave_out(path);
            }
            self.bytes += found.size();
        }
        self.to_read.push((path, stat));
        match (self.to_read.len() > MAX_FILES, self.bytes > MAX_TOTAL_BYTES) {
            (true, _) => Err(too_large(MAX_FILES as u64, "files")),
            (false, true) => Err(too_large(MAX_TOTAL_BYTES, "bytes")),
            (false, false) => Ok(()),
        }
    }

    fn leave_out(&mut self, path: &'a [u8]) -> Result<(), CheckpointError> {
        self.left_out.insert(path);
        match self.left_out.len() > MAX_LEFT_OUT {
            true => Err(too_large(MAX_LEFT_OUT as u64, "files that cannot be saved")),
            false => Ok(()),
        }
    }

    /// Reads the files that may have changed, and writes what is new.
    fn read_changed(&mut self) -> Result<(), CheckpointError> {
        for (path, stat) in std::mem::take(&mut self.to_read) {
            self.read(path, stat)?;
        }
        // A file that has become a directory since.
        for (parent, is_directory) in &self.parents {
            if *is_directory {
                self.files.remove(parent.as_os_str().as_bytes());
            }
        }
        Ok(())
    }

    /// Returns the directories in which something has changed since the last snapshot, with all directories above.
    fn changed_directories(&self) -> BTreeSet<&'a [u8]> {
        let is_same = |last: &SavedFile, file: &SavedFile| last.mode == file.mode && last.id == file.id;
        let changed = self.files.iter().filter(|(path, file)| {
            let last = self.last.files.get(*path);
            self.last.has_lost_objects || last.is_none_or(|last| !is_same(last, file))
        });
        let removed = self.last.files.keys().filter(|path| !self.files.contains_key(*path));
        changed.map(|(path, _)| path).chain(removed).flat_map(|path| parents(path)).collect()
    }

    /// Reads the unchanged files of changed directories again whose objects do not exist any more.
    fn read_lost(&mut self, changed: &BTreeSet<&[u8]>) -> Result<(), CheckpointError> {
        let is_lost = |(path, file): &(&&'a [u8], &SavedFile)| {
            let is_in_changed = parents(path).last().is_some_and(|parent| changed.contains(parent));
            is_in_changed && self.last.files.get(*path) == Some(file) && !self.store.contains(&file.id)
        };
        let lost = self.files.iter().filter(is_lost).map(|(path, file)| (*path, file.stat));
        let lost: Vec<_> = lost.collect();
        lost.into_iter().try_for_each(|(path, stat)| self.read(path, stat))
    }

    /// Reads a file and writes its content.
    fn read(&mut self, path: &'a [u8], stat: FileStat) -> Result<(), CheckpointError> {
        if self.is_cancelled.load(Ordering::Relaxed) {
            return Err(CheckpointError::TimedOut(Duration::ZERO));
        }
        self.has_read = true;
        self.files.remove(path);
        let relative = Path::new(OsStr::from_bytes(path));
        let mut attempts = 1..MAX_READS;
        let read = loop {
            match self.try_read(relative, stat) {
                Err(error) if error.kind() == ErrorKind::UnexpectedEof && attempts.next().is_some() => {}
                read => break read,
            }
        };
        match read {
            Ok(ReadFile::Saved(file)) => {
                self.files.insert(path, file);
                Ok(())
            }
            Ok(ReadFile::Skipped) => Ok(()),
            Ok(ReadFile::LeftOut) => self.leave_out(path),
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::ACCESS | Errno::PERM) => self.leave_out(path),
                Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(()),
                _ => Err(CheckpointError::io(&self.repository.top.join(relative))(error)),
            },
        }
    }

    fn try_read(&self, path: &Path, stat: FileStat) -> io::Result<ReadFile> {
        let (directory, name) = open_parent(&self.repository.top, path, false)?;
        let found = statat(&directory, &name, AtFlags::SYMLINK_NOFOLLOW)?;
        match FileType::from_raw_mode(found.st_mode) {
            FileType::Symlink => {
                let target = readlinkat(&directory, &name, Vec::new())?;
                let id = self.store.write_new("blob", target.as_bytes())?;
                Ok(ReadFile::Saved(SavedFile { stat, mode: FileMode::Link, id }))
            }
            FileType::RegularFile => {
                let flags =
                    OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
                let file = File::from(openat(&directory, &name, flags, Mode::empty())?);
                let found = file.metadata()?;
                let Some(mode) = file_mode(&found) else { return Ok(ReadFile::Skipped) };
                if self.repository.is_hidden_by_another_name(&found) {
                    return Ok(ReadFile::Skipped);
                }
                if found.size() > MAX_FILE_BYTES {
                    return Ok(ReadFile::LeftOut);
                }
                let id = self.store.write_file(&file, found.size())?;
                Ok(ReadFile::Saved(SavedFile { stat: FileStat::new(&found), mode, id }))
            }
            _ => Ok(ReadFile::Skipped),
        }
    }

    fn is_below_directories(&mut self, path: &Path) -> bool {
        let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) else { return true };
        if let Some(known) = self.parents.get(parent) {
            return *known;
        }
        let is_directory = self.is_below_directories(parent)
            && self.repository.top.join(parent).symlink_metadata().is_ok_and(|found| found.is_dir());
        self.parents.insert(parent.to_owned(), is_directory);
        is_directory
    }
}

fn too_large(limit: u64, unit: &'static str) -> CheckpointError {
    CheckpointError::TooLarge { limit, unit }
}

/// Returns the mode that git gives to a file; `None` for what it does not save.
fn file_mode(found: &Metadata) -> Option<FileMode> {
    let kind = found.file_type();
    match (kind.is_symlink(), kind.is_file(), found.mode() & 0o100 != 0) {
        (true, ..) => Some(FileMode::Link),
        (false, true, true) => Some(FileMode::Executable),
        (false, true, false) => Some(FileMode::Regular),
        (false, false, _) => None,
    }
}

/// Returns the directories above a path, from the root, which is empty, on; each other one ends in `/`.
fn parents(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(index, _)| index + 1);
    std::iter::once(0).chain(slashes).map(|end| path.get(..end).unwrap_or_default())
}

/// Whether git accepts the path in an index: it must not lead out of the work tree or into a git directory, under any name
/// of one on a file system of Windows.
fn is_valid_path(path: &[u8], mode: FileMode) -> bool {
    path.split(|byte| *byte == b'/').all(|name| {
        let name = name.to_ascii_lowercase();
        let is_reserved = [&b""[..], b".", b".."].contains(&name.as_slice());
        let is_link = mode == FileMode::Link;
        !(is_reserved || is_git_directory(&name) || is_link && is_git_modules(&name))
    })
}

/// Whether a file system of Windows takes this name, in lower case, for `.git`.
fn is_git_directory(name: &[u8]) -> bool {
    [&b".git"[..], b"git~1"].iter().any(|reserved| name.strip_prefix(*reserved).is_some_and(ends_name))
}

/// Whether a file system of Windows takes this name, in lower case, for `.gitmodules`, which must not be a link.
fn is_git_modules(name: &[u8]) -> bool {
    let is_short = name.starts_with(b"gitmod~") || name.starts_with(b"gi7") && name.contains(&b'~');
    is_short || name.strip_prefix(b".gitmodules").is_some_and(ends_name)
}

/// Whether a file system of Windows ignores this rest of a name.
fn ends_name(rest: &[u8]) -> bool {
    let end = rest.iter().position(|byte| !b" .".contains(byte));
    end.is_none_or(|end| rest.get(end).is_some_and(|byte| b"\\:".contains(byte)))
}

/// The temporary file of a new index, deleted with the value.
struct NewIndex {
    file: File,
    path: PathBuf,
    original: PathBuf,
}

impl NewIndex {
    /// Creates the file. Its time is before that of every change that a snapshot from now on need not have.
    fn create(original: &Path) -> Result<Self, CheckpointError> {
        let path = original.with_file_name(format!("{INDEX_COPY_PREFIX}{}", SessionId::random()));
        let created = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        Ok(Self { file: created.map_err(CheckpointError::io(&path))?, path, original: original.to_owned() })
    }

    /// Makes the file the index for the next snapshot.
    fn keep(mut self, content: &[u8]) -> Result<(), CheckpointError> {
        let keep = |index: &mut Self| {
            let created = index.file.metadata()?.modified()?;
            index.file.write_all(content)?;
            index.file.set_modified(created)?;
            fs::rename(&index.path, &index.original)
        };
        keep(&mut self).map_err(CheckpointError::io(&self.original))
    }
}

impl Drop for NewIndex {
    fn drop(&mut self) {
        // After `keep` it is gone.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
#[path = "snapshot_builder_test.rs"]
mod tests;
