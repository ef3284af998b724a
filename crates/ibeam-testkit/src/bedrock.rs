//! Answers as a binary event stream of the Converse API of Amazon Bedrock.
//!
//! Source: the API reference, "ConverseStream", and the "Amazon event stream specification" of Smithy.

use ibeam_protocol::StopReason;
use serde_json::{Value, json};

use crate::api::{AnswerScript, Api};
use crate::request::Request;
use crate::script::{Frame, Step, pieces, stop_reason};

pub(crate) const API: Api = Api {
    model_name: "bedrock/us.anthropic.claude-sonnet-4-6",
    base_url_variable: "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
    key_variable: "AWS_BEARER_TOKEN_BEDROCK",
    key_header: ("authorization", "Bearer "),
    has_path: |path| path.starts_with("/model/") && path.ends_with("/converse-stream"),
    id_header: Some("x-amzn-requestid"),
    stream,
    error,
    violation,
    transcript,
};

fn stream(script: &AnswerScript<'_>) -> Vec<Frame> {
    let mut blocks = Blocks { frames: Vec::new(), open: None, next: 0 };
    blocks.push_event("messageStart", json!({ "p": "abcdefgh", "role": "assistant" }));
    for step in script.steps {
        if !blocks.push_step(step) {
            return blocks.frames;
        }
    }
    blocks.end_open_text();
    let stop_reason = match stop_reason(script.steps, script.stop) {
        StopReason::EndTurn => "end_turn".to_owned(),
        StopReason::ToolUse => "tool_use".to_owned(),
        StopReason::MaxTokens => "max_tokens".to_owned(),
        StopReason::Refusal => "guardrail_intervened".to_owned(),
        StopReason::Paused => "pause_turn".to_owned(),
        StopReason::Unknown(word) => word,
    };
    blocks.push_event("messageStop", json!({ "p": "abc", "stopReason": stop_reason }));
    let usage = script.usage;
    let total = usage.input + usage.output + usage.cache_read + usage.cache_write;
    let usage = json!({
        "inputTokens": usage.input, "outputTokens": usage.output, "totalTokens": total,
        "cacheReadInputTokens": usage.cache_read, "cacheWriteInputTokens": usage.cache_write,
    });
    blocks.push_event("metadata", json!({ "metrics": { "latencyMs": 5 }, "p": "a", "usage": usage }));
    blocks.frames
}

pub(crate) fn error(_status: u16, _kind: &str, message: &str) -> Value {
    json!({ "message": message })
}

/// Returns one message of the event stream.
pub(crate) fn encode_message(kind: &str, payload: &str) -> Vec<u8> {
    let mut headers = Vec::new();
    for (name, value) in
        [(":event-type", kind), (":content-type", "application/json"), (":message-type", "event")]
    {
        headers.push(u8::try_from(name.len()).expect("a short name"));
        headers.extend_from_slice(name.as_bytes());
        // The type of a text value.
        headers.push(7);
        headers.extend_from_slice(&u16::try_from(value.len()).expect("a short value").to_be_bytes());
        headers.extend_from_slice(value.as_bytes());
    }
    let length = |bytes: usize| u32::try_from(bytes).expect("a message of less than 4 GiB").to_be_bytes();
    let mut message = length(16 + headers.len() + payload.len()).to_vec();
    message.extend_from_slice(&length(headers.len()));
    message.extend_from_slice(&crc32fast::hash(&message).to_be_bytes());
    message.extend_from_slice(&headers);
    message.extend_from_slice(payload.as_bytes());
    message.extend_from_slice(&crc32fast::hash(&message).to_be_bytes());
    message
}

/// The frames of a stream, built block by block.
struct Blocks {
    frames: Vec<Frame>,
    /// The index of the open text block.
    open: Option<usize>,
    /// The index of the next block.
    next: usize,
}

impl Blocks {
    fn push_event(&mut self, kind: &str, payload: Value) {
        self.frames.push(Frame::Bytes(encode_message(kind, &payload.to_string())));
    }

    fn push_delta(&mut self, index: usize, delta: Value) {
        self.push_event(
            "contentBlockDelta",
            json!({ "contentBlockIndex": index, "delta": delta, "p": "abcd" }),
        );
    }

    fn end_block(&mut self, index: usize) {
        self.push_event("contentBlockStop", json!({ "contentBlockIndex": index, "p": "ab" }));
    }

    /// Ends the open text block.
    fn end_open_text(&mut self) {
        if let Some(index) = self.open.take() {
            self.end_block(index);
        }
    }

    /// Ends the open text block and returns the index of the next block.
    fn start_block(&mut self) -> usize {
        self.end_open_text();
        self.next += 1;
        self.next - 1
    }

    /// Adds a step. Returns `false` if no step can follow it.
    fn push_step(&mut self, step: &Step) -> bool {
        match step {
            Step::Text(text) => {
                let index = self.open.unwrap_or_else(|| self.start_block());
                self.open = Some(index);
                self.push_delta(index, json!({ "text": text }));
            }
            Step::Thinking { text, signature } => {
                let index = self.start_block();
                for piece in pieces(text, 2) {
                    self.push_delta(index, json!({ "reasoningContent": { "text": piece } }));
                }
                self.push_delta(index, json!({ "reasoningContent": { "signature": signature } }));
                self.end_block(index);
            }
            Step::Call { id, name, arguments } => {
                let index = self.start_block();
                let start = json!({ "toolUse": { "name": name, "toolUseId": id } });
                let start = json!({ "contentBlockIndex": index, "p": "abc", "start": start });
                self.push_event("contentBlockStart", start);
                for piece in pieces(arguments, 3) {
                    self.push_delta(index, json!({ "toolUse": { "input": piece } }));
                }
                self.end_block(index);
            }
            Step::Pause(pause) => self.frames.push(Frame::Pause(*pause)),
            Step::Raw(bytes) => self.frames.push(Frame::Bytes(bytes.clone())),
            Step::Cut => self.frames.push(Frame::Cut),
            Step::Stall => self.frames.push(Frame::Stall),
        }
        !matches!(step, Step::Cut | Step::Stall)
    }
}

/// Checks that roles alternate, that no text is blank, and that each message with calls is followed by one with their
/// results.
fn violation(request: &Request) -> Option<String> {
    let messages = request.messages();
    if ["model", "stream"].iter().any(|key| request.body.get(key).is_some()) {
        return Some("extraneous key [model] or [stream] is not permitted".to_owned());
    }
    for (at, message) in messages.iter().enumerate() {
        let role = if at % 2 == 0 { "user" } else { "assistant" };
        if message["role"] != role {
            return Some(format!("messages.{at}: the role must be {role}"));
        }
        let is_blank = |block: &Value| block["text"].as_str().is_some_and(|text| text.trim().is_empty());
        if content(message).is_empty() || content(message).iter().any(is_blank) {
            return Some(format!("messages.{at}: the content is empty, or a text is blank"));
        }
        let calls = ids(Some(message), "toolUse");
        let results = ids(messages.get(at + 1), "toolResult");
        if calls != results {
            return Some(format!("messages.{at}: the calls {calls:?} are answered by {results:?}"));
        }
        if !calls.is_empty() && request.body.get("toolConfig").is_none() {
            return Some("toolConfig must be defined when using toolUse".to_owned());
        }
    }
    messages.is_empty().then(|| "messages is missing".to_owned())
}

fn content(message: &Value) -> &[Value] {
    message["content"].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Returns the sorted ids of the calls, or of the results.
fn ids<'a>(message: Option<&'a Value>, kind: &str) -> Vec<&'a str> {
    let blocks = message.map(content).unwrap_or_default().iter().filter_map(|block| block.get(kind));
    let mut ids: Vec<_> = blocks.filter_map(|block| block["toolUseId"].as_str()).collect();
    ids.sort_unstable();
    ids
}

fn transcript(message: &Value) -> Vec<String> {
    let role = message["role"].as_str().unwrap_or_default();
    let line = |block: &Value| {
        if let Some(call) = block.get("toolUse") {
            return Some(format!("call {} {}", call["name"].as_str().unwrap_or_default(), call["input"]));
        }
        if let Some(result) = block.get("toolResult") {
            return Some(format!("result {}", result["content"][0]["text"].as_str().unwrap_or_default()));
        }
        Some(format!("{role}: {}", block["text"].as_str()?))
    };
    content(message).iter().filter_map(line).collect()
}
