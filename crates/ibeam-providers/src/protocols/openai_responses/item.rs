//! Output items: the parts of an answer, and how each is kept for later requests.
//!
//! An item of an unknown type is kept as received and sent back at the same place. So are reasoning items, if they can be
//! sent back. Messages and calls become blocks of the conversation; what the blocks have no field for, such as the `phase`
//! of a message, is kept in an opaque block before them, with the type of the item: its attributes.

use ibeam_protocol::OriginalBlock;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::request::NAME;
use crate::lenient_json;
use crate::response_error::{ResponseError, parse_failure};

/// The fields of an item that blocks express, or that are only valid within one answer.
const EXPRESSED_FIELDS: [&str; 11] = [
    "type",
    "id",
    "item_id",
    "call_id",
    "output_index",
    "role",
    "status",
    "content",
    "name",
    "arguments",
    "input",
];

/// The kinds of items that the decoder distinguishes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ItemKind {
    Message,
    Reasoning,
    #[serde(alias = "custom_tool_call")]
    FunctionCall,
    /// A tool that the service runs, a compaction, or an unknown item.
    #[default]
    #[serde(other)]
    Other,
}

/// An item as received.
#[derive(Debug)]
pub(super) struct WireItem {
    pub(super) kind: ItemKind,
    /// Whether the JSON had to be repaired.
    pub(super) repaired: bool,
    fields: Map<String, Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ItemType {
    r#type: ItemKind,
}

/// Returns the kind of an item without parsing its other fields.
pub(super) fn kind_of(raw: &RawValue) -> ItemKind {
    serde_json::from_str::<ItemType>(raw.get()).unwrap_or_default().r#type
}

impl WireItem {
    /// Parses an item.
    ///
    /// # Errors
    /// `Protocol` if it is not an object.
    pub(super) fn parse(raw: &RawValue) -> Result<Self, ResponseError> {
        let mut buffer = String::new();
        let (fields, repaired) = lenient_json::parse::<Map<String, Value>>(raw.get(), &mut buffer)
            .map_err(|error| parse_failure(raw.get(), &error))?;
        Ok(Self { kind: kind_of(raw), repaired, fields })
    }

    /// Returns a field with a string; empty if there is none.
    pub(super) fn text(&self, key: &str) -> &str {
        self.fields.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether the call is one of a tool whose input is free text.
    pub(super) fn is_custom_call(&self) -> bool {
        self.text("type") == "custom_tool_call"
    }

    /// Returns the arguments of a call as JSON text. Some services send the object itself instead of its text.
    pub(super) fn arguments(&self) -> String {
        match self.fields.get(if self.is_custom_call() { "input" } else { "arguments" }) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        }
    }

    /// Returns the text of a message, and whether a part of it is a refusal.
    pub(super) fn message_text(&self) -> (String, bool) {
        let (mut text, mut is_refusal) = (String::new(), false);
        for part in self.parts("content") {
            let field = |key: &str| part.get(key).and_then(Value::as_str).unwrap_or_default();
            text.push_str(field("text"));
            text.push_str(field("refusal"));
            is_refusal |= !field("refusal").is_empty();
        }
        // Some services send the text without the list of parts.
        text.push_str(self.text("content"));
        (text, is_refusal)
    }

    /// Returns the summary of a reasoning item, then the reasoning itself.
    pub(super) fn reasoning_text(&self) -> String {
        let parts = self.parts("summary").iter().chain(self.parts("content"));
        parts.filter_map(|part| part.get("text")?.as_str()).collect()
    }

    /// Returns the attributes that a message or a call has besides the fields of its block.
    pub(super) fn attributes(&self) -> Option<OriginalBlock> {
        let others = self
            .fields
            .iter()
            .filter(|(name, value)| !value.is_null() && !EXPRESSED_FIELDS.contains(&name.as_str()))
            .map(|(name, value)| (name.clone(), value.clone()));
        let others: Vec<_> = others.collect();
        if others.is_empty() {
            return None;
        }
        let r#type = match self.kind {
            ItemKind::Message => "message",
            ItemKind::FunctionCall => "function_call",
            ItemKind::Reasoning | ItemKind::Other => return None,
        };
        let r#type = ("type".to_owned(), Value::from(r#type));
        Some(original_block(std::iter::once(r#type).chain(others).collect()))
    }

    /// Returns the item as received; `None` for reasoning that the service does not accept back. A service that stores
    /// nothing accepts only reasoning that contains the reasoning itself, encrypted or not.
    pub(super) fn into_original_block(self) -> Option<OriginalBlock> {
        let is_accepted = match self.kind {
            ItemKind::Reasoning => {
                ["encrypted_content", "signature"].iter().any(|key| !self.text(key).is_empty())
                    || !self.parts("content").is_empty()
            }
            ItemKind::Message | ItemKind::FunctionCall | ItemKind::Other => true,
        };
        is_accepted.then(|| original_block(self.fields))
    }

    fn parts(&self, key: &str) -> &[Value] {
        self.fields.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }
}

fn original_block(fields: Map<String, Value>) -> OriginalBlock {
    OriginalBlock { wire: NAME.to_owned(), raw: Value::Object(fields) }
}
