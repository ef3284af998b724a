//! The directory of a session: the names in it, its segments, and the check of its owner.
//!
//! The segments are `events.jsonl`, `events.part0002.jsonl`, `events.part0003.jsonl` …: the order of their names is the
//! order of their records in every locale.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use ibeam_protocol::SessionId;

use crate::error::{SessionError, create_error, io_error};
use crate::private_files;

/// The first segment.
pub(crate) const FIRST_SEGMENT: &str = "events.jsonl";
/// A segment while it is written, which readers ignore.
pub(crate) const UNFINISHED_SEGMENT: &str = "events.new";
/// Torn records that were cut off when the session was opened.
pub(crate) const TORN_RECORDS: &str = "events.torn";
/// Damaged records that a repair moved away.
pub(crate) const DAMAGED_RECORDS: &str = "events.damaged";
/// The directory of large payloads, each named by its SHA-256.
pub(crate) const BLOB_DIRECTORY: &str = "blobs";
/// The file whose lock is the lease.
pub(crate) const LOCK_FILE: &str = "lock";

/// A file of a journal.
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

/// Returns the directory of an existing session that belongs to this user.
///
/// # Errors
/// `Unknown`, `Create`, `Io`.
pub(crate) fn session_directory(sessions: &Path, id: SessionId) -> Result<PathBuf, SessionError> {
    let directory = sessions.join(id.to_string());
    match check_owner(sessions, &directory) {
        Err(SessionError::Create { source, .. }) if source.kind() == ErrorKind::NotFound => {
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
/// `Create`.
pub(crate) fn check_owner(sessions: &Path, directory: &Path) -> Result<(), SessionError> {
    private_files::check_owned_directory(sessions).map_err(create_error(sessions))?;
    private_files::check_owned_directory(directory).map_err(create_error(directory))
}

fn segment_number(name: &str) -> Option<u32> {
    if name == FIRST_SEGMENT {
        return Some(1);
    }
    let digits = name.strip_prefix("events.part")?.strip_suffix(".jsonl")?;
    let number = digits.parse().ok().filter(|number| *number > 1)?;
    (format!("{number:04}") == digits).then_some(number)
}
