//! What people are told on stderr while a run goes on: notices and retries, a line each.

use std::sync::Arc;

use ibeam_output::Catalogue;
use ibeam_protocol::EventKind;

use crate::stderr;

/// Says what concerns people; a closed stderr changes nothing.
pub(crate) struct Talk {
    catalogue: Arc<Catalogue>,
}

impl Talk {
    /// Talk in the language of `catalogue`.
    pub(crate) fn new(catalogue: Arc<Catalogue>) -> Self {
        Self { catalogue }
    }

    /// Says the line of an event that has one.
    pub(crate) fn hear(&self, kind: &EventKind) {
        let line = match kind {
            EventKind::Notice(notice) => format!("warning: {}", self.catalogue.notice(notice)),
            EventKind::Retrying { attempt, delay_ms, reason } => {
                format!("warning: {}", self.catalogue.retrying(*attempt, *delay_ms, reason))
            }
            EventKind::Compacted(compacted) => {
                format!("warning: {}", self.catalogue.compacted(compacted))
            }
            EventKind::SessionStarted(_)
            | EventKind::UserMessage { .. }
            | EventKind::PromptWithheld { .. }
            | EventKind::TextDelta { .. }
            | EventKind::ThinkingDelta { .. }
            | EventKind::ModelRequestFinished { .. }
            | EventKind::PermissionDecided(_)
            | EventKind::ToolCallStarted { .. }
            | EventKind::CallInterrupted { .. }
            | EventKind::ToolCallFinished { .. }
            | EventKind::RunFinished(_) => return,
        };
        stderr::say(&line);
    }
}
