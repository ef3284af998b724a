//! The format of `hooks.json`: `{"version": 1, "hooks": {"EVENT": [{"command", "matcher", "timeout", "failClosed"}]}}`.
//!
//! Refuses what does not say clearly what should run: another version, a hook without a command, a matcher that is
//! no regular expression, a time that cannot be.

use std::fmt;
use std::time::Duration;

use regex::Regex;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// The longest time a hook may ask for.
pub(super) const LONGEST: Duration = Duration::from_secs(600);

/// The events of a file by name, with their hooks.
pub(super) type Events = Vec<(String, Vec<Entry>)>;

/// What is wrong with a file.
pub(super) struct Wrong {
    pub(super) line: usize,
    pub(super) column: usize,
    pub(super) said: String,
}

/// What a file holds.
#[derive(Deserialize)]
pub(super) struct HooksFile {
    #[serde(default, rename = "version")]
    _version: Version,
    #[serde(default)]
    hooks: Pairs,
}

impl HooksFile {
    /// The events of the file with their hooks, as they stand there.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub(super) fn parse(bytes: &[u8]) -> Result<Events, Wrong> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        if !bytes.trim_ascii_start().starts_with(b"{") {
            return Err(Wrong { line: 1, column: 1, said: "it should be a JSON object".to_owned() });
        }
        let file: Self = serde_json::from_slice(bytes).map_err(|error| {
            let said = error.to_string();
            let said = said.rsplit_once(" at line ").map_or(said.as_str(), |(said, _)| said);
            Wrong { line: error.line(), column: error.column(), said: said.to_owned() }
        })?;
        Ok(file.hooks.0)
    }
}

/// The events of a file as they stand there: an event that stands twice counts twice.
#[derive(Default)]
struct Pairs(Events);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Events;
        impl<'de> Visitor<'de> for Events {
            type Value = Pairs;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of events")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        from.deserialize_map(Events)
    }
}

#[derive(Default, Deserialize)]
#[serde(try_from = "u64")]
struct Version;

impl TryFrom<u64> for Version {
    type Error = String;

    fn try_from(version: u64) -> Result<Self, String> {
        match version {
            1 => Ok(Self),
            other => Err(format!("version {other} of this format is not known; it should be 1")),
        }
    }
}

/// A hook as it is written.
#[derive(Deserialize)]
#[serde(try_from = "WrittenEntry")]
pub(super) enum Entry {
    /// One that is run.
    Command { command: String, matcher: Option<Regex>, timeout: Option<Duration>, fail_closed: bool },
    /// One of a kind that is not.
    NotRun { kind: String },
}

#[derive(Deserialize)]
struct WrittenEntry {
    #[serde(rename = "type")]
    kind: Option<String>,
    command: Option<String>,
    matcher: Option<String>,
    timeout: Option<f64>,
    #[serde(default, rename = "failClosed")]
    fail_closed: bool,
}

impl TryFrom<WrittenEntry> for Entry {
    type Error = String;

    fn try_from(written: WrittenEntry) -> Result<Self, String> {
        let WrittenEntry { kind, command, matcher, timeout, fail_closed } = written;
        if let Some(kind) = kind.filter(|kind| kind != "command") {
            return Ok(Self::NotRun { kind });
        }
        let command = command.filter(|command| !command.trim().is_empty());
        let command = command.ok_or("a hook has no `command`")?;
        // `*` is no expression, and means what everybody thinks it means.
        let matcher = matcher.filter(|matcher| !matcher.is_empty() && matcher != "*");
        let matcher =
            matcher.map(|matcher| Regex::new(&matcher).map_err(|error| bad_matcher(&matcher, &error)));
        let seconds = |seconds: f64| {
            let time = Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero());
            time.map(|time| time.min(LONGEST)).ok_or_else(|| format!("a `timeout` of {seconds} s cannot be"))
        };
        let timeout = timeout.map(seconds).transpose()?;
        Ok(Self::Command { command, matcher: matcher.transpose()?, timeout, fail_closed })
    }
}

fn bad_matcher(matcher: &str, error: &regex::Error) -> String {
    let said = error.to_string();
    let said = said.lines().last().unwrap_or_default().trim().trim_start_matches("error: ");
    format!("the `matcher` {matcher:?} is no regular expression: {said}")
}
