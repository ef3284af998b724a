//! Serves the governor on a Unix socket in the directory of the fleet.
//!
//! Only the user can connect. If the driver dies, runs lose their connections. With a budget or rates they wait for the next
//! driver, which listens at the same path; otherwise they continue with their own limits.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::budget::{Budget, ExtraLimits};
use crate::event_publisher::random_id;
use crate::governor::{Decision, Governor, PendingRequest, Settlement};
use crate::shared_limits::{LeaseDecision, SharedLimits};
use ibeam_governor::Spend;
use ibeam_governor::is_alive;
use ibeam_governor::{LIMITED_FILE, Permission, RequestOutcome, RequestReport};
use ibeam_governor::{LineKind, LogLine, RequestLog};

/// The number of bytes of the longest line.
const MAX_LINE_BYTES: u64 = 64 << 10;
/// The stack of a thread that waits for a request.
const STACK_BYTES: usize = 256 << 10;
/// The longest time after which the limits of other machines are asked again: they may have been raised.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// The time after which the consumption is reported to other machines.
const REPORT_INTERVAL: Duration = Duration::from_secs(5);

/// The governor of a fleet, shared by the threads of the driver.
#[derive(Debug)]
pub(crate) struct SharedGovernor {
    state: Mutex<LoggedGovernor>,
    /// The signal that a request has ended.
    changed: Condvar,
    clock: Clock,
    /// The limits that other machines share.
    shared: Option<Arc<dyn SharedLimits>>,
    /// One thread at a time leases or reports. Has the time of the last report.
    turn: Mutex<Duration>,
    /// Whether no request is sent without a governor.
    is_limited: bool,
}

/// The time since 1970, which does not jump.
#[derive(Debug)]
struct Clock {
    started: Instant,
    started_at: Duration,
}

impl Clock {
    fn start() -> Self {
        let started_at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { started: Instant::now(), started_at }
    }

    fn now(&self) -> Duration {
        self.started_at + self.started.elapsed()
    }
}

/// A governor and the log of its requests.
#[derive(Debug)]
struct LoggedGovernor {
    governor: Governor,
    log: RequestLog,
    /// The id of the log: the name of the driver for other machines.
    id: String,
}

impl LoggedGovernor {
    /// Continues with what the log says.
    fn open(directory: &Path, governor: Governor, recorded: Spend, now: Duration) -> io::Result<Self> {
        let mut state = Self { governor, log: RequestLog::open(directory)?, id: String::new() };
        for line in state.log.read_new()? {
            match line.kind {
                LineKind::Log => state.id = line.request,
                _ => state.governor.replay(now, line),
            }
        }
        if state.id.is_empty() {
            state.id = random_id()?;
            state.log.append(&[state.id_line()], false)?;
        }
        state.count_lost()?;
        state.governor.raise(recorded);
        let summary = state.log.is_long().then(|| state.governor.summary(now)).flatten();
        match summary {
            Some(mut lines) => {
                lines.push(state.id_line());
                state.log.replace(&lines)?;
            }
            None => {
                let consumed = LogLine::new(LineKind::Consumed, state.governor.spent());
                state.log.append(&[consumed], false)?;
            }
        }
        Ok(state)
    }

    fn id_line(&self) -> LogLine {
        LogLine { kind: LineKind::Log, request: self.id.clone(), ..LogLine::default() }
    }

    /// Counts the ends that runs have recorded.
    fn read_ends(&mut self) -> io::Result<()> {
        for line in self.log.read_new()?.into_iter().filter(|line| line.kind == LineKind::Ended) {
            self.governor.count_end(&line.request, line.spend());
        }
        Ok(())
    }

    /// Counts the requests of an earlier driver whose runs are gone.
    fn count_lost(&mut self) -> io::Result<()> {
        let lost: Vec<String> =
            self.governor.inherited().filter(|request| !is_alive(request)).map(str::to_owned).collect();
        lost.iter().try_for_each(|request| self.lose(request))
    }

    /// Counts a request whose run has not reported its end.
    fn lose(&mut self, request: &str) -> io::Result<()> {
        // The run may have recorded it before it was killed.
        self.read_ends()?;
        match self.governor.lose(request) {
            Some(used) => self.log.append(&[LogLine::end(request, used)], false),
            None => Ok(()),
        }
    }

    /// Logs that a request is refused, and returns why.
    fn refuse(&mut self, request: &mut PendingRequest, reason: String) -> String {
        self.governor.refuse_request(request, &reason);
        let task = &request.ask().task;
        let line = LogLine::for_task(LineKind::Refused, task, Spend::default());
        // Without the line, a driver that takes over the task does not know of the refusal.
        drop(self.log.append(&[LogLine { reason: reason.clone(), ..line }], false));
        reason
    }

    /// Takes the ends of requests that an earlier driver permitted.
    fn update_inherited(&mut self) -> io::Result<()> {
        if self.governor.inherited().next().is_none() {
            return Ok(());
        }
        self.read_ends()?;
        self.count_lost()
    }
}

/// The socket, which is removed with this.
#[derive(Debug)]
pub(crate) struct GovernorSocket(PathBuf);

impl Drop for GovernorSocket {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.0));
    }
}

impl SharedGovernor {
    /// Returns the governor of the fleet in `directory`, whose queue has recorded that `recorded` was consumed.
    ///
    /// # Errors
    /// The system's error for the log of requests.
    pub(crate) fn open(
        directory: &Path,
        governor: Governor,
        recorded: Spend,
        shared: Option<Arc<dyn SharedLimits>>,
    ) -> io::Result<Self> {
        let clock = Clock::start();
        let is_limited = governor.is_limited() || shared.is_some();
        let state = LoggedGovernor::open(directory, governor, recorded, clock.now())?;
        let shared = Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            clock,
            shared,
            turn: Mutex::default(),
            is_limited,
        };
        // The consumption counts from here on.
        shared.report(true);
        Ok(shared)
    }

    /// Listens in `directory` until the process ends.
    pub(crate) fn serve(self: &Arc<Self>, directory: &Path) -> io::Result<GovernorSocket> {
        let marker = directory.join(LIMITED_FILE);
        match self.is_limited {
            true => drop(File::create(&marker)?),
            false => drop(fs::remove_file(&marker)),
        }
        self.listen(directory)?;
        Ok(GovernorSocket(socket_path(directory)))
    }

    /// Listens again if somebody has removed the socket: without it the runs wait for another driver.
    pub(crate) fn restore(self: &Arc<Self>, directory: &Path) -> io::Result<()> {
        if socket_path(directory).exists() { Ok(()) } else { self.listen(directory) }
    }

    fn listen(self: &Arc<Self>, directory: &Path) -> io::Result<()> {
        // Of a killed driver.
        drop(fs::remove_file(socket_path(directory)));
        // The path of a socket has at most 107 bytes; this one is always short.
        let opened = File::open(directory)?;
        let listener = UnixListener::bind(format!("/proc/self/fd/{}/governor.sock", opened.as_raw_fd()))?;
        let shared = Arc::clone(self);
        let accept = move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                let builder = thread::Builder::new().name("governor".to_owned()).stack_size(STACK_BYTES);
                // Without a thread the connection is closed, and the run asks again.
                drop(builder.spawn(move || drop(shared.attend(stream))));
            }
        };
        thread::Builder::new().name("governor".to_owned()).stack_size(STACK_BYTES).spawn(accept).map(drop)
    }

    /// Attends one request to its end.
    fn attend(&self, stream: UnixStream) -> io::Result<()> {
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut stream = stream;
        let mut line = String::new();
        let mut read = |line: &mut String| {
            line.clear();
            reader.by_ref().take(MAX_LINE_BYTES).read_line(line)
        };
        read(&mut line)?;
        let mut pending = PendingRequest::new(serde_json::from_str(&line)?);
        let decision = self.decide(&mut pending);
        let ask = pending.ask();
        let permission = match &decision {
            Ok(()) => Permission::Send { key: pending.chosen() },
            Err(reason) => Permission::Refuse { reason: reason.clone() },
        };
        let mut text = serde_json::to_string(&permission)?;
        text.push('\n');
        let sent = stream.write_all(text.as_bytes());
        if decision.is_err() {
            return Ok(());
        }
        let report: Option<RequestReport> = match sent.and_then(|()| read(&mut line)) {
            Ok(_) => serde_json::from_str(&line).ok(),
            Err(_) => None,
        };
        if let Some(shared) = &self.shared {
            shared.end(pending.account(), report.as_ref());
        }
        let mut state = self.lock();
        let ended = match &report {
            Some(report) => {
                let mut report = report.clone();
                if self.is_shared() && matches!(report.outcome, RequestOutcome::Exhausted { .. }) {
                    // The machines share that too, until the fleet is started again.
                    report.outcome = RequestOutcome::Failed;
                }
                state.governor.end(self.clock.now(), &ask.request, &report);
                Ok(())
            }
            None => state.lose(&ask.request),
        };
        let is_awaited = state.governor.is_report_awaited();
        drop(state);
        if is_awaited {
            self.report(true);
        }
        self.changed.notify_all();
        ended
    }

    /// Waits until a request may be sent, and logs that.
    ///
    /// # Errors
    /// The reason for which it may not be sent.
    fn decide(&self, request: &mut PendingRequest) -> Result<(), String> {
        let mut state = self.lock();
        let decision = loop {
            let now = self.clock.now();
            let unlogged = |error: io::Error| format!("the log of requests cannot be written: {error}");
            state.update_inherited().map_err(unlogged)?;
            if let Some(shared) = &self.shared {
                state.governor.set_shared(shared.limits());
            }
            let hold = |account: &str| self.shared.as_ref()?.hold(account);
            match state.governor.decide_with(now, request, hold) {
                Decision::Send => {
                    let line = sent_line(request, now);
                    let logged = state.log.append(&[line], self.is_limited).map_err(unlogged);
                    if let Err(reason) = &logged {
                        state.governor.revoke(&request.ask().request, reason);
                    }
                    break logged;
                }
                Decision::Lease => {
                    drop(state);
                    let leased = self.lease(request);
                    state = self.lock();
                    match leased {
                        Ok(None) => {}
                        Ok(Some(pause)) => state = self.wait(state, pause.min(LONGEST_WAIT)),
                        Err(reason) => break Err(state.refuse(request, reason)),
                    }
                }
                Decision::Refuse(reason) => break Err(state.refuse(request, reason)),
                // What other machines say may change meanwhile.
                Decision::Wait(until) => {
                    let pause = until.saturating_sub(now);
                    let longest = if self.is_shared() { LONGEST_WAIT } else { pause };
                    state = self.wait(state, pause.min(longest));
                }
            }
        };
        if state.governor.has_turns(&request.ask().account) {
            self.changed.notify_all();
        }
        decision
    }

    fn wait<'a>(
        &self,
        state: MutexGuard<'a, LoggedGovernor>,
        pause: Duration,
    ) -> MutexGuard<'a, LoggedGovernor> {
        self.changed.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Leases a block of the limits that machines share. Returns the pause until the next attempt, if there is none now.
    ///
    /// # Errors
    /// The reason for which there is none any more.
    fn lease(&self, request: &PendingRequest) -> Result<Option<Duration>, String> {
        let Some(shared) = &self.shared else { return Ok(None) };
        let account = request.account();
        let mut reported_at = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.now();
        let usage = {
            let mut state = self.lock();
            if state.governor.has_lease(now, account) {
                // Another thread has leased it meanwhile.
                return Ok(None);
            }
            let LoggedGovernor { governor, id, .. } = &mut *state;
            governor.usage(now, id, request.ask().expected(), false)
        };
        *reported_at = now;
        let decision = shared.lease(account, &usage);
        let mut state = self.lock();
        match decision {
            LeaseDecision::Leased { budget, requests } => {
                state.governor.take_lease(now, account, budget, requests);
                drop(state);
                self.changed.notify_all();
                Ok(None)
            }
            LeaseDecision::Wait { pause, budget } => {
                state.governor.update_lease(budget);
                Ok(Some(pause))
            }
            LeaseDecision::Refuse(reason) => {
                state.governor.update_lease(None);
                Err(reason)
            }
        }
    }

    /// Reports the consumption to the other machines, and gives back what is not needed any more. Without `is_due`, does so
    /// only after some time.
    pub(crate) fn report(&self, is_due: bool) {
        let Some(shared) = &self.shared else { return };
        let mut reported_at = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.now();
        let (usage, is_idle) = {
            let mut state = self.lock();
            let LoggedGovernor { governor, id, .. } = &mut *state;
            let is_idle = governor.is_idle(now, is_due);
            let is_over = now >= *reported_at + REPORT_INTERVAL;
            if !is_due && (!governor.has_report() || !is_idle && !is_over) {
                return;
            }
            (governor.usage(now, id, Spend::default(), is_idle), is_idle)
        };
        *reported_at = now;
        if let Some(lease) = shared.report(&usage, is_idle) {
            self.lock().governor.update_lease(Some(lease));
        }
    }

    /// Whether machines share limits.
    pub(crate) fn is_shared(&self) -> bool {
        self.shared.is_some()
    }

    /// Returns what is left of a budget, or of the one that other machines share; `None` if it is spent.
    pub(crate) fn left(&self, budget: Budget) -> Option<ExtraLimits> {
        match &self.shared {
            None => budget.left(self.lock().governor.spent()),
            Some(shared) => {
                let (budget, spent) = shared.budget();
                budget.left(spent)
            }
        }
    }

    /// Returns the reason for which a request of a running task was refused.
    pub(crate) fn refusal(&self, task: &str) -> Option<String> {
        self.lock().governor.refusal(task).map(str::to_owned)
    }

    /// Ends the account of a task, as [`Governor::settle`] does.
    ///
    /// # Errors
    /// The system's error for the log of requests.
    pub(crate) fn settle(
        &self,
        task: &str,
        before: Spend,
        known: Spend,
    ) -> io::Result<(Spend, Option<String>)> {
        let mut state = self.lock();
        let Settlement { all, unreported, refused } = state.governor.settle(task, before, known);
        let settled = LogLine::for_task(LineKind::Settled, task, Spend::default());
        let logged = match unreported == Spend::default() {
            true => state.log.append(&[settled], false),
            false => {
                let added = LogLine::for_task(LineKind::Added, task, unreported);
                state.log.append(&[added, settled], false)
            }
        };
        let has_report = state.governor.has_report();
        drop(state);
        self.changed.notify_all();
        if has_report {
            // Before the queue records it: what is recorded there counts at the least.
            self.report(true);
        }
        logged.map(|()| (all, refused))
    }

    fn lock(&self) -> MutexGuard<'_, LoggedGovernor> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn sent_line(request: &PendingRequest, now: Duration) -> LogLine {
    let ask = request.ask();
    LogLine {
        request: ask.request.clone(),
        account: request.account().to_owned(),
        model: ask.model.clone(),
        at_ms: u64::try_from(now.as_millis()).unwrap_or(u64::MAX),
        ..LogLine::for_task(LineKind::Sent, &ask.task, ask.expected())
    }
}

/// Returns the path of the socket of the fleet in `directory`.
pub(crate) fn socket_path(directory: &Path) -> PathBuf {
    directory.join("governor.sock")
}

#[cfg(test)]
#[path = "governor_server_test.rs"]
mod tests;
