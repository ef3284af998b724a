//! Answers of Claude on Vertex AI, and on Amazon Bedrock through InvokeModel. The events are those of the Anthropic
//! Messages API; Bedrock sends them in a binary event stream.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::api::{AnswerScript, Api};
use crate::request::{self, Request};
use crate::script::Frame;
use crate::{anthropic, bedrock};

pub(crate) const VERTEX: Api = Api {
    model_name: "vertex-anthropic/claude-sonnet-4-6",
    base_url_variable: "ANTHROPIC_VERTEX_BASE_URL",
    key_variable: "ANTHROPIC_VERTEX_ACCESS_TOKEN",
    key_header: ("authorization", "Bearer "),
    has_path: |path| path.contains("/publishers/anthropic/models/") && path.ends_with(":streamRawPredict"),
    id_header: Some("request-id"),
    stream: anthropic::stream,
    error: anthropic::error,
    violation: |request| violation(request, "vertex-2023-10-16", true),
    transcript: request::transcript_of,
};

/// Claude on Bedrock through InvokeModel. No provider uses this API by default.
pub(crate) const BEDROCK: Api = Api {
    has_path: |path| path.starts_with("/model/") && path.ends_with("/invoke-with-response-stream"),
    stream: invoke_stream,
    violation: |request| violation(request, "bedrock-2023-05-31", false),
    transcript: request::transcript_of,
    ..bedrock::API
};

fn invoke_stream(script: &AnswerScript<'_>) -> Vec<Frame> {
    let frames = anthropic::stream(script).into_iter();
    frames
        .map(|frame| match frame {
            Frame::Bytes(bytes) => Frame::Bytes(chunks(&String::from_utf8_lossy(&bytes))),
            frame @ (Frame::Pause(_) | Frame::Cut | Frame::Stall) => frame,
        })
        .collect()
}

/// Converts server-sent events into chunks of a binary event stream.
fn chunks(events: &str) -> Vec<u8> {
    let data = events.lines().filter_map(|line| line.strip_prefix("data: "));
    let chunk = |data| {
        bedrock::encode_message("chunk", &json!({ "bytes": STANDARD.encode(data), "p": "ab" }).to_string())
    };
    data.map(chunk).collect::<Vec<_>>().concat()
}

/// Checks the fields of the body. `has_stream`: whether the body must have the field `stream`.
fn violation(request: &Request, version: &str, has_stream: bool) -> Option<String> {
    let body = &request.body;
    if body["anthropic_version"] != version || body.get("model").is_some() {
        return Some(format!("the body needs anthropic_version {version} and no model"));
    }
    if body.get("stream").is_some() != has_stream || !body["max_tokens"].is_u64() {
        return Some("stream or max_tokens is wrong".to_owned());
    }
    if request.messages().is_empty() {
        return Some("messages is missing".to_owned());
    }
    anthropic::call_violation(request)
}
