//! A fleet on three servers, with three workers that have homes of their own. A random process is killed every two
//! seconds: the submitter, a worker, a run or a server. No task may be lost, and none may start after its result.

use std::collections::HashMap;
use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::cluster::Cluster;
use crate::fleet::FleetError;
use crate::fleet::kills::{KILL_PAUSE, completed_runs, completed_streams, kill};
use crate::fleet::process::{peak_memory_of, processes_with};
use crate::fleet::scripted_fleet::{REQUESTS_PER_TASK, ScriptedFleet, answer, has_passed, start};

const SERVERS: usize = 3;
const WORKERS: usize = 3;
/// The number of tasks that a worker runs at the same time.
const SLOTS: &str = "3";
/// The seconds until the task of a killed worker goes to another one.
const LEASE: &str = "10";
/// The time between the claim of a task and the first request of its run. When a server was killed, a task may be delivered
/// again and claimed while its worker still waits for the servers to record the result.
const CLAIM_TIME: Duration = Duration::from_secs(1);
/// The time between two looks at the processes.
const LOOK_PAUSE: Duration = Duration::from_millis(200);
/// The time without a request of a run after which the fleet counts as stuck.
const MAX_SILENCE: Duration = Duration::from_secs(180);

/// The counts of a fleet.
#[derive(Debug, Default)]
struct Counts {
    submitters_killed: usize,
    workers_killed: usize,
    runs_killed: usize,
    servers_killed: usize,
    /// The workers and submitters that ended on their own and were started again.
    restarted: usize,
    lost: usize,
    /// The runs that started after the result of their task.
    late: usize,
    /// The tasks with a result that did not pass.
    failed: usize,
    /// The tasks that more than one run completed, because a worker or a server was killed.
    completed_again: usize,
    submitter_memory: u64,
}

/// The processes of the fleet.
struct Processes {
    submitter: Child,
    workers: Vec<Child>,
    /// The server that was killed last, until it is started again.
    stopped_server: Option<(usize, Instant)>,
}

/// The results that the submitter has printed.
#[derive(Default)]
struct Printed {
    /// The instant at which the result of a task was printed first.
    instants: HashMap<String, Instant>,
    /// The end of the last line that was read, in bytes.
    read: u64,
}

/// The instants at which runs started, by task.
type Starts = Arc<Mutex<HashMap<String, Vec<Instant>>>>;

/// Runs `tasks` tasks, kills processes, and prints a table.
pub(super) fn run(program: &Path, server: &Path, tasks: usize) -> Result<(), FleetError> {
    let starts = Starts::default();
    let noted = Arc::clone(&starts);
    let scene = ScriptedFleet::new(program, move |request, _| {
        let transcript = request.transcript();
        let task = transcript.first().and_then(|line| line.split_whitespace().last()).map(str::to_owned);
        // The first request of a run, unless it goes on after an answer.
        let is_answered =
            transcript.iter().any(|line| ["call ", "result "].iter().any(|kind| line.starts_with(kind)));
        if let (false, Some(task)) = (is_answered, task) {
            noted
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .entry(task)
                .or_default()
                .push(Instant::now());
        }
        answer(request)
    });
    let file = scene.write_tasks(tasks)?;
    let mut cluster = Cluster::start(server, SERVERS, "")?;
    let fleet = KilledFleet { scene: &scene, file, url: cluster.url("kills") };
    let started = Instant::now();
    let mut counts = Counts::default();
    let printed = fleet.run_to_end(&mut cluster, &mut counts)?;
    let seconds = started.elapsed().as_secs_f64();
    let starts = starts.lock().unwrap_or_else(PoisonError::into_inner);
    fleet.count_results(tasks, &printed, &starts, &mut counts)?;
    print_table(tasks, seconds, scene.server.received(), &counts);
    match counts.lost + counts.late + counts.failed {
        0 => Ok(()),
        _ => Err(scene.failed("tasks were lost, started after their result, or did not pass")),
    }
}

/// A fleet whose processes are killed.
struct KilledFleet<'a> {
    scene: &'a ScriptedFleet,
    file: PathBuf,
    url: String,
}

impl KilledFleet<'_> {
    fn start_submitter(&self) -> Result<Child, FleetError> {
        let results = self.scene.open_results()?;
        let mut command = self.scene.ibeam(&["fleet", "run"])?;
        command.arg(&self.file).args(["--queue", &self.url, "--queue-lease", LEASE]).stdout(results);
        start(command)
    }

    fn start_worker(&self, number: usize) -> Result<Child, FleetError> {
        let home = self.worker(number).join("home");
        fs::create_dir_all(&home).map_err(FleetError::system(home.display()))?;
        let mut command = self.scene.ibeam(&["--model", "mock-model", "fleet", "worker"])?;
        command.args(["--queue", &self.url, "--slots", SLOTS, "--force", "--max-runs", "100"]);
        command.arg("--discard-workspaces").arg("--dir").arg(self.worker(number).join("fleet"));
        command.arg("--allow-workspaces").arg(self.scene.workspace.path());
        for (variable, path) in self.scene.workspace.environment() {
            if let Ok(rest) = path.strip_prefix(self.scene.workspace.home()) {
                command.env(variable, home.join(rest));
            }
        }
        start(command)
    }

    /// Returns the directory of everything of a worker.
    fn worker(&self, number: usize) -> PathBuf {
        self.scene.workspace.outside().join(format!("worker-{number}"))
    }

    /// Kills processes until the submitter ends in order. Returns when each result was printed first.
    fn run_to_end(&self, cluster: &mut Cluster, counts: &mut Counts) -> Result<Printed, FleetError> {
        let mut workers = Vec::new();
        for number in 0..WORKERS {
            workers.push(self.start_worker(number)?);
        }
        let mut processes = Processes { submitter: self.start_submitter()?, workers, stopped_server: None };
        let result = self.kill_and_restart(cluster, &mut processes, counts);
        for process in processes.workers.iter_mut().chain([&mut processes.submitter]) {
            // It may have ended already.
            drop(process.kill());
            drop(process.wait());
        }
        result
    }

    fn kill_and_restart(
        &self,
        cluster: &mut Cluster,
        processes: &mut Processes,
        counts: &mut Counts,
    ) -> Result<Printed, FleetError> {
        let mut random = fastrand::Rng::new();
        let mut printed = Printed::default();
        let mut requests = 0;
        let (mut killed_at, mut progress_at) = (Instant::now(), Instant::now());
        loop {
            std::thread::sleep(LOOK_PAUSE);
            self.note_results(&mut printed)?;
            let received = self.scene.server.received();
            if received > requests {
                (requests, progress_at) = (received, Instant::now());
            } else if progress_at.elapsed() > MAX_SILENCE {
                let results = printed.instants.len();
                let what = format!("no request for {MAX_SILENCE:?} after {requests}; {results} results");
                return Err(self.scene.failed(&what));
            }
            let memory = peak_memory_of(processes.submitter.id()).unwrap_or_default();
            counts.submitter_memory = counts.submitter_memory.max(memory);
            if self.restart(cluster, processes, counts)? {
                self.note_results(&mut printed)?;
                return Ok(printed);
            }
            if killed_at.elapsed() >= KILL_PAUSE {
                killed_at = Instant::now();
                self.kill_one(&mut random, cluster, processes, counts);
            }
        }
    }

    /// Starts what has ended. Returns whether all tasks have a result.
    fn restart(
        &self,
        cluster: &mut Cluster,
        processes: &mut Processes,
        counts: &mut Counts,
    ) -> Result<bool, FleetError> {
        if let Some((server, at)) = processes.stopped_server
            && Instant::now() >= at
        {
            cluster.start_node(server)?;
            processes.stopped_server = None;
        }
        if let Some(status) = ended(&mut processes.submitter)? {
            // 1: every task has a result, and some did not pass.
            if matches!(status.code(), Some(0 | 1)) {
                return Ok(true);
            }
            counts.restarted += usize::from(status.code().is_some());
            processes.submitter = self.start_submitter()?;
        }
        for (number, worker) in processes.workers.iter_mut().enumerate() {
            if let Some(status) = ended(worker)? {
                counts.restarted += usize::from(status.code().is_some());
                *worker = self.start_worker(number)?;
            }
        }
        Ok(false)
    }

    /// Kills a random process. A server is killed only if all of them are healthy: one of three may fail.
    fn kill_one(
        &self,
        random: &mut fastrand::Rng,
        cluster: &mut Cluster,
        processes: &mut Processes,
        counts: &mut Counts,
    ) {
        match random.usize(..8) {
            0 => counts.submitters_killed += usize::from(kill(processes.submitter.id())),
            1 | 2 if processes.stopped_server.is_none() && cluster.is_healthy() => {
                let server = random.usize(..SERVERS);
                cluster.kill_node(server);
                counts.servers_killed += 1;
                let pause = Duration::from_millis(random.u64(..1_500));
                processes.stopped_server = Some((server, Instant::now() + pause));
            }
            1..=4 => {
                if let Some(worker) = random.choice(&processes.workers) {
                    counts.workers_killed += usize::from(kill(worker.id()));
                }
            }
            _ => {
                let directory = self.scene.workspace.outside().to_string_lossy().into_owned();
                if let Some(run) = random.choice(processes_with([&directory, "--print"])) {
                    counts.runs_killed += usize::from(kill(run));
                }
            }
        }
    }

    /// Notes when results were printed.
    fn note_results(&self, printed: &mut Printed) -> Result<(), FleetError> {
        let (path, offset) = (self.scene.results(), printed.read);
        let mut new = Vec::new();
        let mut read = || {
            let mut file = fs::File::open(&path)?;
            file.seek(SeekFrom::Start(offset))?;
            file.read_to_end(&mut new)
        };
        read().map_err(FleetError::system(path.display()))?;
        // The last line may be incomplete.
        let end = new.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        new.truncate(end);
        printed.read = offset + new.len() as u64;
        for line in new.split(|byte| *byte == b'\n') {
            let Ok(result) = serde_json::from_slice::<Value>(line) else { continue };
            let id = result.get("id").and_then(Value::as_str).unwrap_or_default();
            if !printed.instants.contains_key(id) {
                printed.instants.insert(id.to_owned(), Instant::now());
            }
        }
        Ok(())
    }

    /// Compares the results with what the workers recorded, and with the requests.
    fn count_results(
        &self,
        tasks: usize,
        printed: &Printed,
        starts: &HashMap<String, Vec<Instant>>,
        counts: &mut Counts,
    ) -> Result<(), FleetError> {
        let results = self.scene.read_results()?;
        counts.lost = tasks.saturating_sub(results.len());
        for (id, result) in &results {
            let text = |key: &str| result.get(key).and_then(Value::as_str).unwrap_or_default();
            counts.failed += usize::from(!has_passed(result));
            let Some(starts) = starts.get(id) else {
                return Err(self.scene.failed(&format!("no request of `{id}` was received")));
            };
            let is_late = |start: &&Instant| {
                let printed = printed.instants.get(id);
                printed.is_some_and(|printed| start.saturating_duration_since(*printed) > CLAIM_TIME)
            };
            counts.late += starts.iter().filter(is_late).count();
            let mut completed = 0;
            for number in 0..WORKERS {
                let directory = self.worker(number).join("fleet/tasks").join(id);
                if directory.exists() {
                    completed += completed_streams(&directory)?;
                }
            }
            counts.completed_again += usize::from(completed > 1);
            let session = text("session_id");
            let is_home_of =
                |number: &usize| text("directory").starts_with(&*self.worker(*number).to_string_lossy());
            let Some(worker) = (0..WORKERS).find(is_home_of) else {
                return Err(self.scene.failed(&format!("the directory of `{id}` is not that of a worker")));
            };
            let journal = self.worker(worker).join("home/.local/share/ibeam/sessions").join(session);
            if completed_runs(&journal.join("events.jsonl"))? != 1 {
                return Err(self.scene.failed(&format!("the session of `{id}` has not one completed run")));
            }
        }
        Ok(())
    }
}

/// Returns the status of a process that has ended.
fn ended(process: &mut Child) -> Result<Option<ExitStatus>, FleetError> {
    process.try_wait().map_err(FleetError::system("waiting for a process"))
}

fn print_table(tasks: usize, seconds: f64, requests: usize, counts: &Counts) {
    let Counts {
        submitters_killed,
        workers_killed,
        runs_killed,
        servers_killed,
        restarted,
        lost,
        late,
        failed,
        completed_again,
        submitter_memory,
    } = counts;
    println!(
        "fleet of {tasks} tasks on {SERVERS} servers, {WORKERS} workers with {SLOTS} slots, a process killed every \
         {KILL_PAUSE:?}:"
    );
    println!("  lost {lost}, started after the result {late}, not passed {failed}");
    println!(
        "  killed: {submitters_killed} submitters, {workers_killed} workers, {runs_killed} runs, {servers_killed} servers; \
         {restarted} processes ended on their own"
    );
    println!("  {completed_again} tasks completed again, because a worker or a server was killed");
    println!(
        "  {requests} requests for {} that are needed; {seconds:.0} s; the submitter used {} MiB",
        tasks * REQUESTS_PER_TASK,
        submitter_memory >> 20
    );
}
