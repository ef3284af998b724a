//! Commands in the background: the launcher of all commands, the commands that outlive their call, and their end.

use std::fmt;
use std::os::unix::process::ExitStatusExt as _;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use ibeam_core::{Background, Stop};
use ibeam_process::{CommandSpec, Launcher, PipedProcess, StartProcessError};
use ibeam_protocol::{BackgroundEnd, CallId};
use tokio::sync::{Notify, watch};

use super::path_monitor::ProtectedPathMonitor;
use super::recorded_launcher::RecordedLauncher;
use super::report::status_parts;
use super::spawn::RunningCommand;

/// The time limit for the end of killed processes; the system may hold one for longer.
pub(super) const KILL_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug)]
pub struct CommandTimeouts {
    /// The timeout of a command whose call sets none.
    pub default: Duration,
    /// The longest timeout that a call may request.
    pub max: Duration,
    /// The time between TERM and KILL.
    pub grace: Duration,
    /// The time limit for all background commands together, if the run waits for their end.
    pub background: Duration,
}

impl Default for CommandTimeouts {
    fn default() -> Self {
        Self {
            default: Duration::from_secs(120),
            max: Duration::from_secs(600),
            grace: Duration::from_secs(2),
            background: Duration::from_secs(600),
        }
    }
}

/// The background commands of a run. Clones share one list.
#[derive(Clone)]
pub struct BackgroundProcesses(Arc<SharedState>);

struct SharedState {
    timeouts: CommandTimeouts,
    launcher: Arc<RecordedLauncher>,
    started: Notify,
    running: watch::Sender<u32>,
    /// The commands that ended by themselves, until they are reported.
    ended: Mutex<Vec<BackgroundEnd>>,
    request: watch::Sender<Request>,
}

/// A request to all background commands.
#[derive(Clone, Copy)]
enum Request {
    KeepRunning,
    Terminate,
    Kill,
}

impl Default for BackgroundProcesses {
    fn default() -> Self {
        Self::new(CommandTimeouts::default(), Launcher::default())
    }
}

impl fmt::Debug for BackgroundProcesses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackgroundProcesses").field("running", &self.running_count()).finish_non_exhaustive()
    }
}

impl BackgroundProcesses {
    /// Returns an empty list; `timeouts` apply to all commands of the run, which `launcher` starts.
    pub fn new(timeouts: CommandTimeouts, launcher: Launcher) -> Self {
        Self(Arc::new(SharedState {
            timeouts,
            launcher: Arc::new(RecordedLauncher::new(launcher)),
            started: Notify::new(),
            running: watch::Sender::new(0),
            ended: Mutex::default(),
            request: watch::Sender::new(Request::KeepRunning),
        }))
    }

    /// Ends every running command, with TERM and after `grace` with KILL. Returns how many there were.
    pub async fn stop_all(&self) -> usize {
        self.finish(false, &Stop::default()).await as usize
    }

    /// Returns the launcher of the commands.
    pub fn launcher(&self) -> &Launcher {
        self.0.launcher.launcher()
    }

    /// Returns the launcher with its record of what the commands change.
    pub(super) fn recorded_launcher(&self) -> &Arc<RecordedLauncher> {
        &self.0.launcher
    }

    /// Waits until a command is started after the last such wait. For one waiting task at a time. Cancel safe.
    pub async fn started(&self) {
        self.0.started.notified().await;
    }

    pub(super) fn timeouts(&self) -> &CommandTimeouts {
        &self.0.timeouts
    }

    pub(super) fn spawn(&self, command: &CommandSpec<'_>) -> Result<PipedProcess, StartProcessError> {
        let process = PipedProcess::spawn_without_input(self.launcher(), command);
        self.0.started.notify_one();
        process
    }

    /// Reads the output of a command, so that the command never blocks, until no process of its tree is left. Then the
    /// monitor scans.
    pub(super) fn adopt(
        &self,
        running: RunningCommand,
        (call_id, command): (CallId, String),
        monitor: ProtectedPathMonitor,
    ) {
        let counted = RunningCount::new(self);
        let mut request = self.0.request.subscribe();
        tokio::spawn(async move {
            // As a whole: what the command holds is released at its end, not when the fields that are used here move.
            let mut running = running;
            let mut is_stopped = false;
            while !running.tree.is_gone() {
                tokio::select! {
                    () = running.tree.wait_for_change() => {
                        // A signal that kills the shell is meant for the commands that it runs.
                        if running.tree.status().is_some_and(|status| status.signal().is_some()) {
                            running.tree.kill();
                        }
                    }
                    () = running.output.read(), if running.output.is_open() => {}
                    Ok(()) = request.changed() => {
                        let request = *request.borrow_and_update();
                        is_stopped |= !matches!(request, Request::KeepRunning);
                        match request {
                            Request::KeepRunning => {}
                            Request::Terminate => running.tree.terminate(),
                            Request::Kill => running.tree.kill(),
                        }
                    }
                }
            }
            monitor.scan_after_background().await;
            if let Some(status) = running.tree.status().filter(|_| !is_stopped) {
                let (exit_code, _) = status_parts(status);
                counted.0.ended().push(BackgroundEnd { call_id, command, exit_code });
            }
            drop(counted);
        });
    }

    fn ended(&self) -> MutexGuard<'_, Vec<BackgroundEnd>> {
        self.0.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until no command is running, for at most `time`.
    async fn wait_until_none(&self, time: Duration) {
        let mut running = self.0.running.subscribe();
        // This struct owns the sender, so only the count or the time ends the wait.
        let _ = tokio::time::timeout(time, running.wait_for(|count| *count == 0)).await;
    }
}

impl Background for BackgroundProcesses {
    fn running_count(&self) -> u32 {
        *self.0.running.borrow()
    }

    fn take_ended(&self) -> Vec<BackgroundEnd> {
        std::mem::take(&mut *self.ended())
    }

    fn finish<'a>(&'a self, wait: bool, stop: &'a Stop) -> BoxFuture<'a, u32> {
        Box::pin(async move {
            if wait {
                tokio::select! {
                    () = self.wait_until_none(self.0.timeouts.background) => {}
                    _ = stop.wait() => {}
                }
            }
            let stopped = self.running_count();
            for (request, time) in
                [(Request::Terminate, self.0.timeouts.grace), (Request::Kill, KILL_TIMEOUT)]
            {
                if self.running_count() > 0 {
                    self.0.request.send_replace(request);
                    self.wait_until_none(time).await;
                }
            }
            self.0.request.send_replace(Request::KeepRunning);
            // Stopping the server also ends processes that could not be killed one by one. The next command starts a
            // new server.
            self.launcher().stop();
            stopped
        })
    }
}

/// Counts a command as running until it is dropped.
struct RunningCount(BackgroundProcesses);

impl RunningCount {
    fn new(all: &BackgroundProcesses) -> Self {
        all.0.running.send_modify(|count| *count += 1);
        Self(all.clone())
    }
}

impl Drop for RunningCount {
    fn drop(&mut self) {
        self.0.0.running.send_modify(|count| *count -= 1);
    }
}
