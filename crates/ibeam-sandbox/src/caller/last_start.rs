//! The directories from which the paths of calls start.
//!
//! A command makes most of its calls from the same one, so the last one stays open. What the caller starts from now is
//! compared with it: nothing else can get its identity as long as it is open.

use std::ffi::CStr;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, CWD, Mode, StatxFlags, fstat, makedev, openat, statx};
use rustix::io::{Errno, fcntl_dupfd_cloexec};

use super::{Caller, DIRECTORY};
use crate::change_record::{FileId, file_id};
use crate::descendants::ProcPath;

/// The directory from which a relative path is looked up.
#[derive(Clone, Copy)]
pub(crate) enum Start {
    WorkingDirectory,
    /// A descriptor of the caller.
    Descriptor(i32),
}

/// A directory that is held open, so that nothing else can get its identity.
pub(super) struct HeldDirectory {
    pub(super) descriptor: OwnedFd,
    pub(super) id: FileId,
    /// The mount through which it was reached. `None`: not known.
    mount: Option<u64>,
}

/// The directory from which the last path was looked up.
#[derive(Default)]
pub(crate) struct LastStart(Option<HeldDirectory>);

impl Start {
    /// Returns the start that a call's argument refers to; the system uses its lower half.
    pub(crate) fn from_argument(argument: u64) -> Self {
        match (argument as u32).cast_signed() {
            libc::AT_FDCWD => Self::WorkingDirectory,
            descriptor => Self::Descriptor(descriptor),
        }
    }

    /// Returns its path in `/proc`, for the thread with this id there.
    fn proc_path(self, shown: i32) -> Result<ProcPath, Errno> {
        let mut path = ProcPath::new();
        path.text(b"/proc/").number(shown);
        match self {
            Self::WorkingDirectory => path.text(b"/cwd"),
            Self::Descriptor(descriptor) if descriptor >= 0 => path.text(b"/fd/").number(descriptor),
            Self::Descriptor(_) => return Err(Errno::BADF),
        };
        Ok(path)
    }
}

impl HeldDirectory {
    pub(super) fn new(descriptor: OwnedFd) -> Result<Self, Errno> {
        let id = file_id(&fstat(&descriptor)?);
        Ok(Self { descriptor, id, mount: None })
    }

    pub(super) fn duplicate(&self) -> Result<Self, Errno> {
        let descriptor = fcntl_dupfd_cloexec(&self.descriptor, 0)?;
        Ok(Self { descriptor, id: self.id, mount: self.mount })
    }
}

impl LastStart {
    /// Opens a start of the caller, unless it is the last one.
    ///
    /// # Errors
    /// `BADF`, `NOTDIR`. `PERM`: the process hides what it has open.
    pub(super) fn open(&mut self, caller: &Caller, start: Start) -> Result<&HeldDirectory, Errno> {
        let path = start.proc_path(caller.shown()?)?;
        let path = path.as_c_str().ok_or(Errno::BADF)?;
        let error = |errno| match errno {
            Errno::NOENT if matches!(start, Start::Descriptor(_)) => Errno::BADF,
            Errno::ACCESS => Errno::PERM,
            other => other,
        };
        let now = identity(CWD, path, AtFlags::empty()).map_err(error)?;
        // What leads out of a directory (`..`) depends on its mount.
        let is_last = |held: &HeldDirectory| held.mount.is_some() && now == (held.id, held.mount);
        let held = match self.0.take().filter(is_last) {
            Some(held) => held,
            None => {
                let descriptor = openat(CWD, path, DIRECTORY, Mode::empty()).map_err(error)?;
                // The caller may have another one by now.
                let (id, mount) = identity(descriptor.as_fd(), c"", AtFlags::EMPTY_PATH)?;
                HeldDirectory { descriptor, id, mount }
            }
        };
        Ok(self.0.insert(held))
    }
}

/// Returns the identity of a file, and that of its mount, where the system has it (Linux 5.8).
fn identity(from: BorrowedFd<'_>, path: &CStr, flags: AtFlags) -> Result<(FileId, Option<u64>), Errno> {
    let flags = flags | AtFlags::STATX_DONT_SYNC;
    let found = statx(from, path, flags, StatxFlags::INO | StatxFlags::MNT_ID)?;
    let mount = (found.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(found.stx_mnt_id);
    Ok(((makedev(found.stx_dev_major, found.stx_dev_minor), found.stx_ino), mount))
}
