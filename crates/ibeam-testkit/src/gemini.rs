//! Answers as server-sent events of the Gemini API.
//!
//! Source: the API reference, "models.streamGenerateContent", v1beta. The part after the thinking contains the
//! signature.

use ibeam_protocol::{StopReason, Usage};
use serde_json::{Value, json};

use crate::api::{AnswerScript, Api};
use crate::request::Request;
use crate::script::{Frame, Step, pieces, stop_reason};

pub(crate) const API: Api = Api {
    model_name: "gemini/claude-sonnet-4-6",
    base_url_variable: "GEMINI_BASE_URL",
    key_variable: "GEMINI_API_KEY",
    key_header: ("x-goog-api-key", ""),
    has_path: |path| path.ends_with(":streamGenerateContent"),
    id_header: None,
    stream,
    error,
    violation,
    transcript,
};

fn stream(script: &AnswerScript<'_>) -> Vec<Frame> {
    let mut frames = Vec::new();
    let mut signature = None;
    let signed = |mut part: Value, signature: &mut Option<String>| {
        if let Some(signature) = signature.take() {
            part["thoughtSignature"] = signature.into();
        }
        frame(script, &json!({ "content": { "parts": [part], "role": "model" }, "index": 0 }), None)
    };
    for step in script.steps {
        match step {
            Step::Text(text) => frames.push(signed(json!({ "text": text }), &mut signature)),
            Step::Thinking { text, signature: given } => {
                let thoughts = pieces(text, 2).into_iter();
                frames.extend(
                    thoughts.map(|piece| signed(json!({ "text": piece, "thought": true }), &mut None)),
                );
                signature = Some(given.clone()).filter(|given| !given.is_empty());
            }
            Step::Call { id, name, arguments } => {
                let args: Value = serde_json::from_str(arguments).expect("this API sends arguments as JSON");
                let call = json!({ "id": id, "name": name, "args": args });
                frames.push(signed(json!({ "functionCall": call }), &mut signature));
            }
            Step::Pause(pause) => frames.push(Frame::Pause(*pause)),
            Step::Raw(bytes) => frames.push(Frame::Bytes(bytes.clone())),
            Step::Cut => {
                frames.push(Frame::Cut);
                return frames;
            }
            Step::Stall => {
                frames.push(Frame::Stall);
                return frames;
            }
        }
    }
    let finish_reason = match stop_reason(script.steps, script.stop) {
        StopReason::EndTurn | StopReason::ToolUse => "STOP".to_owned(),
        StopReason::MaxTokens => "MAX_TOKENS".to_owned(),
        StopReason::Refusal => "SAFETY".to_owned(),
        StopReason::Paused => "OTHER".to_owned(),
        StopReason::Unknown(word) => word,
    };
    let mut last = json!({ "text": "" });
    if let Some(signature) = signature {
        last["thoughtSignature"] = signature.into();
    }
    let content = json!({ "parts": [last], "role": "model" });
    let candidate = json!({ "content": content, "finishReason": finish_reason, "index": 0 });
    frames.push(frame(script, &candidate, Some(script.usage)));
    frames
}

/// Returns one event. This API counts cached tokens as prompt tokens, and has no count of tokens written to the cache.
fn frame(script: &AnswerScript<'_>, candidate: &Value, usage: Option<Usage>) -> Frame {
    let mut chunk = json!({
        "candidates": [candidate], "modelVersion": script.model, "responseId": format!("req_{:04}", script.number),
    });
    if let Some(usage) = usage {
        let prompt = usage.input + usage.cache_read;
        chunk["usageMetadata"] = json!({
            "promptTokenCount": prompt, "candidatesTokenCount": usage.output,
            "totalTokenCount": prompt + usage.output, "cachedContentTokenCount": usage.cache_read,
        });
    }
    Frame::Bytes(format!("data: {chunk}\n\n").into_bytes())
}

fn error(status: u16, _kind: &str, message: &str) -> Value {
    let name = match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        _ => "INTERNAL",
    };
    json!({ "error": { "code": status, "message": message, "status": name } })
}

/// Checks that no content is empty and that each content with calls is followed by one with their results.
fn violation(request: &Request) -> Option<String> {
    let contents = request.messages();
    if contents.first().is_none_or(|first| first["role"] != "user") {
        return Some("contents: the first content must have the role user".to_owned());
    }
    for (at, content) in contents.iter().enumerate() {
        if parts(content).is_empty() {
            return Some(format!("contents.{at}: no parts"));
        }
        let calls = ids_and_names(Some(content), "functionCall");
        let results = ids_and_names(contents.get(at + 1), "functionResponse");
        if calls != results {
            return Some(format!("contents.{at}: the calls {calls:?} are answered by {results:?}"));
        }
    }
    let results = ids_and_names(contents.first(), "functionResponse");
    (!results.is_empty()).then(|| format!("contents.0: no calls for the results {results:?}"))
}

fn parts(content: &Value) -> &[Value] {
    content["parts"].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Returns id and name of each call, or of each result.
fn ids_and_names<'a>(content: Option<&'a Value>, kind: &str) -> Vec<(Option<&'a str>, Option<&'a str>)> {
    let parts = content.map(parts).unwrap_or_default().iter().filter_map(|part| part.get(kind));
    parts.map(|field| (field["id"].as_str(), field["name"].as_str())).collect()
}

fn transcript(content: &Value) -> Vec<String> {
    let role = if content["role"] == "model" { "assistant" } else { "user" };
    let line = |part: &Value| {
        if let Some(call) = part.get("functionCall") {
            return Some(format!("call {} {}", call["name"].as_str().unwrap_or_default(), call["args"]));
        }
        if let Some(result) = part.get("functionResponse") {
            let response = &result["response"];
            let text = response["output"].as_str().or_else(|| response["error"].as_str());
            return Some(format!("result {}", text.unwrap_or_default()));
        }
        Some(format!("{role}: {}", part["text"].as_str().filter(|_| part["thought"] != true)?))
    };
    parts(content).iter().filter_map(line).collect()
}
