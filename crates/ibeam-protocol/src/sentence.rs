//! A sentence for people that keeps the parts from which a translation is made.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An English sentence. One from [`sentence!`](crate::sentence) keeps its template and arguments, so that a catalogue can
/// translate it. Journals and programs get the English text.
#[derive(Clone, Eq)]
pub struct Sentence {
    text: String,
    template: Option<Template>,
}

/// The template of a sentence, and the values of its placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Template {
    text: &'static str,
    arguments: Vec<(&'static str, String)>,
}

impl Sentence {
    /// Returns the sentence of a template, in which `{NAME}` stands for the argument of that name.
    /// [`sentence!`](crate::sentence) calls this, so that a test finds every template.
    pub fn from_template(template: &'static str, arguments: Vec<(&'static str, String)>) -> Self {
        let text = fill(template, &arguments);
        Self { text, template: Some(Template { text: template, arguments }) }
    }

    /// Returns the English text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the sentence in another language. `find` returns the translation of a template. A sentence without a
    /// template or a translation stays English.
    pub fn translate(&self, find: impl FnOnce(&str) -> Option<String>) -> String {
        let translated = self.template.as_ref().and_then(|template| {
            let text = find(template.text)?;
            Some(fill(&text, &template.arguments))
        });
        translated.unwrap_or_else(|| self.text.clone())
    }
}

/// Replaces the placeholders of a template. A value is not searched for placeholders.
fn fill(template: &str, arguments: &[(&'static str, String)]) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let argument = after.split_once('}').and_then(|(name, after)| {
            let (_, value) = arguments.iter().find(|(known, _)| *known == name)?;
            Some((value, after))
        });
        match argument {
            Some((value, after)) => {
                text.push_str(value);
                rest = after;
            }
            None => {
                text.push('{');
                rest = after;
            }
        }
    }
    text + rest
}

impl fmt::Debug for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}

/// Sentences with the same English text are equal.
impl PartialEq for Sentence {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<String> for Sentence {
    fn from(text: String) -> Self {
        Self { text, template: None }
    }
}

impl From<&str> for Sentence {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl Serialize for Sentence {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Sentence {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

/// Returns the [`Sentence`] of a template. Its placeholders are the names of variables, or of arguments `NAME = VALUE`.
///
/// A template needs its translations in `crates/ibeam-output/locales/sentences.txt`; a test compares them.
#[macro_export]
macro_rules! sentence {
    ($template:literal $(, $name:ident $(= $value:expr)?)* $(,)?) => {
        $crate::Sentence::from_template(
            $template,
            ::std::vec![$((stringify!($name), $crate::sentence!(@value $name $(= $value)?))),*],
        )
    };
    (@value $name:ident) => { ::std::string::ToString::to_string(&$name) };
    (@value $name:ident = $value:expr) => { ::std::string::ToString::to_string(&$value) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_english_text_and_can_be_translated() {
        let (flag, needed) = ("--fork", "{flag}");
        let sentence = sentence!("`{flag}` needs `{other}`", flag, other = needed);
        assert_eq!(sentence.as_str(), "`--fork` needs `{flag}`");
        assert_eq!(serde_json::to_string(&sentence).unwrap(), "\"`--fork` needs `{flag}`\"");
        let spanish = sentence.translate(|template| {
            assert_eq!(template, "`{flag}` needs `{other}`");
            Some("`{other}` es necesario para `{flag}`".to_owned())
        });
        assert_eq!(spanish, "`{flag}` es necesario para `--fork`");
        assert_eq!(sentence.translate(|_| None), sentence.as_str());
    }

    #[test]
    fn a_text_without_a_template_is_not_translated() {
        let sentence = Sentence::from("plain {x}");
        assert_eq!(sentence.translate(|_| Some("other".to_owned())), "plain {x}");
        assert_eq!(sentence!("plain {x}"), sentence);
        assert_eq!(serde_json::from_str::<Sentence>("\"plain {x}\"").unwrap(), sentence);
    }
}
