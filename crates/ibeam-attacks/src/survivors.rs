//! Processes that outlived a run: found by their command line, and killed.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::effect::Effect;

/// The delay before the search, because a new process shows its command line only after a moment.
const START_DELAY: Duration = Duration::from_millis(300);

/// Returns the wanted command lines of processes that exist until the deadline, and kills these processes.
pub(crate) fn find(effects: &[Effect], deadline: Instant) -> Vec<String> {
    let words = effects.iter().filter_map(|effect| match effect {
        Effect::ProcessAlive(words) => Some(words.clone()),
        _ => None,
    });
    let mut wanted: Vec<String> = words.collect();
    if !wanted.is_empty() {
        std::thread::sleep(START_DELAY);
    }
    loop {
        wanted.retain(|words| !processes_with(words).is_empty());
        if wanted.is_empty() || Instant::now() > deadline {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    for pid in wanted.iter().flat_map(|words| processes_with(words)) {
        // The process may end by itself meanwhile.
        let _gone = kill_process(pid, Signal::KILL);
    }
    wanted
}

/// Returns every other process whose command line contains these words.
fn processes_with(words: &str) -> Vec<Pid> {
    let has_words = |entry: fs::DirEntry| {
        let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
        let command_line = fs::read(entry.path().join("cmdline")).ok()?;
        let command_line = String::from_utf8_lossy(&command_line).replace('\0', " ");
        let other = pid != i32::try_from(std::process::id()).ok()?;
        (other && command_line.contains(words)).then(|| Pid::from_raw(pid)).flatten()
    };
    fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(has_words).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_found_and_ended() {
        let mut child = std::process::Command::new("sleep").arg("7793.25").spawn().unwrap();
        let effects = [
            Effect::ProcessAlive("sleep 7793.25".to_owned()),
            Effect::ProcessAlive("sleep 7793.26".to_owned()),
        ];
        assert_eq!(find(&effects, Instant::now()), ["sleep 7793.25"]);
        assert!(!child.wait().unwrap().success());
        assert!(find(&effects, Instant::now()).is_empty());
    }
}
