//! The kill sweep on its own, with the sum of its counts: each step of each scenario, and the random instants.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// Why there is no good sum.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failed {
    /// The tests could not be run.
    #[error("cannot run the tests: {0}")]
    Start(#[from] std::io::Error),
    /// They have said what.
    #[error("the sweep found something, or could not be made")]
    Found,
}

/// What a line of the sweep counts, in its order.
const COUNTS: [&str; 6] =
    ["points", "lost events", "repeated executions", "orphans", "mixed files", "resumable"];

/// Runs the sweep; another `seed` gives other instants.
pub(crate) fn run(root: &Path, seed: Option<&str>) -> Result<(), Failed> {
    let mut command = Command::new("cargo");
    command.args(["nextest", "run", "-p", "ibeam", "--test", "end_to_end", "--locked"]);
    command.args(["-E", "test(/^crash::/)", "--success-output", "immediate", "--no-fail-fast"]);
    command.env("IBEAM_KILL_SWEEP", "whole");
    if let Some(seed) = seed {
        command.env("IBEAM_KILL_SEED", seed);
    }
    let mut tests = command.current_dir(root).stderr(Stdio::piped()).spawn()?;
    let mut sum = [0; COUNTS.len()];
    if let Some(said) = tests.stderr.take() {
        for line in BufReader::new(said).lines() {
            let line = line?;
            eprintln!("{line}");
            for (sum, count) in sum.iter_mut().zip(counts(&line)) {
                *sum += count;
            }
        }
    }
    let counted: Vec<String> = sum.iter().zip(COUNTS).map(|(count, of)| format!("{count} {of}")).collect();
    println!("kill sweep, all: {}", counted.join(", "));
    if tests.wait()?.success() { Ok(()) } else { Err(Failed::Found) }
}

/// The counts of a line of the sweep; none of any other.
fn counts(line: &str) -> Vec<u64> {
    let told = line.split_once("kill sweep: ").and_then(|(_, told)| told.rsplit_once(": "));
    let parts = told.map(|(_, counts)| counts.split(", ")).into_iter().flatten();
    let counts = parts.zip(COUNTS).map(|(part, of)| part.strip_suffix(of)?.trim().parse().ok());
    counts.collect::<Option<Vec<u64>>>().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::counts;

    #[test]
    fn only_lines_of_the_sweep_count() {
        let line = "    kill sweep: text, killed: 45 points, 1 lost events, 2 repeated executions, 3 orphans, \
                    4 mixed files, 44 resumable";
        assert_eq!(counts(line), [45, 1, 2, 3, 4, 44]);
        assert!(counts("PASS kill_sweep: 45 points").is_empty());
        assert!(counts("kill sweep: text: forty points").is_empty());
    }
}
