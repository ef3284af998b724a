//! The directory of a session: the names in it, its segments, and the check of its owner.
//!
//! The segments are `events.jsonl`, `events.part0002.jsonl`, `events.part0003.jsonl` …: the order of their names is the
//! order of their records in every locale.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use ibeam_protocol::SessionId;

use crate::error::{SessionError, io_error, unusable_error};
use crate::private_files;

pub(crate) const FIRST_SEGMENT: &str = "events.jsonl";
/// The name of a new segment until its first records are synced. Readers ignore the file.
pub(crate) const UNFINISHED_SEGMENT: &str = "events.new";
/// The name of the file to which torn records are moved when the session is opened.
pub(crate) const TORN_RECORDS_FILE: &str = "events.torn";
/// The name of the file to which a repair moves damaged records. Further files have a number at the end.
pub(crate) const DAMAGED_RECORDS_FILE: &str = "events.damaged";
/// The directory of large payloads, each named by its SHA-256.
pub(crate) const BLOB_DIRECTORY: &str = "blobs";
/// The file that a process locks while it has the lease, the exclusive right to write the session.
pub(crate) const LOCK_FILE: &str = "lock";

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SegmentPath {
    /// The position in the journal, from 1.
    pub(crate) number: u32,
    pub(crate) path: PathBuf,
}

/// Returns the path of segment `number` of the session in `directory`.
pub(crate) fn segment_path(directory: &Path, number: u32) -> SegmentPath {
    let path = match number {
        0 | 1 => directory.join(FIRST_SEGMENT),
        number => directory.join(format!("events.part{number:04}.jsonl")),
    };
    SegmentPath { number, path }
}

/// Returns the segments of the session in `directory`, in order; none if the directory does not exist.
///
/// # Errors
/// The errors of the file system, if the directory cannot be read.
pub(crate) fn list_segments(directory: &Path) -> std::io::Result<Vec<SegmentPath>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry?;
        if let Some(number) = entry.file_name().to_str().and_then(segment_number) {
            found.push(SegmentPath { number, path: entry.path() });
        }
    }
    found.sort();
    Ok(found)
}

/// Returns the directory of the session `id`, which must exist and belong to this user.
///
/// # Errors
/// `Unknown`, `Unusable`, `Io`.
pub(crate) fn find_session_directory(sessions: &Path, id: SessionId) -> Result<PathBuf, SessionError> {
    let directory = sessions.join(id.to_string());
    match check_owner(sessions, &directory) {
        Err(SessionError::Unusable { source, .. }) if source.kind() == ErrorKind::NotFound => {
            return Err(SessionError::Unknown { path: directory });
        }
        checked => checked?,
    }
    match list_segments(&directory).map_err(io_error(&directory))?.is_empty() {
        true => Err(SessionError::Unknown { path: directory }),
        false => Ok(directory),
    }
}

/// Checks that the directories are not links and belong to this user.
///
/// # Errors
/// `Unusable`.
pub(crate) fn check_owner(sessions: &Path, directory: &Path) -> Result<(), SessionError> {
    private_files::check_owned_directory(sessions).map_err(unusable_error(sessions))?;
    private_files::check_owned_directory(directory).map_err(unusable_error(directory))
}

/// Whether a file of this name is a segment.
pub(crate) fn is_segment_name(name: &str) -> bool {
    segment_number(name).is_some()
}

fn segment_number(name: &str) -> Option<u32> {
    if name == FIRST_SEGMENT {
        return Some(1);
    }
    let digits = name.strip_prefix("events.part")?.strip_suffix(".jsonl")?;
    let number = digits.parse().ok().filter(|number| *number > 1)?;
    (format!("{number:04}") == digits).then_some(number)
}
