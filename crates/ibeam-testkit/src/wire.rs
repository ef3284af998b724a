//! The two wires: from steps to the bytes that the published services would send.

mod anthropic;
mod openai;

use std::time::Duration;

use ibeam_protocol::Usage;
use serde_json::Value;

use crate::script::Step;

/// A wire of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// `POST /v1/messages`
    Anthropic,
    /// `POST /v1/chat/completions`
    OpenAi,
}

/// A part of a response body.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Chunk {
    Bytes(Vec<u8>),
    Delay(Duration),
    Cut,
    Stall,
}

/// What is said when the script does not tell tokens.
const USAGE: Usage = Usage { input: 12, output: 3, cache_read: 0, cache_write: 0 };

impl Wire {
    /// The body of an answer. `request` is what was asked, `number` counts requests from 1.
    pub(crate) fn encode(self, request: &Value, number: usize, steps: &[Step]) -> Vec<Chunk> {
        let model = request.get("model").and_then(Value::as_str).unwrap_or("scripted").to_owned();
        let usage = steps.iter().find_map(|step| match step {
            Step::Usage(usage) => Some(*usage),
            _ => None,
        });
        let head = Head { model, number, usage: usage.unwrap_or(USAGE) };
        match self {
            Self::Anthropic => anthropic::encode(&head, steps),
            Self::OpenAi => {
                let tells_usage =
                    request.pointer("/stream_options/include_usage") == Some(&Value::Bool(true));
                openai::encode(&head, tells_usage, steps)
            }
        }
    }

    /// The header that carries the request's id.
    pub(crate) fn request_id_header(self) -> &'static str {
        match self {
            Self::Anthropic => "request-id",
            Self::OpenAi => "x-request-id",
        }
    }
}

/// What every event of an answer may need.
struct Head {
    model: String,
    number: usize,
    usage: Usage,
}

/// True when the steps say nothing themselves, so that no event of ours belongs around them.
fn is_only_faults(steps: &[Step]) -> bool {
    !steps.is_empty()
        && steps.iter().all(|step| match step {
            Step::Raw(_) | Step::Cut | Step::Stall | Step::Delay(_) | Step::Status { .. } => true,
            Step::Text(_) | Step::Thinking(_) | Step::Call { .. } | Step::Usage(_) | Step::Stop(_) => false,
        })
}

/// Cuts arguments into pieces as services do: anywhere between characters.
fn pieces(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let size = (characters.len() / 4).max(3);
    characters.chunks(size).map(|piece| piece.iter().collect()).collect()
}
