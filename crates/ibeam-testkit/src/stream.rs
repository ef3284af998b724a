//! A printed stream, held against the contract: everything that `ibeam check` demands, and what readers may not count
//! on but we do.
//!
//! Here no key is new and nothing is a mere warning; a change of the wire has to be made here too.

use std::fmt::Display;

use ibeam_wire::{Contract, check};
use serde_json::{Map, Value};

/// A printed stream that keeps every law.
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    /// Its lines.
    pub events: Vec<Value>,
}

/// The keys of each type of event. The contract has them in their order; here there are no others.
const KEYS: [(&str, &[&str]); 6] = [
    (
        "system",
        &[
            "type",
            "subtype",
            "apiKeySource",
            "cwd",
            "session_id",
            "model",
            "permissionMode",
            "tools",
            "mcp_servers",
            "ibeam",
        ],
    ),
    ("user", &["type", "message", "session_id"]),
    ("assistant", &["type", "message", "session_id", "timestamp_ms", "model_call_id"]),
    (
        "tool_call",
        &["type", "subtype", "call_id", "tool_call", "session_id", "model_call_id", "timestamp_ms"],
    ),
    (
        "result",
        &[
            "type",
            "subtype",
            "duration_ms",
            "duration_api_ms",
            "is_error",
            "result",
            "session_id",
            "request_id",
            "usage",
            "ibeam",
        ],
    ),
    (
        "error",
        &[
            "type",
            "code",
            "message",
            "exit_code",
            "retryable",
            "retry_after_ms",
            "http_status",
            "request_id",
            "session_id",
            "ibeam",
            "resumable",
            "result",
        ],
    ),
];

impl Stream {
    /// Reads a whole stdout and holds it against every law.
    ///
    /// # Errors
    /// The first law that is broken, and where.
    pub fn check(stdout: &str) -> Result<Self, String> {
        let report = check::check(stdout.as_bytes(), 20).map_err(|error| error.to_string())?;
        let told = report.findings.iter().map(|finding| {
            let check::Finding { line, column, rule, message, .. } = finding;
            format!("{line}:{column}: {rule}: {message}")
        });
        let told: Vec<String> = told.collect();
        law(told.is_empty(), format!("the contract\n{}", told.join("\n")))?;
        law(report.is_from_ibeam && !report.is_single_object, "the stream is ours")?;
        let events: Result<Vec<Value>, _> = stdout.lines().map(serde_json::from_str).collect();
        let stream = Self { events: events.map_err(|error| error.to_string())? };
        for (number, event) in (1..).zip(&stream.events) {
            keys(event).map_err(|broken| format!("line {number}: {broken}"))?;
            let answer = event["type"] == "assistant" && event.get("model_call_id").is_some();
            law(!answer || report.contract == Contract::Two, format!("contract 1 has deltas: {event}"))?;
        }
        law(stream.init()["tools"].as_array().is_some_and(|tools| !tools.is_empty()), "`tools` are named")?;
        stream.messages()?;
        Ok(stream)
    }

    /// The `system`/`init` event.
    pub fn init(&self) -> &Value {
        &self.events[0]
    }

    /// The last event.
    pub fn last(&self) -> &Value {
        &self.events[self.events.len() - 1]
    }

    /// The id of the session.
    pub fn session_id(&self) -> &str {
        self.init()["session_id"].as_str().unwrap_or_default()
    }

    /// The texts of the `assistant` events, one by one.
    pub fn deltas(&self) -> Vec<&str> {
        self.of_type("assistant")
            .filter_map(|event| event["message"]["content"][0]["text"].as_str())
            .collect()
    }

    /// The same, each as text, whether it has `model_call_id` and whether it has `timestamp_ms`.
    pub fn forms(&self) -> Vec<(&str, bool, bool)> {
        let keys = |event: &Value| ["model_call_id", "timestamp_ms"].map(|key| event.get(key).is_some());
        let events = self.of_type("assistant").map(keys);
        self.deltas().into_iter().zip(events).map(|(text, [answer, time])| (text, answer, time)).collect()
    }

    /// The text blocks of the prompt.
    pub fn prompt(&self) -> Vec<&str> {
        let content = self.events[1]["message"]["content"].as_array();
        content.into_iter().flatten().filter_map(|block| block["text"].as_str()).collect()
    }

    /// The completed calls: the key of the tool and what stands under it.
    pub fn completed(&self) -> Vec<(&str, &Value)> {
        let completed = self.of_type("tool_call").filter(|event| event["subtype"] == "completed");
        completed.filter_map(|event| body(event).ok()).collect()
    }

    /// The events in one word each: `text`, `started read`, `completed read`, or the type.
    pub fn outline(&self) -> Vec<String> {
        let word = |event: &Value| match (event["type"].as_str(), event["subtype"].as_str(), body(event)) {
            (Some("tool_call"), Some(subtype), Ok((key, _))) => {
                format!("{subtype} {}", key.strip_suffix("ToolCall").unwrap_or(key))
            }
            (Some("assistant"), ..) => "text".to_owned(),
            (kind, ..) => kind.unwrap_or_default().to_owned(),
        };
        self.events.iter().map(word).collect()
    }

    fn of_type(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.events.iter().filter(move |event| event["type"] == kind)
    }

    /// Nobody says nothing, and a delta is one block.
    fn messages(&self) -> Result<(), String> {
        for event in self.of_type("user").chain(self.of_type("assistant")) {
            let blocks = event["message"]["content"].as_array().map(Vec::as_slice).unwrap_or_default();
            let empty = blocks.iter().any(|block| block["text"] == "");
            law(!empty, format!("content is text: {event}"))?;
            law(event["type"] == "user" || blocks.len() == 1, format!("a delta is one block: {event}"))?;
        }
        Ok(())
    }
}

fn law(holds: bool, law: impl Display) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("does not hold: {law}")) }
}

fn keys(event: &Value) -> Result<(), String> {
    let known = KEYS.iter().find(|(kind, _)| event["type"] == *kind).map(|(_, keys)| *keys);
    let new = event
        .as_object()
        .into_iter()
        .flat_map(Map::keys)
        .find(|name| !known.unwrap_or_default().contains(&name.as_str()));
    law(new.is_none(), format!("no key is new: {new:?} in {event}"))
}

/// The key that names the tool, and what stands under it.
fn body(event: &Value) -> Result<(&str, &Value), String> {
    let mut entries = event["tool_call"].as_object().into_iter().flatten();
    match (entries.next(), entries.next()) {
        (Some((key, body)), None) => Ok((key, body)),
        _ => Err(format!("`tool_call` has one key: {event}")),
    }
}
