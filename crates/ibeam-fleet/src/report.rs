//! The sums of the results of a fleet: pass rates, cost, time and tokens per model, and failures by class.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::statistics::{ClusteredMean, Observation, PassAtK, pass_at_k, wilson};
use crate::task_result::{Outcome, TaskResult};
use crate::task_status::{TaskState, TaskStatus};

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
    /// The number of tasks that say nothing about the model, by the class of their failure.
    pub infrastructure: BTreeMap<String, u64>,
    /// The results, in the order of the tasks.
    pub tasks: Vec<TaskResult>,
    /// The tasks without a result.
    #[serde(skip)]
    pub open: Vec<TaskStatus>,
    /// The directory of the fleet.
    #[serde(skip)]
    pub directory: Option<PathBuf>,
    /// The clusters of the tasks that are not alone in theirs.
    #[serde(skip)]
    pub(crate) clusters: HashMap<String, u64>,
}

/// The results of a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelRow {
    /// The model; empty for all and for none.
    pub model: String,
    /// The number of tasks that ran, without those that failed because of the infrastructure.
    pub tasks: u64,
    /// The number of those that passed.
    pub passed: u64,
    /// The pass rate; absent without tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass_rate: Option<PassRate>,
    /// pass@k, if tasks are repeated: for each prompt, workspace and model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pass_at_k: Vec<PassAtK>,
    /// The number of tasks that failed because of the infrastructure.
    pub infrastructure: u64,
    /// The cost; absent if that of a task is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The sum of the durations of the runs.
    pub duration_ms: u64,
    /// The tokens of prompts and answers.
    pub tokens: u64,
}

/// A pass rate with its 95 % interval by Wilson, for as many independent tasks as the repeated ones are worth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PassRate {
    /// The share of tasks that passed, from 0 to 1.
    pub rate: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
    /// The standard error, which takes repeated tasks into account.
    pub standard_error: f64,
    /// The number of different pairs of a prompt and a workspace.
    pub clusters: u64,
}

impl PassRate {
    /// Returns the rate of tasks, each with its cluster and whether it passed; `None` without tasks.
    fn new(outcomes: &[(u64, bool)]) -> Option<Self> {
        let observations: Vec<Observation> = outcomes
            .iter()
            .map(|(cluster, passed)| Observation { cluster: *cluster, value: f64::from(u8::from(*passed)) })
            .collect();
        let ClusteredMean { mean, standard_error, effective, clusters } = ClusteredMean::new(&observations)?;
        let (low, high) = wilson(mean, effective);
        Some(Self { rate: mean, low, high, standard_error, clusters })
    }
}

impl FleetReport {
    /// Returns the report about these results. Tasks in the same one of the `clusters` are not independent.
    pub fn new(tasks: Vec<TaskResult>, unfinished: u64, clusters: HashMap<String, u64>) -> Self {
        let mut groups: BTreeMap<&str, Vec<(u64, &TaskResult)>> = BTreeMap::new();
        let (mut failures, mut infrastructure) = (BTreeMap::new(), BTreeMap::new());
        for (result, number) in tasks.iter().zip(0..) {
            if result.outcome != Outcome::Skipped {
                let cluster = cluster_of(&clusters, &result.id, number);
                let group = groups.entry(result.model.as_deref().unwrap_or_default()).or_default();
                group.push((cluster, result));
            }
            let (class, counts) = match result.outcome {
                Outcome::Passed => continue,
                Outcome::CheckFailed | Outcome::Skipped => (result.outcome.as_str(), &mut failures),
                Outcome::Failed if result.is_of_infrastructure() => {
                    (result.code.as_deref().unwrap_or_default(), &mut infrastructure)
                }
                Outcome::Failed => (result.code.as_deref().unwrap_or_default(), &mut failures),
            };
            *counts.entry(class.to_owned()).or_default() += 1;
        }
        let every: Vec<(u64, &TaskResult)> = groups.values().flatten().copied().collect();
        let models: Vec<ModelRow> = groups.iter().map(|(model, results)| row(model, results)).collect();
        // Attempts with another model are attempts at another task.
        let attempts = groups.values().flat_map(|results| attempts(results)).collect::<Vec<_>>();
        let all = ModelRow { pass_at_k: pass_at_k(&attempts), ..row("", &every) };
        Self {
            all,
            unfinished,
            not_decided: 0,
            models,
            failures,
            infrastructure,
            tasks,
            open: Vec::new(),
            directory: None,
            clusters,
        }
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

/// Returns the cluster of the task with this id and number. A task that is in no cluster has one of its own.
pub(crate) fn cluster_of(clusters: &HashMap<String, u64>, id: &str, number: u64) -> u64 {
    clusters.get(id).copied().unwrap_or(u64::MAX - number)
}

fn row(model: &str, results: &[(u64, &TaskResult)]) -> ModelRow {
    let outcomes: Vec<(u64, bool)> = decided(results).collect();
    let passed = outcomes.iter().filter(|(_, passed)| *passed).count() as u64;
    let costs: Option<Vec<f64>> = results.iter().map(|(_, result)| result.cost_usd).collect();
    ModelRow {
        model: model.to_owned(),
        tasks: outcomes.len() as u64,
        passed,
        pass_rate: PassRate::new(&outcomes),
        pass_at_k: pass_at_k(&attempts(results)),
        infrastructure: (results.len() - outcomes.len()) as u64,
        // The sum of no number is -0.0.
        cost_usd: costs.map(|costs| costs.iter().sum::<f64>() + 0.0),
        duration_ms: results.iter().map(|(_, result)| result.duration_ms).sum(),
        tokens: results.iter().map(|(_, result)| result.usage.total()).sum(),
    }
}

/// Returns the clusters of the results that say something about the model, and whether they passed.
fn decided(results: &[(u64, &TaskResult)]) -> impl Iterator<Item = (u64, bool)> {
    let decided = results.iter().filter(|(_, result)| !result.is_of_infrastructure());
    decided.map(|(cluster, result)| (*cluster, result.outcome == Outcome::Passed))
}

/// Returns the number of attempts in each cluster, and of those that passed.
fn attempts(results: &[(u64, &TaskResult)]) -> Vec<(u64, u64)> {
    let mut attempts: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for (cluster, passed) in decided(results) {
        let (all, successes) = attempts.entry(cluster).or_default();
        (*all, *successes) = (*all + 1, *successes + u64::from(passed));
    }
    attempts.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values are those of `statsmodels.stats.proportion.proportion_confint(…, method="wilson")`.
    #[test]
    fn the_interval_of_independent_tasks_is_that_of_wilson() {
        for (passed, tasks, low, high) in [
            (0, 10, 0.0, 0.277_533),
            (8, 10, 0.490_162, 0.943_318),
            (10, 10, 0.722_467, 1.0),
            (50, 100, 0.403_832, 0.596_168),
        ] {
            let outcomes: Vec<(u64, bool)> = (0..tasks).map(|task| (task, task < passed)).collect();
            let rate = PassRate::new(&outcomes).unwrap();
            assert!(
                (rate.low - low).abs() < 1e-4 && (rate.high - high).abs() < 1e-4,
                "{passed}/{tasks}: {rate:?}"
            );
        }
        assert_eq!(PassRate::new(&[]), None);
    }

    #[test]
    fn without_results_the_cost_is_zero_and_not_minus_zero() {
        let report = FleetReport::new(Vec::new(), 3, HashMap::new());
        assert!(report.all.cost_usd.is_some_and(f64::is_sign_positive), "{report:?}");
    }

    fn result(id: &str, model: &str, outcome: Outcome, code: Option<&str>) -> TaskResult {
        TaskResult {
            model: Some(model.to_owned()),
            cost_usd: Some(0.25),
            code: code.map(str::to_owned),
            ..TaskResult::without_run(id, outcome, String::new())
        }
    }

    #[test]
    fn failures_are_counted_by_class_and_skipped_tasks_have_no_model() {
        let report = FleetReport::new(
            vec![
                result("a", "m", Outcome::Passed, None),
                result("b", "m", Outcome::Failed, Some("timeout")),
                result("c", "m", Outcome::CheckFailed, None),
                TaskResult::skipped("d", "c"),
            ],
            2,
            HashMap::new(),
        );
        let failures: Vec<_> =
            report.failures.iter().map(|(class, count)| (class.as_str(), *count)).collect();
        assert_eq!(failures, [("check_failed", 1), ("skipped", 1), ("timeout", 1)]);
        assert_eq!((report.all.tasks, report.all.passed, report.all.cost_usd), (3, 1, Some(0.75)));
        assert_eq!((report.models.len(), report.all.infrastructure), (1, 0));
        assert_eq!(report.all.pass_at_k, []);
    }

    /// The model declined `declined`; a worker refused `refused`, which never ran.
    #[test]
    fn failures_of_the_infrastructure_are_none_of_the_model() {
        let declined = TaskResult { runs: 1, ..result("declined", "m", Outcome::Failed, Some("refused")) };
        let report = FleetReport::new(
            vec![
                result("a", "m", Outcome::Passed, None),
                result("b", "m", Outcome::Failed, Some("network")),
                result("refused", "m", Outcome::Failed, Some("refused")),
                declined,
            ],
            0,
            HashMap::new(),
        );
        assert_eq!((report.all.tasks, report.all.passed, report.all.infrastructure), (2, 1, 2));
        assert_eq!(report.infrastructure.keys().collect::<Vec<_>>(), ["network", "refused"]);
        assert_eq!(report.failures.keys().collect::<Vec<_>>(), ["refused"]);
    }

    /// The outcomes are those of the test of standard errors. pass@2 of 2 of 3 attempts is 1, that of one model alone counts
    /// its own attempts.
    #[test]
    fn repeated_tasks_widen_the_interval_and_have_pass_at_k() {
        let passed = ["111", "000", "110", "101"];
        let (mut results, mut clusters) = (Vec::new(), HashMap::new());
        for (prompt, outcomes) in (0..).zip(passed) {
            for (repetition, outcome) in outcomes.chars().enumerate() {
                let id = format!("p{prompt}.r{repetition}");
                let outcome = if outcome == '1' { Outcome::Passed } else { Outcome::CheckFailed };
                clusters.insert(id.clone(), prompt);
                results.push(result(&id, "m", outcome, None));
            }
        }
        let report = FleetReport::new(results, 0, clusters);
        let rate = report.all.pass_rate.unwrap();
        assert_eq!((rate.clusters, report.all.tasks), (4, 12));
        for (found, expected) in
            [(rate.standard_error, 0.209_718), (rate.low, 0.129_440), (rate.high, 0.929_489)]
        {
            assert!((found - expected).abs() < 1e-5, "{found} instead of {expected}");
        }
        let at_k: Vec<(u64, u64)> =
            report.all.pass_at_k.iter().map(|found| (found.k, (found.rate * 1e4).round() as u64)).collect();
        assert_eq!(at_k, [(1, 5833), (2, 7500), (3, 7500)]);
        assert_eq!(report.models[0].pass_at_k, report.all.pass_at_k);
    }
}
