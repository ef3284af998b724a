//! Plays recorded traffic of model services into the decoders of ibeam and compares the results with the expectation of
//! each record.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line program for developers")]

mod checks;
mod comparison;
mod decoding;
mod libraries;
mod record;
mod run_totals;
mod wires;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

use checks::Chunking;
use ibeam_testkit::{InvalidSweep, SweepPart};
use libraries::LibraryScript;
use record::Record;
use wires::Wire;

const USAGE: &str = "\
usage: cargo xtask traffic PATH [--wire WIRE] [--id ID] [--chunking all|random|whole] [--cut] [--part K/N]
       cargo xtask traffic PATH --mirror

PATH is a file of records (*.jsonl, *.jsonl.gz) or a directory of them. With `--mirror`, the official client libraries parse
up to 50 answers of each API, and the results are compared.";

/// Records whose expectation this program deviates from on purpose, with the reason.
const DEVIATIONS: &[(&str, &str)] =
    &[("4780d573f508", "the message says that the conversation is too long, which the run can repair")];

#[derive(Debug)]
struct Options {
    path: PathBuf,
    wire: Option<String>,
    id: Option<String>,
    chunking: Chunking,
    cut: bool,
    part: SweepPart,
    /// The script for `--mirror`, which xtask installs.
    libraries: Option<LibraryScript>,
}

/// The kind of a recorded answer. The table has one row for each wire and kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum RecordKind {
    Stream,
    Whole,
    Error,
}

#[derive(Debug)]
enum RecordVerdict {
    Passed,
    Skipped(String),
    /// The reason in [`DEVIATIONS`].
    ExpectedDeviation(&'static str),
    Failed(Vec<String>),
}

fn main() -> ExitCode {
    let options = match parse_options(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("error: {error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let mut records = match record::read_corpus(&options.path) {
        Ok(records) => records,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    records.retain(|record| {
        options.wire.as_ref().is_none_or(|wire| *wire == record.wire)
            && options.id.as_ref().is_none_or(|id| *id == record.id)
    });
    let mut numbers = 0..;
    records.retain(|_| numbers.next().is_some_and(|number| options.part.includes(number)));
    if records.is_empty() {
        eprintln!("error: no record has this wire and id");
        return ExitCode::FAILURE;
    }
    if let Some(libraries) = &options.libraries {
        return libraries::compare(&records, libraries);
    }
    report(&records, &check_all(&records, &options))
}

fn parse_options(mut args: impl Iterator<Item = String>) -> Result<Options, String> {
    let path = args.next().filter(|path| !path.starts_with('-')).ok_or("no path of records")?;
    let (path, wire, id) = (PathBuf::from(path), None, None);
    let mut options = Options {
        path,
        wire,
        id,
        chunking: Chunking::All,
        cut: false,
        part: SweepPart::WHOLE,
        libraries: None,
    };
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("`{arg}` needs a value"));
        match arg.as_str() {
            "--wire" => options.wire = Some(value()?),
            "--id" => options.id = Some(value()?),
            "--cut" => options.cut = true,
            "--part" => options.part = value()?.parse().map_err(|error: InvalidSweep| error.to_string())?,
            "--mirror-with" => {
                let (python, script) = (value()?.into(), value()?.into());
                options.libraries = Some(LibraryScript { python, script });
            }
            "--chunking" => {
                options.chunking = match value()?.as_str() {
                    "all" => Chunking::All,
                    "random" => Chunking::Random,
                    "whole" => Chunking::Whole,
                    other => {
                        return Err(format!("unknown chunking `{other}`; use one of: all, random, whole"));
                    }
                }
            }
            _ => return Err(format!("unknown argument `{arg}`")),
        }
    }
    Ok(options)
}

/// Checks all records, on as many threads as there are processors.
fn check_all(records: &[Record], options: &Options) -> Vec<RecordVerdict> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut verdicts = Vec::new();
        while let Some((index, record)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            records.get(index).map(|record| (index, record))
        } {
            verdicts.push((index, check_record(record, options)));
        }
        verdicts
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut verdicts: Vec<(usize, RecordVerdict)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect()
    });
    verdicts.sort_by_key(|(index, _)| *index);
    verdicts.into_iter().map(|(_, verdict)| verdict).collect()
}

fn check_record(record: &Record, options: &Options) -> RecordVerdict {
    if let Some(reason) = &record.expect.ambiguous {
        return RecordVerdict::Skipped(reason.clone());
    }
    let Some(wire) = Wire::find(&record.wire) else {
        return RecordVerdict::Failed(vec![format!("the wire `{}` is not implemented", record.wire)]);
    };
    match checks::check(wire, record, options.chunking, options.cut) {
        differences if differences.is_empty() => RecordVerdict::Passed,
        differences => match DEVIATIONS.iter().find(|(id, _)| *id == record.id) {
            Some((_, reason)) => RecordVerdict::ExpectedDeviation(reason),
            None => RecordVerdict::Failed(differences),
        },
    }
}

fn record_kind(record: &Record) -> RecordKind {
    if record.response.status >= 400 {
        RecordKind::Error
    } else if record.stream {
        RecordKind::Stream
    } else {
        RecordKind::Whole
    }
}

/// Prints every failure and one table. A thread that panicked leaves verdicts out; that is a failure too.
fn report(records: &[Record], verdicts: &[RecordVerdict]) -> ExitCode {
    // passed, failed, skipped
    let mut counts: BTreeMap<(&str, RecordKind), [usize; 3]> = BTreeMap::new();
    let mut reasons: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (record, verdict) in records.iter().zip(verdicts) {
        let [passed, failed, skipped] = counts.entry((&record.wire, record_kind(record))).or_default();
        match verdict {
            RecordVerdict::Passed => *passed += 1,
            RecordVerdict::Skipped(reason) => {
                *skipped += 1;
                *reasons.entry((&record.wire, reason)).or_default() += 1;
            }
            RecordVerdict::ExpectedDeviation(reason) => {
                *skipped += 1;
                println!("{} {}: deviates on purpose: {reason}", record.wire, record.id);
            }
            RecordVerdict::Failed(differences) => {
                *failed += 1;
                for difference in differences {
                    println!("{} {}: {}", record.wire, record.id, shorten(difference));
                }
            }
        }
    }
    for ((wire, reason), count) in reasons {
        println!("skipped: {wire}: {count} of: {reason}");
    }
    println!("{:<20} {:<7} {:>7} {:>7} {:>7}", "wire", "kind", "passed", "failed", "skipped");
    for ((wire, kind), [passed, failed, skipped]) in &counts {
        println!("{wire:<20} {:<7} {passed:>7} {failed:>7} {skipped:>7}", format!("{kind:?}").to_lowercase());
    }
    let sum = |at: usize| counts.values().filter_map(|row| row.get(at)).sum::<usize>();
    let failed = sum(1);
    write_counts(sum(0), failed, sum(2));
    if failed == 0 && verdicts.len() == records.len() {
        return ExitCode::SUCCESS;
    }
    eprintln!("error: {failed} of {} records failed, {} were checked", records.len(), verdicts.len());
    ExitCode::FAILURE
}

/// Writes the counts to the file that `cargo xtask` names, which records them. Answers whose expectation is ambiguous, or
/// that deviate on purpose, are known failures.
fn write_counts(passed: usize, failed: usize, known_failures: usize) {
    let Some(path) = std::env::var_os("IBEAM_SUITE_COUNTS") else { return };
    if let Err(error) = std::fs::write(&path, format!("{passed} {failed} {known_failures} 0\n")) {
        eprintln!("error: {}: {error}", path.display());
    }
}

fn shorten(text: &str) -> String {
    const MAX_CHARS: usize = 600;
    match text.char_indices().nth(MAX_CHARS) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}
