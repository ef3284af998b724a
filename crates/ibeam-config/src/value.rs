//! The kinds of values, and how flags, variables and files write them.

use std::fmt::{self, Display};
use std::time::Duration;

use ibeam_protocol::{Sentence, sentence};
use toml_edit::Item;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    /// A text that is not blank.
    NonBlankText,
    /// A whole number above 0.
    Number,
    Switch,
    /// A time limit: from a millisecond to a year.
    Time,
    /// A pause: from 0 to a year.
    Pause,
    /// An amount of US dollars above 0.
    Money,
    /// A number of bytes above 0.
    Size,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A text that is not blank, or a list of such texts.
    TextOrList,
    /// A list; the list of the strongest layer replaces the lists of the others.
    List,
    /// A list of some of these words; the list of the strongest layer replaces the lists of the others.
    Words(&'static [&'static str]),
    /// A list of texts that are not blank; the lists of all layers are merged.
    Set,
    /// A list of permission tokens; the lists of all layers are merged.
    Tokens,
}

impl Kind {
    /// Returns the sentence that `text`, a key or a value, should be of this kind.
    pub(crate) fn should_be(self, text: impl Display) -> Sentence {
        sentence!("`{text}` should be {what}", text, what = self.describe())
    }

    /// Returns the end of the sentence "`KEY` should be …".
    fn describe(self) -> Sentence {
        match self {
            Self::Text => sentence!("a string"),
            Self::NonBlankText => sentence!("a string that is not empty"),
            Self::Number => sentence!("a whole number above 0"),
            Self::Switch => sentence!("true or false"),
            Self::Time => {
                sentence!("a time above 0, at most a year: seconds, or text such as \"90s\", \"10m\", \"1h\"")
            }
            Self::Pause => {
                sentence!("a time from 0 to a year: seconds, or text such as \"90s\", \"10m\", \"1h\"")
            }
            Self::Money => sentence!("US dollars above 0, such as \"0.50\""),
            Self::Size => {
                sentence!("a number of bytes above 0, or text such as \"512K\", \"100M\", \"4G\"")
            }
            Self::Choice(words) => one_of(words),
            Self::Words(words) => sentence!("a list of some of {words}", words = quoted(words)),
            Self::TextOrList => sentence!("a string that is not empty, or a list of such strings"),
            Self::List | Self::Tokens => sentence!("a list of strings"),
            Self::Set => sentence!("a list of strings that are not empty"),
        }
    }

    /// Whether `one` is `other` or comes after it in the list of words.
    pub(crate) fn is_at_or_after(self, one: &Value, other: &Value) -> bool {
        let Self::Choice(words) = self else { return false };
        let at = |value: &Value| words.iter().position(|word| *value == Value::Text((*word).to_owned()));
        at(one) >= at(other)
    }

    /// Whether the lists of all layers are merged into one.
    pub(crate) fn merges_layers(self) -> bool {
        matches!(self, Self::Set | Self::Tokens)
    }
}

/// Returns the end of the sentence "`KEY` should be …" about one of some words.
pub(crate) fn one_of(words: &[&str]) -> Sentence {
    sentence!("one of {words}", words = quoted(words))
}

/// Returns words in quotes, separated by commas.
fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(", ")
}

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Text(String),
    /// A number, or a number of bytes.
    Number(u64),
    /// A switch, on or off.
    Switch(bool),
    Time(Duration),
    /// Millionths of a US dollar.
    Money(u64),
    List(Vec<String>),
}

impl Value {
    /// Parses the text of a flag, a variable or a default.
    pub(crate) fn parse(kind: Kind, text: &str) -> Option<Self> {
        match kind {
            Kind::Text => Some(Self::Text(text.to_owned())),
            Kind::NonBlankText => {
                Some(text).filter(|text| !is_blank(text)).map(|text| Self::Text(text.to_owned()))
            }
            Kind::Number => text.trim().parse().ok().filter(|number| *number > 0).map(Self::Number),
            Kind::Switch => text.trim().parse().ok().map(Self::Switch),
            Kind::Time => parse_time(text).filter(is_limit).map(Self::Time),
            Kind::Pause => parse_time(text).map(Self::Time),
            Kind::Money => text.trim().parse().ok().and_then(micros).map(Self::Money),
            Kind::Size => parse_size(text).map(Self::Number),
            Kind::Choice(words) => words.contains(&text).then(|| Self::Text(text.to_owned())),
            Kind::TextOrList => Self::text_or_list(text.split(',').map(Some)),
            Kind::Words(words) => Self::words(words, text.split(',').map(|word| Some(word.trim()))),
            Kind::List | Kind::Set | Kind::Tokens => {
                Some(Self::List(text.split(',').map(|entry| entry.trim().to_owned()).collect()))
            }
        }
    }

    /// Returns the texts of a text or a list.
    pub(crate) fn texts(&self) -> Vec<&str> {
        match self {
            Self::Text(text) => vec![text],
            Self::List(texts) => texts.iter().map(String::as_str).collect(),
            Self::Number(_) | Self::Switch(_) | Self::Time(_) | Self::Money(_) => Vec::new(),
        }
    }

    /// Converts a value of a TOML file.
    pub(crate) fn from_toml(kind: Kind, item: &Item) -> Option<Self> {
        match kind {
            Kind::Text => item.as_str().map(|text| Self::Text(text.to_owned())),
            Kind::NonBlankText => item.as_str().and_then(|text| Self::parse(kind, text)),
            Kind::Number => item.as_integer().and_then(|number| Self::parse(kind, &number.to_string())),
            Kind::Switch => item.as_bool().map(Self::Switch),
            Kind::Time | Kind::Pause => match (item.as_str(), item.as_float(), item.as_integer()) {
                (Some(text), ..) => Self::parse(kind, text),
                (_, Some(seconds), _) => Self::parse(kind, &seconds.to_string()),
                (.., Some(seconds)) => Self::parse(kind, &seconds.to_string()),
                (None, None, None) => None,
            },
            Kind::Money => match (item.as_str(), item.as_float(), item.as_integer()) {
                (Some(text), ..) => Self::parse(kind, text),
                (_, Some(dollars), _) => micros(dollars).map(Self::Money),
                (.., Some(dollars)) => micros(dollars as f64).map(Self::Money),
                (None, None, None) => None,
            },
            Kind::Size => match (item.as_str(), item.as_integer()) {
                (Some(text), _) => Self::parse(kind, text),
                (None, Some(bytes)) => Self::parse(kind, &bytes.to_string()),
                (None, None) => None,
            },
            Kind::Choice(_) => item.as_str().and_then(|word| Self::parse(kind, word)),
            Kind::TextOrList => match (item.as_str(), item.as_array()) {
                (Some(text), _) => Self::parse(kind, text),
                (None, Some(array)) => Self::text_or_list(array.iter().map(|entry| entry.as_str())),
                (None, None) => None,
            },
            Kind::Words(words) => Self::words(words, item.as_array()?.iter().map(|entry| entry.as_str())),
            Kind::List | Kind::Set | Kind::Tokens => {
                let entries = item.as_array()?.iter().map(|entry| entry.as_str());
                // An invalid token is reported later, with its own line.
                let entries =
                    entries.map(|entry| entry.filter(|entry| kind != Kind::Set || !is_blank(entry)));
                let entries = entries.map(|entry| entry.map(str::to_owned));
                entries.collect::<Option<Vec<_>>>().map(Self::List)
            }
        }
    }
}

impl Value {
    /// Returns one entry as a text, and several as a list; `None` if there is none, or if one is not text or blank.
    fn text_or_list<'a>(entries: impl Iterator<Item = Option<&'a str>>) -> Option<Self> {
        let trimmed =
            |entry: Option<&str>| entry.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
        let entries = entries.map(trimmed).collect::<Option<Vec<String>>>()?;
        match entries.as_slice() {
            [] => None,
            [text] => Some(Self::Text(text.clone())),
            [_, _, ..] => Some(Self::List(entries)),
        }
    }

    /// Returns a list of known words; `None` if one is not text or no known word.
    fn words<'a>(known: &[&str], words: impl Iterator<Item = Option<&'a str>>) -> Option<Self> {
        let accepted = |word: Option<&str>| word.filter(|word| known.contains(word)).map(str::to_owned);
        words.map(accepted).collect::<Option<Vec<_>>>().map(Self::List)
    }

    /// Whether the value is a smaller amount than `other`.
    pub(crate) fn is_below(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Number(one), Self::Number(other)) | (Self::Money(one), Self::Money(other)) => one < other,
            (Self::Time(one), Self::Time(other)) => one < other,
            // Values of one key have one kind, and only amounts are compared.
            _ => false,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Switch(on) => write!(f, "{on}"),
            Self::Time(time) => write!(f, "{:?}", time_text(*time)),
            Self::Money(micros) => write!(f, "\"{:.2}\"", *micros as f64 / 1e6),
            Self::List(entries) => write!(f, "{entries:?}"),
        }
    }
}

impl Value {
    /// Returns the value as JSON: durations as text that a file accepts, amounts of money in US dollars.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Text(text) => text.as_str().into(),
            Self::Number(number) => (*number).into(),
            Self::Switch(on) => (*on).into(),
            Self::Time(time) => time_text(*time).into(),
            Self::Money(micros) => (*micros as f64 / 1e6).into(),
            Self::List(entries) => entries.as_slice().into(),
        }
    }
}

/// Returns a duration as a file accepts it: in seconds if there is no fraction, else in milliseconds.
fn time_text(time: Duration) -> String {
    match (time.as_secs(), time.subsec_millis()) {
        (seconds, 0) => format!("{seconds}s"),
        _ => format!("{}ms", time.as_millis()),
    }
}

/// Converts dollars to millionths; `None` for 0, for a negative number and for NaN.
fn micros(dollars: f64) -> Option<u64> {
    (0.0..=1e9).contains(&dollars).then(|| (dollars * 1e6).round() as u64).filter(|micros| *micros > 0)
}

/// Whether a text is empty or only whitespace.
fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// The maximum time. It also excludes times that a clock cannot represent.
const MAX_TIME: Duration = Duration::from_secs(365 * 24 * 3600);

/// Whether a time can be a limit: a limit of 0 would fail before anything began.
fn is_limit(time: &Duration) -> bool {
    *time >= Duration::from_millis(1)
}

/// Parses `90`, `90s`, `1.5s`, `250ms`, `10m` or `1h`; at most a year.
pub fn parse_time(text: &str) -> Option<Duration> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(split)?;
    let factor = match unit {
        "" | "s" => 1.0,
        "ms" => 0.001,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(number.parse::<f64>().ok()? * factor).ok().filter(|time| *time <= MAX_TIME)
}

/// Parses `4096`, `512K`, `100M`, `4G` or `1T`, in powers of 1024; at least one byte.
fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let (number, shift) = match text.char_indices().next_back()? {
        (at, 'K' | 'k') => (text.get(..at)?, 10),
        (at, 'M' | 'm') => (text.get(..at)?, 20),
        (at, 'G' | 'g') => (text.get(..at)?, 30),
        (at, 'T' | 't') => (text.get(..at)?, 40),
        _ => (text, 0),
    };
    let number = Some(number).filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()))?;
    number.parse::<u64>().ok()?.checked_mul(1 << shift).filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        for (text, expect) in [
            ("90", Some(90_000)),
            ("90s", Some(90_000)),
            ("250ms", Some(250)),
            ("1.5m", Some(90_000)),
            ("1h", Some(3_600_000)),
            ("", None),
            ("-1", None),
            ("1d", None),
            ("s", None),
            ("0", Some(0)),
            ("8760h", Some(31_536_000_000)),
            ("8761h", None),
            ("1e300", None),
            ("99999999999999999999999999", None),
        ] {
            assert_eq!(parse_time(text), expect.map(Duration::from_millis), "{text:?}");
        }
    }

    #[test]
    fn a_time_limit_is_above_0_and_a_pause_may_be_0() {
        for (kind, text, expect) in [
            (Kind::Time, "0", None),
            (Kind::Time, "0.0001ms", None),
            (Kind::Time, "1ms", Some(1)),
            (Kind::Pause, "0s", Some(0)),
        ] {
            let expect = expect.map(|ms| Value::Time(Duration::from_millis(ms)));
            assert_eq!(Value::parse(kind, text), expect, "{text}");
        }
    }

    #[test]
    fn numbers_and_amounts_are_above_0_and_names_are_not_blank() {
        for (kind, text, expect) in [
            (Kind::Number, "0", None),
            (Kind::Number, "-1", None),
            (Kind::Number, "1", Some(Value::Number(1))),
            (Kind::Money, "0", None),
            (Kind::Money, "0.0000001", None),
            (Kind::Money, "0.000001", Some(Value::Money(1))),
            (Kind::NonBlankText, "", None),
            (Kind::NonBlankText, " \t", None),
            (Kind::NonBlankText, "a", Some(Value::Text("a".to_owned()))),
            (Kind::Text, "", Some(Value::Text(String::new()))),
        ] {
            assert_eq!(Value::parse(kind, text), expect, "{text:?}");
            let document = format!("key = {text:?}").parse::<toml_edit::DocumentMut>().unwrap();
            if kind != Kind::Number {
                assert_eq!(Value::from_toml(kind, &document["key"]), expect, "{text:?}");
            }
        }
        for (kind, text, is_value) in [
            (Kind::Number, "0", false),
            (Kind::Number, "7", true),
            (Kind::Money, "0", false),
            (Kind::Money, "0.0", false),
            (Kind::Set, "['a', ' ']", false),
            // The parser of tokens reports it with the line.
            (Kind::Tokens, "['']", true),
            (Kind::TextOrList, "[]", false),
            (Kind::TextOrList, "['a', ' ']", false),
            (Kind::TextOrList, "['a', 'b']", true),
            (Kind::Set, "[]", true),
            (Kind::List, "['']", true),
        ] {
            let document = format!("key = {text}").parse::<toml_edit::DocumentMut>().unwrap();
            assert_eq!(Value::from_toml(kind, &document["key"]).is_some(), is_value, "{text}");
        }
    }

    #[test]
    fn sizes_have_units() {
        for (text, expect) in [
            ("1", Some(1)),
            ("512K", Some(524_288)),
            ("4g", Some(4_294_967_296)),
            ("1T", Some(1_099_511_627_776)),
            ("0", None),
            ("0G", None),
            ("", None),
            ("G", None),
            ("-1", None),
            ("+1", None),
            ("1.5G", None),
            ("4GB", None),
            ("99999999999T", None),
        ] {
            assert_eq!(parse_size(text), expect, "{text:?}");
        }
    }

    #[test]
    fn a_value_is_shown_as_a_file_accepts_it() {
        for (kind, text, shown, json) in [
            (Kind::Pause, "0", "\"0s\"", serde_json::json!("0s")),
            (Kind::Time, "2m", "\"120s\"", serde_json::json!("120s")),
            (Kind::Time, "1.5s", "\"1500ms\"", serde_json::json!("1500ms")),
            (Kind::Money, "0.5", "\"0.50\"", serde_json::json!(0.5)),
            (Kind::Switch, "true", "true", serde_json::json!(true)),
            (Kind::Number, "7", "7", serde_json::json!(7)),
            (Kind::TextOrList, "a", "\"a\"", serde_json::json!("a")),
            (Kind::TextOrList, "a,b", "[\"a\", \"b\"]", serde_json::json!(["a", "b"])),
            (Kind::Set, "a, b", "[\"a\", \"b\"]", serde_json::json!(["a", "b"])),
        ] {
            let value = Value::parse(kind, text).unwrap();
            assert_eq!((value.to_string().as_str(), value.to_json()), (shown, json), "{text}");
            let document: toml_edit::DocumentMut = format!("key = {shown}").parse().unwrap();
            assert_eq!(Value::from_toml(kind, &document["key"]), Some(value), "{text}");
        }
    }

    #[test]
    fn a_list_of_words_accepts_only_known_ones() {
        let kind = Kind::Words(&["low", "high"]);
        let list = |words: &[&str]| Some(Value::List(words.iter().map(|word| (*word).to_owned()).collect()));
        assert_eq!(Value::parse(kind, "low, high"), list(&["low", "high"]));
        assert_eq!(Value::parse(kind, "low,deep"), None);
        assert_eq!(kind.describe(), "a list of some of \"low\", \"high\"");
    }

    #[test]
    fn a_choice_accepts_only_its_words() {
        let kind = Kind::Choice(&["enabled", "disabled"]);
        assert_eq!(Value::parse(kind, "enabled"), Some(Value::Text("enabled".to_owned())));
        assert_eq!(Value::parse(kind, "Enabled"), None);
        assert_eq!(kind.describe(), "one of \"enabled\", \"disabled\"");
    }
}
