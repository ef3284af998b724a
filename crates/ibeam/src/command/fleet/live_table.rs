//! The table of a running fleet for a terminal: the counts, and the running tasks with their times.

use std::collections::BTreeMap;

use ibeam_fleet::{Outcome, TaskState};
use ibeam_output::Catalogue;
use ibeam_protocol::sentence;

use super::names::{outcome_name, state_name};
use crate::progress_line::fit;

/// The largest number of running tasks in the table.
const MAX_ROWS: usize = 12;

/// The counts and the running tasks of a fleet.
#[derive(Clone, Debug, Default)]
pub(super) struct LiveTable {
    tasks: u64,
    passed: u64,
    failed: u64,
    parked: u64,
    undecided: u64,
    /// The number of tasks that wait for batches.
    waiting: u64,
    started_ms: u64,
    /// The running tasks, with the times at which they started.
    running: BTreeMap<String, u64>,
}

impl LiveTable {
    pub(super) fn new(tasks: u64, now_ms: u64) -> Self {
        Self { tasks, started_ms: now_ms, ..Self::default() }
    }

    pub(super) fn started(&mut self, task: &str, now_ms: u64) {
        self.running.insert(task.to_owned(), now_ms);
    }

    /// Returns whether the task was running.
    pub(super) fn ended(&mut self, task: &str) -> bool {
        self.running.remove(task).is_some()
    }

    pub(super) fn set_waiting(&mut self, count: u64) {
        self.waiting = count;
    }

    pub(super) fn parked(&mut self, task: &str) {
        self.ended(task);
        self.parked += 1;
    }

    pub(super) fn undecided(&mut self, task: &str) {
        self.ended(task);
        self.undecided += 1;
    }

    /// Returns whether the task was running.
    pub(super) fn finished(&mut self, task: &str, outcome: Outcome) -> bool {
        let was_running = self.ended(task);
        match outcome {
            Outcome::Passed => self.passed += 1,
            Outcome::CheckFailed | Outcome::Failed | Outcome::Skipped => self.failed += 1,
        }
        was_running
    }

    /// Returns the lines for a terminal of this size. Those that run longest come first.
    pub(super) fn lines(
        &self,
        catalogue: &Catalogue,
        now_ms: u64,
        rows: usize,
        columns: usize,
    ) -> Vec<String> {
        let seconds = |since: u64| now_ms.saturating_sub(since) / 1000;
        let done = self.passed + self.failed;
        // Only fleets with batches have waiting tasks.
        let waiting = (self.waiting > 0).then(|| (state_name(catalogue, TaskState::Waiting), self.waiting));
        let undecided =
            (self.undecided > 0).then(|| (state_name(catalogue, TaskState::Undecided), self.undecided));
        let counts: String = [
            Some((outcome_name(catalogue, Outcome::Passed), self.passed)),
            Some((outcome_name(catalogue, Outcome::Failed), self.failed)),
            Some((state_name(catalogue, TaskState::Parked), self.parked)),
            undecided,
            waiting,
            Some((catalogue.sentence(&sentence!("running")), self.running.len() as u64)),
        ]
        .into_iter()
        .flatten()
        .map(|(name, count)| format!("  {name} {count}"))
        .collect();
        let head = format!("{done}/{}{counts}  {} s", self.tasks, seconds(self.started_ms));
        let mut running: Vec<_> = self.running.iter().collect();
        running.sort_by_key(|(_, since)| **since);
        let room = MAX_ROWS.min(rows.saturating_sub(3));
        let hidden = running.len().saturating_sub(room);
        let shown =
            running.iter().take(room).map(|(task, since)| format!("  {task}  {} s", seconds(**since)));
        let rest = (hidden > 0).then(|| format!("  … {hidden}"));
        // The last column stays free, so that no line is wrapped.
        [head]
            .into_iter()
            .chain(shown)
            .chain(rest)
            .map(|line| fit(&line, columns.saturating_sub(1)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use ibeam_output::Locale;

    use super::*;

    #[test]
    fn the_table_has_the_counts_and_the_longest_running_tasks() {
        let english = Catalogue::new(Locale::En);
        let mut table = LiveTable::new(20, 0);
        for number in 0..15 {
            table.started(&format!("t{number}"), number * 1000);
        }
        table.finished("t0", Outcome::Passed);
        table.finished("t1", Outcome::CheckFailed);
        table.parked("t2");
        let lines = table.lines(&english, 20_000, 40, 80);
        assert_eq!(lines[0], "2/20  passed 1  failed 1  parked 1  running 12  20 s");
        assert_eq!((lines[1].as_str(), lines.len()), ("  t3  17 s", 13));
        table.undecided("t5");
        assert!(table.lines(&english, 20_000, 40, 80)[0].contains("parked 1  not decided 1  running 11"));
        table.set_waiting(4);
        assert!(table.lines(&english, 20_000, 40, 80)[0].contains("not decided 1  waiting 4  running 11"));
        let small = table.lines(&english, 20_000, 6, 12);
        assert_eq!(small.len(), 5);
        assert_eq!(small[4], "  … 8");
        assert!(small.iter().all(|line| line.chars().count() < 12), "{small:?}");
    }
}
