//! The directory of a fleet, which one process at a time uses.

use std::fs::{self, DirBuilder, File, Permissions, TryLockError};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use ibeam_files::file_lock;

use crate::error::FleetError;

/// The permissions of the directory: the user's only.
const PRIVATE_MODE: u32 = 0o700;

/// The directory of a fleet, locked for this process.
#[derive(Debug)]
pub struct FleetDirectory {
    path: PathBuf,
    /// Holds the lock. The children do not inherit it.
    _lock: File,
}

impl FleetDirectory {
    /// Creates the directory if it is missing, and locks it. Only the user can read it: it has prompts, variables and files
    /// of workspaces.
    ///
    /// # Errors
    /// `InUse`, `Io`.
    pub fn open(path: &Path) -> Result<Self, FleetError> {
        let mut private = DirBuilder::new();
        private.recursive(true).mode(PRIVATE_MODE);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(FleetError::at(parent))?;
        }
        private.create(path).map_err(FleetError::at(path))?;
        // It may be from an earlier version, or one that the user created.
        fs::set_permissions(path, Permissions::from_mode(PRIVATE_MODE)).map_err(FleetError::at(path))?;
        private.create(path.join("tasks")).map_err(FleetError::at(path))?;
        let path = path.canonicalize().map_err(FleetError::at(path))?;
        let lock_path = path.join("driver.lock");
        let lock = File::create(&lock_path).map_err(FleetError::at(&lock_path))?;
        match file_lock::try_lock(&lock) {
            Ok(()) => Ok(Self { path, _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(FleetError::InUse(path)),
            Err(TryLockError::Error(error)) => Err(FleetError::at(&lock_path)(error)),
        }
    }

    /// Returns the path of the ledger of the fleet in `directory`.
    pub fn ledger(directory: &Path) -> PathBuf {
        directory.join("ledger.sqlite")
    }

    /// Returns the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }
}
