//! The names of stored sessions: an ID, the beginning of an ID from 4 characters on, or `-1`, `-2` … for the newest of a
//! workspace.

use std::path::Path;

use ibeam_protocol::{Failure, Reason, SessionId};

use crate::run::{nth_newest, session_store_reason};

/// The number of characters of an ID that lists show.
const SHORT_CHARACTERS: usize = 8;
/// The shortest beginning of an ID that names a session.
const MIN_PREFIX_CHARACTERS: usize = 4;
/// The number of IDs that an error lists.
const MAX_CANDIDATES: usize = 5;

/// Returns the session `name`. A complete ID is returned even if there is no such session.
///
/// # Errors
/// `NoSessionToContinue` and `UnknownSession` if there is none; the errors of [`find_by_prefix`].
pub fn find_session(sessions: &Path, workspace: &Path, name: &str) -> Result<SessionId, Failure> {
    if let Some(position) = name.strip_prefix('-').and_then(|number| number.parse().ok()) {
        return nth_newest(sessions, workspace, position);
    }
    match name.parse() {
        Ok(id) => Ok(id),
        Err(_) => find_by_prefix(sessions, name)?
            .ok_or_else(|| Reason::UnknownSession { session: name.to_owned() }.into()),
    }
}

/// Returns the only session whose ID starts with `prefix`; `None` if there is none.
///
/// # Errors
/// `AmbiguousSession` for the beginning of several IDs, `SessionIdTooShort` for fewer characters than a beginning needs,
/// `Io`.
pub fn find_by_prefix(sessions: &Path, prefix: &str) -> Result<Option<SessionId>, Reason> {
    if !is_prefix(prefix) {
        return Ok(None);
    }
    if prefix.len() < MIN_PREFIX_CHARACTERS {
        let minimum = u32::try_from(MIN_PREFIX_CHARACTERS).unwrap_or_default();
        return Err(Reason::SessionIdTooShort { prefix: prefix.to_owned(), minimum });
    }
    let mut found =
        ibeam_session::find_by_prefix(sessions, prefix).map_err(|error| session_store_reason(&error))?;
    if found.len() < 2 {
        return Ok(found.pop());
    }
    found.sort();
    let listed: Vec<_> = found.iter().take(MAX_CANDIDATES).map(|id| format!("`{id}`")).collect();
    let more = if found.len() > MAX_CANDIDATES { ", …" } else { "" };
    let sessions = format!("{}{more}", listed.join(", "));
    Err(Reason::AmbiguousSession { prefix: prefix.to_owned(), sessions })
}

/// Whether `name` is the ID of a stored session, or the beginning of one or of several.
pub fn is_stored(sessions: &Path, name: &str) -> bool {
    match name.parse() {
        Ok(id) => ibeam_session::exists(sessions, id),
        Err(_) => {
            matches!(find_by_prefix(sessions, name), Ok(Some(_)) | Err(Reason::AmbiguousSession { .. }))
        }
    }
}

/// Returns the beginning of an ID, for a list.
pub fn short_id(id: SessionId) -> String {
    id.to_string().chars().take(SHORT_CHARACTERS).collect()
}

/// Whether `name` consists of the characters of an ID.
fn is_prefix(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_hexdigit())
        && name.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}
