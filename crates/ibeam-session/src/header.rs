//! The first record of every segment: which session it belongs to, and where in it.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use ibeam_protocol::SessionId;
use serde::{Deserialize, Serialize};

/// The version of the format.
pub(crate) const FORMAT: u32 = 1;

/// The first record of a segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The version of the format: 1.
    pub format: u32,
    /// The session.
    pub session_id: SessionId,
    /// The workspace it began in.
    #[serde(serialize_with = "ibeam_protocol::path_text::one")]
    pub cwd: PathBuf,
    /// When, in milliseconds since the Unix epoch.
    pub created_ms: u64,
    /// Which segment of the session, from 1.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub segment: u32,
    /// The session whose history it began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<SessionId>,
}

impl Header {
    /// The header of a session that begins now.
    pub(crate) fn new(session_id: SessionId, cwd: &Path) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        Self {
            format: FORMAT,
            session_id,
            cwd: cwd.to_owned(),
            created_ms: u64::try_from(now).unwrap_or(u64::MAX),
            segment: first(),
            forked_from: None,
        }
    }
}

fn first() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_first(segment: &u32) -> bool {
    *segment == first()
}
