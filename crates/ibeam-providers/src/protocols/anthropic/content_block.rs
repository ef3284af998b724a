//! The content blocks of an answer, in the form in which they start.
//!
//! Does no I/O. Blocks of tools that the service runs are kept verbatim.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::lenient_json::{self, parse_arguments};

/// The types of blocks that the service requires in later requests, in addition to the results of its own tools.
const REQUIRED_TYPES: &[&str] =
    &["server_tool_use", "mcp_tool_use", "compaction", "container_upload", "fallback"];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum BlockType {
    Text,
    Thinking,
    RedactedThinking,
    ToolUse,
    #[default]
    #[serde(other)]
    Unknown,
}

/// The start of a block, or a complete one.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ContentBlock {
    pub(super) r#type: BlockType,
    pub(super) text: Option<String>,
    pub(super) citations: Option<Vec<Value>>,
    pub(super) thinking: Option<String>,
    pub(super) signature: Option<String>,
    pub(super) data: Option<String>,
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) input: Option<Value>,
    /// The program of the service that calls the tool.
    pub(super) caller: Option<Value>,
}

/// A block that the service requires in later requests: a call of a tool that the service ran, its result, a
/// compaction, or the change to another model.
#[derive(Debug)]
pub(super) struct ServerBlock {
    raw: Map<String, Value>,
    /// The input that has arrived in deltas, as JSON text.
    input: String,
    /// The content that has arrived in deltas.
    content: String,
}

impl ServerBlock {
    /// Parses the start of a block; `None` if no request may contain a block of this type.
    pub(super) fn parse(raw: &str) -> Option<Self> {
        let (raw, _) = lenient_json::parse::<Map<String, Value>>(raw, &mut String::new()).ok()?;
        let kind = raw.get("type")?.as_str()?;
        let is_required = REQUIRED_TYPES.contains(&kind) || kind.ends_with("_tool_result");
        is_required.then_some(Self { raw, input: String::new(), content: String::new() })
    }

    pub(super) fn add_input(&mut self, delta: &str) {
        self.input.push_str(delta);
    }

    pub(super) fn add_content(&mut self, delta: &str) {
        self.content.push_str(delta);
    }

    /// Returns the complete block; `None` if the output limit cut its input.
    pub(super) fn into_raw(mut self) -> Option<Value> {
        if !self.input.trim().is_empty() {
            let input @ Value::Object(_) = parse_arguments(&self.input) else { return None };
            self.raw.insert("input".to_owned(), input);
        }
        if !self.content.is_empty() {
            self.raw.insert("content".to_owned(), Value::String(self.content));
        }
        Some(Value::Object(self.raw))
    }
}
