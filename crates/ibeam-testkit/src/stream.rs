//! The laws of `stream-json`, held against what was printed.
//!
//! Source: docs/output-format.md. Ignores what a key holds where the laws do not speak of it.

use std::fmt::Display;

use serde_json::{Map, Value};

/// A printed stream that keeps every law.
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    /// Its lines.
    pub events: Vec<Value>,
}

/// The keys of each event in their order; those with `?` may be absent.
const KEYS: [(&str, Option<&str>, &[&str]); 7] = [
    (
        "system",
        Some("init"),
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
    ("user", None, &["type", "message", "session_id"]),
    ("assistant", None, &["type", "message", "session_id", "timestamp_ms"]),
    ("tool_call", Some("started"), CALL_KEYS),
    ("tool_call", Some("completed"), CALL_KEYS),
    (
        "result",
        Some("success"),
        &[
            "type",
            "subtype",
            "duration_ms",
            "duration_api_ms",
            "is_error",
            "result",
            "session_id",
            "request_id?",
            "usage?",
            "ibeam",
        ],
    ),
    (
        "error",
        None,
        &[
            "type",
            "code",
            "message",
            "exit_code",
            "retryable",
            "retry_after_ms?",
            "http_status?",
            "request_id?",
            "session_id",
            "ibeam",
            "resumable",
            "result?",
        ],
    ),
];
const CALL_KEYS: &[&str] =
    &["type", "subtype", "call_id", "tool_call", "session_id", "model_call_id", "timestamp_ms"];

impl Stream {
    /// Reads a whole stdout and holds it against every law.
    ///
    /// # Errors
    /// The first law that is broken, and where.
    pub fn check(stdout: &str) -> Result<Self, String> {
        let events = lines(stdout)?;
        for (number, event) in (1..).zip(&events) {
            keys(event).map_err(|broken| format!("line {number}: {broken}"))?;
        }
        let stream = Self { events };
        stream.order()?;
        stream.session()?;
        stream.head()?;
        stream.messages()?;
        stream.calls()?;
        stream.end()?;
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

    fn order(&self) -> Result<(), String> {
        let kinds: Vec<&str> = self.events.iter().filter_map(|event| event["type"].as_str()).collect();
        let [first, second, middle @ .., last] = kinds.as_slice() else {
            return Err(format!("too few events: {kinds:?}"));
        };
        law(*first == "system", "the first event is `system`")?;
        law(*second == "user", "the second event is `user`")?;
        law(
            middle.iter().all(|kind| ["assistant", "tool_call"].contains(kind)),
            format!("the order of {kinds:?}"),
        )?;
        law(["result", "error"].contains(last), format!("the last event ends the run: {kinds:?}"))
    }

    fn session(&self) -> Result<(), String> {
        let id = self.session_id();
        let groups: Vec<usize> = id.split('-').map(str::len).collect();
        let digits = id.chars().all(|c| c == '-' || c.is_ascii_hexdigit());
        law(digits && groups == [8, 4, 4, 4, 12], format!("`{id}` is a UUID"))?;
        law(self.events.iter().all(|event| event["session_id"] == id), "one session id in every event")
    }

    fn head(&self) -> Result<(), String> {
        let init = self.init();
        let one_of = |key: &str, words: &[&str]| {
            law(words.iter().any(|word| init[key] == *word), format!("`{key}` is one of {words:?}"))
        };
        one_of("apiKeySource", &["env", "flag", "login"])?;
        one_of("permissionMode", &["default", "force", "plan", "ask"])?;
        law(init["cwd"].as_str().is_some_and(|cwd| cwd.starts_with('/')), "`cwd` is absolute")?;
        law(init["tools"].as_array().is_some_and(|tools| !tools.is_empty()), "`tools` are named")?;
        law(init["ibeam"]["contract"] == "1", "`ibeam.contract` is \"1\"")
    }

    fn messages(&self) -> Result<(), String> {
        for event in self.of_type("user").chain(self.of_type("assistant")) {
            law(event["message"]["role"] == event["type"], "the role of a message is its type")?;
            let content = event["message"]["content"].as_array();
            law(content.is_some_and(|blocks| !blocks.is_empty()), "a message has content")?;
            let text = |block: &Value| {
                block["type"] == "text" && block["text"].as_str().is_some_and(|text| !text.is_empty())
            };
            law(content.into_iter().flatten().all(text), format!("content is text: {event}"))?;
        }
        let one_block =
            |event: &Value| event["message"]["content"].as_array().is_some_and(|blocks| blocks.len() == 1);
        law(self.of_type("assistant").all(one_block), "a delta is one block")
    }

    /// Every started call is completed exactly once, later, as the same call.
    fn calls(&self) -> Result<(), String> {
        let mut open: Vec<&Value> = Vec::new();
        for event in self.of_type("tool_call") {
            let (key, body) = body(event)?;
            let arms = arms(body);
            if event["subtype"] == "started" {
                law(arms.is_none(), format!("a started call has no result: {event}"))?;
                law(
                    open.iter().all(|other| !same_call(other, event)),
                    format!("a call starts once: {event}"),
                )?;
                open.push(event);
                continue;
            }
            let begin = open.iter().position(|other| same_call(other, event));
            let Some(begin) = begin else {
                return Err(format!("a call completes after it starts, once: {event}"));
            };
            let started = &open.remove(begin)["tool_call"][key];
            let kept = ["args", "name", "arguments"].iter().all(|part| started[*part] == body[*part]);
            law(kept, format!("a completed call repeats its arguments: {event}"))?;
            law(arms.is_some_and(|arms| arms == 1), format!("a result has exactly one arm: {event}"))?;
        }
        law(open.is_empty(), format!("every started call is completed: {open:?}"))
    }

    fn end(&self) -> Result<(), String> {
        let last = self.last();
        if last["type"] == "error" {
            law(last["exit_code"].as_u64().is_some_and(|code| code > 0), "an error has an exit code")?;
            let said = last["result"].as_str().unwrap_or_default();
            law(said == self.deltas().concat(), format!("`result` is what was said until then: {last}"))?;
            return law(
                last["code"].is_string() && last["message"].is_string(),
                "an error has a code and a message",
            );
        }
        law(
            last["result"] == self.deltas().concat(),
            format!("`result` is the concatenation of the deltas: {last}"),
        )?;
        law(last["is_error"] == Value::Bool(false), "a result is no error")?;
        law(
            last["duration_ms"].is_u64() && last["duration_ms"] == last["duration_api_ms"],
            "whole, equal durations",
        )?;
        let counts = ["inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"];
        let usage = last["usage"].as_object();
        law(
            usage.is_none_or(|usage| names(usage) == counts && usage.values().all(Value::is_u64)),
            "`usage` is four counts",
        )
    }
}

fn law(holds: bool, law: impl Display) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("does not hold: {law}")) }
}

fn lines(stdout: &str) -> Result<Vec<Value>, String> {
    law(stdout.ends_with('\n'), "the last line has an end")?;
    let mut events = Vec::new();
    for line in stdout.split_terminator('\n') {
        let control = line.chars().any(|c| c.is_control() || ['\u{2028}', '\u{2029}'].contains(&c));
        law(!control, format!("no bare control character: {line:?}"))?;
        let event: Value = serde_json::from_str(line).map_err(|error| format!("{error}: {line:?}"))?;
        law(event.is_object(), format!("a line is an object: {line}"))?;
        events.push(event);
    }
    Ok(events)
}

fn keys(event: &Value) -> Result<(), String> {
    let (kind, subtype) = (event["type"].as_str(), event["subtype"].as_str());
    let known =
        KEYS.iter().find(|(known, known_subtype, _)| Some(*known) == kind && *known_subtype == subtype);
    let Some((_, _, expected)) = known else { return Err(format!("no such event: {event}")) };
    let mut expected = expected.iter();
    for name in event.as_object().map(names).unwrap_or_default() {
        let found = expected.by_ref().find(|key| key.trim_end_matches('?') == name || !key.ends_with('?'));
        law(
            found.is_some_and(|key| key.trim_end_matches('?') == name),
            format!("`{name}` in its place: {event}"),
        )?;
    }
    law(expected.all(|key| key.ends_with('?')), format!("all keys: {event}"))
}

fn names(object: &Map<String, Value>) -> Vec<&str> {
    object.keys().map(String::as_str).collect()
}

/// The key that names the tool, and what stands under it.
fn body(event: &Value) -> Result<(&str, &Value), String> {
    let mut entries = event["tool_call"].as_object().into_iter().flatten();
    match (entries.next(), entries.next()) {
        (Some((key, body)), None) => Ok((key, body)),
        _ => Err(format!("`tool_call` has one key: {event}")),
    }
}

/// How many arms a result has; what stands beside the arm is no object.
fn arms(body: &Value) -> Option<usize> {
    let result = body.get("result")?.as_object()?;
    Some(result.values().filter(|arm| arm.is_object()).count())
}

fn same_call(one: &Value, other: &Value) -> bool {
    one["call_id"] == other["call_id"] && one["model_call_id"] == other["model_call_id"]
}
