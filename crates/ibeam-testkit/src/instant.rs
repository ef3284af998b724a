//! A program that is killed at some instant, and whoever a run has left behind.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::program::Ibeam;

/// How long a process may take to notice that its run has gone.
const PATIENCE: Duration = Duration::from_secs(10);

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
        let mut pipe = child.stdout.take().expect("its stdout");
        let reader = std::thread::spawn(move || {
            let mut text = Vec::new();
            pipe.read_to_end(&mut text).expect("a pipe to read");
            String::from_utf8_lossy(&text).into_owned()
        });
        std::thread::sleep(after);
        child.kill().expect("a child to kill");
        child.wait().expect("its status");
        reader.join().expect("what it printed")
    }
}

/// The processes with this HOME that are still there after 10 s, as their command lines; they are killed then.
pub fn left_behind(home: &Path) -> Vec<String> {
    let deadline = Instant::now() + PATIENCE;
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
