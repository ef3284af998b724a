//! A sentence for people that keeps the parts from which a translation is made.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// An English sentence, or a part of one. One from [`sentence!`](crate::sentence) keeps its template and arguments, so
/// that a catalogue can translate it. Journals and programs get the English text.
#[derive(Clone)]
pub struct Sentence {
    text: Arc<str>,
    parts: Option<Arc<Parts>>,
}

/// The parts from which a translation is made.
enum Parts {
    /// A template, and the values of its placeholders.
    Template { template: &'static str, arguments: Vec<(&'static str, Argument)> },
    /// Sentences with a separator between them.
    List { separator: &'static str, sentences: Vec<Sentence> },
}

/// The value of a placeholder.
#[derive(Clone, Debug)]
pub enum Argument {
    /// A text that is the same in every language.
    Text(String),
    /// A part of the sentence that is translated too.
    Sentence(Sentence),
}

impl Argument {
    fn english(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Sentence(sentence) => sentence,
        }
    }
}

/// A value for a placeholder. A [`Sentence`] is kept; any other value becomes its text.
pub struct ArgumentValue<'a, T>(pub &'a T);

impl ArgumentValue<'_, Sentence> {
    /// Returns the argument.
    pub fn argument(&self) -> Argument {
        Argument::Sentence(self.0.clone())
    }
}

impl ArgumentValue<'_, &Sentence> {
    /// Returns the argument.
    pub fn argument(&self) -> Argument {
        Argument::Sentence((*self.0).clone())
    }
}

/// The conversion of values that are not sentences. The methods of [`ArgumentValue`] itself come first.
pub trait TextArgument {
    /// Returns the argument.
    fn argument(&self) -> Argument;
}

impl<T: fmt::Display> TextArgument for ArgumentValue<'_, T> {
    fn argument(&self) -> Argument {
        Argument::Text(self.0.to_string())
    }
}

impl Sentence {
    /// Returns the sentence of a template, in which `{NAME}` stands for the argument of that name.
    /// [`sentence!`](crate::sentence) calls this, so that a test finds every template.
    pub fn from_template(template: &'static str, arguments: Vec<(&'static str, Argument)>) -> Self {
        let text = fill(template, |name| Some(find(&arguments, name)?.english().to_owned()));
        Self { text: text.into(), parts: Some(Arc::new(Parts::Template { template, arguments })) }
    }

    /// Returns sentences as one, with a separator between them.
    pub fn list(sentences: Vec<Self>, separator: &'static str) -> Self {
        let text = sentences.iter().map(Self::as_str).collect::<Vec<_>>().join(separator);
        Self { text: text.into(), parts: Some(Arc::new(Parts::List { separator, sentences })) }
    }

    /// Returns the English text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the English text, shared.
    pub fn text(&self) -> Arc<str> {
        Arc::clone(&self.text)
    }

    /// Returns the argument of a name that is a sentence itself.
    pub fn part(&self, name: &str) -> Option<&Self> {
        let Some(Parts::Template { arguments, .. }) = self.parts.as_deref() else { return None };
        let Argument::Sentence(sentence) = find(arguments, name)? else { return None };
        Some(sentence)
    }

    /// Returns the sentence in another language. `find_translation` returns the translation of a template. A sentence
    /// without a template, such as a recorded one, is its own template. Without a translation, all of it stays English.
    pub fn translate(&self, find_translation: &dyn Fn(&str) -> Option<String>) -> String {
        match self.parts.as_deref() {
            None => find_translation(&self.text).unwrap_or_else(|| self.as_str().to_owned()),
            Some(Parts::List { separator, sentences }) => {
                let translated = sentences.iter().map(|sentence| sentence.translate(find_translation));
                translated.collect::<Vec<_>>().join(separator)
            }
            Some(Parts::Template { template, arguments }) => {
                let Some(translation) = find_translation(template) else { return self.as_str().to_owned() };
                fill(&translation, |name| {
                    Some(match find(arguments, name)? {
                        Argument::Text(text) => text.clone(),
                        Argument::Sentence(sentence) => sentence.translate(find_translation),
                    })
                })
            }
        }
    }
}

/// Returns the argument of a name.
fn find<'a>(arguments: &'a [(&'static str, Argument)], name: &str) -> Option<&'a Argument> {
    arguments.iter().find(|(known, _)| *known == name).map(|(_, argument)| argument)
}

/// Replaces the placeholders of a template. A value is not searched for placeholders.
fn fill(template: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let filled = after.split_once('}').and_then(|(name, after)| Some((value(name)?, after)));
        match filled {
            Some((value, after)) => {
                text.push_str(&value);
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

impl Eq for Sentence {}

impl PartialEq<str> for Sentence {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Sentence {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

/// The English text.
impl Deref for Sentence {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Sentence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<String> for Sentence {
    fn from(text: String) -> Self {
        Self { text: text.into(), parts: None }
    }
}

impl From<&str> for Sentence {
    fn from(text: &str) -> Self {
        Self { text: text.into(), parts: None }
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

/// Returns the [`Sentence`] of a template. Its placeholders are the names of variables, or of arguments `NAME = VALUE`. A
/// value that is a [`Sentence`] is translated too.
///
/// A template needs its translations in `crates/ibeam-output/locales/sentences.txt`; a test compares them.
#[macro_export]
macro_rules! sentence {
    ($template:literal $(, $name:ident $(= $value:expr)?)* $(,)?) => {{
        #[allow(unused_imports, reason = "a template without placeholders, or with sentences only, does not use it")]
        use $crate::sentence::TextArgument as _;
        $crate::Sentence::from_template(
            $template,
            ::std::vec![$((stringify!($name), $crate::sentence!(@value $name $(= $value)?))),*],
        )
    }};
    (@value $name:ident) => { $crate::sentence::ArgumentValue(&$name).argument() };
    (@value $name:ident = $value:expr) => { $crate::sentence::ArgumentValue(&$value).argument() };
}

/// Returns a text that becomes a [`Sentence`] later, such as one of a table. It needs translations like the template of
/// [`sentence!`](crate::sentence).
#[macro_export]
macro_rules! sentence_text {
    ($text:literal) => {
        $text
    };
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
        let spanish = sentence.translate(&|template| {
            assert_eq!(template, "`{flag}` needs `{other}`");
            Some("`{other}` es necesario para `{flag}`".to_owned())
        });
        assert_eq!(spanish, "`{flag}` es necesario para `--fork`");
        assert_eq!(sentence.translate(&|_| None), sentence.as_str());
    }

    #[test]
    fn the_sentences_in_a_sentence_are_translated_too() {
        let spanish = |template: &str| {
            let known = [("{reason}; use {flag}", "{reason}; usa {flag}"), ("no", "nunca"), ("--x", "wrong")];
            known.iter().find(|(english, _)| *english == template).map(|(_, spanish)| (*spanish).to_owned())
        };
        let (reason, flag) = (sentence!("no"), "--x");
        let borrowed = &reason;
        assert_eq!(sentence!("{reason}; use {flag}", reason, flag).translate(&spanish), "nunca; usa --x");
        let nested = sentence!("{reason}; use {flag}", reason = borrowed, flag);
        assert_eq!(nested.translate(&spanish), "nunca; usa --x");
        let list = Sentence::list(vec![nested, "no".into(), "other".into()], "; ");
        assert_eq!(list.as_str(), "no; use --x; no; other");
        assert_eq!(list.translate(&spanish), "nunca; usa --x; nunca; other");
    }

    #[test]
    fn a_text_without_a_template_is_translated_as_a_whole() {
        let sentence = Sentence::from("plain {x}");
        let known = |text: &str| (text == "plain {x}").then(|| "claro".to_owned());
        assert_eq!(sentence.translate(&known), "claro");
        assert_eq!(Sentence::from("plain y").translate(&known), "plain y");
        assert_eq!(sentence!("plain {x}"), sentence);
        assert_eq!(serde_json::from_str::<Sentence>("\"plain {x}\"").unwrap(), sentence);
    }
}
