//! Runs the steps: what waits most of the time runs next to what computes, within bounds of processes and memory.
//!
//! Every step runs, whatever the others say, unless one that it needs failed. The output of each goes to a log below
//! `target/gate`; that of a step that computes is also printed as it comes, that of another one when it fails.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use ibeam_testkit::{PROGRAMS_VARIABLE, without_package_variables};

use super::step::{FinishedStep, Load, Step, StepEnd};

/// The start of a line that names a part of a step that was left out.
const SKIP: &str = "SKIP";

/// The bounds and places of a run.
pub(super) struct Scheduler<'a> {
    pub(super) root: &'a Path,
    /// The directory with the programs that the step `build` makes. Steps start these instead of building them again,
    /// which would wait for the builds of other steps.
    pub(super) programs: &'a Path,
    pub(super) logs: PathBuf,
    /// The number of waiting steps that run at a time.
    pub(super) waiting_steps: usize,
    /// The memory of all steps that run at a time, in MiB. A step that needs more runs when no other does.
    pub(super) memory: u64,
}

struct RunningStep {
    step: Step,
    started: Instant,
}

impl Scheduler<'_> {
    /// Runs all steps and returns them in the order of their ends.
    pub(super) fn run(&self, steps: Vec<Step>) -> Vec<FinishedStep> {
        let (mut pending, mut running, mut finished) =
            (VecDeque::from(steps), Vec::<RunningStep>::new(), Vec::<FinishedStep>::new());
        let (sender, ends) = mpsc::channel();
        std::thread::scope(|scope| {
            loop {
                skip_unreachable(&mut pending, &mut finished);
                while let Some(at) =
                    pending.iter().position(|step| self.may_start(step, &pending, &running, &finished))
                {
                    let Some(step) = pending.remove(at) else { break };
                    println!("\n== started: {}", step.command);
                    let (work, sender) = (step.clone(), sender.clone());
                    running.push(RunningStep { step, started: Instant::now() });
                    scope.spawn(move || {
                        let result = self.run_step(&work);
                        // The receiver lives as long as steps run.
                        let _ = sender.send((work.key, result));
                    });
                }
                if running.is_empty() {
                    break;
                }
                let Ok((key, (end, skipped_parts))) = ends.recv() else { break };
                let Some(at) = running.iter().position(|other| other.step.key == key) else { continue };
                let RunningStep { step, started } = running.swap_remove(at);
                let end = match (end, step.failure_is) {
                    (StepEnd::Failed, Some(warning)) => StepEnd::Skipped(warning.to_owned()),
                    (end, _) => end,
                };
                self.report(&step, &end, started.elapsed());
                finished.push(FinishedStep { step, time: started.elapsed(), end, skipped_parts });
            }
        });
        finished
    }

    /// Whether a step may start now. The steps before it that need the machine alone are not overtaken by it for ever,
    /// since they wait only for those that are no such steps.
    fn may_start(
        &self,
        step: &Step,
        pending: &VecDeque<Step>,
        running: &[RunningStep],
        finished: &[FinishedStep],
    ) -> bool {
        let has_ended = |key: &&'static str| finished.iter().any(|other| other.step.key == *key);
        if !step.after.iter().chain(&step.follows).all(has_ended) {
            return false;
        }
        if running.is_empty() {
            return step.load != Load::Alone || pending.iter().all(|other| other.load == Load::Alone);
        }
        let running_with = |load: Load| running.iter().filter(|other| other.step.load == load).count();
        let has_place = match step.load {
            Load::Cores => running_with(Load::Cores) == 0,
            Load::Core => running_with(Load::Core) == 0,
            Load::Waits => running_with(Load::Waits) < self.waiting_steps,
            Load::Alone => false,
        };
        let used: u64 = running.iter().map(|other| other.step.memory).sum();
        has_place && running_with(Load::Alone) == 0 && used + step.memory <= self.memory
    }

    fn run_step(&self, step: &Step) -> (StepEnd, Vec<String>) {
        match self.run_command(step) {
            Ok((true, skipped)) => (StepEnd::Passed, skipped),
            Ok((false, skipped)) => (StepEnd::Failed, skipped),
            Err(error) => {
                eprintln!("error: `{}`: {error}", step.command);
                (StepEnd::Failed, Vec::new())
            }
        }
    }

    /// Runs the command of a step. Returns whether it succeeded, and its lines about parts that it left out.
    fn run_command(&self, step: &Step) -> std::io::Result<(bool, Vec<String>)> {
        let (reader, writer) = std::io::pipe()?;
        let mut command = self.command(&step.command);
        command.envs(step.environment.iter().map(|(name, value)| (name, value)));
        command.env(PROGRAMS_VARIABLE, self.programs).current_dir(self.root);
        command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
        let mut child = command.spawn()?;
        // The command holds the writing ends of the pipe too, until it is dropped.
        drop(command);
        let mut log = File::create(self.log(step))?;
        let mut skipped = Vec::new();
        let mut reader = BufReader::new(reader);
        let mut bytes = Vec::new();
        while reader.read_until(b'\n', &mut bytes)? > 0 {
            log.write_all(&bytes)?;
            let line = String::from_utf8_lossy(&bytes);
            if is_live(step.load) {
                print!("{line}");
            }
            let text = line.trim();
            if text.starts_with(SKIP) && !skipped.iter().any(|known| known == text) {
                skipped.push(text.to_owned());
            }
            bytes.clear();
        }
        Ok((child.wait()?.success(), skipped))
    }

    /// Returns the command of a line. `cargo xtask` is this program, so that it does not wait for the builds of others. The
    /// step `build` may replace its file, so the path is not that of this process.
    fn command(&self, line: &str) -> Command {
        let (program, words) = match line.strip_prefix("cargo xtask ") {
            Some(words) => (self.programs.join("xtask"), words),
            None => {
                let (program, words) = line.split_once(' ').unwrap_or((line, ""));
                (program.into(), words)
            }
        };
        let mut command = without_package_variables(Command::new(program));
        command.args(words.split_whitespace());
        command
    }

    fn log(&self, step: &Step) -> PathBuf {
        self.logs.join(format!("{}.log", step.key))
    }

    /// Prints the end of a step, and the output of one that failed unseen.
    fn report(&self, step: &Step, end: &StepEnd, time: Duration) {
        let log = self.log(step);
        if *end != StepEnd::Passed && !is_live(step.load) {
            let text = std::fs::read(&log).unwrap_or_default();
            println!("\n== output: {}\n{}", step.command, String::from_utf8_lossy(&text));
        }
        let result = match end {
            StepEnd::Passed => "passed",
            StepEnd::Failed => "FAILED",
            StepEnd::Skipped(_) => "skipped",
        };
        println!("== {result} after {} s: {} (log: {})", time.as_secs(), step.command, log.display());
    }
}

/// Whether the output of a step is printed as it comes. Only one such step runs at a time.
fn is_live(load: Load) -> bool {
    match load {
        Load::Cores | Load::Alone => true,
        Load::Core | Load::Waits => false,
    }
}

/// Moves the steps that need one that did not pass to those that have ended.
fn skip_unreachable(pending: &mut VecDeque<Step>, finished: &mut Vec<FinishedStep>) {
    loop {
        let failed = |step: &Step| {
            let needed = finished
                .iter()
                .find(|other| step.after.contains(&other.step.key) && other.end != StepEnd::Passed);
            needed.map(|needed| format!("`{}` did not pass", needed.step.command))
        };
        let Some((at, reason)) = pending.iter().enumerate().find_map(|(at, step)| Some((at, failed(step)?)))
        else {
            return;
        };
        let Some(step) = pending.remove(at) else { return };
        println!("== skipped: {}: {reason}", step.command);
        let (time, end) = (Duration::ZERO, StepEnd::Skipped(reason));
        finished.push(FinishedStep { step, time, end, skipped_parts: Vec::new() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test::summary;

    /// Writes a start and an end to `log`, and between them waits for the file `$2`, if there is one.
    const SCRIPT: &str = r#"
        echo "start $1" >> log
        for try in $(seq 200); do [ -z "$2" ] || [ -e "$2" ] && break; sleep 0.05; done
        [ -z "$2" ] || [ -e "$2" ] || exit 3
        touch "$1"
        sleep 0.05
        echo "end $1" >> log
    "#;

    fn run(memory: u64, steps: Vec<Step>) -> (Vec<FinishedStep>, Vec<String>) {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("work"), SCRIPT).unwrap();
        let root = directory.path();
        let scheduler = Scheduler { root, programs: root, logs: root.to_owned(), waiting_steps: 2, memory };
        let finished = scheduler.run(steps);
        let log = std::fs::read_to_string(root.join("log")).unwrap_or_default();
        (finished, log.lines().map(str::to_owned).collect())
    }

    /// Returns the largest number of steps of `names` that ran at the same time, by the log.
    fn largest_overlap(log: &[String], names: &[&str]) -> usize {
        let (mut running, mut largest) = (0_usize, 0);
        for (event, name) in log.iter().filter_map(|line| line.split_once(' ')) {
            if names.contains(&name) {
                running = if event == "start" { running + 1 } else { running - 1 };
                largest = largest.max(running);
            }
        }
        largest
    }

    #[test]
    fn a_failed_step_hides_no_other_and_fails_the_whole() {
        let (finished, _) = run(
            8000,
            vec![
                Step::new("fails", "false", Load::Cores),
                Step::new("passes", "true", Load::Cores),
                Step::new("missing", "no-such-program", Load::Waits),
                Step::new("warns", "false", Load::Waits).failure_is("other tests print SKIP"),
                Step::new("needs", "true", Load::Cores).after(&["fails"]),
                Step::new("needs-too", "true", Load::Cores).after(&["needs"]),
                Step::new("follows", "true", Load::Cores).follows(&["fails", "warns"]),
            ],
        );
        let end = |key: &str| finished.iter().find(|step| step.step.key == key).unwrap().end.clone();
        assert_eq!(end("passes"), StepEnd::Passed);
        assert_eq!(end("follows"), StepEnd::Passed);
        assert_eq!(end("warns"), StepEnd::Skipped("other tests print SKIP".to_owned()));
        assert_eq!(end("needs"), StepEnd::Skipped("`false` did not pass".to_owned()));
        assert_eq!(end("needs-too"), StepEnd::Skipped("`true` did not pass".to_owned()));
        let error = summary::print(&finished).unwrap_err();
        assert_eq!(error.to_string(), "2 of 7 steps failed");
    }

    #[test]
    fn waiting_steps_run_next_to_one_that_computes() {
        // Each waits for the other, so they pass only together.
        let (finished, log) = run(
            8000,
            vec![
                Step::new("c1", "sh work c1", Load::Cores),
                Step::new("c2", "sh work c2 w1", Load::Cores),
                Step::new("w1", "sh work w1 c1", Load::Waits),
                Step::new("w2", "sh work w2", Load::Waits),
                Step::new("w3", "sh work w3", Load::Waits),
                Step::new("s1", "sh work s1 c1", Load::Core),
                Step::new("s2", "sh work s2", Load::Core),
            ],
        );
        assert!(finished.iter().all(|step| step.end == StepEnd::Passed), "{finished:#?}");
        assert_eq!(largest_overlap(&log, &["c1", "c2"]), 1, "{log:?}");
        assert_eq!(largest_overlap(&log, &["s1", "s2"]), 1, "{log:?}");
        assert!(largest_overlap(&log, &["w1", "w2", "w3"]) <= 2, "{log:?}");
        assert!(largest_overlap(&log, &["c1", "w1", "w2"]) >= 2, "{log:?}");
    }

    #[test]
    fn a_step_that_needs_the_machine_runs_last_and_alone() {
        let (finished, log) = run(
            8000,
            vec![
                Step::new("a1", "sh work a1", Load::Alone),
                Step::new("c1", "sh work c1", Load::Cores),
                Step::new("w1", "sh work w1 c1", Load::Waits),
                Step::new("a2", "sh work a2", Load::Alone),
            ],
        );
        assert!(finished.iter().all(|step| step.end == StepEnd::Passed), "{finished:#?}");
        assert_eq!(log[log.len() - 4..], ["start a1", "end a1", "start a2", "end a2"]);
    }

    #[test]
    fn the_memory_of_all_steps_is_bounded() {
        let (finished, log) = run(
            1500,
            vec![
                Step::new("w1", "sh work w1", Load::Waits),
                Step::new("w2", "sh work w2", Load::Waits),
                Step::new("large", "sh work large", Load::Waits).memory(4000),
            ],
        );
        assert!(finished.iter().all(|step| step.end == StepEnd::Passed), "{finished:#?}");
        assert_eq!(largest_overlap(&log, &["w1", "w2", "large"]), 1, "{log:?}");
    }

    #[test]
    fn what_a_step_left_out_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("work"), "echo SKIP: no browser; echo other").unwrap();
        let root = directory.path();
        let scheduler =
            Scheduler { root, programs: root, logs: root.to_owned(), waiting_steps: 2, memory: 8000 };
        let finished = scheduler.run(vec![Step::new("suite", "sh work", Load::Waits)]);
        assert_eq!(finished[0].skipped_parts, ["SKIP: no browser"]);
        assert_eq!(std::fs::read_to_string(root.join("suite.log")).unwrap(), "SKIP: no browser\nother\n");
    }
}
