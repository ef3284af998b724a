//! What the figures were measured on.

use std::fs;
use std::process::Command;

/// Processors, their model, the kernel, the compiler and the day, in one line.
pub(crate) fn told() -> String {
    let cores = std::thread::available_parallelism().map_or(1, |count| count.get());
    let first = |path: &str, key: &str| {
        let text = fs::read_to_string(path).ok()?;
        let line = text.lines().find(|line| line.starts_with(key))?;
        Some(line.split_once(':').map_or(line, |(_, value)| value).trim().to_owned())
    };
    let model = first("/proc/cpuinfo", "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let kernel = first("/proc/sys/kernel/osrelease", "").unwrap_or_default();
    let said_by = |program: &str, args: &[&str]| {
        let output = Command::new(program).args(args).output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let compiler = said_by("rustc", &["--version"]).unwrap_or_default();
    let day = said_by("date", &["+%F"]).unwrap_or_default();
    format!("{cores} cores, {model}; Linux {kernel}; {compiler}; {day}")
}

/// How busy the machine is, as the mean of a minute.
pub(crate) fn load() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().unwrap_or_default().to_owned()
}
