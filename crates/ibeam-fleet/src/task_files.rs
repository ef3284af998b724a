//! The paths that no run of a fleet sees, recorded in its directory: the files from which its tasks came, which may have
//! variables of tasks, and the files that only checks see.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::FleetError;
use crate::fleet_directory::FleetDirectory;
use crate::task_file::TaskFile;

/// The name of the record in the directory of a fleet: a path on each line, as given and with its links resolved.
const RECORD: &str = "task-files";

impl FleetDirectory {
    /// Records paths: the file of tasks, and what only the checks of its tasks see. A path that is not one line of text
    /// cannot be recorded.
    pub fn record_hidden_paths(&self, file: &TaskFile) -> Result<(), FleetError> {
        record(self.path(), file.source.iter().chain(&file.check_sources).map(PathBuf::as_path))
    }
}

/// Adds paths to the record of a fleet.
pub(crate) fn record<'a>(fleet: &Path, paths: impl Iterator<Item = &'a Path>) -> Result<(), FleetError> {
    let mut lines = recorded_lines(fleet);
    let mut known: BTreeSet<String> = lines.lines().map(str::to_owned).collect();
    let before = lines.len();
    let resolved = paths.flat_map(|path| [Some(path.to_owned()), path.canonicalize().ok()]);
    for path in resolved.flatten() {
        let Some(path) = path.to_str().filter(|path| !path.contains('\n')) else { continue };
        if known.insert(path.to_owned()) {
            lines.push_str(&format!("{path}\n"));
        }
    }
    if lines.len() == before {
        return Ok(());
    }
    let (path, new) = (fleet.join(RECORD), fleet.join(format!("{RECORD}.new")));
    fs::write(&new, lines).and_then(|()| fs::rename(&new, &path)).map_err(FleetError::at(&path))
}

/// Returns the recorded files, a line each; none in a fleet of an earlier version.
pub(crate) fn recorded_lines(fleet: &Path) -> String {
    fs::read_to_string(fleet.join(RECORD)).unwrap_or_default()
}

pub(crate) fn recorded_files(fleet: &Path) -> Vec<PathBuf> {
    recorded_lines(fleet).lines().map(PathBuf::from).collect()
}
