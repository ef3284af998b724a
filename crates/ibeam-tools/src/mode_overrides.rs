//! Overrides modes of directories that a command made inaccessible, for the time of a scan.
//!
//! A command may remove permissions from its directories (`chmod 500 .`), so that nothing below can be listed or moved
//! away. The directory still belongs to the user, so its mode can be changed by descriptor.

use std::ffi::OsStr;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use crate::beneath;

/// Directories whose mode was changed; dropping it restores the modes, the innermost first.
#[derive(Debug, Default)]
pub(crate) struct ModeOverrides(Vec<(OwnedFd, u32)>);

impl ModeOverrides {
    /// Opens the directory `relative` beneath `from` for listing, and grants the user all rights on every directory on
    /// the path that lacks one.
    ///
    /// # Errors
    /// The system's, where the directory belongs to another user, does not exist or is a link.
    pub(crate) fn open_to_list(&mut self, from: BorrowedFd<'_>, relative: &Path) -> Result<OwnedFd, Errno> {
        match beneath::open(from, relative, OFlags::RDONLY | OFlags::DIRECTORY) {
            Err(Errno::ACCESS) => {}
            opened => return opened,
        }
        let directory = self.open_to_change(from, relative)?;
        beneath::open(directory.as_fd(), Path::new("."), OFlags::RDONLY | OFlags::DIRECTORY)
    }

    /// Opens the directory `relative` beneath `from` for changing its entries, like [`Self::open_to_list`].
    ///
    /// # Errors
    /// As [`Self::open_to_list`].
    pub(crate) fn open_to_change(&mut self, from: BorrowedFd<'_>, relative: &Path) -> Result<OwnedFd, Errno> {
        let mut directory = beneath::open_directory(from, Path::new("."))?;
        self.grant_user_rights(directory.as_fd())?;
        for component in relative.components() {
            let Component::Normal(name) = component else { continue };
            directory = self.open_child(directory.as_fd(), name)?;
        }
        Ok(directory)
    }

    /// Like [`Self::open_to_change`], for a single name.
    ///
    /// # Errors
    /// As [`Self::open_to_list`].
    pub(crate) fn open_child(&mut self, parent: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
        let directory = beneath::open_directory(parent, Path::new(name))?;
        self.grant_user_rights(directory.as_fd())?;
        Ok(directory)
    }

    fn grant_user_rights(&mut self, directory: BorrowedFd<'_>) -> Result<(), Errno> {
        let stat = rustix::fs::fstat(directory)?;
        let is_owned_by_user = stat.st_uid == rustix::process::geteuid().as_raw();
        let mode = stat.st_mode & 0o7777;
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory
            || !is_owned_by_user
            || mode & 0o700 == 0o700
        {
            return Ok(());
        }
        set_mode(directory, mode | 0o700)?;
        self.0.push((directory.try_clone_to_owned().map_err(|_| Errno::MFILE)?, mode));
        Ok(())
    }
}

impl Drop for ModeOverrides {
    fn drop(&mut self) {
        for (directory, mode) in self.0.drain(..).rev() {
            // The directory may be gone.
            let _ = set_mode(directory.as_fd(), mode);
        }
    }
}

/// Changes the mode of an open directory, also of one that is open as a path only.
fn set_mode(directory: BorrowedFd<'_>, mode: u32) -> Result<(), Errno> {
    let mode = Mode::from_raw_mode(mode);
    match rustix::fs::fchmod(directory, mode) {
        Err(Errno::BADF) => rustix::fs::chmod(format!("/proc/self/fd/{}", directory.as_raw_fd()), mode),
        changed => changed,
    }
}
