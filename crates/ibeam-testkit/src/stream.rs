//! A printed stream and its checks: everything that `ibeam check` requires, and stricter rules for the program itself.
//!
//! Unknown keys and warnings are failures here, so a change of the wire format needs a change here.

use std::fmt::Display;

use ibeam_wire::{Contract, check};
use serde_json::{Map, Value};

/// A printed stream that passed every check.
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    /// The events, one per line.
    pub events: Vec<Value>,
}

/// The allowed keys of each type of event, in the order of the contract.
const KEYS: [(&str, &[&str]); 7] = [
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
    ("user", &["type", "message", "session_id", "ibeam"]),
    ("assistant", &["type", "message", "session_id", "timestamp_ms", "model_call_id"]),
    (
        "tool_call",
        &["type", "subtype", "call_id", "tool_call", "session_id", "model_call_id", "timestamp_ms"],
    ),
    (
        "ibeam",
        &["type", "subtype", "from_model", "to_model", "code", "message", "session_id", "timestamp_ms"],
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
    /// Parses a complete stdout and checks it.
    ///
    /// # Errors
    /// The first failed check, and its position.
    pub fn check(stdout: &str) -> Result<Self, String> {
        let report = check::check(stdout.as_bytes(), 20).map_err(|error| error.to_string())?;
        let findings = report.findings.iter().map(|finding| {
            let check::Finding { line, column, rule, message, .. } = finding;
            format!("{line}:{column}: {rule}: {message}")
        });
        let findings: Vec<String> = findings.collect();
        require(findings.is_empty(), format!("the contract\n{}", findings.join("\n")))?;
        let events: Result<Vec<Value>, _> = stdout.lines().map(serde_json::from_str).collect();
        let stream = Self { events: events.map_err(|error| error.to_string())? };
        if stream.is_unstarted() {
            return Ok(stream);
        }
        require(report.is_from_ibeam && !report.is_single_object, "the stream is from ibeam")?;
        for (number, event) in (1..).zip(&stream.events) {
            check_keys(event).map_err(|broken| format!("line {number}: {broken}"))?;
            let answer = event["type"] == "assistant" && event.get("model_call_id").is_some();
            require(!answer || report.contract == Contract::Two, format!("contract 1 has deltas: {event}"))?;
        }
        require(
            stream.init()["tools"].as_array().is_some_and(|tools| !tools.is_empty()),
            "`tools` are named",
        )?;
        stream.check_messages()?;
        Ok(stream)
    }

    /// Whether the stream is the failure of a run that did not start.
    pub fn is_unstarted(&self) -> bool {
        matches!(self.events.as_slice(), [only] if only["type"] == "error" && only["session_id"].is_null())
    }

    /// Returns the `system`/`init` event.
    pub fn init(&self) -> &Value {
        &self.events[0]
    }

    /// Returns the last event.
    pub fn last(&self) -> &Value {
        &self.events[self.events.len() - 1]
    }

    pub fn session_id(&self) -> &str {
        self.init()["session_id"].as_str().unwrap_or_default()
    }

    /// Returns the texts of the `assistant` events.
    pub fn deltas(&self) -> Vec<&str> {
        self.events_of_type("assistant")
            .filter_map(|event| event["message"]["content"][0]["text"].as_str())
            .collect()
    }

    /// Returns the text of each `assistant` event, whether it has `model_call_id` and whether it has `timestamp_ms`.
    pub fn assistant_forms(&self) -> Vec<(&str, bool, bool)> {
        let keys = |event: &Value| ["model_call_id", "timestamp_ms"].map(|key| event.get(key).is_some());
        let events = self.events_of_type("assistant").map(keys);
        self.deltas().into_iter().zip(events).map(|(text, [answer, time])| (text, answer, time)).collect()
    }

    /// Returns the text blocks of the prompt.
    pub fn prompt(&self) -> Vec<&str> {
        let content = self.events[1]["message"]["content"].as_array();
        content.into_iter().flatten().filter_map(|block| block["text"].as_str()).collect()
    }

    /// Returns the completed calls: the key of the tool and its value.
    pub fn completed(&self) -> Vec<(&str, &Value)> {
        let completed = self.events_of_type("tool_call").filter(|event| event["subtype"] == "completed");
        completed.filter_map(|event| tool_and_body(event).ok()).collect()
    }

    /// Returns one phrase per event: `text`, `started read`, `completed read`, or the type.
    pub fn outline(&self) -> Vec<String> {
        let word =
            |event: &Value| match (event["type"].as_str(), event["subtype"].as_str(), tool_and_body(event)) {
                (Some("tool_call"), Some(subtype), Ok((key, _))) => {
                    format!("{subtype} {}", key.strip_suffix("ToolCall").unwrap_or(key))
                }
                (Some("assistant"), ..) => "text".to_owned(),
                (kind, ..) => kind.unwrap_or_default().to_owned(),
            };
        self.events.iter().map(word).collect()
    }

    fn events_of_type(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.events.iter().filter(move |event| event["type"] == kind)
    }

    /// Checks that no text is empty, and that a delta is one block.
    fn check_messages(&self) -> Result<(), String> {
        for event in self.events_of_type("user").chain(self.events_of_type("assistant")) {
            let blocks = event["message"]["content"].as_array().map(Vec::as_slice).unwrap_or_default();
            let empty = blocks.iter().any(|block| block["text"] == "");
            require(!empty, format!("content is text: {event}"))?;
            require(event["type"] == "user" || blocks.len() == 1, format!("a delta is one block: {event}"))?;
        }
        Ok(())
    }
}

/// Returns an error with `rule` unless the rule is met.
fn require(is_satisfied: bool, rule: impl Display) -> Result<(), String> {
    if is_satisfied { Ok(()) } else { Err(format!("violated: {rule}")) }
}

/// Checks that the event has only allowed keys.
fn check_keys(event: &Value) -> Result<(), String> {
    let allowed = KEYS.iter().find(|(kind, _)| event["type"] == *kind).map(|(_, keys)| *keys);
    let new = event
        .as_object()
        .into_iter()
        .flat_map(Map::keys)
        .find(|name| !allowed.unwrap_or_default().contains(&name.as_str()));
    require(new.is_none(), format!("unknown key: {new:?} in {event}"))
}

/// Returns the key that names the tool, and its value.
fn tool_and_body(event: &Value) -> Result<(&str, &Value), String> {
    let mut entries = event["tool_call"].as_object().into_iter().flatten();
    match (entries.next(), entries.next()) {
        (Some((key, body)), None) => Ok((key, body)),
        _ => Err(format!("`tool_call` has one key: {event}")),
    }
}
