//! The observations of a run, as input of effects and verdicts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::canary::Canary;
use crate::file_snapshot::FileSnapshot;
use crate::journal::Journal;
use crate::listener::ReceivedTraffic;
use crate::run_result::{CompletedCall, RunResult};

/// The observations of a case.
#[derive(Debug)]
pub(crate) struct Evidence {
    pub(crate) first_run: RunResult,
    /// The second run on the session.
    pub(crate) resumed: Option<RunResult>,
    /// The stdout of the commands of the user after the run.
    pub(crate) printed_after: String,
    /// Whether another process traced the program.
    pub(crate) was_traced: bool,
    pub(crate) journal: Journal,
    pub(crate) traffic: ReceivedTraffic,
    pub(crate) canary: Canary,
    /// The words of each [`ProcessAlive`](crate::effect::Effect::ProcessAlive) whose process outlived the run.
    pub(crate) survivors: Vec<String>,
    pub(crate) mcp_called: bool,
    /// Whether the terminal of the program has input.
    pub(crate) has_terminal_input: bool,
    /// The files that effects concern, before the run.
    pub(crate) before: BTreeMap<PathBuf, FileSnapshot>,
    /// The files that effects concern, after the run.
    pub(crate) after: BTreeMap<PathBuf, FileSnapshot>,
    /// The number of completed calls before the relevant one.
    pub(crate) preceding_calls: usize,
}

impl Evidence {
    pub(crate) fn before(&self, path: &Path) -> Option<&FileSnapshot> {
        self.before.get(path)
    }

    pub(crate) fn after(&self, path: &Path) -> Option<&FileSnapshot> {
        self.after.get(path)
    }

    /// Returns the first run, then the second one.
    pub(crate) fn runs(&self) -> impl Iterator<Item = &RunResult> {
        std::iter::once(&self.first_run).chain(&self.resumed)
    }

    /// Returns the relevant calls, without the steps before them.
    pub(crate) fn calls(&self) -> impl Iterator<Item = CompletedCall> {
        let resumed = self.resumed.iter().flat_map(RunResult::completed_calls);
        self.first_run
            .completed_calls()
            .into_iter()
            .skip(self.preceding_calls)
            .chain(resumed)
            .collect::<Vec<_>>()
            .into_iter()
    }

    /// Whether the canary reached the model, stdout, stderr or the journal, except in texts of the case.
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
