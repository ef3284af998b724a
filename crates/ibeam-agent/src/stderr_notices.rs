//! The lines on stderr during a run: notices and retries, one line each.

use std::sync::Arc;

use ibeam_output::{Catalogue, RunDetails};
use ibeam_protocol::{EventKind, Notice, Reason};

/// Formats events as lines for stderr.
pub(crate) struct NoticePrinter {
    catalogue: Arc<Catalogue>,
    /// The details that the output format does not show, where a person reads them.
    details: Option<RunDetails>,
    /// Lines about the entire run, which come after its last text.
    closing: Vec<String>,
    /// Whether the number of refused calls is printed.
    has_refusals: bool,
    /// The line about a refused key that is tried again at once. If it is refused again, the failure of the run repeats it.
    refused_key: Option<String>,
}

impl NoticePrinter {
    /// Returns a printer in the language of `catalogue`, which also prints `details`.
    pub(crate) fn new(catalogue: Arc<Catalogue>, details: Option<RunDetails>) -> Self {
        Self { catalogue, details, closing: Vec::new(), has_refusals: true, refused_key: None }
    }

    /// Returns the printer; without `has_refusals`, it does not print that calls were refused.
    pub(crate) fn with_refusals(self, has_refusals: bool) -> Self {
        Self { has_refusals, ..self }
    }

    /// Returns the lines to print on stderr after `kind`; most events have none.
    pub(crate) fn on_event(&mut self, kind: &EventKind) -> Vec<String> {
        let mut lines = self.delayed_warning(kind);
        lines.extend(self.warnings(kind));
        if let Some(details) = &mut self.details {
            lines.extend(details.on_event(kind));
        }
        lines
    }

    /// Returns the line about a refused key once another event than its second refusal follows.
    fn delayed_warning(&mut self, kind: &EventKind) -> Vec<String> {
        let is_key_refused = |reason: &Reason| matches!(reason, Reason::KeyRefused { .. });
        let is_repeated = if let EventKind::ModelRequestFailed { reason, .. } = kind {
            is_key_refused(reason)
        } else if let EventKind::RunFinished(run) = kind {
            run.failure().is_some_and(|failure| is_key_refused(&failure.reason))
        } else {
            false
        };
        let line = self.refused_key.take();
        if let EventKind::Retrying { attempt, delay_ms: 0, reason, .. } = kind
            && is_key_refused(reason)
        {
            let line = self.catalogue.retry_warning(*attempt, 0, reason);
            self.refused_key = Some(format!("warning: {line}"));
        }
        line.filter(|_| !is_repeated).into_iter().collect()
    }

    fn warnings(&mut self, kind: &EventKind) -> Vec<String> {
        let line = match kind {
            EventKind::Retrying { .. } if self.refused_key.is_some() => return Vec::new(),
            EventKind::Notice(Notice::CallsDenied { .. }) if !self.has_refusals => return Vec::new(),
            EventKind::Notice(Notice::BackgroundEnded { exit_code: 0, .. }) => return Vec::new(),
            EventKind::Notice(notice) => {
                let line = format!("warning: {}", self.catalogue.notice(notice));
                if !matches!(notice, Notice::CallsDenied { .. } | Notice::BackgroundStopped { .. }) {
                    return vec![line];
                }
                self.closing.push(line);
                return Vec::new();
            }
            EventKind::Retrying { attempt, delay_ms, reason, usage: _ } => {
                self.catalogue.retry_warning(*attempt, *delay_ms, reason)
            }
            EventKind::Compacted(compacted) => self.catalogue.compaction_warning(compacted),
            EventKind::RunFinished(_) => return std::mem::take(&mut self.closing),
            EventKind::RunStarted(_)
            | EventKind::UserMessage { .. }
            | EventKind::ToolCallFinished { .. }
            | EventKind::PromptWithheld { .. }
            | EventKind::RulesAdded { .. }
            | EventKind::HookMessage { .. }
            | EventKind::TextDelta { .. }
            | EventKind::ThinkingDelta { .. }
            | EventKind::ModelRequestFinished { .. }
            | EventKind::ModelRequestFailed { .. }
            | EventKind::PermissionDecided(_)
            | EventKind::ToolCallStarted { .. }
            | EventKind::CheckpointTaken(_)
            | EventKind::HookRequestFinished(_)
            | EventKind::PromptRecorded(_)
            | EventKind::ThinkingOmitted { .. }
            | EventKind::PartsOmitted(_)
            | EventKind::CallInterrupted { .. } => return Vec::new(),
        };
        vec![format!("warning: {line}")]
    }
}
