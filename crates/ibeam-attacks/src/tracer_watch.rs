//! Detection of processes that trace the program while it runs.
//!
//! Polls `TracerPid` of every process with the program's name. A trace of a few milliseconds may be missed, so a case
//! that attaches must stay attached for a moment.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// The pause between two polls.
const INTERVAL: Duration = Duration::from_millis(2);

/// A thread that polls whether a process is traced.
pub(crate) struct TracerWatch {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<bool>,
}

impl TracerWatch {
    /// Starts to watch all processes with this name. A name in the system has at most 15 bytes.
    pub(crate) fn start(name: &str) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (name, stopped) = (name.to_owned(), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::SeqCst) {
                if is_any_traced(&name) {
                    return true;
                }
                std::thread::sleep(INTERVAL);
            }
            false
        });
        Self { stop, thread }
    }

    /// Stops the thread and returns whether a process was traced.
    pub(crate) fn finish(self) -> bool {
        self.stop.store(true, Ordering::SeqCst);
        self.thread.join().unwrap_or(false)
    }
}

fn is_any_traced(name: &str) -> bool {
    let statuses = fs::read_dir("/proc").into_iter().flatten().flatten();
    statuses.filter_map(|entry| fs::read_to_string(entry.path().join("status")).ok()).any(|status| {
        let field = |key: &str| status.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
        field("Name:") == Some(name) && field("TracerPid:").is_some_and(|pid| pid != "0")
    })
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_traced_process_is_noticed_and_another_is_not() {
        let name = "traced-7795";
        let top = tempfile::tempdir().unwrap();
        let sleeper = top.path().join(name);
        fs::copy(crate::user::find_system_program("sleep").unwrap(), &sleeper).unwrap();
        let watch = TracerWatch::start(name);
        let run = |words: &[&str]| {
            let (first, rest) = words.split_first().unwrap();
            Command::new(first).args(rest).arg(&sleeper).arg("0.2").stderr(Stdio::null()).status()
        };
        // `busybox sleep` reads its own name.
        if !run(&["env"]).is_ok_and(|ended| ended.success()) {
            eprintln!("SKIP: a copy of `sleep` under another name does not run");
            return;
        }
        assert!(!watch.finish());
        let watch = TracerWatch::start(name);
        match run(&["strace", "-f", "-o", "/dev/null"]) {
            Ok(ended) if ended.success() => assert!(watch.finish()),
            Ok(_) | Err(_) => eprintln!("SKIP: no strace that may trace"),
        }
    }
}
