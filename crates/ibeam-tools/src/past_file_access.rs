//! The files that earlier runs of a session read or wrote, and when.
//!
//! A resumed run has no digests of them, because the journal does not store the bytes of files. The modification time
//! of the file is compared with the time of the last call instead.

use std::collections::HashMap;
use std::path::PathBuf;

use ibeam_protocol::{Event, EventKind, ToolOutcome};

use crate::workspace::Workspace;

/// The number of files that are stored; the oldest ones are dropped.
const MAX_FILES: usize = 4096;

/// Paths as the model wrote them, with the time of the last call that read or wrote the file.
#[derive(Clone, Debug, Default)]
pub struct PastFileAccess {
    times_ms: HashMap<String, u64>,
}

impl PastFileAccess {
    /// Applies the next event of the session.
    pub fn fold(&mut self, event: &Event) {
        let EventKind::ToolCallFinished { call, outcome, .. } = &event.kind else { return };
        if !matches!(**outcome, ToolOutcome::Success { .. }) {
            return;
        }
        let Some(path) = call.arguments.get("path").and_then(|path| path.as_str()) else { return };
        match call.name.as_str() {
            "read" | "write" | "edit" => {
                self.times_ms.insert(path.to_owned(), event.at_ms);
            }
            "delete" => {
                self.times_ms.remove(path);
            }
            _ => {}
        }
        if self.times_ms.len() > MAX_FILES
            && let Some(oldest) =
                self.times_ms.iter().min_by_key(|(_, time)| **time).map(|(path, _)| path.clone())
        {
            self.times_ms.remove(&oldest);
        }
    }

    #[cfg(test)]
    pub(crate) fn from_times(times_ms: HashMap<PathBuf, u64>) -> Self {
        let text = |path: PathBuf| path.to_str().unwrap_or_default().to_owned();
        Self { times_ms: times_ms.into_iter().map(|(path, time)| (text(path), time)).collect() }
    }

    /// Returns the times in milliseconds since the Unix epoch, by absolute paths whose links are not resolved.
    pub(crate) fn times_by_absolute_path(&self, workspace: &Workspace) -> HashMap<PathBuf, u64> {
        let mut times = HashMap::with_capacity(self.times_ms.len());
        for (requested, time) in &self.times_ms {
            // The model may have written the path of a file in several ways.
            let latest = times.entry(workspace.lexical_path(requested)).or_insert(*time);
            *latest = (*latest).max(*time);
        }
        times
    }
}

#[cfg(test)]
mod tests {
    use ibeam_protocol::tool_output::WriteOutput;
    use ibeam_protocol::{CallId, ModelCallId, ToolCall, ToolOutput};
    use serde_json::json;

    use super::*;
    use crate::fixture::Fixture;

    fn finished(tool: &str, path: &str, at_ms: u64, is_success: bool) -> Event {
        let call =
            ToolCall { id: CallId::from("c"), name: tool.to_owned(), arguments: json!({ "path": path }) };
        let output = WriteOutput {
            path: path.into(),
            lines_created: 0,
            file_size: 0,
            created: false,
            diff: String::new(),
        };
        let outcome = if is_success {
            ToolOutcome::Success { output: ToolOutput::Write(output), for_model: "".into() }
        } else {
            ToolOutcome::error("no".to_owned())
        };
        let model_call_id = ModelCallId::from("m");
        Event {
            seq: 0,
            at_ms,
            kind: EventKind::ToolCallFinished { model_call_id, call, outcome: Box::new(outcome) },
        }
    }

    #[test]
    fn the_last_successful_call_of_each_file_counts() {
        let mut past = PastFileAccess::default();
        for event in [
            finished("read", "a", 1, true),
            finished("edit", "./a", 5, true),
            finished("write", "a", 3, true),
            finished("edit", "a", 9, false),
            finished("read", "b", 4, true),
            finished("delete", "b", 5, true),
            finished("ls", "c", 6, true),
        ] {
            past.fold(&event);
        }
        let fixture = Fixture::new();
        let workspace = Workspace::new(&fixture.root(), &[]).unwrap();
        assert_eq!(past.times_by_absolute_path(&workspace), HashMap::from([(fixture.path("a"), 5)]));
    }

    #[test]
    fn the_oldest_files_are_forgotten() {
        let mut past = PastFileAccess::default();
        (0..=MAX_FILES as u64)
            .for_each(|number| past.fold(&finished("read", &number.to_string(), number, true)));
        assert_eq!(past.times_ms.len(), MAX_FILES);
        assert!(!past.times_ms.contains_key("0"));
    }
}
