//! Moves files that commands created in protected places to the quarantine, or copies them where they cannot be moved.
//!
//! What is too large to copy stays in its directory under a meaningless name.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::quarantined_files::record_origin;
use super::snapshot::{list_names, parent_of};
use super::watched_directory::WatchedDirectory;
use crate::beneath;
use crate::mode_overrides::ModeOverrides;

/// Maximum bytes that are copied to another file system.
const COPY_LIMIT_BYTES: u64 = 64 << 20;
/// Maximum entries that are copied.
const COPY_LIMIT_ENTRIES: usize = 10_000;

/// The directory for the findings of one scan, created for the first of them.
pub(super) struct Quarantine {
    parent_directory: PathBuf,
    opened: Option<(PathBuf, OwnedFd)>,
    /// Directories whose permissions a command had removed.
    pub(super) modes: ModeOverrides,
}

/// The remaining number of bytes and files that may be copied.
pub(super) struct CopyBudget {
    bytes: u64,
    entries: usize,
}

impl CopyBudget {
    /// Returns a budget for what was copied before.
    pub(super) fn unlimited() -> Self {
        Self { bytes: u64::MAX, entries: usize::MAX }
    }
}

impl Quarantine {
    pub(super) fn new(above: &Path) -> Self {
        Self { parent_directory: above.to_owned(), opened: None, modes: ModeOverrides::default() }
    }

    /// Moves away what is at `rel_path`; returns the result in words.
    pub(super) fn move_in(&mut self, watched: &WatchedDirectory<'_>, rel_path: &Path) -> String {
        let name = rel_path.file_name().unwrap_or_default();
        let from = match self.modes.open_to_change(watched.directory, parent_of(rel_path)) {
            Ok(from) => from,
            Err(errno) => return failure_text(errno),
        };
        // Moving a directory changes its entry `..`, and copying it lists its entries.
        let _ = self.modes.open_child(from.as_fd(), name);
        let taken = self.move_or_copy(from.as_fd(), name);
        let taken = taken.or_else(|_| rename_in_place(watched, from.as_fd(), rel_path, name));
        match taken.or_else(|errno| self.copy_and_truncate(from.as_fd(), name).map_err(|_| errno)) {
            Ok(place) => {
                // Without the record, the file is still there, and the message says where.
                if let Some((directory, name)) = place.parent().zip(place.file_name())
                    && directory.starts_with(&self.parent_directory)
                {
                    let _ = record_origin(directory, name, &watched.path.join(rel_path));
                }
                format!("is now at `{}`", place.display())
            }
            Err(errno) => failure_text(errno),
        }
    }

    fn move_or_copy(&mut self, from: BorrowedFd<'_>, name: &OsStr) -> Result<PathBuf, Errno> {
        let (place, to) = self.open()?;
        let (place, to) = (place.to_owned(), to.try_clone().map_err(|_| Errno::MFILE)?);
        let name_there = free_name(to.as_fd(), name);
        match rustix::fs::renameat(from, name, &to, &name_there) {
            Err(Errno::XDEV) => {
                let mut budget = CopyBudget { bytes: COPY_LIMIT_BYTES, entries: COPY_LIMIT_ENTRIES };
                copy(from, name, to.as_fd(), &name_there, &mut budget, &mut self.modes)?;
                remove(from, name, &mut self.modes)?;
            }
            moved => moved?,
        }
        Ok(place.join(name_there))
    }

    /// Copies a file that cannot be moved, and truncates the original.
    fn copy_and_truncate(&mut self, from: BorrowedFd<'_>, name: &OsStr) -> Result<PathBuf, Errno> {
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = File::from(beneath::open(from, Path::new(name), flags)?);
        if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            return Err(Errno::INVAL);
        }
        let (place, to) = self.open()?;
        let (place, to) = (place.to_owned(), to.try_clone().map_err(|_| Errno::MFILE)?);
        let name_there = free_name(to.as_fd(), name);
        let mut budget = CopyBudget { bytes: COPY_LIMIT_BYTES, entries: COPY_LIMIT_ENTRIES };
        copy(from, name, to.as_fd(), &name_there, &mut budget, &mut self.modes)?;
        rustix::fs::ftruncate(&file, 0)?;
        Ok(place.join(name_there))
    }

    fn open(&mut self) -> Result<(&Path, &OwnedFd), Errno> {
        if self.opened.is_none() {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
            let place = self.parent_directory.join(format!("{now}-{:04x}", fastrand::u16(..)));
            let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&place);
            made.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let directory = rustix::fs::open(&place, flags, Mode::empty())?;
            self.opened = Some((place, directory));
        }
        self.opened.as_ref().map(|(place, directory)| (place.as_path(), directory)).ok_or(Errno::IO)
    }
}

/// Returns the name, or the name with a number if it is taken.
fn free_name(directory: BorrowedFd<'_>, name: &OsStr) -> OsString {
    let is_taken = |name: &OsStr| rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).is_ok();
    let mut candidate = name.to_owned();
    for number in 2u32.. {
        if !is_taken(&candidate) {
            break;
        }
        candidate = name.to_owned();
        candidate.push(format!(".{number}"));
    }
    candidate
}

fn failure_text(errno: Errno) -> String {
    let errno = crate::file_error::errno_name(errno);
    format!("COULD NOT BE REMOVED ({errno}) and is still there; remove it by hand")
}

/// Gives the file a meaningless name in its directory.
fn rename_in_place(
    watched: &WatchedDirectory<'_>,
    from: BorrowedFd<'_>,
    rel_path: &Path,
    name: &OsStr,
) -> Result<PathBuf, Errno> {
    let plain = name.to_string_lossy().replace(|c: char| !c.is_ascii_alphanumeric(), "");
    let new = format!("quarantined-{plain}-{:08x}", fastrand::u32(..));
    rustix::fs::renameat(from, name, from, &new)?;
    Ok(watched.path.join(parent_of(rel_path)).join(new))
}

pub(super) fn copy(
    from: BorrowedFd<'_>,
    name: &OsStr,
    to: BorrowedFd<'_>,
    new: &OsStr,
    budget: &mut CopyBudget,
    modes: &mut ModeOverrides,
) -> Result<(), Errno> {
    budget.entries = budget.entries.checked_sub(1).ok_or(Errno::FBIG)?;
    let stat = rustix::fs::statat(from, name, AtFlags::SYMLINK_NOFOLLOW)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => {
            rustix::fs::mkdirat(to, new, Mode::RWXU)?;
            let to = beneath::open_directory(to, Path::new(new))?;
            let from = modes.open_child(from, name)?;
            let (names, is_complete) = list_names(from.as_fd(), COPY_LIMIT_ENTRIES);
            for name in names {
                copy(from.as_fd(), &name, to.as_fd(), &name, budget, modes)?;
            }
            if is_complete { Ok(()) } else { Err(Errno::FBIG) }
        }
        FileType::RegularFile => {
            budget.bytes = budget
                .bytes
                .checked_sub(u64::try_from(stat.st_size).unwrap_or(u64::MAX))
                .ok_or(Errno::FBIG)?;
            let read = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
            let mut from = File::from(beneath::open(from, Path::new(name), read)?);
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let mut to = File::from(rustix::fs::openat(to, new, flags, Mode::RUSR | Mode::WUSR)?);
            let copied = std::io::copy(&mut from, &mut to);
            copied.map(|_| ()).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
        }
        FileType::Symlink => {
            let target = rustix::fs::readlinkat(from, name, Vec::new())?;
            rustix::fs::symlinkat(&*target, to, new)
        }
        // There is no content to keep.
        FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => Ok(()),
    }
}

pub(super) fn remove(from: BorrowedFd<'_>, name: &OsStr, modes: &mut ModeOverrides) -> Result<(), Errno> {
    let stat = rustix::fs::statat(from, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
        return rustix::fs::unlinkat(from, name, AtFlags::empty());
    }
    let directory = modes.open_child(from, name)?;
    for name in list_names(directory.as_fd(), COPY_LIMIT_ENTRIES).0 {
        remove(directory.as_fd(), &name, modes)?;
    }
    rustix::fs::unlinkat(from, name, AtFlags::REMOVEDIR)
}
