//! A session as one file: its segments and payloads, each after a line of JSON with its name and length.
//!
//! ```text
//! {"ibeam_session":1,"session_id":"…"}
//! {"file":"events.jsonl","bytes":18230}
//! …
//! {"file":"blobs/SHA-256","bytes":70000}
//! …
//! {"end":true}
//! ```
//!
//! An import is checked like any session before it gets its name.

use std::fs::{self, File};
use std::io::{self, BufRead, Read, Write};
use std::path::{Path, PathBuf};

use ibeam_protocol::SessionId;
use serde::{Deserialize, Serialize};

use crate::blob;
use crate::check::{CheckReport, check};
use crate::error::{SessionError, io_error, unusable_error};
use crate::layout::{self, BLOB_DIRECTORY, find_session_directory};
use crate::listing;
use crate::private_files;
use crate::sync::sync_entries;
use crate::title::TITLE_FILE;
use crate::walk::Damage;

const VERSION: u32 = 1;
/// The maximum length of a line between two files, in bytes.
const MAX_LINE_BYTES: u64 = 4096;
/// The start of the name of the directory of an import until it is checked.
const IMPORT_PREFIX: &str = ".import.";

#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Line {
    Start { ibeam_session: u32, session_id: SessionId },
    File { file: String, bytes: u64 },
    End { end: bool },
}

/// An error of an import. Nothing is imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The input does not begin like an exported session.
    #[error("not an exported session")]
    NotAnExport,
    /// The input begins like an exported session, but is not a complete one.
    #[error("incomplete or changed: {0}")]
    Incomplete(String),
    #[error("cannot read the input: {0}")]
    Input(io::Error),
    #[error("the session `{0}` exists")]
    Exists(SessionId),
    #[error("the exported session `{0}` is damaged")]
    Damaged(SessionId, Damage),
    /// The files cannot be written.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// Writes the session `id` to `out`. Needs no lease: of a running session, everything until now is written.
///
/// # Errors
/// `Unknown`, `Unusable`; `Io` for a file of the session and, with the path `output`, for `out`.
pub fn export(sessions: &Path, id: SessionId, out: &mut dyn Write) -> Result<(), SessionError> {
    let directory = find_session_directory(sessions, id)?;
    let output = Path::new("output");
    write_line(out, &Line::Start { ibeam_session: VERSION, session_id: id }).map_err(io_error(output))?;
    let segments = layout::list_segments(&directory).map_err(io_error(&directory))?;
    let mut files: Vec<PathBuf> = segments.into_iter().map(|segment| segment.path).collect();
    if directory.join(TITLE_FILE).exists() {
        files.push(directory.join(TITLE_FILE));
    }
    let digests = blob::stored_digests(&directory).map_err(io_error(&directory))?;
    files.extend(digests.iter().map(|digest| blob::path(&directory, digest)));
    for path in files {
        let file = private_files::open(&path).map_err(io_error(&path))?;
        let bytes = file.metadata().map_err(io_error(&path))?.len();
        let name = path.strip_prefix(&directory).unwrap_or(&path).to_string_lossy().into_owned();
        write_line(out, &Line::File { file: name, bytes }).map_err(io_error(output))?;
        let copied = io::copy(&mut file.take(bytes), out).map_err(io_error(output))?;
        if copied != bytes {
            return Err(io_error(&path)(io::ErrorKind::UnexpectedEof.into()));
        }
        out.write_all(b"\n").map_err(io_error(output))?;
    }
    write_line(out, &Line::End { end: true }).and_then(|()| out.flush()).map_err(io_error(output))
}

fn write_line(out: &mut dyn Write, line: &Line) -> io::Result<()> {
    serde_json::to_writer(&mut *out, line)?;
    out.write_all(b"\n")
}

/// Stores an exported session under its own ID, and returns its check.
///
/// # Errors
/// The errors of [`ImportError`].
pub fn import(sessions: &Path, input: &mut dyn BufRead) -> Result<(SessionId, CheckReport), ImportError> {
    let first = read_line(input)?.and_then(|line| serde_json::from_slice(&line).ok());
    let Some(Line::Start { ibeam_session: VERSION, session_id: id }) = first else {
        return Err(ImportError::NotAnExport);
    };
    if listing::exists(sessions, id) {
        return Err(ImportError::Exists(id));
    }
    let staging = sessions.join(format!("{IMPORT_PREFIX}{}", SessionId::random()));
    let imported = import_into(sessions, &staging, id, input);
    let removed = fs::remove_dir_all(&staging).map_err(io_error(&staging));
    let report = imported?;
    removed?;
    Ok((id, report))
}

/// Writes the files to `staging`, checks them, and moves them to `sessions`.
fn import_into(
    sessions: &Path,
    staging: &Path,
    id: SessionId,
    input: &mut dyn BufRead,
) -> Result<CheckReport, ImportError> {
    let directory = staging.join(id.to_string());
    private_files::create_directory(&directory).map_err(unusable_error(&directory))?;
    let blobs = directory.join(BLOB_DIRECTORY);
    loop {
        let line = read_line(input)?.ok_or_else(|| incomplete("it ends too early"))?;
        match serde_json::from_slice(&line).map_err(|error| incomplete(&error.to_string()))? {
            Line::End { end: true } => break,
            Line::File { file, bytes } => {
                let path = file_path(&directory, &file)
                    .ok_or_else(|| incomplete(&format!("`{file}` is not a file of a session")))?;
                if path.starts_with(&blobs) {
                    private_files::create_directory(&blobs).map_err(unusable_error(&blobs))?;
                }
                let mut target = private_files::create_empty(&path).map_err(io_error(&path))?;
                copy_exactly(input, bytes, &mut target, &path)?;
            }
            Line::Start { .. } | Line::End { end: false } => {
                return Err(incomplete("unexpected line"));
            }
        }
    }
    if blobs.is_dir() {
        sync_entries(&blobs).map_err(io_error(&blobs))?;
    }
    sync_entries(&directory).map_err(io_error(&directory))?;
    let report = check(staging, id).map_err(|error| match error {
        SessionError::Unknown { .. } => incomplete("it has no journal"),
        error => ImportError::Session(error),
    })?;
    if let Some(damage) = report.damage {
        return Err(ImportError::Damaged(id, damage));
    }
    if report.header.as_ref().is_none_or(|header| header.session_id != id) {
        return Err(incomplete("its journal is that of another session"));
    }
    let target = sessions.join(id.to_string());
    fs::rename(&directory, &target).map_err(io_error(&target))?;
    sync_entries(sessions).map_err(io_error(sessions))?;
    Ok(report)
}

/// Returns the path of a file of a session; `None` for any other name.
fn file_path(directory: &Path, name: &str) -> Option<PathBuf> {
    let is_known = match name.strip_prefix("blobs/") {
        Some(digest) => blob::is_digest(digest),
        None => name == TITLE_FILE || layout::is_segment_name(name),
    };
    is_known.then(|| directory.join(name))
}

fn copy_exactly(
    input: &mut dyn BufRead,
    bytes: u64,
    target: &mut File,
    path: &Path,
) -> Result<(), ImportError> {
    let copied = io::copy(&mut (&mut *input).take(bytes), target).map_err(io_error(path))?;
    target.sync_data().map_err(io_error(path))?;
    let mut end = [0];
    let is_complete = copied == bytes && input.read_exact(&mut end).is_ok() && end == *b"\n";
    if is_complete { Ok(()) } else { Err(incomplete("it ends too early")) }
}

/// Returns the next line without its end; `None` if the input ends before, or the line is too long.
fn read_line(input: &mut dyn BufRead) -> Result<Option<Vec<u8>>, ImportError> {
    let mut line = Vec::new();
    let read = (&mut *input).take(MAX_LINE_BYTES).read_until(b'\n', &mut line);
    read.map_err(ImportError::Input)?;
    Ok((line.pop() == Some(b'\n')).then_some(line))
}

fn incomplete(detail: &str) -> ImportError {
    ImportError::Incomplete(detail.to_owned())
}
