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
    /// A bound: from a millisecond to a year.
    Time,
    /// A pause or a wait that may be none at all.
    Pause,
    /// US dollars.
    Money,
    List,
}

impl Kind {
    /// For "`x` should be …".
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::Number => "a whole number",
            Self::Switch => "true or false",
            Self::Time => "a time above 0, at most a year: seconds, or text such as \"90s\", \"10m\", \"1h\"",
            Self::Pause => "a time from 0 to a year: seconds, or text such as \"90s\", \"10m\", \"1h\"",
            Self::Money => "US dollars, such as \"0.50\"",
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
    /// A project's file too; whoever uses it tells the layers apart and what it may do with which.
    Judged,
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
    key("models.context.*", Kind::Number, None, Reach::Anyone),
    key("models.prices.*", Kind::Text, None, Reach::Anyone),
    key("providers.*.wire", Kind::Text, None, Reach::Trusted),
    key("providers.*.base_url", Kind::Text, None, Reach::Trusted),
    key("providers.*.key_variable", Kind::Text, None, Reach::Trusted),
    key("providers.*.headers.*", Kind::Text, None, Reach::Trusted),
    key("providers.*.text_tool_calls", Kind::Switch, None, Reach::Trusted),
    key("permissions.allow", Kind::List, None, Reach::Trusted),
    key("permissions.deny", Kind::List, None, Reach::Anyone),
    with_variable(key("limits.max_turns", Kind::Number, Some("200"), Reach::Anyone), "IBEAM_MAX_TURNS"),
    with_variable(key("limits.timeout", Kind::Time, None, Reach::Anyone), "IBEAM_TIMEOUT"),
    key("limits.max_tokens", Kind::Number, None, Reach::Anyone),
    key("limits.max_cost", Kind::Money, None, Reach::Anyone),
    key("limits.max_tool_calls", Kind::Number, None, Reach::Anyone),
    key("limits.processes", Kind::Number, Some("4096"), Reach::Anyone),
    key("limits.max_output_tokens", Kind::Number, None, Reach::Anyone),
    key("background", Kind::Text, Some("stop"), Reach::Anyone),
    // Without a value of the user's, the bounds that suit the service: a local server may first load its model.
    key("timeouts.connect", Kind::Time, None, Reach::Anyone),
    key("timeouts.first_byte", Kind::Time, None, Reach::Anyone),
    key("timeouts.idle", Kind::Time, None, Reach::Anyone),
    key("timeouts.content_idle", Kind::Time, None, Reach::Anyone),
    key("timeouts.answer", Kind::Time, None, Reach::Anyone),
    key("timeouts.stdin", Kind::Time, Some("30s"), Reach::Anyone),
    key("timeouts.stdin_context", Kind::Time, Some("3s"), Reach::Anyone),
    key("timeouts.lock", Kind::Pause, Some("0s"), Reach::Anyone),
    key("timeouts.files", Kind::Time, Some("60s"), Reach::Anyone),
    key("timeouts.tool", Kind::Time, Some("120s"), Reach::Anyone),
    key("timeouts.tool_longest", Kind::Time, Some("600s"), Reach::Anyone),
    key("timeouts.background", Kind::Time, Some("10m"), Reach::Anyone),
    key("timeouts.shutdown", Kind::Time, Some("3s"), Reach::Anyone),
    key("retry.attempts", Kind::Number, Some("6"), Reach::Anyone),
    key("retry.first_pause", Kind::Pause, Some("1s"), Reach::Anyone),
    key("retry.give_up_after", Kind::Time, Some("5m"), Reach::Anyone),
    key("timeouts.hook", Kind::Time, Some("60s"), Reach::Anyone),
    key("timeouts.mcp_start", Kind::Time, Some("10s"), Reach::Anyone),
    key("timeouts.mcp_call", Kind::Time, Some("120s"), Reach::Anyone),
    key("mcp_servers.*.command", Kind::Text, None, Reach::Judged),
    key("mcp_servers.*.args", Kind::List, None, Reach::Judged),
    key("mcp_servers.*.env.*", Kind::Text, None, Reach::Judged),
    key("mcp_servers.*.cwd", Kind::Text, None, Reach::Judged),
    key("mcp_servers.*.url", Kind::Text, None, Reach::Judged),
    key("mcp_servers.*.required", Kind::Switch, None, Reach::Judged),
    key("mcp_servers.*.enabled", Kind::Switch, None, Reach::Judged),
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
    /// Millionths of a US dollar.
    Money(u64),
    List(Vec<String>),
}

impl Value {
    /// The value that a flag, a variable or a default spells.
    pub(crate) fn parse(kind: Kind, text: &str) -> Option<Self> {
        match kind {
            Kind::Text => Some(Self::Text(text.to_owned())),
            Kind::Number => text.trim().parse().ok().map(Self::Number),
            Kind::Switch => text.trim().parse().ok().map(Self::Switch),
            Kind::Time => parse_time(text).filter(is_bound).map(Self::Time),
            Kind::Pause => parse_time(text).map(Self::Time),
            Kind::Money => text.trim().parse().ok().and_then(micros).map(Self::Money),
            Kind::List => Some(Self::List(text.split(',').map(|entry| entry.trim().to_owned()).collect())),
        }
    }

    /// The value that a file holds.
    pub(crate) fn from_toml(kind: Kind, item: &Item) -> Option<Self> {
        match kind {
            Kind::Text => item.as_str().map(|text| Self::Text(text.to_owned())),
            Kind::Number => item.as_integer().and_then(|number| number.try_into().ok()).map(Self::Number),
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
            Self::Money(micros) => write!(f, "\"{:.2}\"", *micros as f64 / 1e6),
            Self::List(entries) => write!(f, "{entries:?}"),
        }
    }
}

/// Dollars as millionths; `None` for what is no amount.
fn micros(dollars: f64) -> Option<u64> {
    (0.0..=1e9).contains(&dollars).then(|| (dollars * 1e6).round() as u64)
}

/// Nobody waits longer; what does not fit a clock is caught with it.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// A wait of no time at all would fail before it began.
fn is_bound(time: &Duration) -> bool {
    *time >= Duration::from_millis(1)
}

/// `90`, `90s`, `1.5s`, `250ms`, `10m`, `1h`; a year at most.
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
    Duration::try_from_secs_f64(number.parse::<f64>().ok()? * factor).ok().filter(|time| *time <= LONGEST)
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
    fn a_bound_is_never_nothing_but_a_pause_may_be() {
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

    /// Without a default a missing bound would be no time at all.
    #[test]
    fn every_bound_that_does_not_depend_on_the_service_has_a_default() {
        let of_the_service = ["connect", "first_byte", "idle", "content_idle", "answer"];
        for key in KEYS.iter().filter(|key| key.path.starts_with("timeouts.")) {
            let depends = of_the_service.iter().any(|name| key.path == format!("timeouts.{name}"));
            assert_eq!(key.default.is_none(), depends, "{}", key.path);
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
