//! Small tasks for the embedded model, run by the real binary: `cargo xtask local-eval [--binary PATH] [NAME…]`.
//!
//! Each task has a separate workspace. Its effects on the files and its answer decide whether it succeeded. Prints one
//! line per task, then the score and the speed. Fails only if a run changed a file that its task does not change.

mod task;

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use task::{EvalTask, TaskVerdict};

use ibeam_testkit::{BuildError, build_program_with};

const TASKS_FILE: &str = "crates/ibeam-local/eval/tasks.toml";
/// The maximum duration of a run.
const TIME_LIMIT: Duration = Duration::from_secs(300);
/// The pause between two checks whether a run has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A failure of the evaluation.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EvalError {
    /// The list of tasks is missing or invalid.
    #[error("cannot use `{TASKS_FILE}`: {0}")]
    Tasks(String),
    #[error("no task has such a name; see `{TASKS_FILE}`")]
    NoTask,
    /// The program could not be built.
    #[error(transparent)]
    Program(#[from] BuildError),
    /// A program that cannot be run, or a file that cannot be used.
    #[error("{0}: {1}")]
    Io(String, std::io::Error),
    /// The number of tasks whose run changed a file that the task does not change.
    #[error("{0} task(s) damaged a file that they do not change")]
    Damage(usize),
}

/// The parsed output of a run.
#[derive(Default)]
struct RunOutput {
    answer: String,
    output_tokens: u64,
    model_time: Duration,
    /// The reason why there is no answer.
    error: Option<String>,
}

/// The arguments of this subcommand.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Only the tasks whose names start with one of these [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// The program [default: a release build]
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
}

/// Runs the selected tasks.
pub(crate) fn run(root: &Path, Options { names, binary }: &Options) -> Result<(), EvalError> {
    let binary = match binary {
        Some(binary) => binary.clone(),
        None => build_program_with(root, &["--release"])?,
    };
    let binary = binary.canonicalize().map_err(|error| EvalError::Io(binary.display().to_string(), error))?;
    let tasks = EvalTask::load(&root.join(TASKS_FILE)).map_err(EvalError::Tasks)?;
    let chosen =
        |task: &&EvalTask| names.is_empty() || names.iter().any(|name| task.name.starts_with(name.as_str()));
    let chosen: Vec<&EvalTask> = tasks.iter().filter(chosen).collect();
    if chosen.is_empty() {
        return Err(EvalError::NoTask);
    }
    let mut score = Score::default();
    for task in chosen {
        let started = Instant::now();
        let workspace =
            tempfile::tempdir().map_err(|error| EvalError::Io("a directory for the task".into(), error))?;
        task.write_files(workspace.path()).map_err(|error| EvalError::Io(task.name.clone(), error))?;
        let run = run_binary(&binary, workspace.path(), &task.prompt)
            .map_err(|error| EvalError::Io(binary.display().to_string(), error))?;
        let mut verdict = task.evaluate(workspace.path(), &run.answer);
        verdict.problems.extend(run.error.clone());
        score.add(task, &run, &verdict, started.elapsed());
    }
    score.report()
}

/// Runs the binary on `prompt` and parses its stream. Kills it at the time limit.
fn run_binary(binary: &Path, workspace: &Path, prompt: &str) -> std::io::Result<RunOutput> {
    let mut child = Command::new(binary)
        .args(["-p", "--model", "embedded", "--output-format", "stream-json", "--force", prompt])
        .current_dir(workspace)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let stdout = child.stdout.take();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        stdout.map(|mut stdout| stdout.read_to_string(&mut text));
        text
    });
    let started = Instant::now();
    let mut is_late = false;
    while child.try_wait()?.is_none() {
        if started.elapsed() > TIME_LIMIT {
            is_late = true;
            child.kill()?;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    let mut run = parse_stream(&reader.join().unwrap_or_default());
    if is_late {
        run.error = Some(format!("no end after {} s", TIME_LIMIT.as_secs()));
    }
    Ok(run)
}

/// Parses the answer and the figures out of the last line of a stream.
fn parse_stream(stream: &str) -> RunOutput {
    let last = stream.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    let Ok(event) = serde_json::from_str::<Value>(last) else {
        return RunOutput { error: Some("the stream has no last event".to_owned()), ..RunOutput::default() };
    };
    let number = |path: &str| event.pointer(path).and_then(Value::as_u64).unwrap_or_default();
    let answer = event.get("result").and_then(Value::as_str);
    RunOutput {
        answer: answer.unwrap_or_default().to_owned(),
        output_tokens: number("/usage/outputTokens"),
        model_time: Duration::from_millis(number("/ibeam/api_ms")),
        error: answer.is_none().then(|| format!("ended with {last}")),
    }
}

/// The counts of all tasks so far. Hard tasks have separate counts.
#[derive(Default)]
struct Score {
    done: usize,
    total: usize,
    hard_done: usize,
    hard_total: usize,
    /// The number of tasks that damaged a file.
    damaged: usize,
    tokens: u64,
    model_time: Duration,
}

impl Score {
    /// Counts a task and prints its line.
    fn add(&mut self, task: &EvalTask, run: &RunOutput, verdict: &TaskVerdict, took: Duration) {
        let success = verdict.problems.is_empty() && verdict.damaged.is_empty();
        let (done, total) = if task.hard {
            (&mut self.hard_done, &mut self.hard_total)
        } else {
            (&mut self.done, &mut self.total)
        };
        *done += usize::from(success);
        *total += 1;
        self.damaged += usize::from(!verdict.damaged.is_empty());
        self.tokens += run.output_tokens;
        self.model_time += run.model_time;
        let mark = if success { "ok  " } else { "FAIL" };
        println!("{mark} {} {:<16} {:>5.1} s", task.language, task.name, took.as_secs_f64());
        verdict.problems.iter().for_each(|problem| println!("       {problem}"));
        verdict.damaged.iter().for_each(|file| println!("       DAMAGED {file}"));
    }

    fn report(&self) -> Result<(), EvalError> {
        println!(
            "\n{} of {} tasks, {} of {} hard ones",
            self.done, self.total, self.hard_done, self.hard_total
        );
        let seconds = self.model_time.as_secs_f64();
        if seconds > 0.0 {
            let speed = self.tokens as f64 / seconds;
            println!(
                "{} tokens in {seconds:.1} s of model time: {speed:.1} tok/s, prompts included",
                self.tokens
            );
        }
        if self.damaged == 0 { Ok(()) } else { Err(EvalError::Damage(self.damaged)) }
    }
}
