//! The sandbox of the last run on this machine, by which a run expects its own before that is set up.
//!
//! A file in the data directory has one line. It counts only for the same start of the system, user and mount namespace:
//! another kernel or container may allow another sandbox. It is removed when a set-up fails. A file that is missing,
//! damaged or out of date costs time and nothing else.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use ibeam_files::{private_file, regular_file};

const FILE_NAME: &str = "last-sandbox";
/// Maximum size of the file in bytes.
const MAX_BYTES: u64 = 256;
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
const MOUNT_NAMESPACE: &str = "/proc/self/ns/mnt";

/// The record of the last set-up.
pub(super) struct LastSandbox {
    path: PathBuf,
    /// The line of a set-up that succeeded under the present conditions; `None` where the system does not show them.
    line: Option<String>,
    has_succeeded: bool,
}

impl LastSandbox {
    /// Reads the record.
    pub(super) fn load(data_dir: &Path) -> Self {
        let path = data_dir.join(FILE_NAME);
        let line = line();
        let found = regular_file::read(&path, MAX_BYTES).ok();
        let has_succeeded = line.is_some() && found.as_deref() == line.as_ref().map(String::as_bytes);
        Self { path, line, has_succeeded }
    }

    /// Whether the last set-up succeeded, under the present conditions.
    pub(super) fn has_succeeded(&self) -> bool {
        self.has_succeeded
    }

    /// Records a set-up that succeeded, in a data directory that exists.
    pub(super) fn record(&self) {
        if let Some(line) = self.line.as_ref().filter(|_| !self.has_succeeded) {
            // Without the record, the next run waits for its sandbox.
            drop(private_file::replace(&self.path, line.as_bytes()));
        }
    }

    /// Removes the record after a set-up that failed.
    pub(super) fn remove(&self) {
        drop(fs::remove_file(&self.path));
    }
}

/// Returns the line with what decides whether a user can have a sandbox.
fn line() -> Option<String> {
    let boot = fs::read_to_string(BOOT_ID).ok()?;
    let namespace = fs::metadata(MOUNT_NAMESPACE).ok()?.ino();
    Some(format!("{} {} {namespace}\n", boot.trim_end(), rustix::process::geteuid().as_raw()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_counts_only_whole_and_under_the_same_conditions() {
        let workspace = ibeam_testkit::Workspace::new();
        let data = workspace.path().join("data");
        let load = || LastSandbox::load(&data);
        load().record();
        assert!(!data.exists() && !load().has_succeeded());
        fs::create_dir(&data).unwrap();
        load().record();
        assert!(load().has_succeeded());
        let path = data.join(FILE_NAME);
        let line = fs::read_to_string(&path).unwrap();
        for other in [&line[1..], &line[..line.len() - 1], "", "failed\n", &line.replace(' ', " 1")] {
            fs::write(&path, other).unwrap();
            assert!(!load().has_succeeded(), "{other:?}");
        }
        load().record();
        assert!(load().has_succeeded());
        load().remove();
        assert!(!load().has_succeeded() && !path.exists());
    }
}
