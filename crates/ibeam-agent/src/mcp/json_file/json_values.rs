//! Values of `mcp.json` as programs and people write them: numbers and booleans where a text is meant, `null` for nothing,
//! a text for a list of one.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error, SeqAccess, Visitor, value::SeqAccessDeserializer};
use serde::{Deserialize, Deserializer};

/// A text; a number or a boolean as it is written; `None` for `null`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Text(pub(super) Option<String>);

/// A list of texts without its `null`s; a single text is a list of one.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TextList(pub(super) Vec<String>);

/// The program, and its first arguments if it is a list. Not a number: no program is meant by one.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct CommandLine(pub(super) Vec<String>);

/// Names with texts, in the order of the names. A name with `null` is left out.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TextMap(pub(super) Vec<(String, String)>);

/// True or false, also as a text; `None` for `null`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Flag(pub(super) Option<bool>);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl Visitor<'_> for TextVisitor {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Text, E> {
                Ok(Text(Some(text.to_owned())))
            }

            fn visit_bool<E: Error>(self, value: bool) -> Result<Text, E> {
                Ok(Text(Some(value.to_string())))
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Text, E> {
                Ok(Text(Some(value.to_string())))
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Text, E> {
                Ok(Text(Some(value.to_string())))
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Text, E> {
                Ok(Text(Some(value.to_string())))
            }

            fn visit_unit<E: Error>(self) -> Result<Text, E> {
                Ok(Text(None))
            }
        }
        from.deserialize_any(TextVisitor)
    }
}

impl<'de> Deserialize<'de> for TextList {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ListVisitor).map(Self)
    }
}

impl<'de> Deserialize<'de> for CommandLine {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ListVisitor).map(Self)
    }
}

struct ListVisitor;

impl<'de> Visitor<'de> for ListVisitor {
    type Value = Vec<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or a list of strings")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Vec<String>, E> {
        Ok(vec![text.to_owned()])
    }

    fn visit_unit<E: Error>(self) -> Result<Vec<String>, E> {
        Ok(Vec::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Vec<String>, A::Error> {
        let texts: Vec<Text> = Deserialize::deserialize(SeqAccessDeserializer::new(list))?;
        Ok(texts.into_iter().filter_map(|text| text.0).collect())
    }
}

impl<'de> Deserialize<'de> for TextMap {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let texts: Option<BTreeMap<String, Text>> = Option::deserialize(from)?;
        let texts = texts.unwrap_or_default().into_iter();
        Ok(Self(texts.filter_map(|(name, text)| Some((name, text.0?))).collect()))
    }
}

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match Text::deserialize(from)?.0.as_deref() {
            None => Ok(Self(None)),
            Some("true") => Ok(Self(Some(true))),
            Some("false") => Ok(Self(Some(false))),
            Some(other) => Err(D::Error::custom(format!("`{other}` should be true or false"))),
        }
    }
}
