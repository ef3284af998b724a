//! The states of tasks in the words that people and programs read, and the sums of a fleet.

use std::collections::BTreeMap;

use ibeam_governor::Spend;

use crate::dollars::micros_to_usd;
use crate::queue::LedgerState;
use crate::task_result::{Outcome, TaskResult};

/// The state of a task: docs/fleet.md, "States".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TaskState {
    /// Waits for its turn, a needed task, a pause or a batch.
    Waiting,
    /// A run or a check works on it.
    Running,
    /// The run completed, and the check, if there is one, passed.
    Passed,
    /// The run failed, its check did, or a needed task did not pass.
    Failed,
    /// Unknown: the next command repeats what is missing.
    Undecided,
    /// Waits until the fleet is started again.
    Parked,
    /// No worker of a queue executes it.
    Refused,
}

impl TaskState {
    pub const ALL: [Self; 7] = [
        Self::Waiting,
        Self::Running,
        Self::Passed,
        Self::Failed,
        Self::Undecided,
        Self::Parked,
        Self::Refused,
    ];
    /// The code of the failure of a task that workers refuse.
    pub const REFUSED_CODE: &'static str = "refused";

    /// Returns the word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Undecided => "not_decided",
            Self::Parked => "parked",
            Self::Refused => Self::REFUSED_CODE,
        }
    }

    /// Returns the state of a task with a result.
    pub fn for_result(outcome: Outcome, code: Option<&str>) -> Self {
        match outcome {
            Outcome::Passed => Self::Passed,
            Outcome::Failed if code == Some(Self::REFUSED_CODE) => Self::Refused,
            Outcome::CheckFailed | Outcome::Failed | Outcome::Skipped => Self::Failed,
        }
    }

    /// Returns the state of a task without a result.
    pub(crate) fn for_ledger(state: LedgerState) -> Self {
        match state {
            // A finished task has a result.
            LedgerState::Pending | LedgerState::Waiting | LedgerState::Finished => Self::Waiting,
            LedgerState::Leased => Self::Running,
            LedgerState::Parked => Self::Parked,
            LedgerState::Undecided => Self::Undecided,
        }
    }

    /// Whether the task waits or runs, so that the state changes by itself.
    pub fn is_open(self) -> bool {
        match self {
            Self::Waiting | Self::Running => true,
            Self::Passed | Self::Failed | Self::Undecided | Self::Parked | Self::Refused => false,
        }
    }
}

/// A task, its state and what it has consumed.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskStatus {
    pub id: String,
    pub state: TaskState,
    /// The reason for which it is parked or not decided.
    pub reason: Option<String>,
    /// Its outcome, if it has a result.
    pub outcome: Option<Outcome>,
    pub code: Option<String>,
    /// The cost in US dollars, as far as it is known.
    pub cost_usd: f64,
    /// The tokens of prompts and answers.
    pub tokens: u64,
    /// The duration of its runs; absent without a result, and without a run.
    pub duration_ms: Option<u64>,
}

impl TaskStatus {
    /// Returns the status of a task without a result.
    pub fn without_result(id: &str, state: TaskState, reason: Option<String>, spend: Spend) -> Self {
        Self {
            id: id.to_owned(),
            state,
            reason,
            outcome: None,
            code: None,
            cost_usd: micros_to_usd(spend.cost_micros),
            tokens: spend.tokens,
            duration_ms: None,
        }
    }

    /// Returns the status of a task with a result.
    pub fn for_result(result: &TaskResult) -> Self {
        Self {
            id: result.id.clone(),
            state: TaskState::for_result(result.outcome, result.code.as_deref()),
            reason: None,
            outcome: Some(result.outcome),
            code: result.code.clone(),
            cost_usd: result.cost_usd.unwrap_or_default(),
            tokens: result.usage.total(),
            duration_ms: (result.runs > 0).then_some(result.duration_ms),
        }
    }
}

/// The sums of a fleet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FleetTotals {
    counts: BTreeMap<TaskState, u64>,
    /// The cost in US dollars, as far as it is known.
    pub cost_usd: f64,
    /// The tokens of prompts and answers.
    pub tokens: u64,
    /// The number of tasks with a result of runs, and the sum of their durations.
    timed: (u64, u64),
}

impl FleetTotals {
    pub fn add(&mut self, status: &TaskStatus) {
        *self.counts.entry(status.state).or_default() += 1;
        self.cost_usd += status.cost_usd;
        self.tokens = self.tokens.saturating_add(status.tokens);
        if let Some(duration_ms) = status.duration_ms {
            self.timed = (self.timed.0 + 1, self.timed.1.saturating_add(duration_ms));
        }
    }

    /// Sets the number of tasks in a state.
    pub fn set(&mut self, state: TaskState, count: u64) {
        self.counts.insert(state, count);
    }

    /// Returns the number of tasks in a state.
    pub fn count(&self, state: TaskState) -> u64 {
        self.counts.get(&state).copied().unwrap_or_default()
    }

    /// Returns the number of tasks with a result.
    pub fn finished(&self) -> u64 {
        [TaskState::Passed, TaskState::Failed, TaskState::Refused].map(|state| self.count(state)).iter().sum()
    }

    /// Returns the share of the tasks with a result that passed, from 0 to 1; `None` without results.
    #[expect(clippy::cast_precision_loss, reason = "the number of tasks is far below 2^53")]
    pub fn pass_rate(&self) -> Option<f64> {
        let finished = self.finished();
        (finished > 0).then(|| self.count(TaskState::Passed) as f64 / finished as f64)
    }

    /// Returns the seconds until the waiting and the running tasks have ended, if they take as long as those before them and
    /// as many run at the same time; `None` while no task runs, and before the first result.
    pub fn seconds_left(&self) -> Option<u64> {
        let (running, (count, sum_ms)) = (self.count(TaskState::Running), self.timed);
        let left = running + self.count(TaskState::Waiting);
        (running > 0 && count > 0).then(|| (sum_ms / count).saturating_mul(left) / running / 1000)
    }
}

impl<'a> FromIterator<&'a TaskStatus> for FleetTotals {
    fn from_iter<I: IntoIterator<Item = &'a TaskStatus>>(statuses: I) -> Self {
        let mut totals = Self::default();
        statuses.into_iter().for_each(|status| totals.add(status));
        totals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sums_have_the_pass_rate_and_the_time_that_is_left() {
        let result = |id: &str, outcome, code: Option<&str>| TaskResult {
            code: code.map(str::to_owned),
            cost_usd: Some(0.25),
            duration_ms: 10_000,
            runs: 1,
            ..TaskResult::without_run(id, outcome, String::new())
        };
        let results = [
            result("a", Outcome::Passed, None),
            result("b", Outcome::CheckFailed, None),
            result("c", Outcome::Failed, Some("refused")),
            TaskResult::skipped("d", "b"),
        ];
        let statuses: Vec<TaskStatus> = results.iter().map(TaskStatus::for_result).collect();
        let states: Vec<&str> = statuses.iter().map(|status| status.state.as_str()).collect();
        assert_eq!(states, ["passed", "failed", "refused", "failed"]);
        let mut totals: FleetTotals = statuses.iter().collect();
        assert_eq!((totals.finished(), totals.pass_rate(), totals.seconds_left()), (4, Some(0.25), None));
        assert!((totals.cost_usd - 0.75).abs() < 1e-9, "{totals:?}");
        totals.set(TaskState::Running, 2);
        totals.set(TaskState::Waiting, 4);
        // Three batches of two tasks, each of which takes ten seconds.
        assert_eq!(totals.seconds_left(), Some(30));
        assert_eq!(FleetTotals::default().pass_rate(), None);
    }
}
