//! All that is known after a run, for effects and verdicts to look at.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::canary::Canary;
use crate::file_snapshot::FileSnapshot;
use crate::journal::Journal;
use crate::listener::ReceivedTraffic;
use crate::run_result::{CompletedCall, RunResult};

/// What a run left.
#[derive(Debug)]
pub(crate) struct Evidence {
    pub(crate) first_run: RunResult,
    /// The second run on the session.
    pub(crate) resumed: Option<RunResult>,
    /// What the person's commands after the run printed on stdout.
    pub(crate) printed_after: String,
    /// Another process traced the program.
    pub(crate) was_traced: bool,
    pub(crate) journal: Journal,
    pub(crate) traffic: ReceivedTraffic,
    pub(crate) canary: Canary,
    /// The command lines that were looked for and found.
    pub(crate) survivors: Vec<String>,
    pub(crate) mcp_called: bool,
    /// The terminal of the program has input that nobody typed.
    pub(crate) has_terminal_input: bool,
    pub(crate) before: BTreeMap<PathBuf, FileSnapshot>,
    pub(crate) after: BTreeMap<PathBuf, FileSnapshot>,
    /// How many of the completed calls come before the one that counts.
    pub(crate) steps: usize,
}

impl Evidence {
    pub(crate) fn before(&self, path: &Path) -> Option<&FileSnapshot> {
        self.before.get(path)
    }

    pub(crate) fn after(&self, path: &Path) -> Option<&FileSnapshot> {
        self.after.get(path)
    }

    /// The run, and the second one.
    pub(crate) fn runs(&self) -> impl Iterator<Item = &RunResult> {
        std::iter::once(&self.first_run).chain(&self.resumed)
    }

    /// The completed calls that count, without the steps before them.
    pub(crate) fn calls(&self) -> impl Iterator<Item = CompletedCall> {
        let resumed = self.resumed.iter().flat_map(RunResult::completed);
        self.first_run.completed().into_iter().skip(self.steps).chain(resumed).collect::<Vec<_>>().into_iter()
    }

    /// The canary reached the model, stdout, stderr or the journal, and the case had not put it there itself.
    pub(crate) fn leaks(&self) -> bool {
        let is_contained_in = |run: &RunResult| {
            run.requests.iter().any(|request| self.canary.is_contained_in(request))
                || self.canary.is_in_text(&run.finished.stdout)
                || self.canary.is_in_text(&run.finished.stderr)
        };
        self.runs().any(is_contained_in)
            || self.canary.is_in_names(&self.traffic.names)
            || self.leaks_into_journal()
    }

    pub(crate) fn leaks_into_journal(&self) -> bool {
        self.journal.texts().any(|text| self.canary.is_in_text(text))
    }
}
