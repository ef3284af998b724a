//! Reading a session without going on with it: no lease is taken and nothing is changed.

use std::path::Path;

use ibeam_protocol::{Event, SessionId};

use crate::error::SessionError;
use crate::place::directory_of;
use crate::walk::{Damage, Walked, walk};

/// How far a session could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadReport {
    /// Bytes of a last record that has no end, 0 for none: its writer was killed, or is writing it now.
    pub torn_bytes: u64,
    /// The first damage; what is after it was not read.
    pub damage: Option<Damage>,
}

/// Gives `each` event of the session `id`, in order, until the end, the first damage, or an error of `each`.
///
/// Of a session that is being written to, what is there now. None is kept, so a long session costs no memory.
///
/// # Errors
/// `Unknown`; `Create` for a directory that is not ours; `Io`; those of `each`. Damage is no error here.
pub fn read<E: From<SessionError>>(
    sessions: &Path,
    id: SessionId,
    each: &mut dyn FnMut(Event) -> Result<(), E>,
) -> Result<ReadReport, E> {
    let directory = directory_of(sessions, id)?;
    let Walked { torn_bytes, damage, .. } = walk(&directory, |entry| each(entry.event))?;
    Ok(ReadReport { torn_bytes, damage })
}
