//! Commands that outlive their call, and their end with the run.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use ibeam_core::{Background, Stop};
use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};

use super::spawn::{MARK_VARIABLE, Running};

/// Between TERM and KILL at the end of the run.
const GRACE: Duration = Duration::from_secs(1);
const POLL: Duration = Duration::from_millis(10);

/// The commands of a run that were left running. Clones share one list.
#[derive(Clone)]
pub struct BackgroundProcesses {
    mark: Arc<str>,
    groups: Arc<Mutex<BTreeSet<i32>>>,
}

impl Default for BackgroundProcesses {
    fn default() -> Self {
        Self { mark: format!("{:016x}", fastrand::u64(..)).into(), groups: Arc::default() }
    }
}

impl fmt::Debug for BackgroundProcesses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackgroundProcesses").field("mark", &self.mark).finish_non_exhaustive()
    }
}

impl BackgroundProcesses {
    /// Ends every command that still runs, and every process of this run that has left its group, with TERM
    /// and after a second with KILL. Returns how many commands and strays there were.
    pub async fn stop_all(&self) -> usize {
        let groups: Vec<Pid> = {
            let mut groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *groups).into_iter().filter_map(Pid::from_raw).collect()
        };
        let groups: Vec<Pid> =
            groups.into_iter().filter(|pid| test_kill_process_group(*pid).is_ok()).collect();
        let strays: Vec<Pid> = self.marked().into_iter().filter(|pid| !in_any(*pid, &groups)).collect();
        let found = groups.len() + strays.len();
        if found == 0 {
            return 0;
        }
        for pid in &groups {
            let _ = kill_process_group(*pid, Signal::TERM);
            let _ = kill_process_group(*pid, Signal::CONT);
        }
        for pid in &strays {
            let _ = kill_process(*pid, Signal::TERM);
        }
        let all_gone = async {
            while groups.iter().any(|pid| test_kill_process_group(*pid).is_ok()) || !self.marked().is_empty()
            {
                tokio::time::sleep(POLL).await;
            }
        };
        if tokio::time::timeout(GRACE, all_gone).await.is_err() {
            for pid in groups {
                let _ = kill_process_group(pid, Signal::KILL);
            }
            for pid in self.marked() {
                let _ = kill_process(pid, Signal::KILL);
            }
        }
        found
    }

    /// The word in the environment by which processes of this run are known.
    pub(super) fn mark(&self) -> &str {
        &self.mark
    }

    /// Takes over a command: its output is read, so that it never waits, until it and its group are gone.
    pub(super) fn keep(&self, mut running: Running) {
        let pid = running.group.pid();
        self.lock(|groups| groups.insert(pid));
        let this = self.clone();
        tokio::spawn(async move {
            while running.pipes.open() {
                running.pipes.read().await;
            }
            let _ = running.child.wait().await;
            // Members of the group may live on in silence; then the list keeps it, for `stop_all`.
            if running.group.is_alive() {
                running.group.release();
            } else {
                this.lock(|groups| groups.remove(&pid));
            }
        });
    }

    fn lock(&self, change: impl FnOnce(&mut BTreeSet<i32>) -> bool) {
        change(&mut self.groups.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Processes whose environment began with the mark of this run. Empty where there is no /proc.
    fn marked(&self) -> Vec<Pid> {
        let wanted = format!("{MARK_VARIABLE}={}", self.mark);
        let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
        processes
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
                let environment = std::fs::read(entry.path().join("environ")).ok()?;
                let marked = environment.split(|byte| *byte == 0).any(|pair| pair == wanted.as_bytes());
                if marked { Pid::from_raw(pid) } else { None }
            })
            .collect()
    }
}

impl Background for BackgroundProcesses {
    fn running(&self) -> u32 {
        let groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        u32::try_from(groups.len()).unwrap_or(u32::MAX)
    }

    fn finish<'a>(&'a self, _wait: bool, _stop: &'a Stop) -> BoxFuture<'a, u32> {
        Box::pin(async { u32::try_from(self.stop_all().await).unwrap_or(u32::MAX) })
    }
}

fn in_any(pid: Pid, groups: &[Pid]) -> bool {
    rustix::process::getpgid(Some(pid)).is_ok_and(|group| groups.contains(&group))
}
