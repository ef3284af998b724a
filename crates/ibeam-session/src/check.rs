//! The check of a stored session: every record, every payload, and the order of the events.

use std::collections::BTreeSet;
use std::path::Path;

use ibeam_protocol::{CallId, EventKind, EventOrder, ModelCallId, SessionId};

use crate::blob;
use crate::error::{SessionError, io_error};
use crate::layout::find_session_directory;
use crate::record::Header;
use crate::walk::{Damage, walk};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckReport {
    /// The header of the first segment; `None` if it is damaged.
    pub header: Option<Header>,
    /// Number of valid records before the first damage, headers included.
    pub records: u64,
    /// Number of events among these records.
    pub events: u64,
    /// Number of segments of the journal.
    pub segments: u64,
    /// Size of all segments in bytes.
    pub bytes: u64,
    /// Number of blobs that records refer to.
    pub blobs: u64,
    /// Size of these blobs in bytes.
    pub blob_bytes: u64,
    /// Number of blobs that no record refers to. A killed process may leave such blobs, which are harmless.
    pub orphan_blobs: u64,
    /// Size in bytes of an incomplete last record; 0 if there is none. The next run moves the record to
    /// `events.torn`.
    pub torn_bytes: u64,
    /// Number of places where the numbers of the events are not consecutive: a record did not fit on a full disk, or records were
    /// lost, repeated or moved.
    pub gaps: u64,
    /// Number of tool calls that have started and have no result.
    pub open_calls: u64,
    /// The first damage. A session without damage can be opened.
    pub damage: Option<Damage>,
}

/// Reads the entire session `id` and reports what it holds. Changes nothing and takes no lease. In a session that is
/// being written, the last record may look torn.
///
/// # Errors
/// `Unknown`; `Unusable` for a directory that is a link or belongs to another user; `Io`. Damage is part of the report,
/// not an error.
pub fn check(sessions: &Path, id: SessionId) -> Result<CheckReport, SessionError> {
    let directory = find_session_directory(sessions, id)?;
    let mut facts = EventFacts::default();
    let mut referenced = BTreeSet::new();
    let (mut events, mut blob_bytes) = (0, 0);
    let walk_result = walk::<SessionError>(&directory, |entry| {
        events += 1;
        facts.add(entry.event.seq, &entry.event.kind);
        if let Some(blob) = entry.blob
            && referenced.insert(blob.sha256)
        {
            blob_bytes += blob.bytes;
        }
        Ok(())
    })?;
    let mut bytes = 0;
    for segment in &walk_result.segments {
        bytes += segment.path.symlink_metadata().map_err(io_error(&segment.path))?.len();
    }
    let stored = blob::stored_digests(&directory).map_err(io_error(&directory))?;
    Ok(CheckReport {
        header: walk_result.header,
        records: walk_result.records,
        events,
        segments: walk_result.segments.len() as u64,
        bytes,
        blobs: referenced.len() as u64,
        blob_bytes,
        orphan_blobs: stored.iter().filter(|name| !referenced.contains(*name)).count() as u64,
        torn_bytes: walk_result.torn_bytes,
        gaps: facts.order.gaps(),
        open_calls: facts.open_calls.len() as u64,
        damage: walk_result.damage,
    })
}

/// Findings about the sequence of events: gaps in their numbers, and tool calls without a result.
#[derive(Default)]
struct EventFacts {
    order: EventOrder,
    open_calls: BTreeSet<(ModelCallId, CallId)>,
}

impl EventFacts {
    fn add(&mut self, seq: u64, kind: &EventKind) {
        self.order.check(seq);
        if let EventKind::ToolCallStarted { model_call_id, call } = kind {
            self.open_calls.insert((model_call_id.clone(), call.id.clone()));
        } else if let EventKind::ToolCallFinished { model_call_id, call, .. } = kind {
            self.open_calls.remove(&(model_call_id.clone(), call.id.clone()));
        } else if let EventKind::UserMessage { .. } = kind {
            // A new prompt closes the calls that a killed run left open.
            self.open_calls.clear();
        }
    }
}
