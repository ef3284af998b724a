//! The sums of the results of a fleet: pass rates, cost, time and tokens per model, and failures by class.
//!
//! Results are added one after the other and not kept: a fleet may have a million.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use crate::statistics::{AttemptCounts, ClusteredMean, PassAtK, pass_at_k, wilson};
use crate::task_result::{Outcome, TaskResult};

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
}

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
    /// Returns the rate of attempts; `None` without any.
    fn new(attempts: &AttemptCounts) -> Option<Self> {
        let ClusteredMean { mean, standard_error, effective, clusters } =
            ClusteredMean::for_attempts(attempts)?;
        let (low, high) = wilson(mean, effective);
        Some(Self { rate: mean, low, high, standard_error, clusters })
    }
}

/// The sums from which a report is made.
#[derive(Debug, Default)]
pub struct ReportSums {
    models: BTreeMap<String, ModelSums>,
    failures: BTreeMap<String, u64>,
    infrastructure: BTreeMap<String, u64>,
}

/// The sums of the results of a model.
#[derive(Debug)]
struct ModelSums {
    /// For each cluster, the number of the tasks that say something about the model, and of those that passed.
    clusters: HashMap<u64, (u32, u32)>,
    infrastructure: u64,
    /// `None` if that of a task is unknown.
    cost_usd: Option<f64>,
    duration_ms: u64,
    tokens: u64,
}

impl ReportSums {
    /// Adds a result. Tasks of the same `cluster` are not independent.
    pub fn add(&mut self, result: &TaskResult, cluster: u64) {
        if result.outcome != Outcome::Skipped {
            let model = result.model.as_deref().unwrap_or_default();
            match self.models.get_mut(model) {
                Some(sums) => sums.add(result, cluster),
                None => self.models.entry(model.to_owned()).or_default().add(result, cluster),
            }
        }
        let (class, counts) = match result.outcome {
            Outcome::Passed => return,
            Outcome::CheckFailed | Outcome::Skipped => (result.outcome.as_str(), &mut self.failures),
            Outcome::Failed if result.is_of_infrastructure() => {
                (result.code.as_deref().unwrap_or_default(), &mut self.infrastructure)
            }
            Outcome::Failed => (result.code.as_deref().unwrap_or_default(), &mut self.failures),
        };
        *counts.entry(class.to_owned()).or_default() += 1;
    }

    /// Returns the report on these results and on so many tasks without one.
    pub fn report(self, unfinished: u64, not_decided: u64) -> FleetReport {
        let (mut all, mut attempts) = (ModelSums::default(), AttemptCounts::new());
        let mut models = Vec::new();
        for (model, sums) in self.models {
            let counts = sums.attempts();
            models.push(sums.row(model, &counts, &counts));
            // Attempts with another model are attempts at another task.
            counts.into_iter().for_each(|(kind, number)| *attempts.entry(kind).or_default() += number);
            all.merge(sums);
        }
        FleetReport {
            all: all.row(String::new(), &all.attempts(), &attempts),
            unfinished,
            not_decided,
            models,
            failures: self.failures,
            infrastructure: self.infrastructure,
        }
    }
}

impl Default for ModelSums {
    fn default() -> Self {
        let clusters = HashMap::new();
        Self { clusters, infrastructure: 0, cost_usd: Some(0.0), duration_ms: 0, tokens: 0 }
    }
}

impl ModelSums {
    fn add(&mut self, result: &TaskResult, cluster: u64) {
        match result.is_of_infrastructure() {
            true => self.infrastructure += 1,
            false => self.add_attempts(cluster, (1, u32::from(result.outcome == Outcome::Passed))),
        }
        self.cost_usd = self.cost_usd.zip(result.cost_usd).map(|(sum, cost)| sum + cost);
        self.duration_ms = self.duration_ms.saturating_add(result.duration_ms);
        self.tokens = self.tokens.saturating_add(result.usage.total());
    }

    fn add_attempts(&mut self, cluster: u64, (all, passed): (u32, u32)) {
        let found = self.clusters.entry(cluster).or_default();
        *found = (found.0.saturating_add(all), found.1.saturating_add(passed));
    }

    fn merge(&mut self, other: Self) {
        other.clusters.into_iter().for_each(|(cluster, attempts)| self.add_attempts(cluster, attempts));
        self.infrastructure += other.infrastructure;
        self.cost_usd = self.cost_usd.zip(other.cost_usd).map(|(sum, cost)| sum + cost);
        self.duration_ms = self.duration_ms.saturating_add(other.duration_ms);
        self.tokens = self.tokens.saturating_add(other.tokens);
    }

    /// Returns the number of clusters with each number of attempts.
    fn attempts(&self) -> AttemptCounts {
        let mut counts = AttemptCounts::new();
        for (all, passed) in self.clusters.values() {
            *counts.entry((u64::from(*all), u64::from(*passed))).or_default() += 1;
        }
        counts
    }

    /// Returns the row of a model with the rate of `counts` and pass@k of `attempts`.
    fn row(&self, model: String, counts: &AttemptCounts, attempts: &AttemptCounts) -> ModelRow {
        let sum =
            |number: fn(&(u64, u64)) -> u64| counts.iter().map(|(kind, tasks)| number(kind) * tasks).sum();
        ModelRow {
            model,
            tasks: sum(|(all, _)| *all),
            passed: sum(|(_, passed)| *passed),
            pass_rate: PassRate::new(counts),
            pass_at_k: pass_at_k(attempts),
            infrastructure: self.infrastructure,
            cost_usd: self.cost_usd,
            duration_ms: self.duration_ms,
            tokens: self.tokens,
        }
    }
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
            let rate =
                PassRate::new(&AttemptCounts::from([((1, 1), passed), ((1, 0), tasks - passed)])).unwrap();
            assert!(
                (rate.low - low).abs() < 1e-4 && (rate.high - high).abs() < 1e-4,
                "{passed}/{tasks}: {rate:?}"
            );
        }
        assert_eq!(PassRate::new(&AttemptCounts::new()), None);
    }

    #[test]
    fn without_results_the_cost_is_zero_and_not_minus_zero() {
        let report = ReportSums::default().report(3, 0);
        assert!(report.all.cost_usd.is_some_and(f64::is_sign_positive), "{report:?}");
    }

    /// Returns the report on results, each with a cluster of its own.
    fn report_on(results: &[TaskResult]) -> FleetReport {
        let mut sums = ReportSums::default();
        results.iter().zip(0..).for_each(|(result, cluster)| sums.add(result, cluster));
        sums.report(0, 0)
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
        let report = report_on(&[
            result("a", "m", Outcome::Passed, None),
            result("b", "m", Outcome::Failed, Some("timeout")),
            result("c", "m", Outcome::CheckFailed, None),
            TaskResult::skipped("d", "c"),
        ]);
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
        let report = report_on(&[
            result("a", "m", Outcome::Passed, None),
            result("b", "m", Outcome::Failed, Some("network")),
            result("refused", "m", Outcome::Failed, Some("refused")),
            declined,
        ]);
        assert_eq!((report.all.tasks, report.all.passed, report.all.infrastructure), (2, 1, 2));
        assert_eq!(report.infrastructure.keys().collect::<Vec<_>>(), ["network", "refused"]);
        assert_eq!(report.failures.keys().collect::<Vec<_>>(), ["refused"]);
    }

    /// The outcomes are those of the test of standard errors. pass@2 of 2 of 3 attempts is 1, that of one model alone counts
    /// its own attempts.
    #[test]
    fn repeated_tasks_widen_the_interval_and_have_pass_at_k() {
        let passed = ["111", "000", "110", "101"];
        let mut sums = ReportSums::default();
        for (prompt, outcomes) in (0..).zip(passed) {
            for (repetition, outcome) in outcomes.chars().enumerate() {
                let id = format!("p{prompt}.r{repetition}");
                let outcome = if outcome == '1' { Outcome::Passed } else { Outcome::CheckFailed };
                sums.add(&result(&id, "m", outcome, None), prompt);
            }
        }
        let report = sums.report(0, 0);
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
