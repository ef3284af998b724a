//! Runs the benches and prints one table: the median, the throughput, and the ratio to the reference.
//!
//! Divan measures the figures. A row whose name begins with `by_` is the reference of its group and argument, measured in
//! the same run. Ratios are comparable between machines, seconds are not.

mod divan;
mod table;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ibeam_testkit::cargo_command;

/// Crates and their benches, in the order of the table.
const BENCHES: [(&str, &str); 15] = [
    ("ibeam", "start"),
    ("ibeam-providers", "answers"),
    ("ibeam-providers", "turns"),
    ("ibeam-output", "event_to_line"),
    ("ibeam-session", "append"),
    ("ibeam-session", "read"),
    ("ibeam", "replay"),
    ("ibeam", "editor"),
    ("ibeam", "interactive"),
    ("ibeam-tui", "screen"),
    ("ibeam-tools", "edit"),
    ("ibeam-tools", "search"),
    ("ibeam-policy", "decide"),
    ("ibeam-sandbox", "spawn"),
    ("ibeam-tools", "shell"),
];

/// The maximum time for the measurement of one row.
const ROW_TIME: Duration = Duration::from_millis(1500);
/// The maximum time for one row with `--quick`, which only shows whether the bench works.
const QUICK_ROW_TIME: Duration = Duration::from_millis(50);

#[derive(Debug, thiserror::Error)]
pub(crate) enum BenchError {
    /// Cargo could not be started.
    #[error("cannot start cargo: {0}")]
    Start(std::io::Error),
    /// A bench does not compile or has failed, and has printed the reason.
    #[error("the bench `{0}` failed")]
    Bench(String),
    /// The output of divan has an unknown form, for example of another version.
    #[error("cannot read what the bench `{bench}` printed: {text}")]
    Unreadable {
        bench: String,
        /// The line that could not be parsed.
        text: String,
    },
}

/// The arguments of this subcommand.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Only show whether the benches work
    #[arg(long)]
    quick: bool,
    /// Only the benches with one of these words in their names [default: all]
    #[arg(value_name = "WORD", value_parser = parse_word)]
    words: Vec<String>,
}

fn parse_word(word: &str) -> Result<String, &'static str> {
    let is_known = BENCHES.iter().any(|(_, bench)| bench.contains(word));
    if is_known { Ok(word.to_owned()) } else { Err("no bench has this in its name") }
}

/// Runs the selected benches and prints the table.
pub(crate) fn run(root: &Path, Options { quick, words }: &Options) -> Result<(), BenchError> {
    let row_time = if *quick { QUICK_ROW_TIME } else { ROW_TIME };
    let is_selected =
        |bench: &str| words.is_empty() || words.iter().any(|word| bench.contains(word.as_str()));
    let benches: Vec<_> = BENCHES.into_iter().filter(|(_, bench)| is_selected(bench)).collect();
    build(root, &benches)?;
    let started = Instant::now();
    let before = load_average();
    let mut rows = Vec::new();
    for (package, bench) in &benches {
        eprintln!("== {bench}");
        rows.extend(measure(root, package, bench, row_time)?);
    }
    println!("{}", describe_machine());
    println!("load {before} before, {} s\n", started.elapsed().as_secs());
    print!("{}", table::render(&rows));
    Ok(())
}

/// Compiles all benches first, since a compiler would disturb the measurements.
fn build(root: &Path, benches: &[(&str, &str)]) -> Result<(), BenchError> {
    let mut cargo = cargo_command();
    cargo.args(["bench", "--quiet", "--locked", "--no-run"]).current_dir(root);
    for (package, bench) in benches {
        cargo.args(["-p", package, "--bench", bench]);
    }
    match cargo.status().map_err(BenchError::Start)?.success() {
        true => Ok(()),
        false => Err(BenchError::Bench("--no-run".to_owned())),
    }
}

/// Runs one bench and returns its rows.
fn measure(
    root: &Path,
    package: &str,
    bench: &str,
    row_time: Duration,
) -> Result<Vec<divan::Row>, BenchError> {
    let mut cargo = cargo_command();
    cargo.args(["bench", "--quiet", "--locked", "-p", package, "--bench", bench, "--", "--color=never"]);
    cargo.arg(format!("--max-time={}", row_time.as_secs_f64()));
    // Throughput in decimal MB and GB.
    cargo.args(["--bytes-format=decimal", "--timer=os"]);
    let output = cargo.current_dir(root).stderr(Stdio::inherit()).output().map_err(BenchError::Start)?;
    if !output.status.success() {
        return Err(BenchError::Bench(bench.to_owned()));
    }
    divan::parse_rows(&String::from_utf8_lossy(&output.stdout))
        .map_err(|text| BenchError::Unreadable { bench: bench.to_owned(), text })
}

/// Returns a line with the number and model of the processors, the kernel, the compiler and the date.
fn describe_machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, |count| count.get());
    let first = |path: &str, key: &str| {
        let text = fs::read_to_string(path).ok()?;
        let line = text.lines().find(|line| line.starts_with(key))?;
        Some(line.split_once(':').map_or(line, |(_, value)| value).trim().to_owned())
    };
    let model = first("/proc/cpuinfo", "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let kernel = first("/proc/sys/kernel/osrelease", "").unwrap_or_default();
    let output_of = |program: &str, args: &[&str]| {
        let output = Command::new(program).args(args).output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let compiler = output_of("rustc", &["--version"]).unwrap_or_default();
    let day = output_of("date", &["+%F"]).unwrap_or_default();
    format!("{cores} cores, {model}; Linux {kernel}; {compiler}; {day}")
}

/// Returns the load of the machine, as the mean of a minute.
fn load_average() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().unwrap_or_default().to_owned()
}
