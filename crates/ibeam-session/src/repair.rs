//! Keeps the good beginning of a damaged session, and everything else aside.
//!
//! Deletes nothing: what does not belong to the good beginning is in `events.damaged…` afterwards. Killed at
//! any moment, it can be done again; some of it may then be aside twice.

use std::fs;
use std::path::{Path, PathBuf};

use ibeam_protocol::SessionId;

use crate::error::{SessionError, io};
use crate::journal::{directory_of, set_aside};
use crate::layout::DAMAGED;
use crate::lease;
use crate::options::Options;
use crate::private;
use crate::sync::sync_entries;
use crate::walk::{Damage, walk};

/// What a repair did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repaired {
    /// The damage it found; `None` when there was nothing to do.
    pub damage: Option<Damage>,
    /// The files that hold now what was moved away.
    pub aside: Vec<PathBuf>,
    /// Whether there is still a session: without a whole header nothing can be kept.
    pub remains: bool,
}

/// Makes the session `id` one that opens: keeps all records before the first damage and moves the rest aside.
///
/// # Errors
/// `Unknown`, `Busy`, `Create`, `Io`; `Damaged` for a journal that a newer program wrote, which is left alone.
pub fn repair(sessions: &Path, id: SessionId, options: &Options) -> Result<Repaired, SessionError> {
    let directory = directory_of(sessions, id)?;
    let _lease = lease::take(&directory, options.wait)?;
    let walked = walk(&directory, |_| Ok(()))?;
    let Some(damage) = walked.damage else {
        return Ok(Repaired { damage: None, aside: Vec::new(), remains: true });
    };
    if walked.newer {
        let Damage { path, line, said } = damage;
        return Err(SessionError::Damaged { path, line, said });
    }
    let mut aside = Vec::new();
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
    Ok(Repaired { damage: Some(damage), aside, remains })
}

/// `events.damaged`, or with a number where that is taken.
fn free_name(directory: &Path) -> PathBuf {
    let names =
        std::iter::once(DAMAGED.to_owned()).chain((2u32..).map(|number| format!("{DAMAGED}.{number}")));
    let mut free = names.map(|name| directory.join(name)).filter(|path| path.symlink_metadata().is_err());
    free.next().unwrap_or_else(|| directory.join(DAMAGED))
}
