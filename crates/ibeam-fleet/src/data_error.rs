//! The reason for which JSON is not a value of a type, with its parts, so that it can be translated.
//!
//! serde_json has it as an English text only. So JSON that was refused is read once more, with an error that keeps the parts.

use std::fmt;

use ibeam_protocol::{Sentence, sentence};
use serde::de::value::{MapAccessDeserializer, MapDeserializer, SeqDeserializer};
use serde::de::{
    Deserialize, DeserializeOwned, Deserializer, Error, Expected, IntoDeserializer, MapAccess, SeqAccess,
    Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;

/// Returns the reason for which `text` is not a `T`, in the words of serde_json; `None` if it is one, or not JSON.
pub(crate) fn data_error<T: DeserializeOwned>(text: &str) -> Option<Sentence> {
    let node: Node = serde_json::from_str(text).ok()?;
    T::deserialize(node).err().map(|DataError(reason)| reason)
}

/// The reason for which a value is not of a type.
#[derive(Debug)]
struct DataError(Sentence);

impl Error for DataError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string().into())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let found = if found == Unexpected::Unit { "null".to_owned() } else { found.to_string() };
        Self(sentence!(
            "invalid type: {found}, expected {reason}",
            found,
            reason = Sentence::from(expected.to_string())
        ))
    }

    fn missing_field(name: &'static str) -> Self {
        Self(sentence!("missing field `{name}`", name))
    }

    fn duplicate_field(name: &'static str) -> Self {
        Self(sentence!("duplicate field `{name}`", name))
    }

    fn unknown_field(name: &str, expected: &'static [&'static str]) -> Self {
        let names = list(expected);
        Self(sentence!("unknown field `{name}`, expected {names}", name, names))
    }

    fn unknown_variant(name: &str, expected: &'static [&'static str]) -> Self {
        let names = list(expected);
        Self(sentence!("unknown variant `{name}`, expected {names}", name, names))
    }
}

/// Returns names as serde lists them.
fn list(names: &[&str]) -> Sentence {
    match names {
        [only] => format!("`{only}`").into(),
        [first, second] => sentence!("`{first}` or `{second}`", first, second),
        names => sentence!("one of {words}", words = format!("`{}`", names.join("`, `"))),
    }
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for DataError {}

/// A JSON value. An object keeps a key that stands in it twice.
enum Node {
    Null,
    Bool(bool),
    Number(serde_json::Number),
    Text(String),
    List(Vec<Node>),
    Entries(Vec<(String, Node)>),
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Number(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Node, E> {
        Ok(serde_json::Number::from_f64(value).map_or(Node::Null, Node::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = access.next_element()? {
            elements.push(element);
        }
        Ok(Node::List(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = access.next_entry()? {
            entries.push(entry);
        }
        Ok(Node::Entries(entries))
    }
}

impl<'de> Deserializer<'de> for Node {
    type Error = DataError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DataError> {
        match self {
            Self::Null => visitor.visit_unit(),
            Self::Bool(value) => visitor.visit_bool(value),
            Self::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(number), _) => visitor.visit_u64(number),
                (None, Some(number)) => visitor.visit_i64(number),
                (None, None) => visitor.visit_f64(number.as_f64().unwrap_or_default()),
            },
            Self::Text(text) => visitor.visit_string(text),
            Self::List(elements) => visitor.visit_seq(SeqDeserializer::new(elements.into_iter())),
            Self::Entries(entries) => visitor.visit_map(MapDeserializer::new(entries.into_iter())),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DataError> {
        if matches!(self, Self::Null) { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DataError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DataError> {
        match self {
            Self::Text(text) => text.into_deserializer().deserialize_enum(name, variants, visitor),
            Self::Entries(entries) => {
                let entries = MapDeserializer::new(entries.into_iter());
                MapAccessDeserializer::new(entries).deserialize_enum(name, variants, visitor)
            }
            other @ (Self::Null | Self::Bool(_) | Self::Number(_) | Self::List(_)) => {
                other.deserialize_any(visitor)
            }
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

impl IntoDeserializer<'_, DataError> for Node {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Task;

    #[test]
    fn the_reason_is_that_of_serde_json() {
        for fields in [
            "",
            r#""prompt":3"#,
            r#""prompt":null"#,
            r#""id":"b""#,
            r#""unknown":1"#,
            r#""prompt":"p","workspace":7"#,
            r#""prompt":"p","workspace":"/","mode":"x""#,
            r#""prompt":"p","workspace":"/","files":"x""#,
            r#""prompt":"p","workspace":"/","env":[1.5,-1,true,{}]"#,
            r#""prompt":"p","workspace":"/","limits":{"max_turns":-1.5}"#,
            r#""prompt":"p","workspace":{"git":3}"#,
        ] {
            let separator = if fields.is_empty() { "" } else { "," };
            let text = format!(r#"{{"id":"a"{separator}{fields}}}"#);
            let expect = serde_json::from_str::<Task>(&text).unwrap_err().to_string();
            let expect = expect.rsplit_once(" at line ").unwrap().0;
            assert_eq!(data_error::<Task>(&text).unwrap().as_str(), expect, "{text}");
        }
        assert_eq!(data_error::<Task>(r#"{"id":"a","prompt":"p","workspace":"/"}"#), None);
        assert_eq!(data_error::<Task>("{"), None);
    }
}
