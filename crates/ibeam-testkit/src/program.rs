//! Runs the program as a user does: as a process with a clean environment, in its own process group, with a timeout.
//!
//! After 30 s the group is killed and the test fails with the output until then.

mod unread_pipe;

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ibeam_protocol::Signal;
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, kill_process, kill_process_group};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::contract_check::{self, StreamEnd};
use crate::program_output::ProgramOutput;
use crate::workspace::Workspace;

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

#[derive(Clone, Debug, Default)]
pub enum Stdin {
    /// `/dev/null`.
    #[default]
    Closed,
    /// A pipe with these bytes, then its end.
    Piped(Vec<u8>),
    /// An open pipe without data.
    SilentPipe,
    /// An open socket without data, as Node gives to its children.
    SilentSocket,
}

/// A command line of the program, to run in a workspace.
pub struct Ibeam {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
    pub(crate) directory: PathBuf,
    pub(crate) environment: Vec<(OsString, OsString)>,
    stdin: Stdin,
    /// Whether the reader of stdout is closed before the program starts.
    closed_stdout: bool,
    /// Whether stdin and stdout are one terminal.
    terminal: bool,
    /// Whether stdout is read with pauses.
    slow_reader: bool,
    unread: UnreadPipes,
    /// The maximum duration of the program.
    pub(crate) timeout: Duration,
}

/// Whether these pipes stay open and are never read.
#[derive(Clone, Copy, Default)]
struct UnreadPipes {
    stdout: bool,
    stderr: bool,
}

impl Ibeam {
    /// Returns a command line without arguments, in the workspace and with its home. Stdin is `/dev/null`.
    pub fn new(program: impl Into<PathBuf>, workspace: &Workspace) -> Self {
        let environment = workspace.environment().into_iter();
        Self {
            program: program.into(),
            args: Vec::new(),
            directory: workspace.path().to_owned(),
            environment: environment.map(|(name, value)| (name.into(), value.into())).collect(),
            stdin: Stdin::Closed,
            closed_stdout: false,
            terminal: false,
            slow_reader: false,
            unread: UnreadPipes::default(),
            timeout: DEFAULT_TIMEOUT,
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Runs the program through another one, e.g. `["setpriv", "--reuid=65534"]`, found in `PATH`.
    #[must_use]
    pub fn through<A: AsRef<OsStr>>(mut self, launcher: impl IntoIterator<Item = A>) -> Self {
        let mut words = launcher.into_iter().map(|word| word.as_ref().to_owned());
        let Some(program) = words.next() else { return self };
        let rest = words.chain([self.program.into_os_string()]).chain(self.args).collect();
        self.program = program.into();
        self.args = rest;
        self
    }

    /// Runs the program through a shell that first runs `script`, e.g. `umask 000` or `exec <&-`.
    #[must_use]
    pub fn after(self, script: &str) -> Self {
        let script = format!("{script}\nexec \"$0\" \"$@\"");
        self.through(["/bin/bash", "-c", &script])
    }

    /// Removes a variable.
    #[must_use]
    pub fn env_remove(mut self, name: &str) -> Self {
        self.environment.retain(|(found, _)| found != name);
        self
    }

    /// Sets a variable.
    #[must_use]
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.environment.push((name.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Sets stdin.
    #[must_use]
    pub fn stdin(mut self, stdin: Stdin) -> Self {
        self.stdin = stdin;
        self
    }

    /// Closes the reader of stdout before the program starts.
    #[must_use]
    pub fn closed_stdout(mut self) -> Self {
        self.closed_stdout = true;
        self
    }

    /// Reads stdout a few kilobytes at a time, with a pause after each.
    #[must_use]
    pub fn slow_reader(mut self) -> Self {
        self.slow_reader = true;
        self
    }

    /// Keeps the reader of stdout open without reading. The output is lost.
    #[must_use]
    pub fn unread_stdout(mut self) -> Self {
        self.unread.stdout = true;
        self
    }

    /// Keeps the reader of stderr open without reading. The output is lost.
    #[must_use]
    pub fn unread_stderr(mut self) -> Self {
        self.unread.stderr = true;
        self
    }

    /// Makes stdin and stdout one terminal, on which `RunningProgram::type_text` types.
    ///
    /// The terminal echoes typed text, and ends lines with CR LF.
    #[must_use]
    pub fn terminal(mut self) -> Self {
        self.terminal = true;
        self
    }

    /// Sets another timeout than 30 s.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Runs the program to its end.
    ///
    /// # Panics
    /// If the program cannot be started or does not end in time.
    #[track_caller]
    pub fn run(self) -> ProgramOutput {
        self.start().finish()
    }

    /// Starts the program.
    ///
    /// # Panics
    /// If the program cannot be started.
    #[track_caller]
    pub fn start(self) -> RunningProgram {
        let mut command = Command::new(&self.program);
        command.args(&self.args).current_dir(&self.directory).env_clear().envs(self.environment);
        command.stderr(Stdio::piped()).process_group(0);
        let mut open_stdin: Option<File> = None;
        let mut screen = None;
        if self.terminal {
            let (own_end, program_end) = open_terminal();
            command
                .stdin(Stdio::from(program_end.try_clone().expect("a descriptor")))
                .stdout(Stdio::from(program_end));
            if !self.unread.stdout {
                screen = Some(own_end.try_clone().expect("a descriptor"));
            }
            open_stdin = Some(own_end);
        } else {
            command.stdin(match &self.stdin {
                Stdin::Closed => Stdio::null(),
                Stdin::Piped(_) | Stdin::SilentPipe => Stdio::piped(),
                Stdin::SilentSocket => {
                    let (own_end, program_end) = UnixStream::pair().expect("a pair of sockets");
                    open_stdin = Some(OwnedFd::from(own_end).into());
                    Stdio::from(OwnedFd::from(program_end))
                }
            });
            command.stdout(match self.closed_stdout {
                false => Stdio::piped(),
                true => Stdio::from(io::pipe().expect("a pipe").1),
            });
        }
        let started = Instant::now();
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{}: {error}", self.program.display()));
        // The parent must close its copies of the child's ends. Otherwise reading the pipes never ends.
        drop(command);
        match (self.stdin, child.stdin.take()) {
            (Stdin::Piped(bytes), Some(mut pipe)) => {
                // Writing fails if the program has ended. The test checks the end of the program.
                std::thread::spawn(move || drop(pipe.write_all(&bytes)));
            }
            (_, pipe) => open_stdin = open_stdin.or_else(|| pipe.map(|pipe| OwnedFd::from(pipe).into())),
        }
        let terminal = self.terminal;
        let replays = self.args.iter().any(|arg| arg == "replay");
        let pace = self.slow_reader.then_some(Duration::from_millis(1));
        let mut unread = Vec::new();
        if self.unread.stdout {
            unread.extend(child.stdout.take().map(OwnedFd::from));
        }
        if self.unread.stderr {
            unread.extend(child.stderr.take().map(OwnedFd::from));
        }
        let mut running =
            RunningProgram::monitor_child(child, open_stdin, screen, pace, started, self.timeout);
        running.unread = unread;
        (running.terminal, running.replays) = (terminal, replays);
        running
    }
}

/// A running program. Dropping it kills its process group.
pub struct RunningProgram {
    pid: Pid,
    monitor: Arc<OutputMonitor>,
    stdin: Option<File>,
    /// Pipes that only have to stay open.
    unread: Vec<OwnedFd>,
    terminal: bool,
    /// Whether the command line contains `replay`, which prints recorded runs.
    replays: bool,
    /// The number of stopping signals so far. The second one ends the program at once.
    stops: AtomicU32,
    started: Instant,
    timeout: Duration,
}

/// The state of a running program, which threads update, and the signal of its changes.
#[derive(Default)]
struct OutputMonitor {
    state: Mutex<OutputState>,
    changed: Condvar,
}

/// The output of a program so far, and its end.
#[derive(Default)]
struct OutputState {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    /// The number of pipes that are still read.
    open_pipes: usize,
    /// The exit status, and the time from the start to the end.
    ended: Option<(ExitStatus, Duration)>,
}

impl OutputState {
    fn is_finished(&self) -> bool {
        self.open_pipes == 0 && self.ended.is_some()
    }

    fn report(&self) -> String {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        format!("status {:?}\nstdout:\n{}\nstderr:\n{}", self.ended, text(&self.stdout), text(&self.stderr))
    }
}

impl OutputMonitor {
    fn lock(&self) -> MutexGuard<'_, OutputState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut OutputState)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    /// Reads a pipe to its end on its own thread.
    fn read_pipe(
        self: &Arc<Self>,
        pipe: Option<impl Read + Send + 'static>,
        pace: Option<Duration>,
        put: fn(&mut OutputState, &[u8]),
    ) {
        let Some(mut pipe) = pipe else { return };
        self.change(|state| state.open_pipes += 1);
        let monitor = Arc::clone(self);
        std::thread::spawn(move || {
            let mut chunk = [0; 16 * 1024];
            while let Ok(count @ 1..) = pipe.read(&mut chunk) {
                monitor.change(|state| put(state, &chunk[..count]));
                if let Some(pause) = pace {
                    std::thread::sleep(pause);
                }
            }
            monitor.change(|state| state.open_pipes -= 1);
        });
    }
}

impl RunningProgram {
    /// Starts the threads that read the output of a child and wait for its end.
    fn monitor_child(
        mut child: Child,
        stdin: Option<File>,
        screen: Option<File>,
        pace: Option<Duration>,
        started: Instant,
        timeout: Duration,
    ) -> Self {
        let pid = Pid::from_child(&child);
        let monitor = Arc::new(OutputMonitor::default());
        monitor.read_pipe(child.stdout.take(), pace, |state, bytes| state.stdout.extend_from_slice(bytes));
        monitor.read_pipe(screen, None, |state, bytes| state.stdout.extend_from_slice(bytes));
        monitor.read_pipe(child.stderr.take(), None, |state, bytes| state.stderr.extend_from_slice(bytes));
        let waiter = Arc::clone(&monitor);
        std::thread::spawn(move || {
            let status = child.wait().expect("the status of a child");
            waiter.change(|state| state.ended = Some((status, started.elapsed())));
        });
        let (unread, terminal, replays) = (Vec::new(), false, false);
        Self { pid, monitor, stdin, unread, terminal, replays, stops: AtomicU32::new(0), started, timeout }
    }

    /// Waits until stdout contains `text`.
    ///
    /// # Panics
    /// If the program ends without the text, or at the timeout.
    #[track_caller]
    pub fn wait_for_stdout(&self, text: &str) {
        let mut search = Search::new(text);
        let state = self.wait(|state| search.advance(&state.stdout) || state.is_finished());
        assert!(search.found, "the program ended without `{text}` on stdout; {}", state.report());
    }

    /// Returns stdout so far; invalid UTF-8 is replaced.
    pub fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.monitor.lock().stdout).into_owned()
    }

    /// Waits until stderr contains `text`.
    ///
    /// # Panics
    /// If the program ends without the text, or at the timeout.
    #[track_caller]
    pub fn wait_for_stderr(&self, text: &str) {
        let mut search = Search::new(text);
        let state = self.wait(|state| search.advance(&state.stderr) || state.is_finished());
        assert!(search.found, "the program ended without `{text}` on stderr; {}", state.report());
    }

    /// Waits until the program has a thread of this name. This shows progress of a program that has printed nothing yet.
    ///
    /// # Panics
    /// At the timeout.
    #[track_caller]
    pub fn wait_for_thread(&self, name: &str) {
        let tasks = format!("/proc/{}/task", self.pid.as_raw_nonzero());
        let is_named = |task: std::fs::DirEntry| {
            std::fs::read_to_string(task.path().join("comm")).is_ok_and(|comm| comm.trim_end() == name)
        };
        let runs = || std::fs::read_dir(&tasks).is_ok_and(|mut all| all.any(|task| task.is_ok_and(is_named)));
        while !runs() {
            assert!(self.started.elapsed() < self.timeout, "no thread `{name}` within {:?}", self.timeout);
            std::thread::yield_now();
        }
    }

    /// Writes to stdin: a terminal or an open pipe.
    ///
    /// # Panics
    /// If stdin is neither a terminal nor an open pipe, or if it has no reader.
    #[track_caller]
    pub fn type_text(&self, text: &str) {
        let mut stdin = self.stdin.as_ref().expect("a stdin to write to");
        stdin.write_all(text.as_bytes()).expect("a reader of stdin");
    }

    /// Closes an open pipe on stdin.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Sends a signal to the program, not to its children.
    ///
    /// # Panics
    /// If the program has ended.
    #[track_caller]
    pub fn signal(&self, signal: Signal) {
        let state = self.monitor.lock();
        assert!(state.ended.is_none(), "the program has ended before the signal; {}", state.report());
        let signal = match signal {
            Signal::Hup => rustix::process::Signal::HUP,
            Signal::Int => rustix::process::Signal::INT,
            Signal::Quit => rustix::process::Signal::QUIT,
            Signal::Term => rustix::process::Signal::TERM,
        };
        self.stops.fetch_add(1, Ordering::Relaxed);
        kill_process(self.pid, signal).expect("a process to signal");
    }

    /// Kills the program but not its children, as the system does when memory runs out.
    ///
    /// # Panics
    /// If the program has ended.
    #[track_caller]
    pub fn kill_alone(&self) {
        let state = self.monitor.lock();
        assert!(state.ended.is_none(), "the program has ended before it was killed; {}", state.report());
        kill_process(self.pid, rustix::process::Signal::KILL).expect("a process to kill");
    }

    pub fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// Stops the program like a shell's ^Z does, and waits until it has stopped.
    ///
    /// # Panics
    /// If the program has ended, or does not stop.
    #[track_caller]
    pub fn pause(&self) {
        kill_process(self.pid, rustix::process::Signal::STOP).expect("a process to stop");
        let path = format!("/proc/{}/stat", self.pid());
        let is_stopped = || {
            let stat = std::fs::read_to_string(&path).expect("the state of the process");
            stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T'))
        };
        while !is_stopped() {
            assert!(
                self.started.elapsed() < self.timeout,
                "the program does not stop within {:?}",
                self.timeout
            );
            std::thread::yield_now();
        }
    }

    /// Continues a stopped program.
    ///
    /// # Panics
    /// If the program has ended.
    #[track_caller]
    pub fn resume(&self) {
        kill_process(self.pid, rustix::process::Signal::CONT).expect("a process to resume");
    }

    /// Returns the command line, which every user of the machine can read.
    ///
    /// # Panics
    /// If the program has ended.
    pub fn command_line(&self) -> String {
        let path = format!("/proc/{}/cmdline", self.pid.as_raw_nonzero());
        String::from_utf8_lossy(&std::fs::read(path).expect("the command line of the process")).into_owned()
    }

    /// Returns the peak memory so far, in bytes.
    ///
    /// # Panics
    /// If the program has ended.
    pub fn peak_memory(&self) -> u64 {
        let path = format!("/proc/{}/status", self.pid.as_raw_nonzero());
        let status = std::fs::read_to_string(path).expect("the status of the process");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
        let kilobytes = line.trim().strip_suffix(" kB").and_then(|number| number.parse::<u64>().ok());
        kilobytes.expect("a number of kB") * 1024
    }

    /// Waits for the end of the program and of all processes that hold its pipes. Checks every stream on stdout against
    /// the contract.
    ///
    /// # Panics
    /// At the timeout, or if a stream violates the contract.
    #[track_caller]
    pub fn finish(self) -> ProgramOutput {
        let mut state = self.wait(OutputState::is_finished);
        let (status, elapsed) = state.ended.expect("an end");
        let finished = ProgramOutput {
            code: status.code(),
            signal: status.signal(),
            stdout: String::from_utf8(std::mem::take(&mut state.stdout)).expect("stdout in UTF-8"),
            stderr: String::from_utf8_lossy(&state.stderr).into_owned(),
            elapsed,
        };
        drop(state);
        // The program was killed or got two signals, or exit code 74 reports a closed reader or a full disk.
        let is_cut =
            finished.signal.is_some() || self.stops.load(Ordering::Relaxed) > 1 || finished.code == Some(74);
        let end = match (self.replays, is_cut) {
            (true, _) => StreamEnd::Replayed,
            (false, true) => StreamEnd::Cut,
            (false, false) => StreamEnd::Complete,
        };
        // A terminal ends lines with two characters.
        let streams = match self.terminal {
            true => Cow::Owned(finished.stdout.replace("\r\n", "\n")),
            false => Cow::Borrowed(&finished.stdout),
        };
        if let Some(violations) = contract_check::violations(&streams, end) {
            panic!("the output violates the contract\n{violations}\n{finished}");
        }
        drop(streams);
        finished
    }

    #[track_caller]
    fn wait(&self, mut is_done: impl FnMut(&OutputState) -> bool) -> MutexGuard<'_, OutputState> {
        let deadline = self.started + self.timeout;
        let mut state = self.monitor.lock();
        while !is_done(&state) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let report = state.report();
                drop(state);
                self.kill();
                panic!("not done after {:?}; {report}", self.timeout);
            }
            state = self.monitor.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state
    }

    /// Kills the process group.
    fn kill(&self) {
        // The group may have ended meanwhile.
        let _gone = kill_process_group(self.pid, rustix::process::Signal::KILL);
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        let ended = self.monitor.lock().ended.is_some();
        if !ended {
            self.kill();
        }
    }
}

/// Opens a new terminal: the test's end and the program's end.
fn open_terminal() -> (File, OwnedFd) {
    let own_end = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
    grantpt(&own_end).expect("rights on the terminal");
    unlockpt(&own_end).expect("an unlocked terminal");
    let name = ptsname(&own_end, Vec::new()).expect("the name of the terminal");
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let program_end =
        rustix::fs::open(name, flags, Mode::empty()).expect("the program's end of the terminal");
    (own_end.into(), program_end)
}

/// A search for a text in growing bytes, which reads each byte once.
struct Search<'a> {
    text: &'a [u8],
    /// The number of bytes that cannot be the start of a match.
    searched: usize,
    found: bool,
}

impl<'a> Search<'a> {
    fn new(text: &'a str) -> Self {
        Self { text: text.as_bytes(), searched: 0, found: false }
    }

    /// Searches the bytes that are new since the last call. Returns whether the text was found, now or before.
    fn advance(&mut self, bytes: &[u8]) -> bool {
        self.found =
            self.found || bytes[self.searched..].windows(self.text.len()).any(|window| window == self.text);
        self.searched = bytes.len().saturating_sub(self.text.len());
        self.found
    }
}
