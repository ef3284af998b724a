//! Evidence of the effect of a file call that a killed run had started.
//!
//! Reads a bounded part, never waits, and changes nothing but a temporary file that the killed write left.

use crate::bounded_read::read_up_to;
use crate::dir_entry::{DirEntryAt, Parents};
use crate::file_error::{FileAction, FileError};
use crate::files::Files;
use crate::staging;

/// Larger files are not compared.
const MAX_COMPARED_BYTES: usize = 4 << 20;

/// The state of a path.
#[derive(Debug)]
pub(crate) enum FileState {
    /// No file.
    Missing,
    Content(Vec<u8>),
    /// A file of this size, too large to compare.
    TooLarge(i64),
    /// Anything else, or a file that cannot be read; a sentence that describes it.
    Other(String),
}

impl FileState {
    /// Reads what is at `requested`, after removing temporary files that a killed write left there.
    pub(crate) fn at(files: &Files, requested: &str) -> Self {
        match Self::read(files, requested) {
            Ok(state) => state,
            Err(FileError::NotFound { .. }) => Self::Missing,
            Err(error) => Self::Other(error.to_string()),
        }
    }

    /// Returns one sentence; `compared` describes the content of a file.
    pub(crate) fn describe(self, requested: &str, compared: impl FnOnce(&[u8]) -> String) -> String {
        match self {
            Self::Missing => format!("`{requested}` does not exist now"),
            Self::Content(bytes) => compared(&bytes),
            Self::TooLarge(size) => {
                format!("`{requested}` exists ({size} bytes) and is too large to compare")
            }
            Self::Other(sentence) => sentence,
        }
    }

    fn read(files: &Files, requested: &str) -> Result<Self, FileError> {
        let resolved = files
            .resolve(requested)
            .map_err(|error| FileError::unreachable(FileAction::Read, requested, error))?;
        let entry = DirEntryAt::find(files.workspace(), requested, &resolved.real, Parents::Required)?;
        if resolved.is_inside {
            staging::remove_leftovers(&entry.directory);
        }
        let (mut file, stat) = entry.open()?;
        let bytes = read_up_to(&mut file, MAX_COMPARED_BYTES + 1)
            .map_err(|error| FileError::io(FileAction::Read, requested, &error))?;
        Ok(if bytes.len() > MAX_COMPARED_BYTES { Self::TooLarge(stat.st_size) } else { Self::Content(bytes) })
    }
}

#[cfg(test)]
#[path = "evidence_test.rs"]
mod tests;
