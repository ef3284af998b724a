//! Kills the program at a given time, and finds the processes that a run left.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::program::Ibeam;

impl Ibeam {
    /// Starts the program and kills it, but not its children, `after` this time. Returns the stdout until then. The
    /// program may have ended before.
    ///
    /// Stdin is `/dev/null`.
    ///
    /// # Panics
    /// If the program cannot be started.
    pub fn kill_after(self, after: Duration) -> String {
        let mut command = Command::new(&self.program);
        command.args(&self.args).current_dir(&self.directory);
        command.env_clear().envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the program");
        let stdout = BackgroundPipeReader::from(child.stdout.take());
        std::thread::sleep(after);
        child.kill().expect("a child to kill");
        child.wait().expect("its status");
        stdout.read_to_end()
    }
}

/// The data that a thread reads from a pipe.
pub(crate) struct BackgroundPipeReader(Receiver<Vec<u8>>);

impl<R: Read + Send + 'static> From<Option<R>> for BackgroundPipeReader {
    fn from(pipe: Option<R>) -> Self {
        let (sender, chunks) = channel();
        std::thread::spawn(move || {
            let mut piece = [0; 16 * 1024];
            let mut pipe = pipe.expect("a pipe");
            while let Ok(count @ 1..) = pipe.read(&mut piece)
                && sender.send(piece[..count].to_vec()).is_ok()
            {}
        });
        Self(chunks)
    }
}

impl BackgroundPipeReader {
    /// Returns all data until the pipe is closed, or until 10 s without data.
    pub(crate) fn read_to_end(self) -> String {
        let pieces = std::iter::from_fn(|| self.0.recv_timeout(Duration::from_secs(10)).ok());
        String::from_utf8_lossy(&pieces.flatten().collect::<Vec<u8>>()).into_owned()
    }
}

/// Returns the command lines of processes with this HOME that still exist after `timeout`, and kills these processes.
pub fn kill_surviving_processes(home: &Path, timeout: Duration) -> Vec<String> {
    let deadline = Instant::now() + timeout;
    let mut pause = Duration::from_millis(1);
    loop {
        let remaining = processes_with_home(home);
        if remaining.is_empty() || Instant::now() >= deadline {
            return remaining.into_iter().map(kill_and_describe).collect();
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(100));
    }
}

fn processes_with_home(home: &Path) -> Vec<i32> {
    let wanted = [b"HOME=", home.as_os_str().as_encoded_bytes()].concat();
    let processes = std::fs::read_dir("/proc").into_iter().flatten();
    let numbers = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers
        .filter(|pid: &i32| {
            let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|pair| pair == wanted)
        })
        .collect()
}

fn kill_and_describe(pid: i32) -> String {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    if let Some(pid) = rustix::process::Pid::from_raw(pid) {
        // The process may just have ended.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
    String::from_utf8_lossy(&line).replace('\0', " ").trim_end().to_owned()
}
