//! From the files of a session to its header and events.

use std::path::Path;

use ibeam_protocol::Event;

use crate::error::SessionError;
use crate::header::Header;
use crate::walk::{Damage, Walked, walk};

/// A journal in memory.
#[derive(Debug, PartialEq)]
pub struct Loaded {
    /// What the journal began with.
    pub header: Header,
    /// Every whole event, in order.
    pub events: Vec<Event>,
    /// Bytes of the torn record that was left out at the end, 0 for none.
    pub torn_bytes: u64,
}

/// Reads a whole journal; also gives where it ends.
///
/// # Errors
/// As `walk`, and `Damaged`.
pub(crate) fn load(directory: &Path) -> Result<(Loaded, Walked), SessionError> {
    let mut events = Vec::new();
    let walked = walk(directory, |entry| {
        events.push(entry.event);
        Ok(())
    })?;
    if let Some(Damage { path, line, said }) = walked.damage {
        return Err(SessionError::Damaged { path, line, said });
    }
    let Some(header) = walked.header.clone() else {
        return Err(SessionError::Unknown { path: directory.to_owned() });
    };
    Ok((Loaded { header, events, torn_bytes: walked.torn_bytes }, walked))
}
