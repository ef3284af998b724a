//! A tool call: its begin and its end.

use std::fmt;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// `tool_call`: a call begins or has ended.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct ToolCallEvent {
    /// Begin or end. Published.
    #[serde(rename = "subtype")]
    pub phase: CallPhase,
    /// The id that the provider gave; joins begin and end, and may hold any character. Published.
    pub call_id: String,
    /// The tool, its arguments, and its result once there is one. Published.
    pub tool_call: ToolCallBody,
    /// A UUID, the same in every event of the run. Published.
    pub session_id: String,
    /// The same for all calls of one answer of the model. Since 0.1.0.
    pub model_call_id: Option<String>,
    /// Milliseconds since 1970-01-01 UTC. Since 0.1.0.
    pub timestamp_ms: Option<u64>,
}

/// Begin or end of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallPhase {
    /// The call begins.
    Started,
    /// The call has ended, well or not.
    Completed,
}

/// What stands in `tool_call`: one key that names the tool, and what stands under it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolCallBody {
    /// The key as it stands: `readToolCall`, `shellToolCall`, …, `function`. Published.
    pub key: String,
    /// The arguments: an object; under `function` a string of JSON as the model wrote it. Published.
    pub args: Value,
    /// The result of a completed call. Published.
    pub result: Option<Value>,
    /// The name of a tool without a key of its own. Published.
    pub name: Option<String>,
}

impl ToolCallBody {
    /// The name of the tool without its suffix, e.g. `read`; under `function` the name that stands there.
    pub fn tool(&self) -> &str {
        let name = || self.key.strip_suffix("ToolCall").unwrap_or(&self.key);
        self.name.as_deref().unwrap_or_else(name)
    }

    /// The arm of the result and what it holds: `success`, `failure`, `error`, `rejected`, …
    ///
    /// `None` before the end, and where a tool without a key of its own gave something else than arms.
    pub fn arm(&self) -> Option<(&str, &Value)> {
        let arms = self.result.as_ref()?.as_object()?;
        arms.iter()
            .find(|(_, arm)| arm.is_object() || arms.len() == 1)
            .map(|(name, arm)| (name.as_str(), arm))
    }
}

impl<'de> Deserialize<'de> for ToolCallBody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(BodyVisitor)
    }
}

/// What stands under the key of a tool.
#[derive(Deserialize)]
struct Parts {
    args: Option<Value>,
    arguments: Option<Value>,
    name: Option<String>,
    result: Option<Value>,
}

struct BodyVisitor;

impl<'de> Visitor<'de> for BodyVisitor {
    type Value = ToolCallBody;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with one key that names a tool")
    }

    /// The first key names the tool; further ones are new and passed over.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ToolCallBody, A::Error> {
        let Some((key, parts)) = map.next_entry::<String, Parts>()? else {
            return Err(A::Error::custom("`tool_call` names no tool"));
        };
        while map.next_entry::<String, serde::de::IgnoredAny>()?.is_some() {}
        let Parts { args, arguments, name, result } = parts;
        let args = args.or(arguments).unwrap_or_default();
        Ok(ToolCallBody { key, args, result, name })
    }
}
