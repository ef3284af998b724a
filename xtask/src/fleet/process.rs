//! Figures of processes, as Linux states them in `/proc`.

use std::fs;
use std::time::Duration;

/// The ticks per second in `/proc/PID/stat`. Linux has this value on every platform.
const TICKS_PER_SECOND: u64 = 100;

/// Returns the CPU time of all processes that ended and were waited for, by this process or by those.
pub(crate) fn cpu_of_ended_processes() -> Duration {
    stat_ticks("/proc/self/stat", [13, 14])
}

/// Returns the CPU time of a running process alone; `None` if it has ended.
pub(crate) fn cpu_of(pid: u32) -> Option<Duration> {
    let path = format!("/proc/{pid}/stat");
    fs::exists(&path).ok()?.then(|| stat_ticks(&path, [11, 12]))
}

/// Returns the sum of two fields after the name of the program, from 0.
fn stat_ticks(path: &str, fields: [usize; 2]) -> Duration {
    let stat = fs::read_to_string(path).unwrap_or_default();
    // The name is in parentheses and can contain anything.
    let values: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let ticks = fields.iter().filter_map(|field| values.get(*field)?.parse::<u64>().ok()).sum::<u64>();
    Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND)
}

/// Returns the peak memory of a running process in bytes; `None` if it has ended.
pub(crate) fn peak_memory_of(pid: u32) -> Option<u64> {
    status_bytes(pid, "VmHWM:")
}

fn status_bytes(pid: u32, name: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// Returns the memory that a running process has allocated, without its code; `None` if it has ended.
pub(crate) fn memory_of(pid: u32) -> Option<u64> {
    status_bytes(pid, "RssAnon:")
}

/// Returns the ids of the processes whose command line contains all of these words.
pub(crate) fn processes_with(words: [&str; 2]) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let has_words = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line);
        words.iter().all(|word| line.contains(word))
    };
    pids.filter(has_words).collect()
}
