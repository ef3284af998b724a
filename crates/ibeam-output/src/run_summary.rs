//! The summary of a run for people: the files that it changed, its tokens and its cost.

use std::path::{Path, PathBuf};

use ibeam_protocol::{RunFinished, ToolOutcome, ToolOutput};

use crate::catalogue::Catalogue;
use crate::catalogue::lines::RunLine;
use crate::text::printable_line;

/// The files that the calls of a run changed, in the order of the first change. What commands change is unknown.
#[derive(Debug, Default)]
pub(crate) struct ChangedFiles(Vec<ChangedFile>);

#[derive(Debug)]
struct ChangedFile {
    path: PathBuf,
    is_new: bool,
    is_deleted: bool,
    /// The lines added and removed; `None` if a call replaced the whole file.
    lines: Option<(u64, u64)>,
}

impl ChangedFiles {
    /// Adds the change of a call.
    pub(crate) fn add(&mut self, outcome: &ToolOutcome) {
        let ToolOutcome::Success { output, .. } = outcome else { return };
        let Some(path) = output.changed_path() else { return };
        let index = self.0.iter().position(|file| file.path == *path).unwrap_or_else(|| {
            let is_new = matches!(output, ToolOutput::Write(written) if written.created);
            let lines = Some((0, 0));
            self.0.push(ChangedFile { path: path.clone(), is_new, is_deleted: false, lines });
            self.0.len() - 1
        });
        let Some(file) = self.0.get_mut(index) else { return };
        file.is_deleted = matches!(output, ToolOutput::Delete(_));
        if let ToolOutput::Edit(edit) = output {
            file.lines =
                file.lines.map(|(added, removed)| (added + edit.lines_added, removed + edit.lines_removed));
        } else if let ToolOutput::Write(written) = output {
            // All lines of a new file are new. The lines that a replaced file had are unknown.
            file.lines = file.is_new.then_some((written.lines_created, 0));
        }
        if file.is_new && file.is_deleted {
            self.0.remove(index);
        }
    }

    /// Returns a line for each file, relative to `directory`: `M src/lib.rs +3 -1`.
    pub(crate) fn lines(&self, directory: &Path) -> Vec<String> {
        self.0.iter().map(|file| file.line(directory)).collect()
    }
}

impl ChangedFile {
    fn line(&self, directory: &Path) -> String {
        let path = self.path.strip_prefix(directory).unwrap_or(&self.path);
        let path = printable_line(&path.to_string_lossy());
        match (self.is_deleted, self.is_new, self.lines) {
            (true, _, _) => format!("  D {path}"),
            (false, true, Some((added, removed))) => format!("  A {path} +{}", added.saturating_sub(removed)),
            (false, true, None) => format!("  A {path}"),
            (false, false, Some((added, removed))) => format!("  M {path} +{added} -{removed}"),
            (false, false, None) => format!("  M {path}"),
        }
    }
}

/// Returns the lines about the requests, the tokens and the cost of a run.
pub(crate) fn total_lines(run: &RunFinished, catalogue: &Catalogue) -> Vec<String> {
    let totals = &run.totals;
    let (requests, calls) = (u64::from(totals.turns), u64::from(totals.tool_calls));
    let mut lines =
        vec![catalogue.line(&RunLine::Requests { requests, calls, duration_ms: run.duration_ms })];
    if let Some(usage) = totals.usage {
        lines.push(catalogue.line(&RunLine::Tokens {
            read: usage.input + usage.cache_read + usage.cache_write,
            cached: usage.cache_read,
            written: usage.output,
        }));
    }
    if let Some(cost_micros) = totals.cost_micros {
        lines.push(catalogue.line(&RunLine::Cost { cost_micros }));
    }
    lines
}
