//! What people are told on stderr while a run goes on: notices and retries, a line each.

use std::sync::Arc;

use ibeam_output::Catalogue;
use ibeam_protocol::{EventKind, Notice};

/// Turns events into lines for people.
pub(crate) struct Talk {
    catalogue: Arc<Catalogue>,
    /// Lines about the run as a whole, which follow its last text.
    closing: Vec<String>,
}

impl Talk {
    /// Talk in the language of `catalogue`.
    pub(crate) fn new(catalogue: Arc<Catalogue>) -> Self {
        Self { catalogue, closing: Vec::new() }
    }

    /// Returns the lines to print on stderr after `kind`; most events have none.
    pub(crate) fn hear(&mut self, kind: &EventKind) -> Vec<String> {
        let line = match kind {
            EventKind::Notice(notice) => format!("warning: {}", self.catalogue.notice(notice)),
            EventKind::Retrying { attempt, delay_ms, reason } => {
                format!("warning: {}", self.catalogue.retrying(*attempt, *delay_ms, reason))
            }
            EventKind::Compacted(compacted) => {
                format!("warning: {}", self.catalogue.compacted(compacted))
            }
            EventKind::RunFinished(_) => return std::mem::take(&mut self.closing),
            EventKind::SessionStarted(_)
            | EventKind::UserMessage { .. }
            | EventKind::PromptWithheld { .. }
            | EventKind::TextDelta { .. }
            | EventKind::ThinkingDelta { .. }
            | EventKind::ModelRequestFinished { .. }
            | EventKind::PermissionDecided(_)
            | EventKind::ToolCallStarted { .. }
            | EventKind::CallInterrupted { .. }
            | EventKind::ToolCallFinished { .. } => return Vec::new(),
        };
        match kind {
            EventKind::Notice(Notice::CallsDenied { .. } | Notice::BackgroundStopped { .. }) => {
                self.closing.push(line);
                Vec::new()
            }
            _ => vec![line],
        }
    }
}
