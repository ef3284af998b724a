//! Hook files: `{"version": 1, "hooks": {"EVENT": [{"command", "matcher", "timeout", "failClosed"}]}}`.
//!
//! A file that cannot be parsed is an error with line and column, because the user may rely on its hooks. Refuses
//! another version, a hook without a command, an invalid matcher and an invalid time.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ibeam_protocol::{Notice, elide_end};
use regex::Regex;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::event_name::EventName;

/// The number of characters of a command that are the hook's name.
const MAX_NAME_CHARS: usize = 80;

/// A hook of a file.
#[derive(Clone, Debug)]
pub(crate) struct Hook {
    /// The command, shortened.
    pub(super) name: String,
    /// The command line for the shell.
    pub(super) command: String,
    /// The working directory.
    pub(super) directory: PathBuf,
    /// The subjects of the event for which the hook runs; `None` for all.
    pub(super) matcher: Option<Regex>,
    /// The time limit; `None` for the configured one.
    pub(super) timeout: Option<Duration>,
    /// Whether a failure of the hook refuses what is about to happen.
    pub(super) fail_closed: bool,
}

/// The hooks of all files by event, those of the strongest file first.
#[derive(Debug, Default)]
pub struct HookConfig {
    pub(crate) hooks: BTreeMap<EventName, Vec<Hook>>,
    /// Warnings about the files.
    pub notices: Vec<Notice>,
}

impl HookConfig {
    /// Adds the hooks of the file at `path`, which run in `directory`. Files are added strongest first.
    ///
    /// # Errors
    /// The line, the column and the message of a file that is not a valid hook file.
    pub fn add_file(&mut self, bytes: &[u8], path: &Path, directory: &Path) -> Result<(), HooksFileError> {
        let hooks = HooksFile::parse(bytes)?;
        let mut unsupported = Vec::new();
        for (name, entries) in hooks {
            let event = EventName::parse(&name);
            if event.is_none() && !entries.is_empty() {
                unsupported.push(name.clone());
            }
            let Some(event) = event else { continue };
            for entry in entries {
                match entry {
                    HookEntry::Command { command, matcher, timeout, fail_closed } => {
                        let (name, directory) = (shorten(&command), directory.to_owned());
                        let hook = Hook { name, command, directory, matcher, timeout, fail_closed };
                        self.hooks.entry(event).or_default().push(hook);
                    }
                    HookEntry::Unsupported { kind } => unsupported.push(format!("{name} of type {kind:?}")),
                }
            }
        }
        if !unsupported.is_empty() {
            let path = path.display().to_string();
            self.notices.push(Notice::HooksNotRun { path, what: unsupported.join(", ") });
        }
        Ok(())
    }

    /// Returns the name of the event and the command of each hook.
    pub fn commands(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.hooks
            .iter()
            .flat_map(|(event, hooks)| hooks.iter().map(|hook| (event.as_str(), hook.command.as_str())))
    }
}

/// Returns the command on one line, cut if it is long.
fn shorten(command: &str) -> String {
    let line = command.split_whitespace().collect::<Vec<_>>().join(" ");
    elide_end(&line, MAX_NAME_CHARS)
}

/// The longest time limit of a hook.
const MAX_TIMEOUT: Duration = Duration::from_secs(600);

/// The events of a file by name, with their hooks.
type Events = Vec<(String, Vec<HookEntry>)>;

/// An error in a hook file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct HooksFileError {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// The message.
    pub message: String,
}

/// The content of a hook file.
#[derive(Deserialize)]
struct HooksFile {
    #[serde(default, rename = "version")]
    _version: Version,
    #[serde(default)]
    hooks: EventList,
}

impl HooksFile {
    /// Returns the events of the file with their hooks.
    fn parse(bytes: &[u8]) -> Result<Events, HooksFileError> {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        if !bytes.trim_ascii_start().starts_with(b"{") {
            let message = "it should be a JSON object".to_owned();
            return Err(HooksFileError { line: 1, column: 1, message });
        }
        let file: Self = serde_json::from_slice(bytes).map_err(|error| {
            // serde_json appends the position, which is a field of the error.
            let message = error.to_string();
            let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
            HooksFileError { line: error.line(), column: error.column(), message: message.to_owned() }
        })?;
        Ok(file.hooks.0)
    }
}

/// The events in the order of the file. The hooks of an event that the file names twice are all run.
#[derive(Default)]
struct EventList(Events);

impl<'de> Deserialize<'de> for EventList {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct EventsVisitor;
        impl<'de> Visitor<'de> for EventsVisitor {
            type Value = EventList;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of events")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<EventList, A::Error> {
                let mut events = Vec::new();
                while let Some(event) = map.next_entry()? {
                    events.push(event);
                }
                Ok(EventList(events))
            }
        }
        from.deserialize_map(EventsVisitor)
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
            other => Err(format!("unknown version {other}; it should be 1")),
        }
    }
}

/// A hook entry of the file.
#[derive(Deserialize)]
#[serde(try_from = "RawEntry")]
enum HookEntry {
    /// A hook that is run.
    Command { command: String, matcher: Option<Regex>, timeout: Option<Duration>, fail_closed: bool },
    /// A hook of a type that is not supported.
    Unsupported { kind: String },
}

#[derive(Deserialize)]
struct RawEntry {
    #[serde(rename = "type")]
    kind: Option<String>,
    command: Option<String>,
    matcher: Option<String>,
    timeout: Option<f64>,
    #[serde(default, rename = "failClosed")]
    fail_closed: bool,
}

impl TryFrom<RawEntry> for HookEntry {
    type Error = String;

    fn try_from(raw: RawEntry) -> Result<Self, String> {
        let RawEntry { kind, command, matcher, timeout, fail_closed } = raw;
        if let Some(kind) = kind.filter(|kind| kind != "command") {
            return Ok(Self::Unsupported { kind });
        }
        let command = command.filter(|command| !command.trim().is_empty());
        let command = command.ok_or("a hook has no `command`")?;
        // `*` is not a regular expression; it means every subject.
        let matcher = matcher.filter(|matcher| !matcher.is_empty() && matcher != "*");
        let matcher =
            matcher.map(|matcher| Regex::new(&matcher).map_err(|error| bad_matcher(&matcher, &error)));
        let seconds = |seconds: f64| {
            let time = Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero());
            time.map(|time| time.min(MAX_TIMEOUT))
                .ok_or_else(|| format!("a `timeout` of {seconds} s is not possible"))
        };
        let timeout = timeout.map(seconds).transpose()?;
        Ok(Self::Command { command, matcher: matcher.transpose()?, timeout, fail_closed })
    }
}

fn bad_matcher(matcher: &str, error: &regex::Error) -> String {
    let message = error.to_string();
    let message = message.lines().last().unwrap_or_default().trim().trim_start_matches("error: ");
    format!("the `matcher` {matcher:?} is not a regular expression: {message}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<HookConfig, HooksFileError> {
        let mut config = HookConfig::default();
        config.add_file(text.as_bytes(), Path::new("/h/hooks.json"), Path::new("/h")).map(|()| config)
    }

    #[track_caller]
    fn check_bad(text: &str, expect: &str, on_line: usize) {
        let HooksFileError { line, column, message } = parse(text).unwrap_err();
        assert!(message.contains(expect), "{message}");
        assert!(line == on_line && column > 0, "{line}:{column} {text}");
    }

    #[test]
    fn an_invalid_file_is_an_error_with_its_place() {
        check_bad("{\"hooks\": {", "EOF", 1);
        check_bad("{\"version\": 1,\n\"hooks\": []}", "invalid type", 2);
        check_bad("{\"version\": 2}", "version 2", 1);
        check_bad("{\"hooks\": {\"stop\": [{}]}}", "no `command`", 1);
        check_bad("{\"hooks\": {\"stop\": [\n{\"command\": \" \"}]}}", "no `command`", 2);
        check_bad("{\"hooks\": {\"stop\": [{\"command\": \"a\", \"matcher\": \"(\"}]}}", "matcher", 1);
        check_bad("{\"hooks\": {\"stop\": [{\"command\": \"a\", \"timeout\": -1}]}}", "timeout", 1);
        check_bad("{\"hooks\": {\"stop\": [{\"command\": \"a\", \"failClosed\": 1}]}}", "invalid type", 1);
        check_bad("[]", "JSON object", 1);
        check_bad("", "JSON object", 1);
    }

    #[test]
    fn hooks_keep_the_order_of_the_file_and_their_time_limits() {
        let config = parse(
            r#"{"version": 1, "hooks": {"stop": [
                {"command": "first  one", "timeout": 9999, "loop_limit": 5},
                {"command": "second", "type": "command", "matcher": "*", "failClosed": true}],
                "stop": [{"command": "third"}]}}"#,
        );
        let hooks = &config.unwrap().hooks[&EventName::Stop];
        assert_eq!((hooks.len(), hooks[0].name.as_str()), (3, "first one"));
        assert_eq!(hooks[0].timeout, Some(MAX_TIMEOUT));
        assert!(hooks[1].fail_closed && hooks[1].matcher.is_none());
    }

    #[test]
    fn hooks_that_are_not_supported_become_a_notice() {
        let config = parse(
            r#"{"hooks": {"preCompact": [{"command": "a"}], "stop": [{"type": "prompt", "prompt": "b"}],
                "workspaceOpen": []}}"#,
        );
        let config = config.unwrap();
        assert!(config.hooks.is_empty());
        let [Notice::HooksNotRun { what, .. }] = &config.notices[..] else { panic!("{:?}", config.notices) };
        assert_eq!(what, "preCompact, stop of type \"prompt\"");
    }

    #[test]
    fn a_long_command_has_a_short_name() {
        assert_eq!(shorten("a\n  b\tc"), "a b c");
        assert_eq!(shorten(&"é".repeat(200)).chars().count(), MAX_NAME_CHARS + 1);
    }
}
