//! The program as its users run it: a process with a clean environment, in a group of its own, under a guard.
//!
//! Refuses to wait for ever: after 30 s the group is killed and the test fails with what was printed until then.

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

use crate::contract_check::{self, End};
use crate::program_output::ProgramOutput;
use crate::workspace::Workspace;

const GUARD: Duration = Duration::from_secs(30);

/// What the program finds on its stdin.
#[derive(Clone, Debug, Default)]
pub enum Stdin {
    /// `/dev/null`.
    #[default]
    Closed,
    /// A pipe with these bytes, then its end.
    Piped(Vec<u8>),
    /// A pipe that stays open and silent.
    SilentPipe,
    /// A socket that stays open and silent, as Node gives to its children.
    SilentSocket,
}

/// A command line to be run in a workspace.
pub struct Ibeam {
    pub(crate) program: PathBuf,
    pub(crate) args: Vec<OsString>,
    pub(crate) directory: PathBuf,
    pub(crate) environment: Vec<(OsString, OsString)>,
    stdin: Stdin,
    stdout_gone: bool,
    terminal: bool,
    slow_reader: bool,
    unread: Unread,
    pub(crate) guard: Duration,
}

/// The pipes that stay open and are never read.
#[derive(Clone, Copy, Default)]
struct Unread {
    stdout: bool,
    stderr: bool,
}

impl Ibeam {
    /// The program, in the workspace and with its home; stdin is closed.
    pub fn new(program: impl Into<PathBuf>, workspace: &Workspace) -> Self {
        let environment = workspace.environment().into_iter();
        Self {
            program: program.into(),
            args: Vec::new(),
            directory: workspace.path().to_owned(),
            environment: environment.map(|(name, value)| (name.into(), value.into())).collect(),
            stdin: Stdin::Closed,
            stdout_gone: false,
            terminal: false,
            slow_reader: false,
            unread: Unread::default(),
            guard: GUARD,
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Runs it by way of another program, e.g. `["setpriv", "--reuid=65534"]`, found in `PATH`.
    #[must_use]
    pub fn through<A: AsRef<OsStr>>(mut self, launcher: impl IntoIterator<Item = A>) -> Self {
        let mut words = launcher.into_iter().map(|word| word.as_ref().to_owned());
        let Some(program) = words.next() else { return self };
        let rest = words.chain([self.program.into_os_string()]).chain(self.args).collect();
        self.program = program.into();
        self.args = rest;
        self
    }

    /// Runs it by way of a shell that first does something to itself, e.g. `umask 000` or `exec <&-`.
    #[must_use]
    pub fn after(self, script: &str) -> Self {
        let script = format!("{script}\nexec \"$0\" \"$@\"");
        self.through(["/bin/bash", "-c", &script])
    }

    /// Leaves a variable out.
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

    /// What stdin is.
    #[must_use]
    pub fn stdin(mut self, stdin: Stdin) -> Self {
        self.stdin = stdin;
        self
    }

    /// The reader of stdout is gone before the program starts.
    #[must_use]
    pub fn stdout_gone(mut self) -> Self {
        self.stdout_gone = true;
        self
    }

    /// stdout is read a few kilobytes at a time, with a pause after each.
    #[must_use]
    pub fn slow_reader(mut self) -> Self {
        self.slow_reader = true;
        self
    }

    /// The reader of stdout is there and never reads; what is printed is lost.
    #[must_use]
    pub fn unread_stdout(mut self) -> Self {
        self.unread.stdout = true;
        self
    }

    /// The same for stderr.
    #[must_use]
    pub fn unread_stderr(mut self) -> Self {
        self.unread.stderr = true;
        self
    }

    /// stdin and stdout are one terminal, on which `RunningProgram::type_text` types.
    ///
    /// It shows what is typed, and ends lines with CR LF, as terminals do.
    #[must_use]
    pub fn terminal(mut self) -> Self {
        self.terminal = true;
        self
    }

    /// Another time than 30 s, for what takes longer than a test should.
    #[must_use]
    pub fn guard(mut self, guard: Duration) -> Self {
        self.guard = guard;
        self
    }

    /// Runs it to its end.
    ///
    /// # Panics
    /// When it cannot be started or does not end in time.
    #[track_caller]
    pub fn run(self) -> ProgramOutput {
        self.start().finish()
    }

    /// Starts it.
    ///
    /// # Panics
    /// When it cannot be started.
    #[track_caller]
    pub fn start(self) -> RunningProgram {
        let mut command = Command::new(&self.program);
        command.args(&self.args).current_dir(&self.directory).env_clear().envs(self.environment);
        command.stderr(Stdio::piped()).process_group(0);
        let mut held: Option<File> = None;
        let mut screen = None;
        if self.terminal {
            let (ours, theirs) = terminal();
            command.stdin(Stdio::from(theirs.try_clone().expect("a descriptor"))).stdout(Stdio::from(theirs));
            if !self.unread.stdout {
                screen = Some(ours.try_clone().expect("a descriptor"));
            }
            held = Some(ours);
        } else {
            command.stdin(match &self.stdin {
                Stdin::Closed => Stdio::null(),
                Stdin::Piped(_) | Stdin::SilentPipe => Stdio::piped(),
                Stdin::SilentSocket => {
                    let (ours, theirs) = UnixStream::pair().expect("a pair of sockets");
                    held = Some(OwnedFd::from(ours).into());
                    Stdio::from(OwnedFd::from(theirs))
                }
            });
            command.stdout(match self.stdout_gone {
                false => Stdio::piped(),
                true => Stdio::from(io::pipe().expect("a pipe").1),
            });
        }
        let started = Instant::now();
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{}: {error}", self.program.display()));
        // Our copies of the child's ends must close, or their end is never seen.
        drop(command);
        match (self.stdin, child.stdin.take()) {
            (Stdin::Piped(bytes), Some(mut pipe)) => {
                // A program that has ended does not read; that is for the test to judge.
                std::thread::spawn(move || drop(pipe.write_all(&bytes)));
            }
            (_, pipe) => held = held.or_else(|| pipe.map(|pipe| OwnedFd::from(pipe).into())),
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
        let mut running = RunningProgram::watch(child, held, screen, pace, started, self.guard);
        running.unread = unread;
        (running.terminal, running.replays) = (terminal, replays);
        running
    }
}

/// A program that runs; dropping it kills its group.
pub struct RunningProgram {
    pid: Pid,
    seen: Arc<Seen>,
    stdin: Option<File>,
    /// Pipes that only have to stay open.
    unread: Vec<OwnedFd>,
    terminal: bool,
    /// It prints again what was recorded.
    replays: bool,
    /// Stopping signals so far; a second one ends it where it stands.
    stops: AtomicU32,
    started: Instant,
    guard: Duration,
}

#[derive(Default)]
struct Seen {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    open_pipes: usize,
    ended: Option<(ExitStatus, Duration)>,
}

impl State {
    fn over(&self) -> bool {
        self.open_pipes == 0 && self.ended.is_some()
    }

    fn report(&self) -> String {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        format!("status {:?}\nstdout:\n{}\nstderr:\n{}", self.ended, text(&self.stdout), text(&self.stderr))
    }
}

impl Seen {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    /// Reads a pipe to its end on a thread of its own.
    fn follow(
        self: &Arc<Self>,
        pipe: Option<impl Read + Send + 'static>,
        pace: Option<Duration>,
        put: fn(&mut State, &[u8]),
    ) {
        let Some(mut pipe) = pipe else { return };
        self.change(|state| state.open_pipes += 1);
        let seen = Arc::clone(self);
        std::thread::spawn(move || {
            let mut chunk = [0; 16 * 1024];
            while let Ok(count @ 1..) = pipe.read(&mut chunk) {
                seen.change(|state| put(state, &chunk[..count]));
                if let Some(pause) = pace {
                    std::thread::sleep(pause);
                }
            }
            seen.change(|state| state.open_pipes -= 1);
        });
    }
}

impl RunningProgram {
    fn watch(
        mut child: Child,
        stdin: Option<File>,
        screen: Option<File>,
        pace: Option<Duration>,
        started: Instant,
        guard: Duration,
    ) -> Self {
        let pid = Pid::from_child(&child);
        let seen = Arc::new(Seen::default());
        seen.follow(child.stdout.take(), pace, |state, bytes| state.stdout.extend_from_slice(bytes));
        seen.follow(screen, None, |state, bytes| state.stdout.extend_from_slice(bytes));
        seen.follow(child.stderr.take(), None, |state, bytes| state.stderr.extend_from_slice(bytes));
        let waiter = Arc::clone(&seen);
        std::thread::spawn(move || {
            let status = child.wait().expect("the status of a child");
            waiter.change(|state| state.ended = Some((status, started.elapsed())));
        });
        let (unread, terminal, replays) = (Vec::new(), false, false);
        Self { pid, seen, stdin, unread, terminal, replays, stops: AtomicU32::new(0), started, guard }
    }

    /// Waits until stdout holds `text`.
    ///
    /// # Panics
    /// When the program ends without it, or the guard runs out.
    #[track_caller]
    pub fn wait_for_stdout(&self, text: &str) {
        let mut search = Search::new(text);
        let state = self.wait(|state| search.finds(&state.stdout) || state.over());
        assert!(search.found, "it ended without `{text}` on stdout; {}", state.report());
    }

    /// Waits until stderr holds `text`.
    ///
    /// # Panics
    /// When the program ends without it, or the guard runs out.
    #[track_caller]
    pub fn wait_for_stderr(&self, text: &str) {
        let mut search = Search::new(text);
        let state = self.wait(|state| search.finds(&state.stderr) || state.over());
        assert!(search.found, "it ended without `{text}` on stderr; {}", state.report());
    }

    /// Waits until the program has a thread of this name: a sign of how far it is where it prints nothing yet.
    ///
    /// # Panics
    /// When the guard runs out.
    #[track_caller]
    pub fn wait_for_thread(&self, name: &str) {
        let tasks = format!("/proc/{}/task", self.pid.as_raw_nonzero());
        let is_named = |task: std::fs::DirEntry| {
            std::fs::read_to_string(task.path().join("comm")).is_ok_and(|comm| comm.trim_end() == name)
        };
        let runs = || std::fs::read_dir(&tasks).is_ok_and(|mut all| all.any(|task| task.is_ok_and(is_named)));
        while !runs() {
            assert!(self.started.elapsed() < self.guard, "no thread `{name}` within {:?}", self.guard);
            std::thread::yield_now();
        }
    }

    /// Types on the terminal, or writes to the pipe, that is stdin.
    ///
    /// # Panics
    /// When stdin is neither, or nobody reads.
    #[track_caller]
    pub fn type_text(&self, text: &str) {
        let mut stdin = self.stdin.as_ref().expect("a stdin to write to");
        stdin.write_all(text.as_bytes()).expect("a reader of stdin");
    }

    /// Sends a signal to the program, not to its children.
    ///
    /// # Panics
    /// When it has ended.
    #[track_caller]
    pub fn signal(&self, signal: Signal) {
        let state = self.seen.lock();
        assert!(state.ended.is_none(), "it has ended before the signal; {}", state.report());
        let signal = match signal {
            Signal::Hup => rustix::process::Signal::HUP,
            Signal::Int => rustix::process::Signal::INT,
            Signal::Quit => rustix::process::Signal::QUIT,
            Signal::Term => rustix::process::Signal::TERM,
        };
        self.stops.fetch_add(1, Ordering::Relaxed);
        kill_process(self.pid, signal).expect("a process that takes a signal");
    }

    /// Kills the program, as a system without memory or a user without patience does; its children are left.
    ///
    /// # Panics
    /// When it has ended.
    #[track_caller]
    pub fn kill_alone(&self) {
        let state = self.seen.lock();
        assert!(state.ended.is_none(), "it has ended before it was killed; {}", state.report());
        kill_process(self.pid, rustix::process::Signal::KILL).expect("a process to kill");
    }

    /// Its number, under which `/proc` knows it.
    pub fn pid(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// Stops the program, as a suspended machine or a shell's ^Z does, and waits until it stands still.
    ///
    /// # Panics
    /// When it has ended, or does not stop.
    #[track_caller]
    pub fn pause(&self) {
        kill_process(self.pid, rustix::process::Signal::STOP).expect("a process to stop");
        let path = format!("/proc/{}/stat", self.pid());
        let stands = || {
            let stat = std::fs::read_to_string(&path).expect("the state of the process");
            stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T'))
        };
        while !stands() {
            assert!(self.started.elapsed() < self.guard, "it does not stop within {:?}", self.guard);
            std::thread::yield_now();
        }
    }

    /// Lets a stopped program go on.
    ///
    /// # Panics
    /// When it has ended.
    #[track_caller]
    pub fn resume(&self) {
        kill_process(self.pid, rustix::process::Signal::CONT).expect("a process to go on");
    }

    /// Its command line as everybody on the machine sees it.
    ///
    /// # Panics
    /// When it has ended.
    pub fn command_line(&self) -> String {
        let path = format!("/proc/{}/cmdline", self.pid.as_raw_nonzero());
        String::from_utf8_lossy(&std::fs::read(path).expect("the command line of the process")).into_owned()
    }

    /// The most memory it has held so far, in bytes.
    ///
    /// # Panics
    /// When it has ended.
    pub fn peak_memory(&self) -> u64 {
        let path = format!("/proc/{}/status", self.pid.as_raw_nonzero());
        let status = std::fs::read_to_string(path).expect("the status of the process");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
        let kilobytes = line.trim().strip_suffix(" kB").and_then(|number| number.parse::<u64>().ok());
        kilobytes.expect("a number of kB") * 1024
    }

    /// Waits for its end, and for whoever holds its pipes. Every stream of ours on stdout is held against the contract.
    ///
    /// # Panics
    /// When the guard runs out, or a stream breaks the contract.
    #[track_caller]
    pub fn finish(self) -> ProgramOutput {
        let mut state = self.wait(State::over);
        let (status, elapsed) = state.ended.expect("an end");
        let finished = ProgramOutput {
            code: status.code(),
            signal: status.signal(),
            stdout: String::from_utf8(std::mem::take(&mut state.stdout)).expect("stdout in UTF-8"),
            stderr: String::from_utf8_lossy(&state.stderr).into_owned(),
            elapsed,
        };
        drop(state);
        // Killed, told twice to stop, without a reader, or on a full disk.
        let is_cut =
            finished.signal.is_some() || self.stops.load(Ordering::Relaxed) > 1 || finished.code == Some(74);
        let end = match (self.replays, is_cut) {
            (true, _) => End::Replayed,
            (false, true) => End::Cut,
            (false, false) => End::Whole,
        };
        // A terminal ends lines with two characters.
        let printed = match self.terminal {
            true => Cow::Owned(finished.stdout.replace("\r\n", "\n")),
            false => Cow::Borrowed(&finished.stdout),
        };
        if let Some(broken) = contract_check::broken(&printed, end) {
            panic!("it breaks the contract\n{broken}\n{finished}");
        }
        drop(printed);
        finished
    }

    #[track_caller]
    fn wait(&self, mut done: impl FnMut(&State) -> bool) -> MutexGuard<'_, State> {
        let deadline = self.started + self.guard;
        let mut state = self.seen.lock();
        while !done(&state) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let report = state.report();
                drop(state);
                self.kill();
                panic!("not done after {:?}; {report}", self.guard);
            }
            state = self.seen.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state
    }

    fn kill(&self) {
        // It may have ended meanwhile, then there is nothing to kill.
        let _gone = kill_process_group(self.pid, rustix::process::Signal::KILL);
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        let ended = self.seen.lock().ended.is_some();
        if !ended {
            self.kill();
        }
    }
}

/// A new terminal: our end and the program's.
fn terminal() -> (File, OwnedFd) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
    grantpt(&ours).expect("rights on the terminal");
    unlockpt(&ours).expect("an unlocked terminal");
    let name = ptsname(&ours, Vec::new()).expect("the name of the terminal");
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let theirs = rustix::fs::open(name, flags, Mode::empty()).expect("the program's end of the terminal");
    (ours.into(), theirs)
}

/// Looks for a text in bytes that grow, at each byte once.
struct Search<'a> {
    text: &'a [u8],
    searched: usize,
    found: bool,
}

impl<'a> Search<'a> {
    fn new(text: &'a str) -> Self {
        Self { text: text.as_bytes(), searched: 0, found: false }
    }

    fn finds(&mut self, bytes: &[u8]) -> bool {
        self.found =
            self.found || bytes[self.searched..].windows(self.text.len()).any(|window| window == self.text);
        self.searched = bytes.len().saturating_sub(self.text.len());
        self.found
    }
}
