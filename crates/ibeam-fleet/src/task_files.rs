//! The files from which the tasks of a fleet came, recorded in its directory: they may have variables of tasks, so runs do
//! not see them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::driver::FleetDirectory;
use crate::error::FleetError;

/// The name of the record in the directory of a fleet: a path on each line.
const RECORD: &str = "task-files";

impl FleetDirectory {
    /// Records a file of tasks. A path that is not one line of text cannot be recorded.
    ///
    /// # Errors
    /// `Io`.
    pub fn record_task_file(&self, path: Option<&Path>) -> Result<(), FleetError> {
        let record = self.path().join(RECORD);
        let mut lines = recorded_lines(self.path());
        let Some(path) = path.and_then(Path::to_str).filter(|path| !path.contains('\n')) else {
            return Ok(());
        };
        if lines.lines().any(|line| line == path) {
            return Ok(());
        }
        lines.push_str(&format!("{path}\n"));
        fs::write(&record, lines).map_err(FleetError::at(&record))
    }
}

/// Returns the recorded files, a line each; none in a fleet of an earlier version.
pub(crate) fn recorded_lines(fleet: &Path) -> String {
    fs::read_to_string(fleet.join(RECORD)).unwrap_or_default()
}

/// Returns the recorded files.
pub(crate) fn recorded_files(fleet: &Path) -> Vec<PathBuf> {
    recorded_lines(fleet).lines().map(PathBuf::from).collect()
}
