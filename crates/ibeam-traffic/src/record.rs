//! Recorded exchanges with model services, one JSON object per line.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use serde::Deserialize;
use serde_json::Value;

/// The reason why records cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CorpusError {
    #[error("cannot read `{path}`: {error}")]
    Unreadable { path: PathBuf, error: std::io::Error },
    #[error("`{path}` line {line} is not a record: {error}")]
    Invalid { path: PathBuf, line: usize, error: serde_json::Error },
    #[error("`{0}` has no file `*.jsonl` or `*.jsonl.gz`")]
    Empty(PathBuf),
}

/// One recorded answer and the expected result.
#[derive(Debug, Deserialize)]
pub(crate) struct Record {
    /// The id of the record in the corpus.
    pub(crate) id: String,
    /// The model API, as the corpus names it.
    pub(crate) wire: String,
    #[serde(default)]
    pub(crate) request: RecordedRequest,
    pub(crate) response: RecordedResponse,
    /// Whether the body is a stream.
    pub(crate) stream: bool,
    pub(crate) expect: Expectation,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RecordedRequest {
    pub(crate) body: Value,
}

#[derive(Debug, Deserialize)]
pub(crate) struct RecordedResponse {
    pub(crate) status: u16,
    #[serde(default)]
    pub(crate) content_type: String,
    body: RecordedBody,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum RecordedBody {
    Text(String),
    Binary { base64: String },
}

impl RecordedResponse {
    /// Returns the bytes of the body.
    ///
    /// # Errors
    /// The body is marked as base64 but is not valid base64.
    pub(crate) fn bytes(&self) -> Result<Vec<u8>, base64::DecodeError> {
        match &self.body {
            RecordedBody::Text(text) => Ok(text.clone().into_bytes()),
            RecordedBody::Binary { base64 } => STANDARD.decode(base64),
        }
    }
}

/// The expected content of an answer, computed from its bytes by another program.
#[derive(Debug, Deserialize)]
pub(crate) struct Expectation {
    pub(crate) text: String,
    pub(crate) thinking: String,
    #[serde(default)]
    pub(crate) refusal: Option<String>,
    pub(crate) calls: Vec<ExpectedCall>,
    /// The stop reason, as the corpus names it.
    pub(crate) stop: String,
    #[serde(default)]
    pub(crate) usage: Option<ExpectedUsage>,
    #[serde(default)]
    pub(crate) error: Option<ExpectedError>,
    /// Whether the body is a complete answer.
    pub(crate) complete: bool,
    /// The reason why a test may skip the record.
    #[serde(default)]
    pub(crate) ambiguous: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct ExpectedCall {
    #[serde(default)]
    pub(crate) id: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) arguments: Value,
    /// Whether the token limit cut the call.
    #[serde(default)]
    pub(crate) truncated: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ExpectedUsage {
    pub(crate) input: Option<u64>,
    pub(crate) output: Option<u64>,
    pub(crate) cache_read: Option<u64>,
    pub(crate) cache_write: Option<u64>,
    pub(crate) thoughts: Option<u64>,
}

impl ExpectedUsage {
    /// Whether the answer has no count at all.
    pub(crate) fn is_empty(&self) -> bool {
        let Self { input, output, cache_read, cache_write, thoughts } = self;
        [input, output, cache_read, cache_write, thoughts].iter().all(|count| count.is_none())
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct ExpectedError {
    pub(crate) class: String,
}

/// Reads all records of a file, or of the files `*.jsonl` and `*.jsonl.gz` in a directory, in the order of their names.
pub(crate) fn read_corpus(path: &Path) -> Result<Vec<Record>, CorpusError> {
    let unreadable = |error| CorpusError::Unreadable { path: path.to_owned(), error };
    let mut files = vec![path.to_owned()];
    if path.is_dir() {
        files = std::fs::read_dir(path)
            .map_err(unreadable)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|file| {
                let name = file.to_string_lossy();
                name.ends_with(".jsonl") || name.ends_with(".jsonl.gz")
            })
            .collect();
        files.sort();
    }
    if files.is_empty() {
        return Err(CorpusError::Empty(path.to_owned()));
    }
    let mut records = Vec::new();
    for file in files {
        read_file(&file, &mut records)?;
    }
    Ok(records)
}

fn read_file(path: &Path, records: &mut Vec<Record>) -> Result<(), CorpusError> {
    let unreadable = |error| CorpusError::Unreadable { path: path.to_owned(), error };
    let file = File::open(path).map_err(unreadable)?;
    let reader: Box<dyn BufRead> = if path.extension().is_some_and(|extension| extension == "gz") {
        Box::new(BufReader::new(GzDecoder::new(file)))
    } else {
        Box::new(BufReader::new(file))
    };
    for (index, line) in reader.lines().enumerate() {
        let line = line.map_err(unreadable)?;
        let record = serde_json::from_str(&line).map_err(|error| CorpusError::Invalid {
            path: path.to_owned(),
            line: index + 1,
            error,
        })?;
        records.push(record);
    }
    Ok(())
}
