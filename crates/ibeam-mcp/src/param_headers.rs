//! Arguments of calls that servers over HTTP want in headers: `x-mcp-header` in the schema of a tool, `Mcp-Param-NAME` in
//! the request.
//!
//! Source: modelcontextprotocol.io, revision 2026-07-28, "Custom headers from tool parameters".

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

const ANNOTATION: &str = "x-mcp-header";
/// The integers that every JSON implementation represents exactly.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// The reason why the annotations of a tool are not valid. Such a tool must not be called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidAnnotation {
    /// The name is not one of a header.
    #[error("`x-mcp-header` has a name that is not one of a header")]
    Name,
    /// Two parameters have the same name, upper and lower case aside.
    #[error("two parameters have the same `x-mcp-header`")]
    Duplicate,
    /// The parameter is not a string, an integer or a boolean.
    #[error("`x-mcp-header` is set on a parameter that is not a string, an integer or a boolean")]
    Type,
    /// The parameter cannot be reached through `properties` alone.
    #[error("`x-mcp-header` is set within `{0}`")]
    Place(String),
}

/// A parameter whose value a request repeats in a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ParamHeader {
    pub(crate) name: String,
    /// The keys from the arguments to the value.
    path: Vec<String>,
}

impl ParamHeader {
    /// Returns the annotated parameters in the schema of a tool.
    pub(crate) fn from_schema(schema: &Value) -> Result<Vec<Self>, InvalidAnnotation> {
        let mut found = Vec::new();
        collect(schema, &mut Vec::new(), &mut BTreeSet::new(), &mut found)?;
        Ok(found)
    }

    /// Returns the value of the header for these arguments; `None` if the argument is absent or `null`.
    pub(crate) fn value(&self, arguments: &Value) -> Option<String> {
        let value = self.path.iter().try_fold(arguments, |value, key| value.get(key))?;
        match value {
            Value::String(text) => Some(encode(text)),
            Value::Bool(on) => Some(on.to_string()),
            Value::Number(number) => Some(number.to_string()),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }
}

fn collect(
    schema: &Value,
    path: &mut Vec<String>,
    names: &mut BTreeSet<String>,
    found: &mut Vec<ParamHeader>,
) -> Result<(), InvalidAnnotation> {
    let Some(fields) = schema.as_object() else { return Ok(()) };
    if let Some(name) = fields.get(ANNOTATION) {
        let name = name.as_str().filter(|name| is_header_name(name)).ok_or(InvalidAnnotation::Name)?;
        let kind = fields.get("type").and_then(Value::as_str).unwrap_or_default();
        if path.is_empty() || !["string", "integer", "boolean"].contains(&kind) {
            return Err(InvalidAnnotation::Type);
        }
        if !names.insert(name.to_ascii_lowercase()) {
            return Err(InvalidAnnotation::Duplicate);
        }
        found.push(ParamHeader { name: format!("Mcp-Param-{name}"), path: path.clone() });
    }
    for (key, value) in fields {
        match (key.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                for (name, property) in properties {
                    path.push(name.clone());
                    collect(property, path, names, found)?;
                    path.pop();
                }
            }
            // Values, not schemas.
            ("default" | "const" | "enum" | "examples", _) => {}
            (key, value) if has_annotation(value) => return Err(InvalidAnnotation::Place(key.to_owned())),
            _ => {}
        }
    }
    Ok(())
}

fn has_annotation(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.contains_key(ANNOTATION) || fields.values().any(has_annotation),
        Value::Array(values) => values.iter().any(has_annotation),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Whether `name` is a token of RFC 9110.
fn is_header_name(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// Returns a text as the value of a header: unchanged if it is printable ASCII without white space at its ends, else as
/// Base64 in a marked form.
pub(crate) fn encode(text: &str) -> String {
    let is_marked = text.starts_with("=?base64?") && text.ends_with("?=");
    let is_plain = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    if is_plain && !is_marked && text.trim() == text {
        return text.to_owned();
    }
    format!("=?base64?{}?=", STANDARD.encode(text))
}

/// Whether the integer arguments are in the range in which every implementation agrees.
pub(crate) fn has_safe_integers(headers: &[ParamHeader], arguments: &Value) -> bool {
    headers.iter().all(|header| {
        let value = header.path.iter().try_fold(arguments, |value, key| value.get(key));
        value.and_then(Value::as_i64).is_none_or(|number| number.unsigned_abs() <= MAX_SAFE_INTEGER)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(properties: Value, expect: Result<&[&str], InvalidAnnotation>) {
        let found = ParamHeader::from_schema(&json!({ "type": "object", "properties": properties }));
        let names = found.map(|found| found.into_iter().map(|header| header.name).collect::<Vec<_>>());
        assert_eq!(names, expect.map(|names| names.iter().map(ToString::to_string).collect()));
    }

    #[test]
    fn annotated_parameters_are_found_and_invalid_ones_refused() {
        let property = |kind: &str, name: &str| json!({ "type": kind, "x-mcp-header": name });
        check(
            json!({ "a": property("string", "Region"), "b": { "type": "string" } }),
            Ok(&["Mcp-Param-Region"]),
        );
        check(
            json!({ "a": { "type": "object", "properties": { "b": property("integer", "N") } } }),
            Ok(&["Mcp-Param-N"]),
        );
        for name in ["", "My Region", "Region:x", "Région", "R\t1"] {
            check(json!({ "a": property("string", name) }), Err(InvalidAnnotation::Name));
        }
        for kind in ["number", "object", "array", "null"] {
            check(json!({ "a": property(kind, "X") }), Err(InvalidAnnotation::Type));
        }
        let both = json!({ "a": property("string", "X"), "b": property("string", "x") });
        check(both, Err(InvalidAnnotation::Duplicate));
        let items = json!({ "a": { "type": "array", "items": property("string", "X") } });
        check(items, Err(InvalidAnnotation::Place("items".to_owned())));
    }

    #[test]
    fn values_that_headers_cannot_carry_are_encoded() {
        for (text, expect) in [
            ("us west 1", "us west 1"),
            ("", ""),
            (" x", "=?base64?IHg=?="),
            ("Grüße", "=?base64?R3LDvMOfZQ==?="),
            ("a\nb", "=?base64?YQpi?="),
            ("=?base64?eA==?=", "=?base64?PT9iYXNlNjQ/ZUE9PT89?="),
        ] {
            assert_eq!(encode(text), expect);
        }
        let header =
            ParamHeader { name: "Mcp-Param-A".to_owned(), path: vec!["a".to_owned(), "b".to_owned()] };
        for (arguments, expect) in [
            (json!({ "a": { "b": 42 } }), Some("42")),
            (json!({ "a": { "b": false } }), Some("false")),
            (json!({ "a": { "b": null } }), None),
            (json!({}), None),
        ] {
            assert_eq!(header.value(&arguments).as_deref(), expect);
        }
    }
}
