//! A tool call: its start and its end.

use std::fmt;

use serde::de::{Error, IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::call_phase::CallPhase;
use crate::describe::{Describe, Shape, contract_object};

/// The key of `tool_call` for a tool without its own key.
pub const FUNCTION: &str = "function";

contract_object! {
    /// A tool call starts.
    pub struct ToolCallEvent<S: Default = String, B = ToolCallBody> type "tool_call" {
        /// The subtype of the event.
        required phase("subtype"): CallPhase,
        /// The provider's id of the call, with any characters; the same in `started` and `completed`.
        required call_id("call_id"): S,
        /// The tool and its arguments, without a `result`.
        required tool_call("tool_call"): B,
        /// The id of the session.
        required session_id("session_id", shape: Shape::Uuid): S,
        /// The model response that the call belongs to; the calls of one response share it.
        added model_call_id("model_call_id"): Option<S>,
        /// The start time, since 1970-01-01 UTC.
        added timestamp_ms("timestamp_ms", unit: "ms"): Option<u64>,
    }
}

/// The object `tool_call`: one key that names the tool, with its arguments and its result.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolCallBody {
    /// The key: `readToolCall`, `shellToolCall`, …, `function`.
    pub key: String,
    /// The arguments: an object; under `function` a string of JSON as the model wrote it.
    pub args: Value,
    /// The result of a completed call.
    pub result: Option<Value>,
    /// The name of a tool without its own key.
    pub name: Option<String>,
}

impl Describe for ToolCallBody {
    const SHAPE: Shape = Shape::ToolCall(None);
}

impl ToolCallBody {
    /// Returns the key without its suffix, e.g. `read`; under `function` the name that the model used.
    pub fn tool(&self) -> &str {
        let name = || self.key.strip_suffix("ToolCall").unwrap_or(&self.key);
        self.name.as_deref().unwrap_or_else(name)
    }

    /// Returns the arm of the result and its payload: `success`, `failure`, `error`, `rejected`, …
    ///
    /// `None` before the end, and if the result of a tool without its own key has no arm.
    pub fn arm(&self) -> Option<(&str, &Value)> {
        let arms = self.result.as_ref()?.as_object()?;
        arms.iter()
            .find(|(_, arm)| arm.is_object() || arms.len() == 1)
            .map(|(name, arm)| (name.as_str(), arm))
    }
}

/// The value under the key of a tool.
#[derive(Serialize, Deserialize)]
struct Parts<S, V> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<S>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<V>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<V>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<V>,
}

impl Serialize for ToolCallBody {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(Some(1))?;
        let (args, arguments) =
            if self.key == FUNCTION { (None, Some(&self.args)) } else { (Some(&self.args), None) };
        object.serialize_entry(
            &self.key,
            &Parts { name: self.name.as_deref(), args, arguments, result: self.result.as_ref() },
        )?;
        object.end()
    }
}

impl<'de> Deserialize<'de> for ToolCallBody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(BodyVisitor)
    }
}

struct BodyVisitor;

impl<'de> Visitor<'de> for BodyVisitor {
    type Value = ToolCallBody;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with one key that names a tool")
    }

    /// The first key names the tool. Further keys are ignored, because the contract may grow.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ToolCallBody, A::Error> {
        let Some((key, parts)) = map.next_entry::<String, Parts<String, Value>>()? else {
            return Err(A::Error::custom("`tool_call` names no tool"));
        };
        while map.next_entry::<String, IgnoredAny>()?.is_some() {}
        let Parts { args, arguments, name, result } = parts;
        let args = args.or(arguments).unwrap_or_default();
        Ok(ToolCallBody { key, args, result, name })
    }
}
