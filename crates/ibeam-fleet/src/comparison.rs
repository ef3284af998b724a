//! The comparison of two fleets over the tasks that have a result in both.

use std::collections::HashMap;

use serde::Serialize;

use crate::report::{FleetReport, Z};
use crate::task_result::{Outcome, TaskResult};

/// A comparison of the results of two fleets. Tasks are the same if their ids are.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FleetComparison {
    /// The number of tasks with a result in both fleets.
    pub tasks: u64,
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
    /// The lower end of the 95 % interval by Agresti and Min.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
    /// The probability of such a difference or a greater one if both are equally good (exact test by McNemar).
    pub p_value: f64,
}

/// A task whose outcome differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangedTask {
    /// The task.
    pub id: String,
    /// Its outcome in the first fleet.
    pub first: Outcome,
    /// Its outcome in the second fleet.
    pub second: Outcome,
}

impl FleetComparison {
    /// Returns the comparison of `second` with `first`.
    pub fn new(first: &FleetReport, second: &FleetReport) -> Self {
        let others: HashMap<&str, &TaskResult> =
            second.tasks.iter().map(|result| (result.id.as_str(), result)).collect();
        let (mut tasks, mut both_passed, mut first_passed, mut second_passed) = (0, 0, 0, 0);
        let mut changed = Vec::new();
        for result in &first.tasks {
            let Some(other) = others.get(result.id.as_str()) else { continue };
            tasks += 1;
            match (result.outcome == Outcome::Passed, other.outcome == Outcome::Passed) {
                (true, true) => both_passed += 1,
                (true, false) => first_passed += 1,
                (false, true) => second_passed += 1,
                (false, false) => {}
            }
            if result.outcome != other.outcome {
                let id = result.id.clone();
                changed.push(ChangedTask { id, first: result.outcome, second: other.outcome });
            }
        }
        let difference = RateDifference::new(tasks, first_passed, second_passed);
        Self { tasks, both_passed, first_passed, second_passed, difference, changed }
    }
}

impl RateDifference {
    /// Returns the difference for `tasks` tasks of which `first` passed in the first fleet only, and `second` in the
    /// second fleet only.
    #[expect(clippy::cast_precision_loss, reason = "the number of tasks is far below 2^53")]
    fn new(tasks: u64, first: u64, second: u64) -> Option<Self> {
        if tasks == 0 {
            return None;
        }
        let (n, b, c) = (tasks as f64, first as f64, second as f64);
        // Half a task is added to each of the four cells.
        let (adjusted, sum, difference) = (n + 2.0, b + c + 1.0, c - b);
        let center = difference / adjusted;
        let half = Z * (sum - difference * difference / adjusted).max(0.0).sqrt() / adjusted;
        Some(Self {
            rate: difference / n,
            low: (center - half).max(-1.0),
            high: (center + half).min(1.0),
            p_value: sign_test(first.min(second), first + second),
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

    fn report(outcomes: &[(&str, Outcome)]) -> FleetReport {
        let result = |(id, outcome): &(&str, Outcome)| TaskResult::without_run(id, *outcome, String::new());
        FleetReport::new(outcomes.iter().map(result).collect(), 0)
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
        let first = report(&[
            ("a", Outcome::Passed),
            ("b", Outcome::Passed),
            ("c", Outcome::Failed),
            ("gone", Outcome::Passed),
        ]);
        let second = report(&[("c", Outcome::Passed), ("b", Outcome::CheckFailed), ("a", Outcome::Passed)]);
        let found = FleetComparison::new(&first, &second);
        assert_eq!((found.tasks, found.both_passed, found.first_passed, found.second_passed), (3, 1, 1, 1));
        let changed: Vec<_> = found.changed.iter().map(|task| task.id.as_str()).collect();
        assert_eq!(changed, ["b", "c"]);
        let difference = found.difference.unwrap();
        assert!(difference.rate.abs() < 1e-12 && difference.low < 0.0 && difference.high > 0.0);
        assert_eq!(FleetComparison::new(&first, &report(&[])).difference, None);
    }
}
