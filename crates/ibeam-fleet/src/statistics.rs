//! Intervals of pass rates and of their differences, for tasks that are not independent, and pass@k.
//!
//! Tasks with the same prompt and workspace form a cluster: their outcomes resemble each other, so they say less than as
//! many different tasks. The variance of a mean is the cluster-robust one (Cameron and Miller, "A Practitioner's Guide to
//! Cluster-Robust Inference", 2015, CR1; for evaluations of models: Miller, "Adding Error Bars to Evals", 2024). Its ratio
//! to the variance of independent tasks is the design effect (Kish, "Survey Sampling", 1965), which gives the number of
//! independent tasks that would say as much. The intervals are computed for that number, corrected for few clusters (Korn
//! and Graubard, "Confidence Intervals for Proportions With Small Expected Number of Positive Counts Estimated From Survey
//! Data", 1998).

use std::collections::BTreeMap;

use serde::Serialize;

/// The 97.5th percentile of the normal distribution, for intervals of 95 %.
pub(crate) const Z: f64 = 1.959_963_984_540_054;

/// A number that belongs to a cluster.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Observation {
    pub(crate) cluster: u64,
    pub(crate) value: f64,
}

/// The mean of observations in clusters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ClusteredMean {
    pub(crate) mean: f64,
    /// The cluster-robust standard error; that of independent observations where no cluster has several, or all are in
    /// one.
    pub(crate) standard_error: f64,
    /// The number of independent observations that would say as much.
    pub(crate) effective: f64,
    pub(crate) clusters: u64,
}

/// The number of clusters with each number of attempts, and of those that passed.
pub(crate) type AttemptCounts = BTreeMap<(u64, u64), u64>;

/// The estimated probability that at least one of `k` attempts at a task passes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PassAtK {
    /// The number of attempts.
    pub k: u64,
    /// The probability, from 0 to 1.
    pub rate: f64,
}

impl ClusteredMean {
    /// Returns the mean; `None` without observations.
    pub(crate) fn new(observations: &[Observation]) -> Option<Self> {
        let n = to_f64(observations.len());
        let mean = observations.iter().map(|observation| observation.value).sum::<f64>() / n;
        let mut deviations: BTreeMap<u64, f64> = BTreeMap::new();
        let mut squares = 0.0;
        for Observation { cluster, value } in observations {
            *deviations.entry(*cluster).or_default() += value - mean;
            squares += (value - mean).powi(2);
        }
        let between = deviations.values().map(|deviation| deviation.powi(2)).sum::<f64>();
        Self::from_sums(observations.len(), mean, squares, deviations.len(), between)
    }

    /// Returns the share of the attempts that passed; `None` without attempts.
    pub(crate) fn for_attempts(counts: &AttemptCounts) -> Option<Self> {
        let (attempts, passed) = counts.iter().fold((0, 0), |sums, ((attempts, passed), clusters)| {
            (sums.0 + attempts * clusters, sums.1 + passed * clusters)
        });
        let mean = number(passed) / number(attempts);
        let squares = number(passed) * (1.0 - mean).powi(2) + number(attempts - passed) * mean.powi(2);
        let between = counts.iter().map(|((attempts, passed), clusters)| {
            number(*clusters) * (number(*passed) - number(*attempts) * mean).powi(2)
        });
        let clusters = usize::try_from(counts.values().sum::<u64>()).unwrap_or(usize::MAX);
        Self::from_sums(
            usize::try_from(attempts).unwrap_or(usize::MAX),
            mean,
            squares,
            clusters,
            between.sum(),
        )
    }

    /// Returns the mean of `count` observations in `clusters`. `squares` is the sum of the squares of the deviations of all
    /// observations, `between` that of the sums of each cluster.
    fn from_sums(count: usize, mean: f64, squares: f64, clusters: usize, between: f64) -> Option<Self> {
        if count == 0 {
            return None;
        }
        let n = to_f64(count);
        let (independent, number_of_clusters) = (squares / (n * n), to_f64(clusters));
        let (standard_error, effective) = if clusters == 1 || clusters == count {
            // In one cluster, the attempts at one task are independent of each other.
            (independent.sqrt(), n)
        } else {
            let robust = between / (n * n) * number_of_clusters / (number_of_clusters - 1.0);
            let few = (Z / student(number_of_clusters - 1.0)).powi(2);
            // Observations that are all the same say nothing about how alike clusters are.
            let effective =
                if independent > 0.0 && robust > 0.0 { n * independent / robust } else { number_of_clusters };
            (robust.sqrt(), (effective * few).clamp(1.0, n))
        };
        Some(Self { mean, standard_error, effective, clusters: clusters as u64 })
    }
}

/// Returns the 95 % interval by Wilson of a rate in `n` independent tasks.
pub(crate) fn wilson(rate: f64, n: f64) -> (f64, f64) {
    let denominator = 1.0 + Z * Z / n;
    let center = (rate + Z * Z / (2.0 * n)) / denominator;
    let half = Z / denominator * (rate * (1.0 - rate) / n + Z * Z / (4.0 * n * n)).sqrt();
    ((center - half).max(0.0), (center + half).min(1.0))
}

/// Returns pass@k for the numbers of attempts that all tasks have: the unbiased estimator of Chen et al., "Evaluating Large
/// Language Models Trained on Code", 2021. The clusters are the tasks. Returns nothing if no task has several attempts.
pub(crate) fn pass_at_k(counts: &AttemptCounts) -> Vec<PassAtK> {
    let Some(fewest) = counts.keys().map(|(n, _)| *n).min() else { return Vec::new() };
    if counts.keys().all(|(n, _)| *n == 1) {
        return Vec::new();
    }
    let tasks: u64 = counts.values().sum();
    let powers = std::iter::successors(Some(1), |k: &u64| k.checked_mul(2)).take_while(|k| *k < fewest);
    let mean = |k: u64| {
        let rates =
            counts.iter().map(|((n, passed), tasks)| number(*tasks) * (1.0 - none_passes(*n, *passed, k)));
        PassAtK { k, rate: rates.sum::<f64>() / number(tasks) }
    };
    powers.chain([fewest]).map(mean).collect()
}

/// Returns the probability that `k` of `n` attempts, of which `passed` passed, are all among the others.
#[expect(clippy::cast_precision_loss, reason = "the number of tasks is far below 2^53")]
fn none_passes(n: u64, passed: u64, k: u64) -> f64 {
    let failed = n - passed;
    (0..k).map(|taken| failed.saturating_sub(taken) as f64 / (n - taken) as f64).product()
}

/// Returns the two-sided probability of such differences of clusters or greater ones if both fleets are equally good:
/// Obuchowski, "On the comparison of correlated proportions for clustered data", 1998.
pub(crate) fn clustered_p_value(differences: &[Observation]) -> f64 {
    let mut sums: BTreeMap<u64, f64> = BTreeMap::new();
    for Observation { cluster, value } in differences {
        *sums.entry(*cluster).or_default() += value;
    }
    let squares: f64 = sums.values().map(|sum| sum * sum).sum();
    if squares == 0.0 {
        return 1.0;
    }
    let z = sums.values().sum::<f64>().abs() / squares.sqrt();
    complementary_error(z / std::f64::consts::SQRT_2)
}

/// Returns the 97.5th percentile of Student's distribution (Abramowitz and Stegun, 26.7.5).
fn student(freedom: f64) -> f64 {
    let z = |power: i32| Z.powi(power);
    let terms = [
        (z(3) + z(1)) / 4.0,
        (5.0 * z(5) + 16.0 * z(3) + 3.0 * z(1)) / 96.0,
        (3.0 * z(7) + 19.0 * z(5) + 17.0 * z(3) - 15.0 * z(1)) / 384.0,
        (79.0 * z(9) + 776.0 * z(7) + 1482.0 * z(5) - 1920.0 * z(3) - 945.0 * z(1)) / 92_160.0,
    ];
    terms.iter().zip(1..).fold(Z, |sum, (term, power)| sum + term / freedom.powi(power))
}

/// Returns the complementary error function of a number that is not negative (Abramowitz and Stegun, 7.1.26; the error is
/// below 1.5e-7).
fn complementary_error(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let factors = [0.254_829_592, -0.284_496_736, 1.421_413_741, -1.453_152_027, 1.061_405_429];
    let sum: f64 = factors.iter().zip(1..).map(|(factor, power)| factor * t.powi(power)).sum();
    (sum * (-x * x).exp()).clamp(0.0, 1.0)
}

#[expect(clippy::cast_precision_loss, reason = "the number of tasks is far below 2^53")]
fn number(count: u64) -> f64 {
    count as f64
}

#[expect(clippy::cast_precision_loss, reason = "the number of tasks is far below 2^53")]
fn to_f64(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observations(clusters: &[&[u8]]) -> Vec<Observation> {
        let numbered = clusters.iter().zip(0..);
        numbered
            .flat_map(|(values, cluster)| {
                values.iter().map(move |value| Observation { cluster, value: f64::from(*value) })
            })
            .collect()
    }

    #[track_caller]
    fn assert_near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-6, "{found} instead of {expected}");
    }

    /// Computed from the formulas with exact fractions.
    #[test]
    fn the_standard_error_is_that_of_the_clusters() {
        let mean =
            ClusteredMean::new(&observations(&[&[1, 1, 1], &[0, 0, 0], &[1, 1, 0], &[1, 0, 1]])).unwrap();
        assert_near(mean.mean, 7.0 / 12.0);
        assert_near(mean.standard_error, 0.209717623);
        assert_near(mean.effective, 2.101142358);
        assert_eq!(mean.clusters, 4);
        // Without repeats, and with one task alone, the tasks are independent.
        for clusters in [&[&[1][..], &[0], &[1], &[1]][..], &[&[1, 0, 1, 1]]] {
            let mean = ClusteredMean::new(&observations(clusters)).unwrap();
            assert_near(mean.standard_error, (0.75_f64 * 0.25 / 4.0).sqrt());
            assert_near(mean.effective, 4.0);
        }
        // Attempts that always agree count once.
        let same = ClusteredMean::new(&observations(&[&[1; 50], &[0; 50], &[1; 50]])).unwrap();
        assert!(same.effective < 3.0, "{same:?}");
        let all = ClusteredMean::new(&observations(&[&[1; 50], &[1; 50], &[1; 50]])).unwrap();
        assert!(all.effective < 3.0 && all.standard_error == 0.0, "{all:?}");
        assert_eq!(ClusteredMean::new(&[]), None);
    }

    /// The values are those of `scipy.stats.t.ppf(0.975, df)`.
    #[test]
    fn the_percentiles_are_those_of_student() {
        for (freedom, expected) in
            [(5.0, 2.570_582), (10.0, 2.228_139), (30.0, 2.042_272), (1000.0, 1.962_339)]
        {
            assert!((student(freedom) - expected).abs() < 2e-3, "{freedom}: {}", student(freedom));
        }
    }

    /// The values are those of `1 - comb(n - c, k) / comb(n, k)`.
    #[test]
    fn pass_at_k_is_unbiased() {
        let rates = |attempts: &[(u64, u64)]| -> Vec<(u64, f64)> {
            let mut counts = AttemptCounts::new();
            attempts.iter().for_each(|task| *counts.entry(*task).or_default() += 1);
            pass_at_k(&counts).into_iter().map(|found| (found.k, found.rate)).collect()
        };
        let found = rates(&[(10, 3)]);
        for ((k, rate), expected) in found.into_iter().zip([
            (1, 0.3),
            (2, 1.0 - 21.0 / 45.0),
            (4, 1.0 - 35.0 / 210.0),
            (8, 1.0),
            (10, 1.0),
        ]) {
            assert_eq!(k, expected.0);
            assert_near(rate, expected.1);
        }
        assert_eq!(rates(&[(3, 3), (4, 0)]), [(1, 0.5), (2, 0.5), (3, 0.5)]);
        assert!(rates(&[(1, 1), (1, 0)]).is_empty() && rates(&[]).is_empty());
    }

    /// The values are those of `2 * scipy.stats.norm.sf(z)`.
    #[test]
    fn the_probability_of_clusters_is_that_of_obuchowski() {
        let differences = |clusters: &[&[i8]]| -> Vec<Observation> {
            let numbered = clusters.iter().zip(0..);
            let values = numbered.flat_map(|(values, cluster)| {
                values.iter().map(move |value| Observation { cluster, value: f64::from(*value) })
            });
            values.collect()
        };
        // Sums of 2, 1, -1 and 0: z = 2 / sqrt(6).
        let found = clustered_p_value(&differences(&[&[1, 1], &[1, 0], &[-1, 0], &[1, -1]]));
        assert_near(found, 0.414216178);
        assert_near(clustered_p_value(&differences(&[&[0, 0]])), 1.0);
        // z = 4.
        let found = clustered_p_value(&differences(&[&[1_i8][..]; 16]));
        assert_near(found, 6.334_2e-5);
    }
}
