//! `cargo xtask test`: sets up the requirements of the tests, then runs every check and every test.
//!
//! A step that fails does not hide what the later ones would say: all of them run, and the end lists each with its time and
//! its command.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use ibeam_testkit::build_program;

use crate::size;

/// The failure of one step or more, which the summary lists.
#[derive(Debug, thiserror::Error)]
#[error("{failed} of {all} steps failed")]
pub(crate) struct TestError {
    failed: usize,
    all: usize,
}

/// The steps so far.
struct Steps<'a> {
    root: &'a Path,
    finished: Vec<Step>,
}

struct Step {
    /// The command, or what is done.
    name: String,
    time: Duration,
    end: StepEnd,
}

/// The end of a step.
#[derive(Clone, PartialEq, Eq)]
enum StepEnd {
    Passed,
    Failed,
    /// The step did not run, for this reason.
    Skipped(String),
}

/// Runs all steps, prints the summary, and returns how many failed.
pub(crate) fn run(root: &Path) -> Result<(), TestError> {
    let mut steps = Steps { root, finished: Vec::new() };
    if !is_available("cargo", &["nextest", "--version"]) {
        steps.run(&["cargo", "install", "--locked", "cargo-nextest"]);
    }
    steps.run(&["cargo", "fmt", "--all", "--check"]);
    steps.run(&["cargo", "xtask", "tidy"]);
    steps.run(&["cargo", "clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"]);
    // The program is also distributed without the engine of the embedded model.
    steps.run(&[
        "cargo",
        "clippy",
        "-p",
        "ibeam",
        "--no-default-features",
        "--locked",
        "--",
        "-D",
        "warnings",
    ]);
    // The tests that generate with the real model print SKIP and the reason without it.
    let model = std::env::var_os("IBEAM_TEST_NO_MODEL").is_none();
    let no_model = (!model).then_some("IBEAM_TEST_NO_MODEL is set");
    let program = steps.build("build the program", || build_program(root));
    match (&program, no_model) {
        (Some(program), None) => steps.run_or_warn(
            &[&program.to_string_lossy(), "setup"],
            "the embedded model could not be set up; the tests that need it print SKIP",
        ),
        (None, _) => steps.skip("ibeam setup", "the program was not built"),
        (_, Some(reason)) => steps.skip("ibeam setup", reason),
    }
    steps.run(&["cargo", "nextest", "run", "--workspace", "--all-targets", "--locked"]);
    steps.run(&["cargo", "test", "--workspace", "--doc", "--locked"]);
    steps.run(&["cargo", "xtask", "clients"]);
    match no_model {
        None => steps.run(&["cargo", "xtask", "clients", "--embedded"]),
        Some(reason) => steps.skip("cargo xtask clients --embedded", reason),
    }
    for suite in ["sdks", "sdk-types --check", "conformance", "editors", "servers", "fleet-nats", "harbor"] {
        steps.run(&["cargo", "xtask"].into_iter().chain(suite.split(' ')).collect::<Vec<_>>());
    }
    steps.run(&["cargo", "xtask", "traces"]);
    steps.run(&["cargo", "xtask", "size", "--without-engine"]);
    steps.run_with_distribution();
    steps.finish()
}

impl Steps<'_> {
    /// Runs the steps with thousands of processes with the distribution, which starts many times as fast as a debug build.
    fn run_with_distribution(&mut self) {
        // The attacks must succeed without protection, and must fail with only the sandbox and with the complete program. The
        // complete program is tested with every attack, the other two with a sample; without `--every`, the command runs all.
        let commands: [&[&str]; 4] = [
            &["cargo", "xtask", "fleet"],
            &["cargo", "xtask", "corpus", "attacks", "--bare", "--every", "4"],
            &["cargo", "xtask", "corpus", "attacks", "--unfenced", "--every", "4"],
            &["cargo", "xtask", "corpus", "attacks"],
        ];
        let root = self.root;
        let Some(program) = self.build("build the distribution", || size::build_distribution(root)) else {
            commands
                .iter()
                .for_each(|command| self.skip(&command.join(" "), "the distribution was not built"));
            return;
        };
        for command in commands {
            self.run(&[command, &["--bin", &program.to_string_lossy()]].concat());
        }
    }

    fn run(&mut self, command: &[&str]) {
        let name = command.join(" ");
        let Some((program, args)) = command.split_first() else { return };
        self.add(name, |root| {
            let status = Command::new(program).args(args).current_dir(root).status();
            match status {
                Ok(status) if status.success() => StepEnd::Passed,
                Ok(_) => StepEnd::Failed,
                Err(error) => {
                    eprintln!("error: cannot start `{program}`: {error}");
                    StepEnd::Failed
                }
            }
        });
    }

    /// Runs a step whose failure leaves out other checks, which say so.
    fn run_or_warn(&mut self, command: &[&str], warning: &str) {
        self.run(command);
        if let Some(step) = self.finished.last_mut()
            && step.end == StepEnd::Failed
        {
            eprintln!("warning: {warning}");
            step.end = StepEnd::Skipped(warning.to_owned());
        }
    }

    fn build<T, E: std::fmt::Display>(
        &mut self,
        name: &str,
        build: impl FnOnce() -> Result<T, E>,
    ) -> Option<T> {
        let mut built = None;
        self.add(name.to_owned(), |_| match build() {
            Ok(program) => {
                built = Some(program);
                StepEnd::Passed
            }
            Err(error) => {
                eprintln!("error: {error}");
                StepEnd::Failed
            }
        });
        built
    }

    fn skip(&mut self, name: &str, reason: &str) {
        let end = StepEnd::Skipped(reason.to_owned());
        self.finished.push(Step { name: name.to_owned(), time: Duration::ZERO, end });
    }

    fn add(&mut self, name: String, run: impl FnOnce(&Path) -> StepEnd) {
        println!("\n== {name}");
        let started = Instant::now();
        let end = run(self.root);
        let time = started.elapsed();
        println!("== {} s: {name}", time.as_secs());
        self.finished.push(Step { name, time, end });
    }

    /// Prints the summary.
    fn finish(self) -> Result<(), TestError> {
        println!("\n== Summary: result, seconds, and the command that runs the step alone");
        for Step { name, time, end } in &self.finished {
            let (result, reason) = match end {
                StepEnd::Passed => ("passed", String::new()),
                StepEnd::Failed => ("FAILED", String::new()),
                StepEnd::Skipped(reason) => ("skipped", format!(" ({reason})")),
            };
            println!("{result:8}{:5}  {name}{reason}", time.as_secs());
        }
        let all = self.finished.len();
        match self.finished.iter().filter(|step| step.end == StepEnd::Failed).count() {
            0 => Ok(()),
            failed => Err(TestError { failed, all }),
        }
    }
}

fn is_available(program: &str, args: &[&str]) -> bool {
    Command::new(program).args(args).output().is_ok_and(|output| output.status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_step_hides_no_other_and_fails_the_whole() {
        let mut steps = Steps { root: Path::new("/"), finished: Vec::new() };
        steps.run(&["false"]);
        steps.run(&["true"]);
        steps.run(&["no-such-program"]);
        steps.run_or_warn(&["false"], "other tests print SKIP");
        assert!(steps.build("build", || Err::<(), _>("no compiler")).is_none());
        assert_eq!(steps.build("build", || Ok::<_, String>(1)), Some(1));
        steps.skip("sweep", "not built");
        let error = steps.finish().unwrap_err();
        assert_eq!((error.failed, error.all), (3, 7));
    }
}
