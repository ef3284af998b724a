//! A program that is killed at some instant, and whoever a run has left behind.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::program::Ibeam;

impl Ibeam {
    /// Starts it, kills it and it alone `after` that time, and gives what it had printed until then. It may have
    /// ended before.
    ///
    /// stdin is `/dev/null` whatever was set.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn kill_after(self, after: Duration) -> String {
        let mut command = Command::new(&self.program);
        command.args(&self.args).current_dir(&self.directory);
        command.env_clear().envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the program");
        let stdout = Heard::from(child.stdout.take());
        std::thread::sleep(after);
        child.kill().expect("a child to kill");
        child.wait().expect("its status");
        stdout.all()
    }
}

/// What comes out of a pipe.
pub(crate) struct Heard(Receiver<Vec<u8>>);

impl<R: Read + Send + 'static> From<Option<R>> for Heard {
    fn from(pipe: Option<R>) -> Self {
        let (sender, heard) = channel();
        std::thread::spawn(move || {
            let mut piece = [0; 16 * 1024];
            let mut pipe = pipe.expect("a pipe");
            while let Ok(count @ 1..) = pipe.read(&mut piece)
                && sender.send(piece[..count].to_vec()).is_ok()
            {}
        });
        Self(heard)
    }
}

impl Heard {
    /// All of it; who holds the pipe and says nothing is waited for 10 s.
    pub(crate) fn all(self) -> String {
        let pieces = std::iter::from_fn(|| self.0.recv_timeout(Duration::from_secs(10)).ok());
        String::from_utf8_lossy(&pieces.flatten().collect::<Vec<u8>>()).into_owned()
    }
}

/// The processes with this HOME that are still there after `patience`, as their command lines; they are killed then.
pub fn surviving_processes(home: &Path, patience: Duration) -> Vec<String> {
    let deadline = Instant::now() + patience;
    let mut pause = Duration::from_millis(1);
    loop {
        let left = at_home(home);
        if left.is_empty() || Instant::now() >= deadline {
            return left.into_iter().map(end).collect();
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(100));
    }
}

fn at_home(home: &Path) -> Vec<i32> {
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

fn end(pid: i32) -> String {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    if let Some(pid) = rustix::process::Pid::from_raw(pid) {
        // It may just have ended.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
    String::from_utf8_lossy(&line).replace('\0', " ").trim_end().to_owned()
}
