//! The table of a running fleet for a terminal: the counts, and the running tasks with their times.

use std::collections::{BTreeMap, BTreeSet};

use ibeam_fleet::{FleetTotals, TaskState, TaskStatus};
use ibeam_output::Catalogue;
use ibeam_protocol::sentence;

use super::names::state_name;
use ibeam_agent::progress_line::fit;

/// The largest number of running tasks in the table.
const MAX_ROWS: usize = 12;

/// The sums and the running tasks of a fleet.
#[derive(Clone, Debug, Default)]
pub(super) struct LiveTable {
    /// The number of all tasks, where it is known.
    tasks: Option<u64>,
    totals: FleetTotals,
    started_ms: u64,
    /// The running tasks, with the times at which they started.
    running: BTreeMap<String, u64>,
}

impl LiveTable {
    pub(super) fn new(tasks: u64, now_ms: u64) -> Self {
        Self { tasks: Some(tasks), ..Self::for_worker(now_ms) }
    }

    /// Returns the table of a worker, which knows only the tasks that it executes.
    pub(super) fn for_worker(now_ms: u64) -> Self {
        Self { started_ms: now_ms, ..Self::default() }
    }

    pub(super) fn started(&mut self, task: &str, now_ms: u64) {
        self.running.insert(task.to_owned(), now_ms);
    }

    /// Sets the tasks that run.
    pub(super) fn set_running(&mut self, tasks: &BTreeSet<String>, now_ms: u64) {
        self.running.retain(|task, _| tasks.contains(task));
        for task in tasks {
            self.running.entry(task.clone()).or_insert(now_ms);
        }
    }

    /// Returns whether the task was running.
    pub(super) fn ended(&mut self, task: &str) -> bool {
        self.running.remove(task).is_some()
    }

    /// Adds a task that will not be run again. Returns whether it was running.
    pub(super) fn settled(&mut self, status: &TaskStatus) -> bool {
        self.totals.add(status);
        self.ended(&status.id)
    }

    /// Adds a task that waits until the fleet is started again.
    pub(super) fn stopped(&mut self, task: &str, state: TaskState) {
        self.ended(task);
        self.totals.set(state, self.totals.count(state) + 1);
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
        let mut totals = self.totals.clone();
        let settled: u64 =
            TaskState::ALL.iter().filter(|state| !state.is_open()).map(|state| totals.count(*state)).sum();
        let running = self.running.len() as u64;
        totals.set(TaskState::Running, running);
        let mut head = totals.finished().to_string();
        if let Some(tasks) = self.tasks {
            totals.set(TaskState::Waiting, tasks.saturating_sub(settled + running));
            head.push_str(&format!("/{tasks}"));
        }
        for state in TaskState::ALL {
            let count = totals.count(state);
            if count > 0 || state == TaskState::Running {
                head.push_str(&format!("  {} {count}", state_name(catalogue, state)));
            }
        }
        let left = totals.seconds_left().filter(|_| self.tasks.is_some());
        for figure in figures(catalogue, &totals, left) {
            head.push_str(&format!("  {figure}"));
        }
        head.push_str(&format!("  {} s", seconds(self.started_ms)));
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

/// Returns the pass rate, the cost, the tokens and the time that is left, as far as they are known.
fn figures(catalogue: &Catalogue, totals: &FleetTotals, seconds_left: Option<u64>) -> Vec<String> {
    let tokens = || format!("{} {}", totals.tokens, catalogue.sentence(&sentence!("tokens")));
    let left = |seconds: u64| catalogue.sentence(&sentence!("{seconds} s left", seconds));
    [
        totals.pass_rate().map(|rate| format!("{:.1} %", rate * 100.0)),
        (totals.cost_usd > 0.0).then(|| format!("{:.4} USD", totals.cost_usd)),
        (totals.tokens > 0).then(tokens),
        seconds_left.map(left),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use ibeam_fleet::{Outcome, TaskResult};
    use ibeam_output::Locale;

    use super::*;

    fn result(id: &str, outcome: Outcome) -> TaskStatus {
        TaskStatus::for_result(&TaskResult {
            duration_ms: 6000,
            runs: 1,
            cost_usd: Some(0.5),
            ..TaskResult::without_run(id, outcome, String::new())
        })
    }

    #[test]
    fn the_table_has_the_sums_and_the_longest_running_tasks() {
        let english = Catalogue::new(Locale::En);
        let mut table = LiveTable::new(20, 0);
        for number in 0..15 {
            table.started(&format!("t{number}"), number * 1000);
        }
        assert_eq!(table.lines(&english, 20_000, 40, 80)[0], "0/20  waiting 5  running 15  20 s");
        table.settled(&result("t0", Outcome::Passed));
        table.settled(&result("t1", Outcome::CheckFailed));
        table.stopped("t2", TaskState::Parked);
        let lines = table.lines(&english, 20_000, 40, 120);
        assert_eq!(
            lines[0],
            "2/20  waiting 5  running 12  passed 1  failed 1  parked 1  50.0 %  1.0000 USD  8 s left  20 s"
        );
        assert_eq!((lines[1].as_str(), lines.len()), ("  t3  17 s", 13));
        table.stopped("t5", TaskState::Undecided);
        assert!(table.lines(&english, 20_000, 40, 120)[0].contains("not decided 1  parked 1"));
        let small = table.lines(&english, 20_000, 6, 12);
        assert_eq!(small.len(), 5);
        assert_eq!(small[4], "  … 8");
        assert!(small.iter().all(|line| line.chars().count() < 12), "{small:?}");
    }
}
