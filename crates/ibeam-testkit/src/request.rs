//! A received request, and what the APIs have in common: messages, transcript, required fields.

use serde_json::Value;

use crate::wire::Wire;

/// A recorded request.
#[derive(Clone, Debug)]
pub struct Request {
    pub wire: Wire,
    pub path: String,
    /// The headers in their order: name in lower case, and value.
    pub headers: Vec<(String, String)>,
    /// The JSON body, or `null` if the body was not JSON. Over WebSocket it is the body that the same request would have
    /// over HTTP.
    pub body: Value,
    /// The message over WebSocket, as it was sent; `None` over HTTP.
    pub message: Option<Value>,
}

impl Request {
    /// Returns the first header of this name, which is in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(candidate, _)| candidate == name).map(|(_, value)| value.as_str())
    }

    pub fn messages(&self) -> &[Value] {
        let messages =
            ["messages", "input", "contents"].into_iter().find_map(|key| self.body[key].as_array());
        messages.map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the model, which some APIs have in the path.
    pub(crate) fn model(&self) -> Value {
        let last = self.path.rsplit('/').next().and_then(|last| last.split(':').next());
        self.body.get("model").cloned().unwrap_or_else(|| last.into())
    }

    /// Returns the first field that is missing in a request whose model and messages are in its body.
    pub(crate) fn missing_field(&self) -> Option<String> {
        let missing = |what: &str| Some(format!("{what} is missing"));
        if !self.body["model"].is_string() {
            return missing("model");
        }
        if self.body["stream"] != Value::Bool(true) {
            return missing("stream: true");
        }
        self.messages().is_empty().then(|| "messages is missing".to_owned())
    }
}

/// Returns the lines of a transcript for a message of Anthropic or OpenAI.
pub(crate) fn transcript_of(message: &Value) -> Vec<String> {
    let role = message["role"].as_str().unwrap_or_default();
    let mut lines = Vec::new();
    let text_line = |text: &str| match role {
        "system" => None,
        "tool" => Some(format!("result {text}")),
        _ => Some(format!("{role}: {text}")),
    };
    match &message["content"] {
        Value::String(text) => lines.extend(text_line(text)),
        Value::Array(blocks) => {
            for block in blocks {
                match block["type"].as_str() {
                    Some("text") => lines.extend(text_line(block["text"].as_str().unwrap_or_default())),
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
