//! What a sweep found, counted.

use std::fmt;

/// The findings of a sweep; each a line that says where.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) points: usize,
    /// Printed and not there any more.
    pub(super) lost: Vec<String>,
    /// Commands that ran more often than they were started.
    pub(super) repeated: Vec<String>,
    /// Processes that outlived their run.
    pub(super) orphans: Vec<String>,
    /// Files between old and new, and temporary files.
    pub(super) mixed: Vec<String>,
    /// Sessions that could not be gone on with.
    pub(super) unresumable: Vec<String>,
}

impl Tally {
    /// All of them.
    pub(super) fn findings(&self) -> Vec<&String> {
        let all = [&self.lost, &self.repeated, &self.orphans, &self.mixed, &self.unresumable];
        all.into_iter().flatten().collect()
    }

    /// Prints the counts.
    ///
    /// # Panics
    /// When there is a finding, or nothing was looked at.
    #[track_caller]
    pub(super) fn report(&self, what: &str) {
        eprintln!("kill sweep: {what}: {self}");
        let findings = self.findings();
        assert!(self.points > 0, "nothing was looked at");
        assert!(findings.is_empty(), "{what}: {self}; {findings:#?}");
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let resumable = self.points.saturating_sub(self.unresumable.len());
        write!(
            f,
            "{} points, {} lost events, {} repeated executions, {} orphans, {} mixed files, {resumable} resumable",
            self.points,
            self.lost.len(),
            self.repeated.len(),
            self.orphans.len(),
            self.mixed.len(),
        )
    }
}
