//! The processes of a fleet on this machine, and the ways in which they are killed or stopped.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::process::processes_with;

/// The time for which a git is searched. One lives for some milliseconds.
const GIT_SEARCH: Duration = Duration::from_millis(300);

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
    /// The processes that stand still, until this instant.
    asleep: Option<(Instant, Vec<u32>)>,
}

impl Killer {
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
            Blow::Run => self.kill_one(processes_with([&fleet, "--print"])),
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
