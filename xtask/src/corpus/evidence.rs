//! All that is known after a run, for effects and verdicts to look at.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::journal::Journal;
use super::leak::Canary;
use super::listener::Heard;
use super::ran::{Completed, Ran};
use super::trace::Trace;

/// What a run left.
#[derive(Debug)]
pub(super) struct Evidence {
    pub(super) ran: Ran,
    /// The second run on the session.
    pub(super) resumed: Option<Ran>,
    /// What the person's commands after the run printed on stdout.
    pub(super) printed_after: String,
    /// Another process traced the program.
    pub(super) traced: bool,
    pub(super) journal: Journal,
    pub(super) heard: Heard,
    pub(super) canary: Canary,
    /// The command lines that were looked for and found.
    pub(super) alive: Vec<String>,
    pub(super) mcp_called: bool,
    /// The terminal of the program has input that nobody typed.
    pub(super) typed: bool,
    pub(super) before: BTreeMap<PathBuf, Trace>,
    pub(super) after: BTreeMap<PathBuf, Trace>,
    /// How many of the completed calls come before the one that counts.
    pub(super) steps: usize,
}

impl Evidence {
    pub(super) fn before(&self, path: &Path) -> Option<&Trace> {
        self.before.get(path)
    }

    pub(super) fn after(&self, path: &Path) -> Option<&Trace> {
        self.after.get(path)
    }

    /// The run, and the second one.
    pub(super) fn runs(&self) -> impl Iterator<Item = &Ran> {
        std::iter::once(&self.ran).chain(&self.resumed)
    }

    /// The completed calls that count, without the steps before them.
    pub(super) fn calls(&self) -> impl Iterator<Item = Completed> {
        let resumed = self.resumed.iter().flat_map(Ran::completed);
        self.ran.completed().into_iter().skip(self.steps).chain(resumed).collect::<Vec<_>>().into_iter()
    }

    /// The canary reached the model, stdout, stderr or the journal, and the case had not put it there itself.
    pub(super) fn leaks(&self) -> bool {
        let is_in = |ran: &Ran| {
            ran.requests.iter().any(|request| self.canary.is_in(request))
                || self.canary.is_in_text(&ran.finished.stdout)
                || self.canary.is_in_text(&ran.finished.stderr)
        };
        self.runs().any(is_in) || self.canary.is_in_names(&self.heard.names) || self.leaks_into_journal()
    }

    pub(super) fn leaks_into_journal(&self) -> bool {
        self.journal.texts().any(|text| self.canary.is_in_text(text))
    }
}
