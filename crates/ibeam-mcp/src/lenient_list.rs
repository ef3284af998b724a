//! Lists in answers of servers, of which a wrong element is left out and named.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// The valid elements of a list, and the names of the others. No list is an empty one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LenientList<T> {
    /// The valid elements in their order.
    pub(crate) items: Vec<T>,
    /// The names of the wrong elements with the reasons.
    pub(crate) left_out: Vec<String>,
}

impl<T> Default for LenientList<T> {
    fn default() -> Self {
        Self { items: Vec::new(), left_out: Vec::new() }
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for LenientList<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut list = Self::default();
        let values = Option::<Vec<Value>>::deserialize(from)?.unwrap_or_default();
        for (index, value) in values.into_iter().enumerate() {
            let name = value.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
            match serde_json::from_value(value) {
                Ok(item) => list.items.push(item),
                Err(error) if name.is_empty() => {
                    list.left_out.push(format!("number {} ({error})", index + 1))
                }
                Err(error) => list.left_out.push(format!("{name} ({error})")),
            }
        }
        Ok(list)
    }
}

/// Deserializes a text, and anything else as no text.
pub(crate) fn text_or_none<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::String(text) => Some(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Eq, Deserialize)]
    struct Named {
        name: String,
        #[serde(default, deserialize_with = "text_or_none")]
        about: Option<String>,
    }

    #[test]
    fn a_wrong_element_is_left_out_and_named() {
        let list = r#"[{"name":"a","about":["x"]},{},{"name":"b","about":"y"},5,{"name":""}]"#;
        let found: LenientList<Named> = serde_json::from_str(list).unwrap();
        let names: Vec<_> =
            found.items.iter().map(|item| (item.name.as_str(), item.about.as_deref())).collect();
        assert_eq!(names, [("a", None), ("b", Some("y")), ("", None)]);
        assert_eq!(found.left_out.len(), 2);
        assert!(found.left_out[0].starts_with("number 2 (missing field `name`"), "{:?}", found.left_out);
        assert_eq!(serde_json::from_str::<LenientList<Named>>("null").unwrap(), LenientList::default());
        assert!(serde_json::from_str::<LenientList<Named>>("5").is_err());
    }
}
