//! Arguments of tools: from what a model wrote to a checked struct, and from the struct to the schema for the model.
//!
//! Accepts what has only one meaning: a number in quotes, a list or an object as JSON text, `null` for an absent field, the
//! names that other programs use for the same field. Anything else that is wrong returns one sentence that names the field and shows a call that
//! works. Unknown fields are dropped.

use std::borrow::Cow;

use ibeam_core::ToolInputError;
use ibeam_protocol::{Sentence, ToolOutcome, ToolSpec, sentence};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::{Path, Segment};

/// The arguments of one tool, under canonical names.
pub(crate) trait Arguments: DeserializeOwned + Serialize + JsonSchema {
    const TOOL: &'static str;
    /// Valid arguments, for error messages.
    const EXAMPLE: &'static str;
}

/// Parses the arguments that a model wrote.
///
/// # Errors
/// The arguments are incomplete or wrong.
pub(crate) fn parse<A: Arguments>(arguments: &Value) -> Result<A, ToolInputError> {
    if !arguments.is_object() {
        return Err(arguments_error::<A>(match arguments.is_string() {
            true => sentence!("the arguments are not valid JSON"),
            false => sentence!("the arguments are not a JSON object"),
        }));
    }
    let mut arguments = Cow::Borrowed(arguments);
    loop {
        let error = match serde_path_to_error::deserialize::<_, A>(&*arguments) {
            Ok(parsed) => return Ok(parsed),
            Err(error) => error,
        };
        // Each round replaces a text by what it contains, so the rounds end.
        let mut value = value_at(arguments.to_mut(), error.path());
        let is_decoded = value.as_deref_mut().is_some_and(decode_json_text);
        if !is_decoded {
            let field = error.path().to_string();
            let reason = value_error(value.as_deref(), &error.inner().to_string());
            return Err(arguments_error::<A>(match field.as_str() {
                "." => reason,
                field => sentence!("wrong `{field}`: {reason}", field, reason),
            }));
        }
    }
}

/// Returns the value to which the path of an error leads.
fn value_at<'a>(arguments: &'a mut Value, path: &Path) -> Option<&'a mut Value> {
    path.iter().try_fold(arguments, |value, segment| match segment {
        Segment::Map { key } => value.get_mut(key),
        Segment::Seq { index } => value.get_mut(index),
        Segment::Enum { .. } | Segment::Unknown => None,
    })
}

/// Returns the sentence that a deserializer, whose errors are texts, has put into its error about a value.
fn value_error(value: Option<&Value>, error: &str) -> Sentence {
    let sentences = value.map(|value| [lenient::not_a_number(value), lenient::not_a_boolean(value)]);
    sentences.into_iter().flatten().find(|sentence| *sentence == *error).unwrap_or_else(|| error.into())
}

/// Replaces a text that is a JSON list or object by it. Returns whether it was one.
fn decode_json_text(value: &mut Value) -> bool {
    let text = value.as_str().map(str::trim_start).filter(|text| text.starts_with(['[', '{']));
    match text.and_then(|text| serde_json::from_str(text).ok()) {
        Some(decoded) => {
            *value = decoded;
            true
        }
        None => false,
    }
}

/// Returns the arguments in the names and shapes of the contract.
///
/// # Errors
/// No error is possible in practice: the types of arguments always serialise.
pub(crate) fn to_canonical_json<A: Serialize>(arguments: &A) -> Result<Value, ToolInputError> {
    serde_json::to_value(arguments).map_err(|error| ToolInputError(error.to_string().into()))
}

/// Returns an error about wrong arguments, with an example of valid ones.
pub(crate) fn arguments_error<A: Arguments>(wrong: impl Into<Sentence>) -> ToolInputError {
    ToolInputError::with_example(A::TOOL, wrong, A::EXAMPLE)
}

/// Returns the outcome of a call whose arguments turn out to be wrong when it runs.
pub(crate) fn error_outcome<A: Arguments>(wrong: impl Into<Sentence>) -> ToolOutcome {
    let ToolInputError(message) = arguments_error::<A>(wrong);
    ToolOutcome::error(message)
}

/// Returns the specification that is offered to the model; `description` is the tool's `.md` file.
pub(crate) fn spec<A: Arguments>(description: &'static str) -> ToolSpec {
    ToolSpec {
        name: Cow::Borrowed(A::TOOL),
        description: Cow::Borrowed(description.trim_end()),
        parameters: schema::<A>().into(),
    }
}

/// Returns the JSON Schema of `A`, without keywords that cost tokens and do not help a model.
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
            let is_object_type = keys.get("type").is_some_and(|kind| kind == "object");
            keys.retain(|key, value| match key.as_str() {
                // A property may have one of these names: there the value is a schema, not a string or a number.
                "title" => !value.is_string(),
                "$schema" | "format" | "minimum" | "maximum" | "default" => value.is_object(),
                // The doc comment of a Rust struct, not a text for the model.
                "description" => !is_object_type,
                _ => true,
            });
            // An optional field may be absent; that it may also be null need not be stated.
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

/// Deserialisers that accept what models write for a number, a boolean or a list.
pub(crate) mod lenient {
    use ibeam_protocol::{Sentence, sentence};
    use serde::de::Error;
    use serde::{Deserialize, Deserializer};
    use serde_json::Value;

    /// Deserialises an integer ≥ 0, also in quotes or as `3.0`; `null` and the empty string are absent.
    pub(crate) fn number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
        let value = Value::deserialize(from)?;
        let found = match &value {
            Value::Null => return Ok(None),
            Value::String(text) if text.trim().is_empty() => return Ok(None),
            Value::String(text) => text.trim().parse().ok(),
            Value::Number(number) => number.as_u64().or_else(|| to_whole_number(number.as_f64()?)),
            Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        };
        found.map(Some).ok_or_else(|| D::Error::custom(not_a_number(&value)))
    }

    pub(super) fn not_a_number(value: &Value) -> Sentence {
        sentence!("{value} is not a whole number ≥ 0", value)
    }

    pub(super) fn not_a_boolean(value: &Value) -> Sentence {
        sentence!("{value} is neither true nor false", value)
    }

    fn to_whole_number(number: f64) -> Option<u64> {
        // A float cannot represent every integer above 2^53.
        let exact = number >= 0.0 && number.fract() == 0.0 && number <= 9_007_199_254_740_992.0;
        exact.then_some(number as u64)
    }

    /// Deserialises `true` or `false`, also in quotes; `null` and the empty string are absent.
    pub(crate) fn boolean<'de, D: Deserializer<'de>>(from: D) -> Result<Option<bool>, D::Error> {
        let value = Value::deserialize(from)?;
        match &value {
            Value::Null => Ok(None),
            Value::Bool(on) => Ok(Some(*on)),
            Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
                "" => Ok(None),
                "true" => Ok(Some(true)),
                "false" => Ok(Some(false)),
                _ => Err(D::Error::custom(not_a_boolean(&value))),
            },
            Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                Err(D::Error::custom(not_a_boolean(&value)))
            }
        }
    }

    /// Deserialises a text; the empty string and `null` are absent.
    pub(crate) fn text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
        Ok(Option::<String>::deserialize(from)?.filter(|text| !text.is_empty()))
    }

    /// Deserialises a list of texts, also as JSON text; another single text is a list of one, `null` an empty list.
    pub(crate) fn texts<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
        match Value::deserialize(from)? {
            Value::Null => Ok(Vec::new()),
            Value::String(text) => match serde_json::from_str(&text) {
                Ok(list) if text.trim_start().starts_with('[') => Ok(list),
                Ok(_) | Err(_) => Ok(vec![text]),
            },
            other => serde_json::from_value(other).map_err(D::Error::custom),
        }
    }
}

#[cfg(test)]
#[path = "arguments_test.rs"]
mod tests;
