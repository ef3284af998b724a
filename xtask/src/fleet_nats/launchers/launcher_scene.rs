//! A queue with tasks for the workers of a launcher: a server that demands keys, a scripted provider, a repository.

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nkeys::KeyPair;
use serde_json::{Value, json};

use super::recipes::{Recipes, replace};
use crate::fleet::scripted_fleet::{ScriptedFleet, answer};
use crate::fleet_nats::cluster::Cluster;
use crate::suite::SuiteError;

/// The tasks of each launcher.
const TASKS: usize = 12;
/// The maximum time until all tasks have a result, and that until a worker has ended.
const TIMEOUT: Duration = Duration::from_secs(120);
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// The address of the queue in all recipes.
const DOCUMENTED_QUEUE: &str = "tls://nats.example.com/evals";
/// The repository of the tasks. The configuration of git leads to one on this machine.
const REPOSITORY: &str = "https://git.example.com/project.git";

/// The surroundings of the workers of a launcher.
pub(super) struct LauncherScene<'a> {
    recipes: &'a Recipes,
    pub(super) program: &'a Path,
    fleet: ScriptedFleet,
    cluster: Cluster,
    /// The directory of programs, with `ibeam`.
    programs: PathBuf,
    worker_seed: String,
}

/// A process that is killed when it is dropped.
pub(super) struct Running(pub(super) Child);

impl<'a> LauncherScene<'a> {
    pub(super) fn new(program: &'a Path, server: &Path, recipes: &'a Recipes) -> Result<Self, SuiteError> {
        let fleet = ScriptedFleet::new(program, |request, _| answer(request));
        let (submitter, worker) = (KeyPair::new_user(), KeyPair::new_user());
        let users = format!(
            "authorization {{ users: [ {{ nkey: {} }}, {{ nkey: {}, permissions: {} }} ] }}",
            submitter.public_key(),
            worker.public_key(),
            recipes.block("Keys and TLS", 0)?
        );
        let cluster = Cluster::start(server, 1, &users)?;
        let top = fleet.workspace.outside();
        // Other users may start workers.
        fs::set_permissions(top, Permissions::from_mode(0o755)).map_err(SuiteError::system(top.display()))?;
        let programs = top.join("bin");
        fs::create_dir(&programs).map_err(SuiteError::system(programs.display()))?;
        symlink(program, programs.join("ibeam")).map_err(SuiteError::system(programs.display()))?;
        write(&top.join("submitter.nk"), &seed_of(&submitter)?)?;
        let scene = Self { recipes, program, fleet, cluster, programs, worker_seed: seed_of(&worker)? };
        scene.create_repository()?;
        Ok(scene)
    }

    /// Returns a recipe of the page for the queue of this scene.
    pub(super) fn recipe(&self, heading: &str, number: usize) -> Result<String, SuiteError> {
        replace(self.recipes.block(heading, number)?, DOCUMENTED_QUEUE, &self.cluster.url("evals"))
    }

    /// Returns the directory of all files of this scene.
    pub(super) fn directory(&self) -> &Path {
        self.fleet.workspace.outside()
    }

    /// Creates the home directory of a worker, with the key of the queue and the configuration of git.
    pub(super) fn create_home(&self, name: &str) -> Result<PathBuf, SuiteError> {
        let home = self.directory().join(name);
        fs::create_dir(&home).map_err(SuiteError::system(home.display()))?;
        write(&home.join("worker.nk"), &self.worker_seed)?;
        let git = format!(
            "[url \"file://{}/\"]\n\tinsteadOf = https://git.example.com/\n[safe]\n\tdirectory = *\n",
            self.directory().display()
        );
        write(&home.join(".gitconfig"), &git)?;
        Ok(home)
    }

    /// Returns the seed of the key of workers.
    pub(super) fn worker_seed(&self) -> &str {
        &self.worker_seed
    }

    /// Returns the variables of a worker without its home: programs, model, provider.
    pub(super) fn variables(&self) -> Vec<(&'static str, String)> {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut variables = vec![("PATH", format!("{}:{path}", self.programs.display()))];
        variables.push(("IBEAM_MODEL", "mock-model".to_owned()));
        variables.extend(self.fleet.provider());
        variables
    }

    /// Returns a command with a new environment: the variables of a worker and this home. Its output goes to `NAME.log`.
    pub(super) fn command(&self, program: &str, home: &Path, name: &str) -> Result<Command, SuiteError> {
        let mut command = Command::new(program);
        command.env_clear().envs(self.variables()).env("HOME", home).current_dir(self.directory());
        let path = self.directory().join(format!("{name}.log"));
        let output = File::options().create(true).append(true).open(&path);
        let output = output.map_err(SuiteError::system(path.display()))?;
        let errors = output.try_clone().map_err(SuiteError::system(path.display()))?;
        command.stdin(Stdio::null()).stdout(output).stderr(errors);
        Ok(command)
    }

    /// Sends the tasks to the queue. The process ends when all of them have a result.
    pub(super) fn submit(&self) -> Result<Running, SuiteError> {
        let tasks = self.fleet.write_tasks_in(TASKS, &json!({ "git": REPOSITORY }))?;
        let path = self.fleet.results();
        let results = File::create(&path).map_err(SuiteError::system(path.display()))?;
        let mut command = self.fleet.ibeam(&["fleet", "run"])?;
        command.arg(tasks).args(["--queue", &self.cluster.url("evals"), "--queue-lease", "10"]);
        command.arg("--queue-nkey").arg(self.directory().join("submitter.nk")).stdout(results);
        start(command)
    }

    /// Waits until all tasks have a result. Returns the number of directories of workers in which they were executed.
    ///
    /// # Errors
    /// A task that did not pass; with the last output of the workers.
    pub(super) fn wait_for_results(&self, submitter: Running) -> Result<usize, SuiteError> {
        let status =
            submitter.wait("`ibeam fleet run`").map_err(|error| self.with_logs(&error.to_string()))?;
        let results = self.fleet.read_results()?;
        let text = |result: &Value, key: &str| {
            result.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let passed = results.values().filter(|result| text(result, "outcome") == "passed").count();
        if !status.success() || passed != TASKS {
            let first = results.values().find(|result| text(result, "outcome") != "passed");
            let first = first.map(ToString::to_string).unwrap_or_default();
            return Err(self.with_logs(&format!("{passed} of {TASKS} tasks passed ({status}) {first}")));
        }
        // DIR/tasks/GROUP/ID
        let worker =
            |result: &Value| Path::new(&text(result, "directory")).ancestors().nth(3).map(Path::to_owned);
        let workers: BTreeSet<_> = results.values().filter_map(worker).collect();
        Ok(workers.len())
    }

    /// Returns what a launcher did, for its line.
    pub(super) fn describe(&self, workers: usize, what: &str) -> String {
        format!("{TASKS} tasks passed in {workers} worker(s); {what}")
    }

    /// Returns an error with the ends of all files of output.
    pub(super) fn with_logs(&self, what: &str) -> SuiteError {
        let mut text = what.to_owned();
        let entries = fs::read_dir(self.directory()).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()) {
            if path.extension().is_some_and(|extension| extension == "log" || extension == "out") {
                let log = fs::read_to_string(&path).unwrap_or_default();
                let lines: Vec<&str> = log.lines().collect();
                let end = lines.get(lines.len().saturating_sub(12)..).unwrap_or_default().join("\n");
                text.push_str(&format!("\n== {}\n{end}", path.display()));
            }
        }
        SuiteError::Failed(text)
    }

    /// Creates a repository with one commit.
    fn create_repository(&self) -> Result<(), SuiteError> {
        let script = "git init -q -b main project.git && cd project.git && echo a > a.txt && git add a.txt && \
                      git -c user.name=a -c user.email=a@example.com commit -q -m one";
        let mut command = self.command("sh", self.directory(), "git")?;
        let status = start({
            command.args(["-c", script]);
            command
        })?;
        match status.wait("git")?.success() {
            true => Ok(()),
            false => Err(self.with_logs("cannot create a repository")),
        }
    }
}

impl Running {
    /// Waits for the end of the process, with a limit of time.
    pub(super) fn wait(mut self, what: &str) -> Result<ExitStatus, SuiteError> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.0.try_wait().map_err(SuiteError::system(what))? {
                return Ok(status);
            }
            if start.elapsed() > TIMEOUT {
                return Err(SuiteError::Failed(format!("{what} did not end within {TIMEOUT:?}")));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Starts a process.
pub(super) fn start(mut command: Command) -> Result<Running, SuiteError> {
    command.spawn().map(Running).map_err(SuiteError::system(command.get_program().to_string_lossy()))
}

/// Waits until a condition holds. Returns whether it does.
pub(super) fn wait_until(mut condition: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while !condition() {
        if start.elapsed() > TIMEOUT {
            return false;
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    true
}

/// Returns the paths of programs, or the reason why this machine cannot run a launcher.
pub(super) fn find_programs<const N: usize>(programs: [(&str, &str); N]) -> Result<[PathBuf; N], SuiteError> {
    let path = std::env::var("PATH").unwrap_or_default();
    // Programs of administrators are not in the path of every user.
    let directories: Vec<&str> = path.split(':').chain(["/usr/sbin", "/sbin", "/lib/systemd"]).collect();
    let find = |program: &str| {
        directories.iter().map(|directory| Path::new(directory).join(program)).find(|path| path.is_file())
    };
    for (program, package) in programs {
        if find(program).is_none() {
            return Err(SuiteError::Missing(format!(
                "there is no `{program}`; install the package `{package}`"
            )));
        }
    }
    Ok(programs.map(|(program, _)| find(program).unwrap_or_default()))
}

/// Returns an error unless this process is root.
pub(super) fn needs_root() -> Result<(), SuiteError> {
    match rustix::process::geteuid().is_root() {
        true => Ok(()),
        false => Err(SuiteError::Missing("its services need root".to_owned())),
    }
}

pub(super) fn write(path: &Path, text: &str) -> Result<(), SuiteError> {
    fs::write(path, text).map_err(SuiteError::system(path.display()))
}

fn seed_of(key: &KeyPair) -> Result<String, SuiteError> {
    key.seed().map_err(|error| SuiteError::Failed(format!("cannot create a key: {error}")))
}
