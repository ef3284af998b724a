//! Every bench, told in one table: the median, the throughput, and the ratio to what each is compared with.
//!
//! The figures are divan's. A row whose name begins with `by_` is the reference of its group and argument, measured in
//! the same run: seconds of one machine mean little on another, ratios more.

mod divan;
mod machine;
mod table;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Crates and their benches, in the order of the table.
const BENCHES: [(&str, &str); 11] = [
    ("ibeam", "start"),
    ("ibeam-providers", "answers"),
    ("ibeam-output", "event_to_line"),
    ("ibeam-session", "append"),
    ("ibeam-session", "read"),
    ("ibeam", "replay"),
    ("ibeam-tools", "edit"),
    ("ibeam-tools", "search"),
    ("ibeam-policy", "decide"),
    ("ibeam-sandbox", "spawn"),
    ("ibeam-tools", "shell"),
];

/// The longest that one row is measured.
const ROW: Duration = Duration::from_millis(1500);
/// The same where only its working matters.
const QUICK_ROW: Duration = Duration::from_millis(50);

/// Why there is no table.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failed {
    /// Not understood.
    #[error(
        "usage: cargo xtask bench [--quick] [WORD…]; `{0}` is neither an option nor in the name of a bench"
    )]
    Usage(String),
    /// Cargo could not be started.
    #[error("cannot start cargo: {0}")]
    Start(std::io::Error),
    /// A bench does not compile or has failed; it has said why.
    #[error("the bench `{0}` failed")]
    Bench(String),
    /// What divan printed is not what this reads; its version has changed.
    #[error("cannot read what the bench `{bench}` printed: {said}")]
    Unreadable {
        /// The bench.
        bench: String,
        /// What was not understood.
        said: String,
    },
}

/// What is to be measured, and how long.
struct Wish {
    row: Duration,
    benches: Vec<(&'static str, &'static str)>,
}

impl Wish {
    fn parse(args: impl Iterator<Item = String>) -> Result<Self, Failed> {
        let (mut row, mut words) = (ROW, Vec::new());
        for arg in args {
            match arg.as_str() {
                "--quick" => row = QUICK_ROW,
                word if BENCHES.iter().any(|(_, bench)| bench.contains(word)) => words.push(arg),
                _ => return Err(Failed::Usage(arg)),
            }
        }
        let meant = |bench: &str| words.is_empty() || words.iter().any(|word| bench.contains(word.as_str()));
        Ok(Self { row, benches: BENCHES.into_iter().filter(|(_, bench)| meant(bench)).collect() })
    }
}

/// Measures every bench whose name has one of the words among `args`, all without a word, and prints the table.
pub(crate) fn run(root: &Path, args: impl Iterator<Item = String>) -> Result<(), Failed> {
    let wish = Wish::parse(args)?;
    build(root, &wish.benches)?;
    let began = Instant::now();
    let before = machine::load();
    let mut rows = Vec::new();
    for (package, bench) in &wish.benches {
        eprintln!("== {bench}");
        rows.extend(measure(root, package, bench, wish.row)?);
    }
    println!("{}", machine::told());
    println!("load {before} before, {} s\n", began.elapsed().as_secs());
    print!("{}", table::told(&rows));
    Ok(())
}

/// Compiles all of them first: a compiler beside a bench is noise.
fn build(root: &Path, benches: &[(&str, &str)]) -> Result<(), Failed> {
    let mut cargo = Command::new("cargo");
    cargo.args(["bench", "--quiet", "--locked", "--no-run"]).current_dir(root);
    for (package, bench) in benches {
        cargo.args(["-p", package, "--bench", bench]);
    }
    match cargo.status().map_err(Failed::Start)?.success() {
        true => Ok(()),
        false => Err(Failed::Bench("--no-run".to_owned())),
    }
}

fn measure(root: &Path, package: &str, bench: &str, row: Duration) -> Result<Vec<divan::Row>, Failed> {
    let mut cargo = Command::new("cargo");
    cargo.args(["bench", "--quiet", "--locked", "-p", package, "--bench", bench, "--", "--color=never"]);
    cargo.arg(format!("--max-time={}", row.as_secs_f64()));
    // Figures in MB and GB of ten.
    cargo.args(["--bytes-format=decimal", "--timer=os"]);
    let output = cargo.current_dir(root).stderr(Stdio::inherit()).output().map_err(Failed::Start)?;
    if !output.status.success() {
        return Err(Failed::Bench(bench.to_owned()));
    }
    divan::rows(&String::from_utf8_lossy(&output.stdout))
        .map_err(|said| Failed::Unreadable { bench: bench.to_owned(), said })
}
