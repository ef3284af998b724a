//! Whether a stored session is whole: every record, every payload, and what they tell.

use std::collections::BTreeSet;
use std::path::Path;

use ibeam_protocol::{CallId, EventKind, EventOrder, ModelCallId, SessionId};

use crate::blob;
use crate::error::{SessionError, io_error};
use crate::layout::session_directory;
use crate::record::Header;
use crate::walk::{Damage, walk};

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckReport {
    /// What the journal begins with; `None` when that is damaged.
    pub header: Option<Header>,
    /// Whole records before the first damage, headers included.
    pub records: u64,
    /// Events among them.
    pub events: u64,
    /// Files of the journal.
    pub segments: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Large payloads that the records name.
    pub blobs: u64,
    /// Bytes of those.
    pub blob_bytes: u64,
    /// Payloads that no record names; a process that is killed may leave one, and it does no harm.
    pub orphan_blobs: u64,
    /// Bytes of a last record that has no end; the next run keeps it aside.
    pub torn_bytes: u64,
    /// Places where the numbers of the events do not follow each other: a record did not fit on a full disk, or
    /// records were lost, repeated or moved.
    pub gaps: u64,
    /// Calls that began and have no result yet.
    pub open_calls: u64,
    /// The first damage. Without any, the session is whole and opens.
    pub damage: Option<Damage>,
}

/// Reads the whole session `id` and tells what there is. Changes nothing, and needs no lease: of a session that is
/// being written to, the record at hand may look torn.
///
/// # Errors
/// `Unknown`; `Create` for a directory that is not ours; `Io`. Damage is no error here.
pub fn check(sessions: &Path, id: SessionId) -> Result<CheckReport, SessionError> {
    let directory = session_directory(sessions, id)?;
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

/// What the events tell of themselves.
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
            // The next prompt closes what a killed run left open.
            self.open_calls.clear();
        }
    }
}
