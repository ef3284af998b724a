//! Comparison of the decoders with the official client libraries of the services, on a sample of the records.
//!
//! A script parses the same bodies with the libraries. Thinking and the reason of the stop are not compared.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::comparison::library_differences;
use crate::decoding::decode_record;
use crate::record::{ExpectedCall, ExpectedUsage, Record};
use crate::wires::Wire;

/// The APIs whose libraries the script has.
const WIRES: [&str; 4] = ["openai-chat", "openai-responses", "anthropic-messages", "gemini"];

/// The largest number of records of one API.
const SAMPLE: usize = 50;

/// The script and the Python that has the libraries.
#[derive(Clone, Debug)]
pub(crate) struct LibraryScript {
    pub(crate) python: PathBuf,
    pub(crate) script: PathBuf,
}

/// The result of a library for one record.
#[derive(Debug, Deserialize)]
pub(crate) struct LibraryAnswer {
    #[serde(default)]
    pub(crate) text: String,
    #[serde(default)]
    pub(crate) calls: Vec<ExpectedCall>,
    #[serde(default)]
    pub(crate) usage: ExpectedUsage,
    /// The reason why the library did not parse the answer.
    error: Option<String>,
}

/// Compares a sample of each API. Prints every difference and one table.
pub(crate) fn compare(records: &[Record], script: &LibraryScript) -> ExitCode {
    let mut is_equal = true;
    let mut totals = [0; 3];
    println!("{:<20} {:>7} {:>7} {:>7}", "wire", "equal", "differ", "skipped");
    for name in WIRES {
        let Some(wire) = Wire::find(name) else { continue };
        let sample = sample(records, name);
        if sample.is_empty() {
            continue;
        }
        let answers = match script.parse(&sample) {
            Ok(answers) => answers,
            Err(error) => {
                eprintln!("error: {}: {error}", script.script.display());
                return ExitCode::FAILURE;
            }
        };
        let (mut equal, mut differ, mut skipped) = (0, 0, 0);
        for (record, answer) in sample.iter().zip(&answers) {
            if let Some(error) = &answer.error {
                skipped += 1;
                println!("{name} {}: the library cannot parse it: {error}", record.id);
                continue;
            }
            let differences = compare_record(wire, record, answer);
            if differences.is_empty() {
                equal += 1
            } else {
                differ += 1
            }
            for difference in differences {
                println!("{name} {}: {difference}", record.id);
            }
        }
        is_equal &= differ == 0 && answers.len() == sample.len();
        println!("{name:<20} {equal:>7} {differ:>7} {skipped:>7}");
        for (total, count) in totals.iter_mut().zip([equal, differ, skipped]) {
            *total += count;
        }
    }
    let [equal, differ, skipped] = totals;
    crate::write_counts(equal, differ, skipped);
    if is_equal { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Returns complete answers of an API, evenly spaced over the corpus.
fn sample<'a>(records: &'a [Record], wire: &str) -> Vec<&'a Record> {
    let is_comparable = |record: &&Record| {
        let expect = &record.expect;
        let is_answer = record.response.status < 400 && expect.error.is_none() && expect.complete;
        record.wire == wire && is_answer && expect.ambiguous.is_none()
    };
    let comparable: Vec<&Record> = records.iter().filter(is_comparable).collect();
    let count = comparable.len().min(SAMPLE);
    (0..count).filter_map(|index| comparable.get(index * comparable.len() / count).copied()).collect()
}

fn compare_record(wire: Wire, record: &Record, answer: &LibraryAnswer) -> Vec<String> {
    let (Some(protocol), Ok(body)) = (wire.protocol(), record.response.bytes()) else {
        return vec!["the record cannot be decoded".to_owned()];
    };
    library_differences(wire, record, &decode_record(protocol, record, [body.as_slice()]), answer)
}

impl LibraryScript {
    /// Lets the libraries parse the records, and returns their results in the same order.
    fn parse(&self, sample: &[&Record]) -> std::io::Result<Vec<LibraryAnswer>> {
        let mut command = Command::new(&self.python);
        // Keys and addresses of services in the environment must not matter.
        command.arg(&self.script).env_clear().stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            for record in sample {
                let body = record.response.bytes().unwrap_or_default();
                let line = json!({
                    "id": record.id,
                    "wire": record.wire,
                    "stream": record.stream,
                    "content_type": record.response.content_type,
                    "body": String::from_utf8_lossy(&body),
                });
                writeln!(stdin, "{line}")?;
            }
        }
        let mut answers = Vec::new();
        for line in child.stdout.take().map(BufReader::new).into_iter().flat_map(BufRead::lines) {
            let value: Value = serde_json::from_str(&line?)?;
            answers.push(serde_json::from_value(value)?);
        }
        let status = child.wait()?;
        match status.success() && answers.len() == sample.len() {
            true => Ok(answers),
            false => Err(std::io::Error::other(format!("{status}, {} results", answers.len()))),
        }
    }
}
