//! The summary of a gate: each step with its result, its seconds and the command that runs it alone.

use super::TestError;
use super::step::{FinishedStep, StepEnd};

/// Prints the summary.
///
/// # Errors
/// The number of steps that failed.
pub(super) fn print(finished: &[FinishedStep]) -> Result<(), TestError> {
    println!("\n== Summary: result, seconds, and the command that runs the step alone");
    finished.iter().flat_map(lines).for_each(|line| println!("{line}"));
    let count = |is: fn(&StepEnd) -> bool| finished.iter().filter(|step| is(&step.end)).count();
    let failed = count(|end| *end == StepEnd::Failed);
    let passed = count(|end| *end == StepEnd::Passed);
    let skipped = finished.len() - failed - passed;
    println!("steps: {passed} passed, {failed} failed, {skipped} skipped");
    match failed {
        0 => Ok(()),
        failed => Err(TestError::Steps { failed, all: finished.len() }),
    }
}

/// Returns the lines of a step: its result, then what it left out, and the sweep that a failed sample belongs to.
fn lines(finished: &FinishedStep) -> Vec<String> {
    let FinishedStep { step, time, end, skipped_parts } = finished;
    let (result, reason) = match end {
        StepEnd::Passed => ("passed", String::new()),
        StepEnd::Failed => ("FAILED", String::new()),
        StepEnd::Skipped(reason) => ("skipped", format!(" ({reason})")),
    };
    let variables: String = step.environment.iter().map(|(name, value)| format!("{name}={value} ")).collect();
    let mut lines = vec![format!("{result:8}{:5}  {variables}{}{reason}", time.as_secs(), step.command)];
    lines.extend(skipped_parts.iter().map(|part| format!("{:15}{part}", "")));
    if let (StepEnd::Failed, Some(complete)) = (end, &step.complete) {
        lines.push(format!("{:15}the sample is of this sweep: {complete}", ""));
    }
    lines
}
