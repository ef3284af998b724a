//! Runs every case of a file as every user, several at a time, each in its own process.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use ibeam_testkit::{BuildError, build_program};
use serde_json::Value;

use crate::case_namespaces;
use crate::case_run::{CaseResult, Job};
use crate::options::{Options, USAGE};
use crate::report::{Report, ReportLine};
use crate::user::{User, find_system_program};
use crate::verdict::CaseOutcome;

/// The directory of the corpora.
const CORPUS_DIRECTORY: &str = "corpus";
/// The prefix of the corpus files that run by default.
const FILE_PREFIX: &str = "attacks";
/// The directory for compiled programs and copies, below the build directory.
const SCRATCH_DIRECTORY: &str = "corpus";
/// The timeout of the process that runs a case. The program under test has a shorter one.
const TIMEOUT_SECONDS: &str = "150";

/// The argument with which the runner starts itself for the one case on stdin.
pub(crate) const RUN_CASE: &str = "--run-case";

/// A failure of the runner, or failed cases.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AttacksError {
    #[error("{0}\n{USAGE}")]
    Usage(String),
    /// A file that cannot be read or written.
    #[error("`{0}`: {1}")]
    File(String, std::io::Error),
    /// A file with invalid content.
    #[error("{0}")]
    Malformed(String),
    /// The program could not be built.
    #[error(transparent)]
    Program(#[from] BuildError),
    /// Failed cases, which are already printed; the value is their number.
    #[error("{0} case(s) failed")]
    Cases(usize),
}

/// Runs the cases of the files and prints the report.
pub(crate) fn run(root: &Path, options: &Options) -> Result<(), AttacksError> {
    let files = if options.files.is_empty() {
        attack_files(&root.join(CORPUS_DIRECTORY))?
    } else {
        options.files.clone()
    };
    let cases = read_cases(&files, options)?;
    let scratch = build_directory(root).join(SCRATCH_DIRECTORY);
    let test_programs = build_test_programs(&root.join("corpus/helpers"), &scratch)?;
    let binary = match &options.program {
        Some(path) => path.clone(),
        None => build_program(root)?,
    };
    // Copies, since a build may replace both programs while cases run.
    let copy_directory = tempfile::tempdir_in(&scratch)
        .map_err(|error| AttacksError::File(scratch.display().to_string(), error))?;
    let copy = |original: &Path, name: &str| {
        let copy = copy_directory.path().join(name);
        std::fs::copy(original, &copy)
            .map_err(|error| AttacksError::File(original.display().to_string(), error))?;
        copy.canonicalize().map_err(|error| AttacksError::File(copy.display().to_string(), error))
    };
    let binary = copy(&binary, "ibeam")?;
    let runner =
        std::env::current_exe().map_err(|error| AttacksError::File("this program".to_owned(), error))?;
    let runner = copy(&runner, "ibeam-attacks")?;
    rustix::fs::chmod(copy_directory.path(), rustix::fs::Mode::from_raw_mode(0o755))
        .map_err(|error| AttacksError::File(copy_directory.path().display().to_string(), error.into()))?;
    let isolation = case_namespaces::launcher();
    if isolation.is_none() {
        println!("note: no namespaces available; cases run on the host, one after the other");
    }
    let mount_point =
        tempfile::tempdir().map_err(|error| AttacksError::File("a directory for the cases".into(), error))?;
    let job = |case: &Value, user: User| Job {
        case: case.clone(),
        user,
        program: binary.clone(),
        test_programs: test_programs.clone(),
        mount_point: isolation.as_ref().map(|_| mount_point.path().to_owned()),
        mode: options.mode,
    };
    let jobs: VecDeque<Job> =
        cases.iter().flat_map(|case| options.users.iter().map(|user| job(case, *user))).collect();
    let count = if isolation.is_some() { options.jobs } else { 1 };
    let (queue, report) = (Mutex::new(jobs), Mutex::new(Report::default()));
    std::thread::scope(|scope| {
        for _ in 0..count {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                    let Some(job) = next else { break };
                    let result = match job.user.unavailable_reason() {
                        Some(reason) => CaseResult {
                            outcome: CaseOutcome::Skipped(reason.to_owned()),
                            transcript: String::new(),
                        },
                        None => run_isolated(&runner, isolation.as_deref().unwrap_or_default(), &job),
                    };
                    let line = ReportLine::new(&job.case, job.user, result);
                    report.lock().unwrap_or_else(PoisonError::into_inner).add(line);
                }
            });
        }
    });
    let report = report.into_inner().unwrap_or_else(PoisonError::into_inner);
    report
        .print(options.transcripts.as_deref())
        .map_err(|error| AttacksError::File("the transcripts".into(), error))?;
    match report.failure_count() {
        0 => Ok(()),
        failed => Err(AttacksError::Cases(failed)),
    }
}

/// Returns the files of attacks in a directory, in the order of their names.
fn attack_files(directory: &Path) -> Result<Vec<PathBuf>, AttacksError> {
    let entries = std::fs::read_dir(directory)
        .map_err(|error| AttacksError::File(directory.display().to_string(), error))?;
    let is_relevant = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with(FILE_PREFIX) && name.ends_with(".jsonl")
    };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_relevant).collect();
    files.sort();
    Ok(files)
}

/// Reads the selected cases. A line that is not JSON and a repeated id are errors.
fn read_cases(files: &[PathBuf], options: &Options) -> Result<Vec<Value>, AttacksError> {
    let mut cases = Vec::new();
    let mut ids = BTreeSet::new();
    for file in files {
        read_file(file, options, &mut cases, &mut ids)?;
    }
    if cases.is_empty() {
        let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        return Err(AttacksError::Malformed(format!("{}: no case is selected", names.join(", "))));
    }
    let numbered = cases.into_iter().enumerate();
    Ok(numbered.filter_map(|(number, case)| options.part.includes(number).then_some(case)).collect())
}

fn read_file(
    file: &Path,
    options: &Options,
    cases: &mut Vec<Value>,
    ids: &mut BTreeSet<String>,
) -> Result<(), AttacksError> {
    let name = file.display().to_string();
    let text = std::fs::read_to_string(file).map_err(|error| AttacksError::File(name.clone(), error))?;
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let case: Value = serde_json::from_str(line)
            .map_err(|error| AttacksError::Malformed(format!("{name}:{}: {error}", number + 1)))?;
        let text = |key: &str| case.get(key).and_then(Value::as_str);
        if !ids.insert(text("id").unwrap_or_default().to_owned()) {
            return Err(AttacksError::Malformed(format!("{name}:{}: duplicate id", number + 1)));
        }
        let is_selected = options.includes(text("id").unwrap_or_default());
        if is_selected && options.mode.includes_case(&case) {
            cases.push(case);
        }
    }
    Ok(())
}

/// Runs a case in its own process, so that its effects end before the next case.
fn run_isolated(runner: &Path, isolation: &[OsString], job: &Job) -> CaseResult {
    let failed =
        |reason: String| CaseResult { outcome: CaseOutcome::Failed(vec![reason]), transcript: String::new() };
    match run_in_child(runner, isolation, job) {
        Ok((out, err)) => serde_json::from_str(&out)
            .unwrap_or_else(|_| failed(format!("the runner: {}", err.trim().replace('\n', " ")))),
        Err(error) => failed(format!("the runner: {error}")),
    }
}

fn run_in_child(runner: &Path, isolation: &[OsString], job: &Job) -> io::Result<(String, String)> {
    let timeout = find_system_program("timeout").unwrap_or_else(|| "timeout".into());
    let mut child = Command::new(timeout)
        .args(["--kill-after=5", TIMEOUT_SECONDS])
        .args(isolation)
        .arg(runner)
        .arg(RUN_CASE)
        .env_remove("TMPDIR")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(serde_json::to_string(job)?.as_bytes())?;
    }
    let ended = child.wait_with_output()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok((text(&ended.stdout), format!("{}; {}", ended.status, text(&ended.stderr))))
}

/// Returns the build directory of cargo.
fn build_directory(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// Compiles each source that has changed, and returns the directory of the programs.
fn build_test_programs(sources: &Path, scratch: &Path) -> Result<PathBuf, AttacksError> {
    let file = |path: &Path, error| AttacksError::File(path.display().to_string(), error);
    let programs = scratch.join("programs");
    std::fs::create_dir_all(&programs).map_err(|error| file(&programs, error))?;
    for entry in std::fs::read_dir(sources).map_err(|error| file(sources, error))?.flatten() {
        let source = entry.path();
        let Some(name) = source.file_name().and_then(|name| name.to_str()?.strip_suffix(".c")) else {
            continue;
        };
        let program = programs.join(name);
        if modified_at(&program) > modified_at(&source) {
            continue;
        }
        // Another runner may compile at the same time, or a case may run the previous version.
        let fresh = programs.join(format!("{name}.{}", std::process::id()));
        let compiled =
            Command::new("cc").args(["-O1", "-Wall", "-Werror", "-o"]).arg(&fresh).arg(&source).status();
        match compiled {
            Ok(status) if status.success() => {
                std::fs::rename(&fresh, &program).map_err(|error| file(&program, error))?
            }
            Ok(status) => return Err(AttacksError::Malformed(format!("cc {}: {status}", source.display()))),
            Err(error) => return Err(AttacksError::File("cc".to_owned(), error)),
        }
    }
    Ok(programs)
}

fn modified_at(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|metadata| metadata.modified()).ok()
}
