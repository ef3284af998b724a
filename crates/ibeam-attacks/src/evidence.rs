//! All that is known after a run, for effects and verdicts to look at.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::canary::Canary;
use crate::file_snapshot::Trace;
use crate::journal::Journal;
use crate::listener::Heard;
use crate::run_result::{Completed, Ran};

/// What a run left.
#[derive(Debug)]
pub(crate) struct Evidence {
    pub(crate) ran: Ran,
    /// The second run on the session.
    pub(crate) resumed: Option<Ran>,
    /// What the person's commands after the run printed on stdout.
    pub(crate) printed_after: String,
    /// Another process traced the program.
    pub(crate) traced: bool,
    pub(crate) journal: Journal,
    pub(crate) heard: Heard,
    pub(crate) canary: Canary,
    /// The command lines that were looked for and found.
    pub(crate) alive: Vec<String>,
    pub(crate) mcp_called: bool,
    /// The terminal of the program has input that nobody typed.
    pub(crate) typed: bool,
    pub(crate) before: BTreeMap<PathBuf, Trace>,
    pub(crate) after: BTreeMap<PathBuf, Trace>,
    /// How many of the completed calls come before the one that counts.
    pub(crate) steps: usize,
}

impl Evidence {
    pub(crate) fn before(&self, path: &Path) -> Option<&Trace> {
        self.before.get(path)
    }

    pub(crate) fn after(&self, path: &Path) -> Option<&Trace> {
        self.after.get(path)
    }

    /// The run, and the second one.
    pub(crate) fn runs(&self) -> impl Iterator<Item = &Ran> {
        std::iter::once(&self.ran).chain(&self.resumed)
    }

    /// The completed calls that count, without the steps before them.
    pub(crate) fn calls(&self) -> impl Iterator<Item = Completed> {
        let resumed = self.resumed.iter().flat_map(Ran::completed);
        self.ran.completed().into_iter().skip(self.steps).chain(resumed).collect::<Vec<_>>().into_iter()
    }

    /// The canary reached the model, stdout, stderr or the journal, and the case had not put it there itself.
    pub(crate) fn leaks(&self) -> bool {
        let is_in = |ran: &Ran| {
            ran.requests.iter().any(|request| self.canary.is_in(request))
                || self.canary.is_in_text(&ran.finished.stdout)
                || self.canary.is_in_text(&ran.finished.stderr)
        };
        self.runs().any(is_in) || self.canary.is_in_names(&self.heard.names) || self.leaks_into_journal()
    }

    pub(crate) fn leaks_into_journal(&self) -> bool {
        self.journal.texts().any(|text| self.canary.is_in_text(text))
    }
}
