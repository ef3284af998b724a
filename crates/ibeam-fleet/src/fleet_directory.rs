//! The directory of a fleet, which one process at a time uses.

use std::fs::{self, DirBuilder, File, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use ibeam_files::file_lock;

use crate::check_files::remove_directory;
use crate::error::FleetError;

/// The permissions of the directory: the user's only.
const PRIVATE_MODE: u32 = 0o700;

/// The files and directories of a fleet. The lock and the ledger, without which a directory is not that of a fleet, come last.
const ENTRIES: [&str; 20] = [
    "batch.json",
    "batch.json.new",
    "governor.sock",
    "held",
    "limited",
    "parked",
    "printed",
    "repositories",
    "requests.ndjson",
    "restored",
    "superseded",
    "task-files",
    "task-files.new",
    "tasks",
    "worker-id",
    "ledger.sqlite-journal",
    "ledger.sqlite-wal",
    "ledger.sqlite-shm",
    "ledger.sqlite",
    "driver.lock",
];

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

    /// Deletes the fleet, and the directory if nothing else is in it. After a kill, the same call deletes the rest: the ledger
    /// goes last.
    pub fn remove(self) -> Result<(), FleetError> {
        for name in ENTRIES {
            let path = self.path.join(name);
            let removed = match path.symlink_metadata() {
                Ok(found) if found.is_dir() => remove_directory(&path),
                Ok(_) => fs::remove_file(&path),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                Err(error) => Err(error),
            };
            removed.map_err(FleetError::at(&path))?;
        }
        match fs::remove_dir(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::DirectoryNotEmpty => {
                Err(FleetError::at(&self.path)(error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Returns the path of the ledger of the fleet in `directory`.
    pub fn ledger(directory: &Path) -> PathBuf {
        directory.join("ledger.sqlite")
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fleet_is_deleted_and_files_of_others_stay() {
        let home = tempfile::tempdir().unwrap();
        for has_other in [false, true] {
            let path = home.path().join("tasks.fleet");
            let directory = FleetDirectory::open(&path).unwrap();
            drop(crate::Ledger::open(&FleetDirectory::ledger(&path)).unwrap());
            fs::create_dir_all(path.join("tasks/a/workspace")).unwrap();
            fs::set_permissions(path.join("tasks/a/workspace"), Permissions::from_mode(0o0)).unwrap();
            std::os::unix::fs::symlink(home.path(), path.join("tasks/a/link")).unwrap();
            fs::write(home.path().join("kept"), "").unwrap();
            if has_other {
                fs::write(path.join("notes"), "").unwrap();
            }
            directory.remove().unwrap();
            assert_eq!(path.exists(), has_other);
            assert!(!path.join("tasks").exists() && home.path().join("kept").exists());
        }
    }
}
