//! The processes of a fleet on this machine, and the ways in which they are killed or stopped.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::process::processes_with;

/// The time for which a git is searched. One lives for some milliseconds.
const GIT_SEARCH: Duration = Duration::from_millis(300);

/// The time in which a request that a run has sent reaches the server.
const ARRIVAL_TIME: Duration = Duration::from_millis(100);

/// The number of requests of each task that the server has received.
pub(super) type Requests = Arc<Mutex<HashMap<String, usize>>>;

/// A process that is killed, or what else happens to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Blow {
    Driver,
    Run,
    /// A process of a check: the program, its supervisor or its launcher.
    Check,
    Git,
    /// The socket of the governor is removed.
    Socket,
    /// All processes stand still for a while.
    Sleep,
}

impl Blow {
    /// All kinds, the frequent ones several times.
    const CHOICES: [Self; 10] = [
        Self::Driver,
        Self::Run,
        Self::Run,
        Self::Check,
        Self::Check,
        Self::Check,
        Self::Git,
        Self::Git,
        Self::Socket,
        Self::Sleep,
    ];
}

/// Kills processes of fleets.
#[derive(Default)]
pub(crate) struct Killer {
    random: fastrand::Rng,
    requests: Requests,
    /// The number of requests of each task that were in flight when their run was killed.
    pub(super) in_flight: HashMap<String, usize>,
    /// The processes that stand still, until this instant.
    asleep: Option<(Instant, Vec<u32>)>,
}

impl Killer {
    /// Returns a killer of runs whose requests are counted.
    pub(super) fn new(requests: Requests) -> Self {
        Self { random: fastrand::Rng::new(), requests, in_flight: HashMap::new(), asleep: None }
    }

    /// Lets processes go on whose sleep is over. Returns whether none stands still.
    pub(crate) fn wake(&mut self) -> bool {
        if let Some((until, pids)) = &self.asleep
            && Instant::now() >= *until
        {
            for pid in pids {
                // One that was killed meanwhile is not there.
                let _ = send(*pid, Signal::CONT);
            }
            self.asleep = None;
        }
        self.asleep.is_none()
    }

    /// Does something random to the fleet in a directory. Returns what was done, if there was such a process.
    pub(crate) fn strike(&mut self, directory: &Path, driver: u32, sleep: Duration) -> Option<Blow> {
        let blow = self.random.choice(Blow::CHOICES)?;
        let fleet = directory.to_string_lossy().into_owned();
        let is_done = match blow {
            Blow::Driver => send(driver, Signal::KILL),
            Blow::Run => {
                let runs = processes_with([&fleet, "--print"]);
                self.random.choice(runs).is_some_and(|run| self.kill_run(directory, run))
            }
            Blow::Check => self.kill_one(processes_with([&fleet, "run-check"])),
            Blow::Git => {
                let started = Instant::now();
                let mut found = Vec::new();
                while found.is_empty() && started.elapsed() < GIT_SEARCH {
                    found = gits(&fleet);
                }
                self.kill_one(found)
            }
            Blow::Socket => fs::remove_file(directory.join("governor.sock")).is_ok(),
            Blow::Sleep => {
                let mut pids = processes_with([&fleet, ""]);
                pids.push(driver);
                pids.retain(|pid| send(*pid, Signal::STOP));
                self.asleep = Some((Instant::now() + sleep, pids));
                true
            }
        };
        is_done.then_some(blow)
    }

    /// Kills a run. It is stopped first, to see whether it waits for an answer.
    fn kill_run(&mut self, fleet: &Path, pid: u32) -> bool {
        let Some((task, directory)) = task_of(pid) else { return false };
        // The helpers of a run have the same command line.
        let run = fs::read_to_string(directory.join("process")).unwrap_or_default();
        if run != pid.to_string() || !send(pid, Signal::STOP) {
            return false;
        }
        std::thread::sleep(ARRIVAL_TIME);
        // On a busy machine, a request that was permitted may arrive later.
        let received = self.received(&task).max(permitted_requests(fleet, &task));
        let answers = fs::read_to_string(directory.join("answers.ndjson")).unwrap_or_default();
        let stored = answers.lines().filter(|line| !line.is_empty()).count();
        let is_killed = send(pid, Signal::KILL);
        if is_killed {
            let in_flight = self.in_flight.entry(task).or_default();
            *in_flight = received.saturating_sub(stored);
        }
        is_killed
    }

    /// Returns the number of requests of a task that the server has received.
    fn received(&self, task: &str) -> usize {
        lock(&self.requests).get(task).copied().unwrap_or_default()
    }

    /// Returns the number of requests of a task that were sent again although their answer had arrived. `answers` is the
    /// number of its answers. A request that was in flight when its run was killed may never have reached the server.
    pub(super) fn repeated_requests(&self, task: &str, answers: usize) -> usize {
        let in_flight = self.in_flight.get(task).copied().unwrap_or_default();
        self.received(task).saturating_sub(answers + in_flight)
    }

    fn kill_one(&mut self, pids: Vec<u32>) -> bool {
        self.random.choice(pids).is_some_and(|pid| send(pid, Signal::KILL))
    }
}

impl Drop for Killer {
    fn drop(&mut self) {
        // A process that stands still would stay.
        for pid in self.asleep.iter().flat_map(|(_, pids)| pids) {
            let _ = send(*pid, Signal::CONT);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the task of a run and its directory. The command line names its workspace.
fn task_of(pid: u32) -> Option<(String, PathBuf)> {
    let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let words = line.split(|byte| *byte == 0).filter_map(|word| std::str::from_utf8(word).ok());
    let workspace = words.map(Path::new).find(|word| word.ends_with("workspace") && word.is_absolute())?;
    let directory = workspace.parent()?;
    Some((directory.file_name()?.to_str()?.to_owned(), directory.to_owned()))
}

/// Returns the number of requests of a task that the driver of a fleet has permitted, as far as its log has them.
fn permitted_requests(fleet: &Path, task: &str) -> usize {
    let log = fs::read_to_string(fleet.join("requests.ndjson")).unwrap_or_default();
    let is_sent = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap_or_default();
        line.get("kind").is_some_and(|kind| kind == "sent") && line.get("task").is_some_and(|id| id == task)
    };
    log.lines().filter(|line| line.contains(task) && is_sent(line)).count()
}

/// Sends a signal to a process. Returns whether it was still there.
pub(crate) fn send(pid: u32, signal: Signal) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| kill_process(pid, signal).is_ok())
}

/// Returns the processes of git that work in a directory: their arguments or their environment name it.
fn gits(directory: &str) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let is_git = |pid: &u32| {
        let read = |name: &str| fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
        let (line, environment) = (read("cmdline"), read("environ"));
        let program = line.split(|byte| *byte == 0).next().unwrap_or_default();
        let has = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains(directory);
        program.ends_with(b"git") && (has(&line) || has(&environment))
    };
    pids.filter(is_git).collect()
}
