//! The program under test: a clean environment, captured output, and a guard that ends it after 30 s.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};
use serde_json::Value;

use crate::server::ModelServer;
use crate::wire::Wire;
use crate::workspace::Workspace;

/// How long a program may run before it is killed and the test fails.
const GUARD: Duration = Duration::from_secs(30);

/// What the program finds at its standard input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Stdin {
    /// `/dev/null`.
    #[default]
    Closed,
    /// A pipe with these bytes, then its end.
    Piped(Vec<u8>),
    /// A pipe that stays open and silent until the program ends.
    Silent,
}

/// A run of the program to be.
pub struct Ibeam {
    command: Command,
    stdin: Stdin,
}

impl Ibeam {
    /// A run of `program` (`env!("CARGO_BIN_EXE_ibeam")`) in a workspace, with nothing but `PATH` and the
    /// workspace's own directories in its environment.
    pub fn new(program: impl AsRef<OsStr>, workspace: &Workspace) -> Self {
        let mut command = Command::new(program);
        command.env_clear().envs(workspace.variables()).current_dir(workspace.path()).process_group(0);
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        Self { command, stdin: Stdin::Closed }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.command.args(args);
        self
    }

    /// Sets a variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.command.env(name, value.into());
        self
    }

    /// Points a wire's usual variables to the server, with the key `test-key`.
    #[must_use]
    pub fn server(self, server: &ModelServer, wire: Wire) -> Self {
        let (key, base) = match wire {
            Wire::Anthropic => ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
            Wire::OpenAi => ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
        };
        self.env(key, "test-key").env(base, server.base_url(wire))
    }

    /// Sets standard input.
    #[must_use]
    pub fn stdin(mut self, stdin: Stdin) -> Self {
        self.stdin = stdin;
        self
    }

    /// Runs in another directory than the workspace.
    #[must_use]
    pub fn current_dir(mut self, directory: &Path) -> Self {
        self.command.current_dir(directory);
        self
    }

    /// Runs to the end.
    ///
    /// # Panics
    /// When it cannot be started, or takes longer than 30 s.
    #[track_caller]
    pub fn run(self) -> Finished {
        self.start().finish()
    }

    /// Starts it.
    ///
    /// # Panics
    /// When it cannot be started.
    #[track_caller]
    pub fn start(mut self) -> Running {
        let piped = self.stdin != Stdin::Closed;
        self.command.stdin(if piped { Stdio::piped() } else { Stdio::null() });
        self.command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = match self.command.spawn() {
            Ok(child) => child,
            Err(error) => {
                panic!("cannot start `{}`: {error}", PathBuf::from(self.command.get_program()).display())
            }
        };
        let capture = Arc::new(Capture::default());
        capture.follow(child.stdout.take(), |text| &mut text.stdout);
        capture.follow(child.stderr.take(), |text| &mut text.stderr);
        let mut stdin = child.stdin.take();
        if let Stdin::Piped(bytes) = self.stdin
            && let Some(mut pipe) = stdin.take()
        {
            // On a thread: the program may not read it, and a pipe holds only so much.
            std::thread::spawn(move || drop(pipe.write_all(&bytes)));
        }
        let pid = Pid::from_child(&child);
        Running { child, pid, _stdin: stdin, capture, deadline: Instant::now() + GUARD, ended: false }
    }
}

/// A running program. Dropping it kills it and what it started.
pub struct Running {
    child: Child,
    pid: Pid,
    /// Keeps a silent standard input open.
    _stdin: Option<ChildStdin>,
    capture: Arc<Capture>,
    deadline: Instant,
    ended: bool,
}

impl Running {
    /// The process's number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal to the program alone, by its number, e.g. 15.
    ///
    /// # Panics
    /// When there is no such signal, or the program has ended and was waited for.
    #[track_caller]
    pub fn signal(&self, number: i32) {
        let signal = Signal::from_named_raw(number).expect("the number of a signal");
        kill_process(self.pid, signal).expect("a program that still runs");
    }

    /// Waits until standard output contains `text`.
    ///
    /// # Panics
    /// When the output ends without it, or 30 s after the start.
    #[track_caller]
    pub fn wait_for_stdout(&self, text: &str) {
        let found = |captured: &Captured| String::from_utf8_lossy(&captured.stdout).contains(text);
        let captured =
            self.capture.wait_until(self.deadline, |captured| found(captured) || captured.open == 0);
        assert!(
            found(&captured),
            "`{text}` never came\nstdout: {}\nstderr: {}",
            String::from_utf8_lossy(&captured.stdout),
            String::from_utf8_lossy(&captured.stderr)
        );
    }

    /// Waits for the end.
    ///
    /// # Panics
    /// 30 s after the start, having killed the program and what it started.
    #[track_caller]
    pub fn finish(mut self) -> Finished {
        let captured = self.capture.wait_until(self.deadline, |captured| captured.open == 0);
        if captured.open > 0 || !self.ends_by(self.deadline) {
            let _ = kill_process_group(self.pid, Signal::KILL);
            panic!(
                "the program did not end in {GUARD:?}\nstdout: {}\nstderr: {}",
                String::from_utf8_lossy(&captured.stdout),
                String::from_utf8_lossy(&captured.stderr)
            );
        }
        let status = self.child.wait().expect("a child of ours");
        self.ended = true;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Finished { status, stdout: text(&captured.stdout), stderr: text(&captured.stderr) }
    }

    /// Waits for the end without reaping, so that the number stays ours to kill.
    fn ends_by(&self, deadline: Instant) -> bool {
        let pid = self.pid;
        let (ended, end) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let waited = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
            let _ = ended.send(waited.is_ok());
        });
        end.recv_timeout(deadline.saturating_duration_since(Instant::now())).unwrap_or(false)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.ended {
            let _ = kill_process_group(self.pid, Signal::KILL);
            drop(self.child.wait());
        }
    }
}

/// A run that ended.
#[derive(Debug)]
pub struct Finished {
    status: ExitStatus,
    /// Standard output; what is not UTF-8 is replaced.
    pub stdout: String,
    /// Standard error, likewise.
    pub stderr: String,
}

impl Finished {
    /// The exit code; `None` when a signal ended the program.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// The signal that ended the program.
    pub fn signal(&self) -> Option<i32> {
        self.status.signal()
    }

    /// Fails unless the program exited with `code`; gives the run back.
    ///
    /// # Panics
    /// With all output.
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code(), Some(code), "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }

    /// Standard output as one JSON value a line.
    ///
    /// # Panics
    /// At a line that is not JSON, or when the last line has no end.
    #[track_caller]
    pub fn ndjson(&self) -> Vec<Value> {
        assert!(
            self.stdout.is_empty() || self.stdout.ends_with('\n'),
            "the last line has no end: {}",
            self.stdout
        );
        let parse = |line: &str| match serde_json::from_str(line) {
            Ok(value) => value,
            Err(error) => panic!("not JSON ({error}): {line}"),
        };
        self.stdout.lines().map(parse).collect()
    }
}

/// Both outputs as they come.
#[derive(Default)]
struct Capture {
    captured: Mutex<Captured>,
    changed: Condvar,
}

#[derive(Clone, Default)]
struct Captured {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    /// Pipes whose end has not come.
    open: u32,
}

impl Capture {
    /// Reads a pipe to its end, on a thread.
    fn follow<P: Read + Send + 'static>(
        self: &Arc<Self>,
        pipe: Option<P>,
        part: fn(&mut Captured) -> &mut Vec<u8>,
    ) {
        let Some(mut pipe) = pipe else { return };
        self.change(|captured| captured.open += 1);
        let capture = Arc::clone(self);
        std::thread::spawn(move || {
            let mut buffer = [0; 8192];
            while let Ok(count @ 1..) = pipe.read(&mut buffer) {
                capture.change(|captured| part(captured).extend(buffer.iter().take(count)));
            }
            capture.change(|captured| captured.open -= 1);
        });
    }

    fn change(&self, change: impl FnOnce(&mut Captured)) {
        change(&mut self.captured.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    /// What was captured once `ready`, or at the deadline.
    fn wait_until(&self, deadline: Instant, ready: impl Fn(&Captured) -> bool) -> Captured {
        let captured = self.captured.lock().unwrap_or_else(PoisonError::into_inner);
        let left = deadline.saturating_duration_since(Instant::now());
        let (captured, _) = self
            .changed
            .wait_timeout_while(captured, left, |captured| !ready(captured))
            .unwrap_or_else(PoisonError::into_inner);
        captured.clone()
    }
}
