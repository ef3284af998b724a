//! The comparison of two fleets over the tasks that have a result in both.

use std::collections::HashMap;

use serde::Serialize;

use crate::statistics::{ClusteredMean, Observation, Z, clustered_p_value};
use crate::task_result::{Outcome, TaskResult};

/// A comparison of the results of two fleets. Tasks are the same if their ids are.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FleetComparison {
    /// The number of tasks with a result in both fleets, without those that failed because of the infrastructure in one.
    pub tasks: u64,
    /// The number of the latter.
    pub infrastructure: u64,
    /// The number of those that passed in both.
    pub both_passed: u64,
    /// The number of those that passed in the first fleet only.
    pub first_passed: u64,
    /// The number of those that passed in the second fleet only.
    pub second_passed: u64,
    /// The pass rate of the second fleet minus that of the first; absent without tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<RateDifference>,
    /// The tasks with different outcomes, in the order of the first fleet.
    pub changed: Vec<ChangedTask>,
}

/// The difference of the pass rates of the same tasks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RateDifference {
    /// The second rate minus the first one, from -1 to 1.
    pub rate: f64,
    /// The standard error, which takes repeated tasks into account.
    pub standard_error: f64,
    /// The lower end of the 95 % interval by Agresti and Min, for as many independent tasks as the repeated ones are worth.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
    /// The probability of such a difference or a greater one if both are equally good: by the exact test of McNemar, with
    /// repeated tasks by the test of Obuchowski.
    pub p_value: f64,
}

/// A task whose outcome differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangedTask {
    pub id: String,
    pub first: Outcome,
    pub second: Outcome,
}

/// The sums from which a comparison is made. The second fleet is added first.
#[derive(Debug, Default)]
pub struct ComparisonSums {
    /// The outcomes of the tasks of the second fleet; `None` for a failure of the infrastructure.
    second: HashMap<Box<str>, Option<Outcome>>,
    infrastructure: u64,
    both_passed: u64,
    first_passed: u64,
    second_passed: u64,
    changed: Vec<ChangedTask>,
    differences: Vec<Observation>,
}

impl ComparisonSums {
    /// Adds a result of the second fleet.
    pub fn add_second(&mut self, result: &TaskResult) {
        self.second.insert(result.id.as_str().into(), outcome_of_model(result));
    }

    /// Adds a result of the first fleet, after those of the second one. Tasks of the same `cluster` are not independent.
    pub fn add_first(&mut self, result: &TaskResult, cluster: u64) {
        let Some(second) = self.second.get(result.id.as_str()).copied() else { return };
        let Some((first, second)) = outcome_of_model(result).zip(second) else {
            self.infrastructure += 1;
            return;
        };
        let value = match (first == Outcome::Passed, second == Outcome::Passed) {
            (true, true) => {
                self.both_passed += 1;
                0.0
            }
            (true, false) => {
                self.first_passed += 1;
                -1.0
            }
            (false, true) => {
                self.second_passed += 1;
                1.0
            }
            (false, false) => 0.0,
        };
        self.differences.push(Observation { cluster, value });
        if first != second {
            self.changed.push(ChangedTask { id: result.id.clone(), first, second });
        }
    }

    /// Returns the comparison of the second fleet with the first one.
    pub fn comparison(self) -> FleetComparison {
        let Self {
            second: _,
            infrastructure,
            both_passed,
            first_passed,
            second_passed,
            changed,
            differences,
        } = self;
        let difference = RateDifference::new(&differences, first_passed, second_passed);
        let tasks = differences.len() as u64;
        FleetComparison {
            tasks,
            infrastructure,
            both_passed,
            first_passed,
            second_passed,
            difference,
            changed,
        }
    }
}

/// Returns the outcome of a task, unless the infrastructure is its cause.
fn outcome_of_model(result: &TaskResult) -> Option<Outcome> {
    (!result.is_of_infrastructure()).then_some(result.outcome)
}

impl RateDifference {
    /// Returns the difference for tasks with these `differences`, of which `first` passed in the first fleet only, and
    /// `second` in the second fleet only; `None` without tasks.
    #[expect(clippy::cast_precision_loss, reason = "the number of tasks is far below 2^53")]
    fn new(differences: &[Observation], first: u64, second: u64) -> Option<Self> {
        let ClusteredMean { mean, standard_error, effective, clusters } = ClusteredMean::new(differences)?;
        let is_independent = clusters == differences.len() as u64 || clusters == 1;
        let scale = effective / differences.len() as f64;
        let (b, c) = (first as f64 * scale, second as f64 * scale);
        // Half a task is added to each of the four cells.
        let (adjusted, sum, difference) = (effective + 2.0, b + c + 1.0, c - b);
        let center = difference / adjusted;
        let half = Z * (sum - difference * difference / adjusted).max(0.0).sqrt() / adjusted;
        Some(Self {
            rate: mean,
            standard_error,
            low: (center - half).max(-1.0),
            high: (center + half).min(1.0),
            p_value: match is_independent {
                true => sign_test(first.min(second), first + second),
                false => clustered_p_value(differences),
            },
        })
    }
}

/// Returns the two-sided probability that at most `few` of `all` fair coins show one side.
#[expect(clippy::cast_precision_loss, reason = "the number of tasks is far below 2^53")]
fn sign_test(few: u64, all: u64) -> f64 {
    let mut log_term = all as f64 * 0.5_f64.ln();
    let mut sum = log_term.exp();
    for k in 1..=few {
        log_term += ((all - k + 1) as f64).ln() - (k as f64).ln();
        sum += log_term.exp();
    }
    (2.0 * sum).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(outcomes: &[(&str, Outcome)]) -> Vec<TaskResult> {
        let result = |(id, outcome): &(&str, Outcome)| TaskResult {
            code: Some("timeout".to_owned()),
            ..TaskResult::without_run(id, *outcome, String::new())
        };
        outcomes.iter().map(result).collect()
    }

    /// Returns the comparison of results in the clusters that `cluster` returns for their numbers.
    fn compare(first: &[TaskResult], second: &[TaskResult], cluster: fn(u64) -> u64) -> FleetComparison {
        let mut sums = ComparisonSums::default();
        second.iter().for_each(|result| sums.add_second(result));
        first.iter().zip(0..).for_each(|(result, number)| sums.add_first(result, cluster(number)));
        sums.comparison()
    }

    /// The values are those of `scipy.stats.binomtest(k, n).pvalue`.
    #[test]
    fn the_probability_is_that_of_the_binomial_test() {
        for (few, all, expected) in
            [(0, 0, 1.0), (0, 5, 0.0625), (1, 10, 0.021_484_375), (5, 10, 1.0), (40, 100, 0.056_887_933)]
        {
            assert!((sign_test(few, all) - expected).abs() < 1e-8, "{few} of {all}: {}", sign_test(few, all));
        }
        assert!(sign_test(900, 2000) < 1e-4, "no underflow");
    }

    #[test]
    fn tasks_are_compared_by_id() {
        let first = results(&[
            ("a", Outcome::Passed),
            ("b", Outcome::Passed),
            ("c", Outcome::Failed),
            ("gone", Outcome::Passed),
        ]);
        let second = results(&[("c", Outcome::Passed), ("b", Outcome::CheckFailed), ("a", Outcome::Passed)]);
        let found = compare(&first, &second, |number| number);
        assert_eq!((found.tasks, found.both_passed, found.first_passed, found.second_passed), (3, 1, 1, 1));
        let changed: Vec<_> = found.changed.iter().map(|task| task.id.as_str()).collect();
        assert_eq!(changed, ["b", "c"]);
        let difference = found.difference.unwrap();
        assert!(difference.rate.abs() < 1e-12 && difference.low < 0.0 && difference.high > 0.0);
        assert_eq!(compare(&first, &[], |number| number).difference, None);
    }

    /// Two of five tasks changed with all their repeats. They are not 20 independent changes.
    #[test]
    fn repeats_of_a_task_are_no_further_evidence() {
        let results = |passes: fn(u64) -> bool| -> Vec<TaskResult> {
            let result = |number: u64| {
                let outcome = if passes(number % 5) { Outcome::Passed } else { Outcome::CheckFailed };
                TaskResult::without_run(&format!("p{}.r{number}", number % 5), outcome, String::new())
            };
            (0..50).map(result).collect()
        };
        let difference = |cluster: fn(u64) -> u64| {
            let (first, second) = (results(|prompt| prompt < 2), results(|prompt| prompt < 4));
            compare(&first, &second, cluster).difference.unwrap()
        };
        let (repeats, independent) = (difference(|number| number % 5), difference(|number| number));
        assert!((repeats.rate - 0.4).abs() < 1e-12 && (independent.rate - 0.4).abs() < 1e-12);
        assert!(independent.low > 0.2 && independent.p_value < 1e-5, "{independent:?}");
        assert!(repeats.low < 0.0 && repeats.p_value > 0.1, "{repeats:?}");
        // The mean of the differences of five prompts, 0, 0, 1, 1 and 0, has the variance 0.06.
        assert!((repeats.standard_error - 0.06_f64.sqrt()).abs() < 1e-9, "{repeats:?}");
    }

    #[test]
    fn tasks_with_a_failure_of_the_infrastructure_are_left_out() {
        let first = results(&[("a", Outcome::Passed), ("b", Outcome::Passed)]);
        let mut second = results(&[("a", Outcome::Passed), ("b", Outcome::Failed)]);
        second[1].code = Some("network".to_owned());
        let found = compare(&first, &second, |number| number);
        assert_eq!((found.tasks, found.infrastructure, found.first_passed), (1, 1, 0));
    }
}
