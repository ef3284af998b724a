//! Keeps the good beginning of a damaged session, and everything else aside.
//!
//! A header that is damaged is made anew where the first run still tells what stood in it.
//! Deletes nothing: what does not belong to the good beginning is in `events.damaged…` afterwards. Killed at
//! any moment, it can be done again; some of it may then be aside twice.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use ibeam_protocol::{EventKind, SessionId};

use crate::error::{SessionError, io};
use crate::layout::DAMAGED;
use crate::layout::directory_of;
use crate::lease;
use crate::open::set_aside;
use crate::options::SessionOptions;
use crate::private;
use crate::record::Header;
use crate::record::{Record, parse};
use crate::segment::Segment;
use crate::sync::sync_entries;
use crate::walk::{Damage, LINE_LIMIT, walk};

/// What a repair did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepairReport {
    /// The damage it found; `None` when there was nothing to do.
    pub damage: Option<Damage>,
    /// The files that hold now what was moved away.
    pub aside: Vec<PathBuf>,
    /// Whether there is still a session: without any header nothing can be kept.
    pub remains: bool,
}

/// Makes the session `id` one that opens: keeps all records before the first damage and moves the rest aside.
///
/// # Errors
/// `Unknown`, `Busy`, `Create`, `Io`; `Damaged` for a journal that a newer program wrote, which is left alone.
pub fn repair(
    sessions: &Path,
    id: SessionId,
    options: &SessionOptions,
) -> Result<RepairReport, SessionError> {
    let directory = directory_of(sessions, id)?;
    let _lease = lease::take(&directory, options)?;
    let mut walked = walk::<SessionError>(&directory, |_| Ok(()))?;
    let Some(damage) = walked.damage.clone() else {
        return Ok(RepairReport { damage: None, aside: Vec::new(), remains: true });
    };
    if walked.newer {
        let Damage { path, line, detail } = damage;
        return Err(SessionError::Damaged { path, line, detail });
    }
    let mut aside = Vec::new();
    if walked.header.is_none() {
        let place = free_name(&directory);
        if renew_header(&directory, id, &damage.path, &place)? {
            aside.push(place);
            walked = walk::<SessionError>(&directory, |_| Ok(()))?;
            if walked.damage.is_none() {
                return Ok(RepairReport { damage: Some(damage), aside, remains: true });
            }
        }
    }
    let at = walked.segments.get(walked.last..).unwrap_or_default();
    // The last first: whatever is left when this breaks off is still damaged at the same place.
    for (index, segment) in at.iter().enumerate().rev() {
        let place = free_name(&directory);
        if index == 0 && walked.whole > 0 {
            set_aside(&segment.path, walked.whole, &place)?;
            sync_entries(&directory).map_err(io(&directory))?;
            let file = private::append(&segment.path).map_err(io(&segment.path))?;
            file.set_len(walked.whole).and_then(|()| file.sync_data()).map_err(io(&segment.path))?;
        } else {
            fs::rename(&segment.path, &place).map_err(io(&segment.path))?;
        }
        aside.push(place);
    }
    sync_entries(&directory).map_err(io(&directory))?;
    let remains = walked.last > 0 || walked.whole > 0;
    Ok(RepairReport { damage: Some(damage), aside, remains })
}

/// Writes the header of the first segment anew from the start of the first run, which stands next to it, and keeps
/// the segment as it was in `aside`. False when nothing tells what the header was.
fn renew_header(directory: &Path, id: SessionId, first: &Path, aside: &Path) -> Result<bool, SessionError> {
    let mut journal = BufReader::new(private::open(first).map_err(io(first))?);
    let (mut damaged, mut next) = (Vec::new(), Vec::new());
    for line in [&mut damaged, &mut next] {
        (&mut journal).take(LINE_LIMIT).read_until(b'\n', line).map_err(io(first))?;
    }
    let Ok(Record::Event(event)) = parse(next.strip_suffix(b"\n").unwrap_or_default()) else {
        return Ok(false);
    };
    let EventKind::SessionStarted(head) = event.kind else { return Ok(false) };
    set_aside(first, 0, aside)?;
    sync_entries(directory).map_err(io(directory))?;
    let header = Header { created_ms: event.at_ms, ..Header::new(id, &head.cwd) };
    let placed = Segment::place(directory, &header, 0, |file| {
        file.write_all(&next)?;
        io::copy(&mut journal, file).map(drop)
    });
    placed.map_err(io(first))?;
    sync_entries(directory).map_err(io(directory))?;
    Ok(true)
}

/// `events.damaged`, or with a number where that is taken.
fn free_name(directory: &Path) -> PathBuf {
    let names =
        std::iter::once(DAMAGED.to_owned()).chain((2u32..).map(|number| format!("{DAMAGED}.{number}")));
    let mut free = names.map(|name| directory.join(name)).filter(|path| path.symlink_metadata().is_err());
    free.next().unwrap_or_else(|| directory.join(DAMAGED))
}
