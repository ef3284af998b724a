//! Every key there is: its kind, its default, the variable that sets it, and whether a project may set it.

use std::fmt;
use std::time::Duration;

use toml_edit::Item;

/// What a value must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Number,
    Switch,
    Time,
    List,
}

impl Kind {
    /// For "`x` should be …".
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::Number => "a whole number",
            Self::Switch => "true or false",
            Self::Time => "a time: seconds, or text such as \"90s\", \"10m\", \"1h\"",
            Self::List => "a list of strings",
        }
    }
}

/// Whose file may set a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// A project's file too: it can only narrow or choose among what the user has.
    Anyone,
    /// A project's file only in a trusted workspace: it could widen what is allowed or send a key elsewhere.
    Trusted,
}

/// One key. `*` in `path` stands for any one name.
#[derive(Debug)]
pub(crate) struct Key {
    pub(crate) path: &'static str,
    pub(crate) kind: Kind,
    pub(crate) default: Option<&'static str>,
    pub(crate) variable: Option<&'static str>,
    pub(crate) reach: Reach,
}

const fn key(path: &'static str, kind: Kind, default: Option<&'static str>, reach: Reach) -> Key {
    Key { path, kind, default, variable: None, reach }
}

const fn with_variable(key: Key, variable: &'static str) -> Key {
    Key { variable: Some(variable), ..key }
}

/// The whole list; docs/configuration.md says what each does.
pub(crate) const KEYS: &[Key] = &[
    with_variable(key("model", Kind::Text, None, Reach::Anyone), "IBEAM_MODEL"),
    with_variable(key("lang", Kind::Text, None, Reach::Anyone), "IBEAM_LANG"),
    key("verbose", Kind::Switch, None, Reach::Anyone),
    key("models.aliases.*", Kind::Text, None, Reach::Anyone),
    key("models.display.*", Kind::Text, None, Reach::Anyone),
    key("providers.*.wire", Kind::Text, None, Reach::Trusted),
    key("providers.*.base_url", Kind::Text, None, Reach::Trusted),
    key("providers.*.key_variable", Kind::Text, None, Reach::Trusted),
    key("providers.*.headers.*", Kind::Text, None, Reach::Trusted),
    key("providers.*.text_tool_calls", Kind::Switch, None, Reach::Trusted),
    key("permissions.allow", Kind::List, None, Reach::Trusted),
    key("permissions.deny", Kind::List, None, Reach::Anyone),
    with_variable(key("limits.max_turns", Kind::Number, Some("200"), Reach::Anyone), "IBEAM_MAX_TURNS"),
    with_variable(key("limits.timeout", Kind::Time, None, Reach::Anyone), "IBEAM_TIMEOUT"),
    key("limits.max_output_tokens", Kind::Number, None, Reach::Anyone),
    // Without a value of the user's, the bounds that suit the service: a local server may first load its model.
    key("timeouts.connect", Kind::Time, None, Reach::Anyone),
    key("timeouts.first_byte", Kind::Time, None, Reach::Anyone),
    key("timeouts.idle", Kind::Time, None, Reach::Anyone),
    key("timeouts.content_idle", Kind::Time, None, Reach::Anyone),
    key("timeouts.answer", Kind::Time, None, Reach::Anyone),
    key("retry.attempts", Kind::Number, Some("6"), Reach::Anyone),
    key("retry.first_pause", Kind::Time, Some("1s"), Reach::Anyone),
    key("retry.give_up_after", Kind::Time, Some("5m"), Reach::Anyone),
    with_variable(key("local.model", Kind::Text, None, Reach::Trusted), "IBEAM_LOCAL_MODEL"),
    key("session.durability", Kind::Text, Some("default"), Reach::Anyone),
];

impl Key {
    /// The path as words.
    pub(crate) fn path_words(&self) -> Vec<String> {
        self.path.split('.').map(str::to_owned).collect()
    }

    /// Whether `path` is this key.
    pub(crate) fn matches(&self, path: &[String]) -> bool {
        let mut words = self.path.split('.');
        path.iter().all(|found| words.next().is_some_and(|word| word == "*" || word == found))
            && words.next().is_none()
    }
}

/// A value of one of the kinds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Text(String),
    Number(u64),
    Switch(bool),
    Time(Duration),
    List(Vec<String>),
}

impl Value {
    /// The value that a flag, a variable or a default spells.
    pub(crate) fn parse(kind: Kind, text: &str) -> Option<Self> {
        match kind {
            Kind::Text => Some(Self::Text(text.to_owned())),
            Kind::Number => text.trim().parse().ok().map(Self::Number),
            Kind::Switch => text.trim().parse().ok().map(Self::Switch),
            Kind::Time => parse_time(text).map(Self::Time),
            Kind::List => Some(Self::List(text.split(',').map(|entry| entry.trim().to_owned()).collect())),
        }
    }

    /// The value that a file holds.
    pub(crate) fn from_toml(kind: Kind, item: &Item) -> Option<Self> {
        match kind {
            Kind::Text => item.as_str().map(|text| Self::Text(text.to_owned())),
            Kind::Number => item.as_integer().and_then(|number| number.try_into().ok()).map(Self::Number),
            Kind::Switch => item.as_bool().map(Self::Switch),
            Kind::Time => match item.as_integer() {
                Some(seconds) => seconds.try_into().ok().map(Duration::from_secs).map(Self::Time),
                None => item.as_str().and_then(parse_time).map(Self::Time),
            },
            Kind::List => {
                let entries = item.as_array()?.iter().map(|entry| entry.as_str().map(str::to_owned));
                entries.collect::<Option<Vec<_>>>().map(Self::List)
            }
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Switch(on) => write!(f, "{on}"),
            Self::Time(time) => write!(f, "{time:?}"),
            Self::List(entries) => write!(f, "{entries:?}"),
        }
    }
}

/// `90`, `90s`, `1.5s`, `250ms`, `10m`, `1h`.
fn parse_time(text: &str) -> Option<Duration> {
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
    Duration::try_from_secs_f64(number.parse::<f64>().ok()? * factor).ok()
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
        ] {
            assert_eq!(parse_time(text), expect.map(Duration::from_millis), "{text:?}");
        }
    }

    #[test]
    fn every_default_is_of_its_kind() {
        for key in KEYS {
            if let Some(default) = key.default {
                assert!(Value::parse(key.kind, default).is_some(), "{}", key.path);
            }
        }
    }

    #[test]
    fn every_key_is_in_the_documentation() {
        let page = include_str!("../../../../docs/configuration.md");
        for key in KEYS {
            let written = key.path.replace('*', "NAME");
            assert!(
                page.contains(&format!("`{written}`")),
                "`{written}` is missing in docs/configuration.md"
            );
        }
    }

    #[test]
    fn a_star_stands_for_one_name() {
        let words = |path: &[&str]| path.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let key = key("providers.*.base_url", Kind::Text, None, Reach::Trusted);
        assert!(key.matches(&words(&["providers", "a.b", "base_url"])));
        assert!(!key.matches(&words(&["providers", "base_url"])));
        assert!(!key.matches(&words(&["providers", "a", "b", "base_url"])));
    }
}
