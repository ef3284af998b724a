//! From the files of a session to its header and events.

use std::path::Path;

use ibeam_protocol::Event;

use crate::error::SessionError;
use crate::header::Header;
use crate::options::CancelFlag;
use crate::walk::{Damage, Walked, walk};

/// What a journal told besides its events.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadReport {
    /// What the journal began with.
    pub header: Header,
    /// Bytes of the torn record that was left out at the end, 0 for none.
    pub torn_bytes: u64,
}

/// Reads a whole journal and gives `each` event as it comes, in order; nothing of it is kept.
///
/// # Errors
/// As `walk`, `Cancelled` and `Damaged`.
pub(crate) fn load(
    directory: &Path,
    cancel: &CancelFlag,
    each: &mut dyn FnMut(Event),
) -> Result<(Header, Walked), SessionError> {
    let walked = walk::<SessionError>(directory, |entry| {
        cancel.check()?;
        each(entry.event);
        Ok(())
    })?;
    if let Some(Damage { path, line, detail }) = walked.damage {
        return Err(SessionError::Damaged { path, line, detail });
    }
    let Some(header) = walked.header.clone() else {
        return Err(SessionError::Unknown { path: directory.to_owned() });
    };
    Ok((header, walked))
}
