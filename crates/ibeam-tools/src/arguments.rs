//! Arguments: from what a model wrote to a checked struct, and from the struct to the schema the model sees.
//!
//! Lenient where the meaning is plain (a number in quotes, `null` for an absent field, other programs' names
//! for the same field), strict elsewhere: a wrong argument gives one sentence that names the field and shows a
//! call that works. Unknown fields are dropped.

use std::borrow::Cow;

use ibeam_core::ToolInputError;
use ibeam_protocol::{ToolOutcome, ToolSpec};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The arguments of one tool, in canonical names.
pub(crate) trait Arguments: DeserializeOwned + Serialize + JsonSchema {
    /// The tool's name.
    const TOOL: &'static str;
    /// Arguments that work, for the sentence about those that do not.
    const EXAMPLE: &'static str;
}

/// Parses what a model wrote.
///
/// # Errors
/// The arguments are incomplete or wrong.
pub(crate) fn parse<A: Arguments>(arguments: &Value) -> Result<A, ToolInputError> {
    if !arguments.is_object() {
        let wrong = if arguments.is_string() { "not valid JSON" } else { "not a JSON object" };
        return Err(explain::<A>(&format!("the arguments are {wrong}")));
    }
    serde_path_to_error::deserialize(arguments).map_err(|error| {
        let field = error.path().to_string();
        let what = error.inner().to_string();
        explain::<A>(&if field == "." { what } else { format!("wrong `{field}`: {what}") })
    })
}

/// Returns the arguments in the names and shapes of the contract.
///
/// # Errors
/// None: every type of arguments serialises.
pub(crate) fn canonical<A: Serialize>(arguments: &A) -> Result<Value, ToolInputError> {
    serde_json::to_value(arguments).map_err(|error| ToolInputError(error.to_string()))
}

/// One sentence about wrong arguments, with an example of right ones.
pub(crate) fn explain<A: Arguments>(wrong: &str) -> ToolInputError {
    ToolInputError(format!("`{}`: {wrong}; a call looks like {}", A::TOOL, A::EXAMPLE))
}

/// Returns the outcome of a call whose arguments turned out to be wrong when it ran.
pub(crate) fn refused<A: Arguments>(wrong: &str) -> ToolOutcome {
    let ToolInputError(message) = explain::<A>(wrong);
    ToolOutcome::error(message)
}

/// How the tool is offered to the model; `description` is its `.md` file.
pub(crate) fn spec<A: Arguments>(description: &'static str) -> ToolSpec {
    ToolSpec {
        name: Cow::Borrowed(A::TOOL),
        description: Cow::Borrowed(description.trim_end()),
        parameters: schema::<A>(),
    }
}

/// The JSON Schema of `A`, without what costs tokens and tells a model nothing.
fn schema<A: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft07();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<A>().to_value();
    minimise(&mut schema);
    schema
}

fn minimise(schema: &mut Value) {
    match schema {
        Value::Object(keys) => {
            // `title` may also be the name of a property: there its value is a schema, not a string.
            if keys.get("title").is_some_and(Value::is_string) {
                keys.shift_remove("title");
            }
            for noise in ["$schema", "format", "minimum", "maximum", "default"] {
                if keys.get(noise).is_some_and(|value| !value.is_object()) {
                    keys.shift_remove(noise);
                }
            }
            // The docstring of a struct of ours, not words for the model.
            if keys.get("type").is_some_and(|kind| kind == "object") {
                keys.shift_remove("description");
            }
            // An optional field is one that may be absent; saying that it may also be null helps nobody.
            if let Some(Value::Array(types)) = keys.get_mut("type") {
                types.retain(|name| name != "null");
                if let [only] = types.as_mut_slice() {
                    let only = only.take();
                    keys.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(choices)) = keys.get_mut("enum") {
                choices.retain(|choice| !choice.is_null());
            }
            if let Some(Value::Array(choices)) = keys.get_mut("anyOf") {
                choices.retain(|choice| choice.get("type").and_then(Value::as_str) != Some("null"));
                if let [Value::Object(only)] = choices.as_mut_slice() {
                    let only = std::mem::take(only);
                    keys.shift_remove("anyOf");
                    keys.extend(only);
                }
            }
            keys.values_mut().for_each(minimise);
        }
        Value::Array(items) => items.iter_mut().for_each(minimise),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Deserialisers that take what models write for a number, a switch or a list.
pub(crate) mod lenient {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer};
    use serde_json::Value;

    /// A whole number ≥ 0, perhaps in quotes or as `3.0`; `null` and the empty string are absent.
    pub(crate) fn number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
        let value = Value::deserialize(from)?;
        let found = match &value {
            Value::Null => return Ok(None),
            Value::String(text) if text.trim().is_empty() => return Ok(None),
            Value::String(text) => text.trim().parse().ok(),
            Value::Number(number) => number.as_u64().or_else(|| whole(number.as_f64()?)),
            Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        };
        found.map(Some).ok_or_else(|| D::Error::custom(format!("{value} is not a whole number ≥ 0")))
    }

    fn whole(number: f64) -> Option<u64> {
        // 2^53: beyond it a float does not tell neighbours apart.
        let exact = number >= 0.0 && number.fract() == 0.0 && number <= 9_007_199_254_740_992.0;
        exact.then_some(number as u64)
    }

    /// `true` or `false`, perhaps in quotes; `null` and the empty string are absent.
    pub(crate) fn switch<'de, D: Deserializer<'de>>(from: D) -> Result<Option<bool>, D::Error> {
        let value = Value::deserialize(from)?;
        match &value {
            Value::Null => Ok(None),
            Value::Bool(on) => Ok(Some(*on)),
            Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
                "" => Ok(None),
                "true" => Ok(Some(true)),
                "false" => Ok(Some(false)),
                _ => Err(D::Error::custom(format!("{value} is neither true nor false"))),
            },
            Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                Err(D::Error::custom(format!("{value} is neither true nor false")))
            }
        }
    }

    /// Text; the empty string and `null` are absent.
    pub(crate) fn text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
        Ok(Option::<String>::deserialize(from)?.filter(|text| !text.is_empty()))
    }

    /// A list of texts; one bare text is a list of one, `null` an empty one.
    pub(crate) fn texts<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
        match Value::deserialize(from)? {
            Value::Null => Ok(Vec::new()),
            Value::String(text) => Ok(vec![text]),
            other => serde_json::from_value(other).map_err(D::Error::custom),
        }
    }
}

#[cfg(test)]
#[path = "arguments_test.rs"]
mod tests;
