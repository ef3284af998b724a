//! A fleet on three servers, with three workers that have homes of their own.
//!
//! A random process is killed every second: the submitter, a worker, a run, a process of a check, git or a server; the socket of
//! a governor is removed, a worker stands still, or most of the servers are gone for up to a minute. No task may be lost, no
//! verdict wrong, and none may start after its result. The first part of the fleet has a budget, which must hold to one request.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use super::cluster::Cluster;
use crate::fleet::checked_tasks::{
    completed_runs, ends_of_runs, has_ignored_file, is_verdict_right, make_repository, write_checked_tasks,
};
use crate::fleet::killer::{Blow, Killer, send};
use crate::fleet::process::peak_memory_of;
use crate::fleet::scripted_fleet::{REQUESTS_PER_TASK, ScriptedFleet, answer, start, task_ids};
use crate::suite::SuiteError;

const SERVERS: usize = 3;
const WORKERS: usize = 3;
/// The number of tasks that a worker runs at the same time.
const SLOTS: &str = "3";
/// The seconds until the task of a killed worker goes to another one.
const LEASE: &str = "10";
/// The time between the claim of a task and the first request of its run. When a server was killed, a task may be delivered
/// again and claimed while its worker still waits for the servers to record the result.
const CLAIM_TIME: Duration = Duration::from_secs(3);
/// The time after the end of a sleep or an outage in which a worker may still execute what another one has finished.
const RECOVERY_TIME: Duration = Duration::from_secs(15);
/// The longest time for which a worker stands still: longer than a lease.
const LONGEST_SLEEP_S: u64 = 15;
/// The servers that are killed for each time at which most of them are gone.
const OUTAGE_INTERVAL: usize = 12;
/// The seconds for which most of the servers are gone.
const OUTAGE_S: std::ops::Range<u64> = 5..60;
/// The time between two kills.
const KILL_PAUSE: Duration = Duration::from_secs(1);
/// The tokens of each answer of the scripted model.
const TOKENS_PER_ANSWER: usize = 110;
/// The message of a fleet whose budget is spent.
const BUDGET_SPENT: &str = "the budget is spent";
/// The time between two looks at the processes.
const LOOK_PAUSE: Duration = Duration::from_millis(200);
/// The time without a request of a run after which the fleet counts as stuck.
const MAX_SILENCE: Duration = Duration::from_secs(180);

#[derive(Debug, Default)]
struct Counts {
    submitters_killed: usize,
    servers_killed: usize,
    /// The times at which most of the servers were gone.
    outages: usize,
    struck: BTreeMap<Blow, usize>,
    /// The workers and submitters that ended on their own and were started again.
    restarted: usize,
    lost: usize,
    /// The runs that started after the result of their task.
    late: usize,
    /// The runs of this kind of workers that had stood still or had had no servers.
    late_after_pause: usize,
    /// The tasks whose outcome is not that of their files.
    wrong: usize,
    /// The workspaces with a file that git ignores.
    leaked: usize,
    /// The tokens above the budget, without the request that spent it.
    over_budget: usize,
    /// The tasks that more than one run completed, because a worker or a server was killed.
    completed_again: usize,
    submitter_memory: u64,
}

struct Processes {
    submitter: Child,
    workers: Vec<Child>,
    /// The servers that were killed last, until they are started again.
    stopped_servers: Option<(Vec<usize>, Instant)>,
    /// The ends of sleeps and outages.
    pauses: Vec<Instant>,
    /// Whether the budget is no longer set.
    is_budget_spent: bool,
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
pub(super) fn run(program: &Path, server: &Path, tasks: usize) -> Result<(), SuiteError> {
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
    make_repository(scene.workspace.path())?;
    let file = write_checked_tasks(&scene, tasks)?;
    let mut cluster = Cluster::start(server, SERVERS, "")?;
    let budget = tasks * REQUESTS_PER_TASK * TOKENS_PER_ANSWER / 2;
    let fleet = KilledFleet { scene: &scene, file, url: cluster.url("kills"), budget };
    let started = Instant::now();
    let mut counts = Counts::default();
    let (printed, pauses) = fleet.run_to_end(&mut cluster, &mut counts)?;
    let seconds = started.elapsed().as_secs_f64();
    let starts = starts.lock().unwrap_or_else(PoisonError::into_inner);
    fleet.count_results(tasks, &printed, &pauses, &starts, &mut counts)?;
    print_table(tasks, seconds, scene.server.received(), &counts);
    match counts.lost + counts.late + counts.wrong + counts.leaked + counts.over_budget {
        0 => Ok(()),
        _ => Err(scene.failed("tasks were lost, started after their result, or have a wrong verdict")),
    }
}

/// A fleet whose processes are killed.
struct KilledFleet<'a> {
    scene: &'a ScriptedFleet,
    file: PathBuf,
    url: String,
    /// The budget of the first part, in tokens.
    budget: usize,
}

impl KilledFleet<'_> {
    fn start_submitter(&self, has_budget: bool) -> Result<Child, SuiteError> {
        let results = self.scene.open_results()?;
        let mut command = self.scene.ibeam(&["fleet", "run"])?;
        command.arg(&self.file).args(["--queue", &self.url, "--queue-lease", LEASE]).stdout(results);
        if has_budget {
            command.args(["--budget-tokens", &self.budget.to_string()]);
        }
        start(command)
    }

    fn start_worker(&self, number: usize) -> Result<Child, SuiteError> {
        let home = self.worker(number).join("home");
        fs::create_dir_all(&home).map_err(SuiteError::system(home.display()))?;
        let mut command = self.scene.ibeam(&["--model", "mock-model", "fleet", "worker"])?;
        command.args(["--queue", &self.url, "--slots", SLOTS, "--force", "--max-runs", "100"]);
        command.arg("--allow-checks").arg("--dir").arg(self.worker(number).join("fleet"));
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

    /// Kills processes until the submitter ends in order. Returns when each result was printed first, and the ends of pauses.
    fn run_to_end(
        &self,
        cluster: &mut Cluster,
        counts: &mut Counts,
    ) -> Result<(Printed, Vec<Instant>), SuiteError> {
        let mut workers = Vec::new();
        for number in 0..WORKERS {
            workers.push(self.start_worker(number)?);
        }
        let mut processes = Processes {
            submitter: self.start_submitter(true)?,
            workers,
            stopped_servers: None,
            pauses: Vec::new(),
            is_budget_spent: false,
        };
        let result = self.kill_and_restart(cluster, &mut processes, counts);
        for process in processes.workers.iter_mut().chain([&mut processes.submitter]) {
            // It may have ended already.
            drop(process.kill());
            drop(process.wait());
        }
        result.map(|printed| (printed, processes.pauses))
    }

    fn kill_and_restart(
        &self,
        cluster: &mut Cluster,
        processes: &mut Processes,
        counts: &mut Counts,
    ) -> Result<Printed, SuiteError> {
        let (mut random, mut killer) = (fastrand::Rng::new(), Killer::default());
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
            if killer.wake() && killed_at.elapsed() >= KILL_PAUSE {
                killed_at = Instant::now();
                self.kill_one(&mut random, &mut killer, cluster, processes, counts);
            }
        }
    }

    /// Starts what has ended. Returns whether all tasks have a result.
    fn restart(
        &self,
        cluster: &mut Cluster,
        processes: &mut Processes,
        counts: &mut Counts,
    ) -> Result<bool, SuiteError> {
        if let Some((servers, at)) = &processes.stopped_servers
            && Instant::now() >= *at
        {
            for server in servers {
                cluster.start_node(*server)?;
            }
            processes.stopped_servers = None;
        }
        if let Some(status) = ended(&mut processes.submitter)? {
            // 1: every task has a result, and some did not pass.
            if matches!(status.code(), Some(0 | 1)) {
                return Ok(true);
            }
            counts.restarted += usize::from(status.code().is_some());
            if !processes.is_budget_spent && self.scene.has_printed(BUDGET_SPENT) {
                processes.is_budget_spent = true;
                let spent = self.scene.server.received() * TOKENS_PER_ANSWER;
                counts.over_budget = spent.saturating_sub(self.budget + TOKENS_PER_ANSWER - 1);
                println!("  budget of {} tokens: {spent} were sent when it was spent", self.budget);
            }
            processes.submitter = self.start_submitter(!processes.is_budget_spent)?;
        }
        for (number, worker) in processes.workers.iter_mut().enumerate() {
            if let Some(status) = ended(worker)? {
                counts.restarted += usize::from(status.code().is_some());
                *worker = self.start_worker(number)?;
            }
        }
        Ok(false)
    }

    /// Kills a random process. Servers are killed only if all of them are healthy: one of three may fail, but not for long.
    fn kill_one(
        &self,
        random: &mut fastrand::Rng,
        killer: &mut Killer,
        cluster: &mut Cluster,
        processes: &mut Processes,
        counts: &mut Counts,
    ) {
        match random.usize(..16) {
            0 => counts.submitters_killed += usize::from(send(processes.submitter.id(), Signal::KILL)),
            1..=3 if processes.stopped_servers.is_none() && cluster.is_healthy() => {
                let first = random.usize(..SERVERS);
                // The second one at the first choice only, which leaves no majority.
                let is_outage = counts.outages * OUTAGE_INTERVAL <= counts.servers_killed && random.bool();
                let (servers, pause) = match is_outage {
                    true => (vec![first, (first + 1) % SERVERS], Duration::from_secs(random.u64(OUTAGE_S))),
                    false => (vec![first], Duration::from_millis(random.u64(..1_500))),
                };
                servers.iter().for_each(|server| cluster.kill_node(*server));
                counts.servers_killed += servers.len();
                counts.outages += usize::from(is_outage);
                let end = Instant::now() + pause;
                processes.pauses.extend(is_outage.then_some(end));
                processes.stopped_servers = Some((servers, end));
            }
            _ => {
                let number = random.usize(..WORKERS);
                let Some(worker) = processes.workers.get(number) else { return };
                let sleep = Duration::from_secs(random.u64(1..LONGEST_SLEEP_S));
                let fleet = self.worker(number).join("fleet");
                if let Some(blow) = killer.strike(&fleet, worker.id(), sleep) {
                    *counts.struck.entry(blow).or_default() += 1;
                    processes.pauses.extend((blow == Blow::Sleep).then(|| Instant::now() + sleep));
                }
            }
        }
    }

    /// Notes when results were printed.
    fn note_results(&self, printed: &mut Printed) -> Result<(), SuiteError> {
        let (path, offset) = (self.scene.results(), printed.read);
        let mut new = Vec::new();
        let mut read = || {
            let mut file = fs::File::open(&path)?;
            file.seek(SeekFrom::Start(offset))?;
            file.read_to_end(&mut new)
        };
        read().map_err(SuiteError::system(path.display()))?;
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
        pauses: &[Instant],
        starts: &HashMap<String, Vec<Instant>>,
        counts: &mut Counts,
    ) -> Result<(), SuiteError> {
        let results = self.scene.read_results()?;
        let numbers: HashMap<String, usize> =
            task_ids(tasks).enumerate().map(|(number, id)| (id, number)).collect();
        counts.lost = tasks.saturating_sub(results.len());
        for (id, result) in &results {
            let text = |key: &str| result.get(key).and_then(Value::as_str).unwrap_or_default();
            let number = numbers.get(id).copied().unwrap_or_default();
            counts.wrong += usize::from(!is_verdict_right(number, result));
            counts.leaked += usize::from(has_ignored_file(result));
            let Some(starts) = starts.get(id) else {
                return Err(self.scene.failed(&format!("no request of `{id}` was received")));
            };
            let is_late = |start: &&Instant| {
                let printed = printed.instants.get(id);
                printed.is_some_and(|printed| start.saturating_duration_since(*printed) > CLAIM_TIME)
            };
            for start in starts.iter().filter(is_late) {
                let is_recent = |end: &Instant| *start < *end + RECOVERY_TIME;
                match pauses.iter().any(is_recent) {
                    true => counts.late_after_pause += 1,
                    false => counts.late += 1,
                }
            }
            let mut completed = BTreeSet::new();
            for number in 0..WORKERS {
                let tasks = self.worker(number).join("fleet/tasks");
                let groups = fs::read_dir(tasks).into_iter().flatten().flatten();
                let directory = groups.map(|group| group.path().join(id)).find(|path| path.exists());
                if let Some(directory) = directory {
                    completed.append(&mut ends_of_runs(&directory)?);
                }
            }
            counts.completed_again += usize::from(completed.len() > 1);
            let session = text("session_id");
            let is_home_of =
                |number: &usize| text("directory").starts_with(&*self.worker(*number).to_string_lossy());
            let Some(worker) = (0..WORKERS).find(is_home_of) else {
                return Err(self.scene.failed(&format!("the directory of `{id}` is not that of a worker")));
            };
            let journal = self.worker(worker).join("home/.local/share/ibeam/sessions").join(session);
            if completed_runs(&journal.join("events.jsonl"))? == 0 {
                return Err(self.scene.failed(&format!("the session of `{id}` has no completed run")));
            }
        }
        Ok(())
    }
}

/// Returns the status of a process that has ended.
fn ended(process: &mut Child) -> Result<Option<ExitStatus>, SuiteError> {
    process.try_wait().map_err(SuiteError::system("waiting for a process"))
}

fn print_table(tasks: usize, seconds: f64, requests: usize, counts: &Counts) {
    let Counts { submitters_killed, servers_killed, outages, struck, restarted, .. } = counts;
    let Counts { lost, late, late_after_pause, wrong, leaked, over_budget, completed_again, .. } = counts;
    println!(
        "fleet of {tasks} tasks on {SERVERS} servers, {WORKERS} workers with {SLOTS} slots, something killed every \
         {KILL_PAUSE:?}:"
    );
    println!(
        "  lost {lost}, wrong verdicts {wrong}, started after the result {late}, over budget {over_budget} tokens, ignored \
         files in workspaces {leaked}"
    );
    println!(
        "  killed: {submitters_killed} submitters, {servers_killed} servers ({outages} times most of them), {struck:?} (drivers \
         are workers); {restarted} processes ended on their own"
    );
    println!(
        "  {completed_again} tasks completed again, and {late_after_pause} runs started again, because a worker or a server \
         was gone"
    );
    println!(
        "  {requests} requests for {} that are needed; {seconds:.0} s; the submitter used {} MiB",
        tasks * REQUESTS_PER_TASK,
        counts.submitter_memory >> 20
    );
}
