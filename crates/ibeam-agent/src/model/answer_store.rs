//! The answers of the model to the requests of a task of a fleet, stored before they are used.
//!
//! A run that is killed between the end of an answer and its record in the journal would request the answer again. So
//! each answer is appended to `answers.ndjson` in the directory of the task as soon as it is complete, and the process that
//! continues the task takes it from there. A process never takes its own answers: the same request again is meant to get
//! another one. The file is not synchronised: a killed process loses nothing that it has written, and after a loss of
//! power the journal has all but the last answer.

use std::fs::OpenOptions;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ibeam_core::{ModelEvent, ModelRequest, Redactor};
use ibeam_protocol::{Answer, Block, Message};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

#[derive(Debug)]
pub(super) struct AnswerStore {
    path: PathBuf,
    /// The answers that earlier processes have stored and this one has not taken, in their order.
    earlier: Mutex<Vec<StoredAnswer>>,
}

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
struct StoredAnswer {
    /// The key of the request.
    request: String,
    answer: Answer,
}

impl AnswerStore {
    /// Opens the store at `path`, which need not exist. A line that a full disk cut is left out.
    pub(super) fn open(path: &Path) -> Self {
        let lines = std::fs::File::open(path).map(|file| BufReader::new(file).split(b'\n'));
        let lines = lines.into_iter().flatten().map_while(Result::ok);
        let earlier = lines.filter_map(|line| serde_json::from_slice(&line).ok()).collect();
        Self { path: path.to_owned(), earlier: Mutex::new(earlier) }
    }

    /// Returns the answer to a request that an earlier process has got and not used.
    pub(super) fn take(&self, key: &str, request: &ModelRequest) -> Option<Answer> {
        let mut earlier = self.earlier.lock().unwrap_or_else(PoisonError::into_inner);
        // The journal has the answers up to the last one of the conversation.
        let last = request.messages.iter().rev().find_map(|message| match message.as_ref() {
            Message::Assistant(blocks) => Some(blocks),
            Message::User(_) | Message::Instructions(_) | Message::Update(_) | Message::ToolResults(_) => {
                None
            }
        });
        if let Some(used) = earlier.iter().position(|stored| last == Some(&stored.answer.blocks)) {
            earlier.drain(..=used);
        }
        let found = earlier.iter().position(|stored| stored.request == key)?;
        Some(earlier.remove(found).answer)
    }

    /// Stores an answer. One without content is not worth a second use, and one with a secret is not written to the disk.
    pub(super) fn store(&self, key: String, answer: &Answer, redactor: &Redactor) -> io::Result<()> {
        if answer.blocks.is_empty() || redactor.finds_secret_in(answer) {
            return Ok(());
        }
        let mut line = vec![b'\n'];
        serde_json::to_writer(&mut line, &StoredAnswer { request: key, answer: answer.clone() })?;
        line.push(b'\n');
        let mut file = OpenOptions::new().create(true).append(true).open(&self.path)?;
        // At once, so that the lines of sub-agents are not mixed.
        file.write_all(&line)
    }
}

/// Returns the key of a request to `model`: its place in the conversation, and a hash of all that the model receives.
pub(super) fn request_key(model: &str, request: &ModelRequest) -> String {
    let ModelRequest { system, tools, messages, max_output_tokens, answer_schema, effort } = request;
    let content = (model, system, tools, messages, max_output_tokens, answer_schema.is_some(), effort);
    // The types of messages have no value that cannot be serialised.
    let digest = Sha256::digest(serde_json::to_vec(&content).unwrap_or_default());
    let hash = digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    format!("{}-{hash}", messages.len())
}

/// Returns the events with which a stored answer arrives again.
pub(super) fn events_of(answer: Answer) -> Vec<ModelEvent> {
    let delta = |block: &Block| match block {
        Block::Text(text) => Some(ModelEvent::TextDelta(text.clone())),
        Block::Thinking { text, .. } => Some(ModelEvent::ThinkingDelta(text.clone())),
        Block::ToolCall(_) => Some(ModelEvent::ToolCallAnnounced),
        Block::Opaque(_) => None,
    };
    let mut events: Vec<ModelEvent> = answer.blocks.iter().filter_map(delta).collect();
    events.push(ModelEvent::Finished(Box::new(answer)));
    events
}

#[cfg(test)]
#[path = "answer_store_test.rs"]
mod tests;
