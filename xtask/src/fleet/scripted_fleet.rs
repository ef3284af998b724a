//! A file of scripted tasks, and the program with their provider.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use ibeam_testkit::{Answer, ModelServer, Request, Workspace};
use serde_json::{Value, json};

use super::process::peak_memory_of;
use crate::suite::SuiteError;

/// The number of requests of a task: one that is answered with a call, and one with the text.
pub(crate) const REQUESTS_PER_TASK: usize = 2;

/// The number of tasks that run at the same time.
pub(crate) const JOBS: usize = 8;

/// The time between two looks at a process.
const LOOK_PAUSE: Duration = Duration::from_millis(50);

/// A workspace, and the provider of all runs.
pub(crate) struct ScriptedFleet {
    program: PathBuf,
    pub(crate) workspace: Workspace,
    pub(crate) server: ModelServer,
}

/// The end of a process and its figures.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) elapsed: Duration,
    /// The peak memory of the process alone in bytes, as of the last look.
    pub(crate) peak_memory: u64,
}

/// Returns the answer of the scripted model: a call that writes a file, then a text. If a call that a killed run left open
/// has not written the file, the model repeats it.
pub(crate) fn answer(request: &Request) -> Answer {
    let transcript = request.transcript();
    let results: Vec<&str> = transcript.iter().filter_map(|line| line.strip_prefix("result ")).collect();
    let is_open = |result: &&str| {
        let is_unfinished = ["interrupted: ", "not executed: "].iter().any(|start| result.starts_with(start));
        is_unfinished && !result.contains("now holds exactly")
    };
    if results.last().is_some_and(|result| !is_open(result)) {
        return Answer::new().text("The file is written.");
    }
    let id = format!("call_{}", results.len() + 1);
    Answer::new().call(&id, "write", &json!({ "path": "done.txt", "fileText": "done\n" }))
}

impl ScriptedFleet {
    /// Creates a workspace with a file, and a provider with this rule.
    pub(crate) fn new(
        program: &Path,
        rule: impl Fn(&Request, usize) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let workspace = Workspace::new().file("a.txt", "a\n");
        Self { program: program.to_owned(), workspace, server: ModelServer::with_rule(rule) }
    }

    /// Returns the program with the provider and these arguments.
    pub(crate) fn ibeam(&self, args: &[&str]) -> Result<Command, SuiteError> {
        let mut command = Command::new(&self.program);
        self.configure(&mut command)?;
        command.args(args);
        Ok(command)
    }

    /// Sets the environment of a command: a home of its own, the provider and a key. stderr is appended to a file.
    pub(crate) fn configure(&self, command: &mut Command) -> Result<(), SuiteError> {
        let stderr = File::options().create(true).append(true).open(self.stderr());
        let stderr = stderr.map_err(SuiteError::system(self.stderr().display()))?;
        command.current_dir(self.workspace.path()).env_clear().envs(self.workspace.environment());
        command.envs(self.provider());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
        Ok(())
    }

    /// Returns the variables with the provider and its key.
    pub(crate) fn provider(&self) -> [(&'static str, String); 2] {
        let url = format!("{}/v1", self.server.url());
        [("OPENAI_BASE_URL", url), ("OPENAI_API_KEY", "key-0123456789abcdef".to_owned())]
    }

    /// Writes a task file and returns its path.
    pub(crate) fn write_tasks(&self, count: usize) -> Result<PathBuf, SuiteError> {
        self.write_tasks_in(count, &json!(self.workspace.path()))
    }

    /// Writes a task file with this workspace and returns its path.
    pub(crate) fn write_tasks_in(&self, count: usize, workspace: &Value) -> Result<PathBuf, SuiteError> {
        let mut lines = String::new();
        for id in task_ids(count) {
            let task = json!({ "id": id, "prompt": format!("write {id}"), "workspace": workspace });
            // Writing to a string cannot fail.
            let _ = writeln!(lines, "{task}");
        }
        let path = self.workspace.outside().join("tasks.jsonl");
        fs::write(&path, lines).map_err(SuiteError::system(path.display()))?;
        Ok(path)
    }

    /// Returns the command that runs the tasks of a file. Its results are appended to [`Self::results`].
    pub(crate) fn fleet(&self, tasks: &Path, flags: &[&str]) -> Result<Command, SuiteError> {
        let results = self.open_results()?;
        let mut command = self.ibeam(&["--model", "mock-model", "fleet", "run"])?;
        command.arg(tasks).args(["--force", "--jobs", &JOBS.to_string()]).args(flags).stdout(results);
        Ok(command)
    }

    /// Opens the file for the results of a command, which prints only those that no earlier one has printed.
    pub(crate) fn open_results(&self) -> Result<File, SuiteError> {
        let path = self.results();
        File::options().create(true).append(true).open(&path).map_err(SuiteError::system(path.display()))
    }

    /// Returns the path of the results of all commands.
    pub(crate) fn results(&self) -> PathBuf {
        self.workspace.outside().join("results.ndjson")
    }

    /// Returns the results of all commands by task. Two results of a task are an error; a kill after the line of a result
    /// prints the same line again.
    pub(crate) fn read_results(&self) -> Result<BTreeMap<String, Value>, SuiteError> {
        let path = self.results();
        let text = fs::read_to_string(&path).map_err(SuiteError::system(path.display()))?;
        let mut results = BTreeMap::new();
        for line in text.lines() {
            let result: Value = serde_json::from_str(line)
                .map_err(|error| self.failed(&format!("a result is not JSON ({error}): {line}")))?;
            let id = result.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
            if results.insert(id.clone(), result.clone()).is_some_and(|other| other != result) {
                return Err(self.failed(&format!("two results of `{id}` are printed")));
            }
        }
        Ok(results)
    }

    /// Returns an error with the last messages of the program.
    pub(crate) fn failed(&self, what: &str) -> SuiteError {
        let messages = fs::read_to_string(self.stderr()).unwrap_or_default();
        let lines: Vec<&str> = messages.lines().collect();
        let last = lines.get(lines.len().saturating_sub(5)..).unwrap_or_default().join("\n");
        SuiteError::Failed(format!("{what}\n{last}"))
    }

    /// Whether some process has printed this message.
    pub(crate) fn has_printed(&self, message: &str) -> bool {
        fs::read_to_string(self.stderr()).is_ok_and(|messages| messages.contains(message))
    }

    fn stderr(&self) -> PathBuf {
        self.workspace.outside().join("stderr.log")
    }
}

/// Whether the run of a task has changed its file and no other one.
pub(crate) fn is_written(result: &Value) -> bool {
    result.get("changed_files") == Some(&json!(["done.txt"]))
}

/// Returns the ids of tasks. None is a prefix of another one, so that it can be found in a command line.
pub(crate) fn task_ids(count: usize) -> impl Iterator<Item = String> {
    (0..count).map(|number| format!("t{number}."))
}

pub(crate) fn start(mut command: Command) -> Result<Child, SuiteError> {
    command.spawn().map_err(SuiteError::system(command.get_program().to_string_lossy()))
}

/// Runs a command to its end. `look` is called several times per second.
pub(crate) fn run_to_end(mut child: Child, mut look: impl FnMut(u32)) -> Result<Ended, SuiteError> {
    let started = Instant::now();
    let pid = child.id();
    let mut peak_memory = 0;
    loop {
        // The last look is before the end of the process is known.
        peak_memory = peak_memory_of(pid).unwrap_or(peak_memory);
        if let Some(status) = child.try_wait().map_err(SuiteError::system("waiting for a process"))? {
            return Ok(Ended { status, elapsed: started.elapsed(), peak_memory });
        }
        look(pid);
        std::thread::sleep(LOOK_PAUSE);
    }
}
