//! The repair of a damaged session: the records before the first damage stay, and all others are moved to other files.
//!
//! A damaged header is rebuilt from the first event of the first run, if that is readable. A repair deletes nothing:
//! the other records are in `events.damaged…` afterwards. A repair that was killed can be repeated; some records may
//! then be in two of these files.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use ibeam_protocol::{EventKind, SessionId};

use crate::error::{SessionError, io_error};
use crate::layout::{DAMAGED_RECORDS_FILE, find_session_directory};
use crate::lease;
use crate::open::back_up;
use crate::options::SessionOptions;
use crate::private_files;
use crate::record::{Header, Record, parse};
use crate::segment::Segment;
use crate::sync::sync_entries;
use crate::walk::{Damage, MAX_LINE_BYTES, walk};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepairReport {
    /// The damage that was found; `None` if there was nothing to repair.
    pub damage: Option<Damage>,
    /// The files to which records were moved or copied.
    pub backups: Vec<PathBuf>,
    /// Whether a session is left. Without a header no record can be kept.
    pub is_session_left: bool,
}

/// Repairs the session `id` so that it can be opened: keeps all records before the first damage and moves all other
/// records to backup files.
///
/// # Errors
/// `Unknown`, `Busy`, `Unusable`, `Io`; `Damaged` for a journal of a newer format, which is not changed.
pub fn repair(
    sessions: &Path,
    id: SessionId,
    options: &SessionOptions,
) -> Result<RepairReport, SessionError> {
    let directory = find_session_directory(sessions, id)?;
    let _lease = lease::acquire(&directory, options)?;
    let mut walked = walk::<SessionError>(&directory, |_| Ok(()))?;
    let Some(damage) = walked.damage.clone() else {
        return Ok(RepairReport { damage: None, backups: Vec::new(), is_session_left: true });
    };
    if walked.is_newer_format {
        let Damage { path, line, detail } = damage;
        return Err(SessionError::Damaged { path, line, detail });
    }
    let mut backups = Vec::new();
    if walked.header.is_none() {
        let target = unused_backup_path(&directory);
        if rebuild_header(&directory, id, &damage.path, &target)? {
            backups.push(target);
            walked = walk::<SessionError>(&directory, |_| Ok(()))?;
            if walked.damage.is_none() {
                return Ok(RepairReport { damage: Some(damage), backups, is_session_left: true });
            }
        }
    }
    let from_damage = walked.segments.get(walked.last_index..).unwrap_or_default();
    // From last to first: after an interruption the rest is still damaged at the same place.
    for (index, segment) in from_damage.iter().enumerate().rev() {
        let target = unused_backup_path(&directory);
        if index == 0 && walked.valid_bytes > 0 {
            back_up(&segment.path, walked.valid_bytes, &target)?;
            sync_entries(&directory).map_err(io_error(&directory))?;
            let file = private_files::open_for_append(&segment.path).map_err(io_error(&segment.path))?;
            file.set_len(walked.valid_bytes)
                .and_then(|()| file.sync_data())
                .map_err(io_error(&segment.path))?;
        } else {
            fs::rename(&segment.path, &target).map_err(io_error(&segment.path))?;
        }
        backups.push(target);
    }
    sync_entries(&directory).map_err(io_error(&directory))?;
    let is_session_left = walked.last_index > 0 || walked.valid_bytes > 0;
    Ok(RepairReport { damage: Some(damage), backups, is_session_left })
}

/// Rebuilds the header of the first segment from the start of the first run, which is the next record, and keeps the
/// old segment in `backup`. Returns `false` if that record does not contain the data of the header.
fn rebuild_header(
    directory: &Path,
    id: SessionId,
    first: &Path,
    backup: &Path,
) -> Result<bool, SessionError> {
    let mut journal = BufReader::new(private_files::open(first).map_err(io_error(first))?);
    let (mut damaged, mut next) = (Vec::new(), Vec::new());
    for line in [&mut damaged, &mut next] {
        (&mut journal).take(MAX_LINE_BYTES).read_until(b'\n', line).map_err(io_error(first))?;
    }
    let Ok(Record::Event(event)) = parse(next.strip_suffix(b"\n").unwrap_or_default()) else {
        return Ok(false);
    };
    let EventKind::RunStarted(head) = event.kind else { return Ok(false) };
    back_up(first, 0, backup)?;
    sync_entries(directory).map_err(io_error(directory))?;
    let header = Header { created_ms: event.at_ms, ..Header::new(id, &head.cwd) };
    let placed = Segment::create(directory, &header, 0, |file| {
        file.write_all(&next)?;
        io::copy(&mut journal, file).map(drop)
    });
    placed.map_err(io_error(first))?;
    sync_entries(directory).map_err(io_error(directory))?;
    Ok(true)
}

/// Returns a path that does not exist: `events.damaged`, or that name with a number.
fn unused_backup_path(directory: &Path) -> PathBuf {
    let names = std::iter::once(DAMAGED_RECORDS_FILE.to_owned())
        .chain((2u32..).map(|number| format!("{DAMAGED_RECORDS_FILE}.{number}")));
    let mut unused = names.map(|name| directory.join(name)).filter(|path| path.symlink_metadata().is_err());
    unused.next().unwrap_or_else(|| directory.join(DAMAGED_RECORDS_FILE))
}
