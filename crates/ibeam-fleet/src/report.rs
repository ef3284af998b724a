//! The sums of the results of a fleet: pass rates, cost, time and tokens per model, and failures by class.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::task_result::{Outcome, TaskResult};
use crate::task_status::{TaskState, TaskStatus};

/// The 97.5th percentile of the normal distribution, for intervals of 95 %.
pub(crate) const Z: f64 = 1.959_963_984_540_054;

/// A report about the results of a fleet.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FleetReport {
    /// All tasks with a result.
    pub all: ModelRow,
    /// The number of tasks without a result.
    pub unfinished: u64,
    /// The number of those that nothing is known about.
    pub not_decided: u64,
    /// The rows of the models, by name. A task that never ran has no model.
    pub models: Vec<ModelRow>,
    /// The number of tasks by their failure: the class of the run, `check_failed` or `skipped`.
    pub failures: BTreeMap<String, u64>,
    /// The results, in the order of the tasks.
    pub tasks: Vec<TaskResult>,
    /// The tasks without a result.
    #[serde(skip)]
    pub open: Vec<TaskStatus>,
    /// The directory of the fleet.
    #[serde(skip)]
    pub directory: Option<PathBuf>,
}

/// The results of a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelRow {
    /// The model; empty for all and for none.
    pub model: String,
    /// The number of tasks that ran.
    pub tasks: u64,
    /// The number of those that passed.
    pub passed: u64,
    /// The pass rate; absent without tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass_rate: Option<PassRate>,
    /// The cost; absent if that of a task is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The sum of the durations of the runs.
    pub duration_ms: u64,
    /// The tokens of prompts and answers.
    pub tokens: u64,
}

/// A pass rate with its 95 % interval by Wilson.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PassRate {
    /// The share of tasks that passed, from 0 to 1.
    pub rate: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

impl PassRate {
    /// Returns the rate of `passed` of `tasks`; `None` without tasks.
    #[expect(clippy::cast_precision_loss, reason = "the number of tasks is far below 2^53")]
    pub fn new(passed: u64, tasks: u64) -> Option<Self> {
        if tasks == 0 {
            return None;
        }
        let (n, rate) = (tasks as f64, passed as f64 / tasks as f64);
        let denominator = 1.0 + Z * Z / n;
        let center = (rate + Z * Z / (2.0 * n)) / denominator;
        let half = Z / denominator * (rate * (1.0 - rate) / n + Z * Z / (4.0 * n * n)).sqrt();
        Some(Self { rate, low: (center - half).max(0.0), high: (center + half).min(1.0) })
    }
}

impl FleetReport {
    /// Returns the report about these results.
    pub fn new(tasks: Vec<TaskResult>, unfinished: u64) -> Self {
        let mut groups: BTreeMap<&str, Vec<&TaskResult>> = BTreeMap::new();
        let mut failures = BTreeMap::new();
        for result in &tasks {
            if result.outcome != Outcome::Skipped {
                groups.entry(result.model.as_deref().unwrap_or_default()).or_default().push(result);
            }
            let class = match result.outcome {
                Outcome::Passed => continue,
                Outcome::CheckFailed | Outcome::Skipped => result.outcome.as_str(),
                Outcome::Failed => result.code.as_deref().unwrap_or_default(),
            };
            *failures.entry(class.to_owned()).or_default() += 1;
        }
        let every: Vec<&TaskResult> = groups.values().flatten().copied().collect();
        let (all, models) =
            (row("", &every), groups.iter().map(|(model, results)| row(model, results)).collect());
        Self { all, unfinished, not_decided: 0, models, failures, tasks, open: Vec::new(), directory: None }
    }

    /// Returns the report on the fleet in a directory, with its tasks that have no result.
    #[must_use]
    pub fn with_files(self, directory: &Path, open: Vec<TaskStatus>) -> Self {
        let not_decided = open.iter().filter(|status| status.state == TaskState::Undecided).count() as u64;
        // The links of a page are absolute.
        let directory = directory.canonicalize().ok();
        Self { not_decided, open, directory, ..self }
    }
}

fn row(model: &str, results: &[&TaskResult]) -> ModelRow {
    let passed = results.iter().filter(|result| result.outcome == Outcome::Passed).count() as u64;
    let tasks = results.len() as u64;
    let costs: Option<Vec<f64>> = results.iter().map(|result| result.cost_usd).collect();
    ModelRow {
        model: model.to_owned(),
        tasks,
        passed,
        pass_rate: PassRate::new(passed, tasks),
        // The sum of no number is -0.0.
        cost_usd: costs.map(|costs| costs.iter().sum::<f64>() + 0.0),
        duration_ms: results.iter().map(|result| result.duration_ms).sum(),
        tokens: results.iter().map(|result| result.usage.total()).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values are those of `statsmodels.stats.proportion.proportion_confint(…, method="wilson")`.
    #[test]
    fn the_interval_is_that_of_wilson() {
        for (passed, tasks, low, high) in [
            (0, 10, 0.0, 0.277_533),
            (8, 10, 0.490_162, 0.943_318),
            (10, 10, 0.722_467, 1.0),
            (50, 100, 0.403_832, 0.596_168),
        ] {
            let rate = PassRate::new(passed, tasks).unwrap();
            assert!(
                (rate.low - low).abs() < 1e-4 && (rate.high - high).abs() < 1e-4,
                "{passed}/{tasks}: {rate:?}"
            );
        }
        assert_eq!(PassRate::new(0, 0), None);
    }

    #[test]
    fn without_results_the_cost_is_zero_and_not_minus_zero() {
        let report = FleetReport::new(Vec::new(), 3);
        assert!(report.all.cost_usd.is_some_and(f64::is_sign_positive), "{report:?}");
    }

    #[test]
    fn failures_are_counted_by_class_and_skipped_tasks_have_no_model() {
        let result = |id: &str, outcome, code: Option<&str>, cost| TaskResult {
            model: Some("m".to_owned()),
            cost_usd: cost,
            code: code.map(str::to_owned),
            ..TaskResult::without_run(id, outcome, String::new())
        };
        let report = FleetReport::new(
            vec![
                result("a", Outcome::Passed, None, Some(0.5)),
                result("b", Outcome::Failed, Some("timeout"), Some(0.25)),
                result("c", Outcome::CheckFailed, None, Some(0.25)),
                TaskResult::skipped("d", "c"),
            ],
            2,
        );
        let failures: Vec<_> =
            report.failures.iter().map(|(class, count)| (class.as_str(), *count)).collect();
        assert_eq!(failures, [("check_failed", 1), ("skipped", 1), ("timeout", 1)]);
        assert_eq!((report.all.tasks, report.all.passed, report.all.cost_usd), (3, 1, Some(1.0)));
        assert_eq!(report.models.len(), 1);
    }
}
