//! A received request, and the rules of its API that a real service would check.

use serde_json::Value;

/// The API of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// `POST /v1/messages`.
    Anthropic,
    /// `POST /v1/chat/completions`.
    OpenAi,
}

/// A recorded request.
#[derive(Clone, Debug)]
pub struct Request {
    /// The API of the request.
    pub wire: Wire,
    /// The headers in their order: name in lower case, and value.
    pub headers: Vec<(String, String)>,
    /// The JSON body, or `null` if the body was not JSON.
    pub body: Value,
}

impl Request {
    /// Returns the first header of this name, which is in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(candidate, _)| candidate == name).map(|(_, value)| value.as_str())
    }

    /// Returns the messages.
    pub fn messages(&self) -> &[Value] {
        self.body["messages"].as_array().map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the text of every message after the system prompt, as `role: text` lines; calls as `call name
    /// arguments`, their results as `result text`. The form is the same for both APIs.
    pub fn transcript(&self) -> Vec<String> {
        self.messages().iter().flat_map(transcript_of).collect()
    }

    /// Returns the first rule of the API that the request violates.
    pub(crate) fn violation(&self) -> Option<String> {
        let missing = |what: &str| Some(format!("{what} is missing"));
        if !self.body["model"].is_string() {
            return missing("model");
        }
        if self.body["stream"] != Value::Bool(true) {
            return missing("stream: true");
        }
        if self.messages().is_empty() {
            return missing("messages");
        }
        match self.wire {
            Wire::Anthropic if self.header("anthropic-version").is_none() => {
                missing("header anthropic-version")
            }
            Wire::Anthropic if !self.body["max_tokens"].is_u64() => missing("max_tokens"),
            Wire::Anthropic => self.unanswered_on_anthropic(),
            Wire::OpenAi => self.unanswered_on_openai(),
        }
    }

    /// Checks that each call has its result in the next message, and each result its call in the previous one.
    fn unanswered_on_anthropic(&self) -> Option<String> {
        let ids = |message: Option<&Value>, kind: &str, key: &str| -> Vec<String> {
            let blocks = message.and_then(|message| message["content"].as_array()).into_iter().flatten();
            let of_kind = blocks.filter(|block| block["type"] == kind);
            of_kind.filter_map(|block| block[key].as_str().map(str::to_owned)).collect()
        };
        let messages = self.messages();
        if messages.first().is_some_and(|first| first["role"] != "user") {
            return Some("messages: the first message must have the role user".to_owned());
        }
        for (at, message) in messages.iter().enumerate() {
            let mut calls = ids(Some(message), "tool_use", "id");
            let mut results = ids(messages.get(at + 1), "tool_result", "tool_use_id");
            calls.sort();
            results.sort();
            if calls != results {
                return Some(format!("messages.{at}: calls {calls:?} are answered by {results:?}"));
            }
        }
        ids(messages.first(), "tool_result", "tool_use_id")
            .pop()
            .map(|id| format!("messages.0: no call `{id}`"))
    }

    /// Checks that `tool` messages with the results follow each assistant message with calls.
    fn unanswered_on_openai(&self) -> Option<String> {
        let mut open: Vec<&str> = Vec::new();
        for (at, message) in self.messages().iter().enumerate() {
            if message["role"] == "tool" {
                let id = message["tool_call_id"].as_str().unwrap_or_default();
                match open.iter().position(|candidate| *candidate == id) {
                    Some(position) => drop(open.remove(position)),
                    None => return Some(format!("messages.{at}: no open call `{id}`")),
                }
                continue;
            }
            if !open.is_empty() {
                return Some(format!("messages.{at}: the calls {open:?} have no result"));
            }
            let calls = message["tool_calls"].as_array().into_iter().flatten();
            open = calls.filter_map(|call| call["id"].as_str()).collect();
        }
        (!open.is_empty()).then(|| format!("the calls {open:?} have no result"))
    }
}

fn transcript_of(message: &Value) -> Vec<String> {
    let role = message["role"].as_str().unwrap_or_default();
    let mut lines = Vec::new();
    let mut push_text = |text: &str| match role {
        "system" => {}
        "tool" => lines.push(format!("result {text}")),
        _ => lines.push(format!("{role}: {text}")),
    };
    match &message["content"] {
        Value::String(text) => push_text(text),
        Value::Array(blocks) => {
            for block in blocks {
                match block["type"].as_str() {
                    Some("text") => {
                        lines.push(format!("{role}: {}", block["text"].as_str().unwrap_or_default()))
                    }
                    Some("tool_use") => {
                        lines.push(format!(
                            "call {} {}",
                            block["name"].as_str().unwrap_or_default(),
                            block["input"]
                        ));
                    }
                    Some("tool_result") => {
                        lines.push(format!("result {}", block["content"].as_str().unwrap_or_default()));
                    }
                    _ => {}
                }
            }
        }
        _ => {}
    }
    for call in message["tool_calls"].as_array().into_iter().flatten() {
        let function = &call["function"];
        let text = |key: &str| function[key].as_str().unwrap_or_default();
        lines.push(format!("call {} {}", text("name"), text("arguments")));
    }
    lines
}
