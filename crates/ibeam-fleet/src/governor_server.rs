//! Serves the governor on a Unix socket in the directory of the fleet.
//!
//! Only the user can connect. If the driver dies, runs lose their connections and go on with their own limits; the next
//! driver listens at the same path.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::budget::Budget;
use crate::child::ExtraLimits;
use crate::governor::{Decision, Governor, PendingRequest, Settlement};
use crate::governor_wire::{Ask, Permission, RequestReport};
use crate::queue::Spend;
use crate::shared_limits::{SharedDecision, SharedLimits, SharedPermit};

/// The number of bytes of the longest line.
const MAX_LINE_BYTES: u64 = 64 << 10;
/// The stack of a thread that waits for a request.
const STACK_BYTES: usize = 256 << 10;
/// The longest time after which the limits of other machines are asked again: they may have been raised.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// The governor of a fleet, shared by the threads of the driver.
#[derive(Debug)]
pub(crate) struct SharedGovernor {
    state: Mutex<Governor>,
    /// The signal that a request has ended.
    changed: Condvar,
    started: Instant,
    /// The limits that other machines share.
    shared: Option<Arc<dyn SharedLimits>>,
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
    pub(crate) fn new(governor: Governor, shared: Option<Arc<dyn SharedLimits>>) -> Self {
        Self { state: Mutex::new(governor), changed: Condvar::new(), started: Instant::now(), shared }
    }

    /// Listens in `directory` until the process ends.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn serve(self: &Arc<Self>, directory: &Path) -> io::Result<GovernorSocket> {
        let socket = GovernorSocket(socket_path(directory));
        // Of a killed driver.
        drop(fs::remove_file(&socket.0));
        // The path of a socket has at most 107 bytes; this one is always short.
        let opened = File::open(directory)?;
        let listener = UnixListener::bind(format!("/proc/self/fd/{}/governor.sock", opened.as_raw_fd()))?;
        let shared = Arc::clone(self);
        let accept = move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                let builder = thread::Builder::new().name("governor".to_owned()).stack_size(STACK_BYTES);
                // Without a thread the connection is closed, and the run has only its own limits.
                drop(builder.spawn(move || drop(shared.attend(stream))));
            }
        };
        thread::Builder::new().name("governor".to_owned()).stack_size(STACK_BYTES).spawn(accept)?;
        Ok(socket)
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
        let ask: Ask = serde_json::from_str(&line)?;
        let account = ask.account.clone();
        let mut request = PendingRequest::new(ask);
        let mut state = self.lock();
        let decision = loop {
            let now = self.started.elapsed();
            match state.decide(now, &mut request) {
                Decision::Send(number) => break Ok(number),
                Decision::Refuse(reason) => break Err(reason),
                Decision::Wait(until) => {
                    let pause = until.saturating_sub(now);
                    state = self.changed.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        };
        if state.has_turns(&account) {
            self.changed.notify_all();
        }
        drop(state);
        let decision = decision.and_then(|number| Ok((number, self.ask_others(number, &account)?)));
        let permission = match &decision {
            Ok(_) => Permission::Send,
            Err(reason) => Permission::Refuse { reason: reason.clone() },
        };
        let mut text = serde_json::to_string(&permission)?;
        text.push('\n');
        let sent = stream.write_all(text.as_bytes());
        if let Ok((number, permit)) = decision {
            let report: Option<RequestReport> = match sent.and_then(|()| read(&mut line)) {
                Ok(_) => serde_json::from_str(&line).ok(),
                Err(_) => None,
            };
            if let Some(shared) = &self.shared {
                shared.end(&account, permit, report.as_ref());
            }
            self.lock().end(self.started.elapsed(), number, report.as_ref());
            self.changed.notify_all();
        }
        Ok(())
    }

    /// Waits until the limits that other machines share permit a request.
    ///
    /// # Errors
    /// The reason for which they refuse it.
    fn ask_others(&self, number: u64, account: &str) -> Result<SharedPermit, String> {
        let Some(shared) = &self.shared else { return Ok(SharedPermit::UNCOUNTED) };
        loop {
            match shared.decide(account) {
                SharedDecision::Send(permit) => return Ok(permit),
                SharedDecision::Wait(pause) => thread::sleep(pause.min(LONGEST_WAIT)),
                SharedDecision::Refuse(reason) => {
                    self.lock().revoke(self.started.elapsed(), number, &reason);
                    self.changed.notify_all();
                    return Err(reason);
                }
            }
        }
    }

    /// Returns what is left of a budget, or of the one that other machines share; `None` if it is spent.
    pub(crate) fn left(&self, budget: Budget) -> Option<ExtraLimits> {
        match &self.shared {
            None => budget.left(self.lock().spent()),
            Some(shared) => {
                let (budget, spent) = shared.budget();
                budget.left(spent)
            }
        }
    }

    /// Ends the account of a task, as [`Governor::settle`] does.
    pub(crate) fn settle(&self, task: &str, before: Spend, known: Spend) -> (Spend, Option<String>) {
        let Settlement { all, unreported, refused } = self.lock().settle(task, before, known);
        self.changed.notify_all();
        if let Some(shared) = &self.shared {
            shared.add(unreported);
        }
        (all, refused)
    }

    fn lock(&self) -> MutexGuard<'_, Governor> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the path of the socket of the fleet in `directory`.
pub(crate) fn socket_path(directory: &Path) -> PathBuf {
    directory.join("governor.sock")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::governor::RateLimits;
    use crate::governor_wire::RequestOutcome;

    /// A run of a fleet in a directory whose path is too long for a socket.
    struct Client {
        directory: PathBuf,
    }

    impl Client {
        fn ask(&self) -> BufReader<UnixStream> {
            let opened = File::open(&self.directory).unwrap();
            let path = format!("/proc/self/fd/{}/governor.sock", opened.as_raw_fd());
            let mut stream = UnixStream::connect(path).unwrap();
            let ask = Ask { task: "t".to_owned(), account: "a".to_owned(), model: "m".to_owned() };
            writeln!(stream, "{}", serde_json::to_string(&ask).unwrap()).unwrap();
            BufReader::new(stream)
        }
    }

    fn permission(connection: &mut BufReader<UnixStream>) -> Permission {
        let mut line = String::new();
        connection.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    fn report(connection: BufReader<UnixStream>, tokens: u64) {
        let report = RequestReport { tokens, cost_micros: 0, outcome: RequestOutcome::Complete };
        writeln!(connection.into_inner(), "{}", serde_json::to_string(&report).unwrap()).unwrap();
    }

    #[test]
    fn a_request_waits_for_another_near_the_end_of_the_budget_and_a_killed_run_frees_its_place() {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().join("d".repeat(120));
        fs::create_dir(&directory).unwrap();
        let budget = Budget { cost_micros: None, tokens: Some(10) };
        let governor = Governor::new(budget, RateLimits::default(), Spend::default());
        let shared = Arc::new(SharedGovernor::new(governor, None));
        let socket = shared.serve(&directory).unwrap();
        let client = Client { directory: directory.clone() };

        let mut killed = client.ask();
        assert_eq!(permission(&mut killed), Permission::Send);
        let mut second = client.ask();
        drop(killed);
        assert_eq!(permission(&mut second), Permission::Send, "the place of the killed run is free");
        let mut third = client.ask();
        report(second, 10);
        assert!(matches!(permission(&mut third), Permission::Refuse { .. }));
        assert_eq!(shared.left(budget), None);

        drop(socket);
        assert!(!socket_path(&directory).exists());
    }
}
