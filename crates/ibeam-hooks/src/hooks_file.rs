//! Hook files: `{"version": 1, "hooks": {"EVENT": [{"command", "matcher", "timeout", "failClosed", "loop_limit"}]}}`.
//!
//! A file that cannot be parsed is an error with line and column, because the user may rely on its hooks. Refuses
//! another version, a hook without a command, an invalid matcher and an invalid time.

use std::fmt;
use std::marker::PhantomData;
use std::path::Path;

use ibeam_files::json_with_comments;
use ibeam_protocol::json_fault;
use regex::Regex;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::event_name::EventName;
use crate::hook_config::{
    DEFAULT_LOOP_LIMIT, HookAction, HookConfig, HookFormat, HookSettings, HookSource, bad_matcher, time_limit,
};

impl HookConfig {
    /// Adds the hooks of the file at `path`, which run in `directory`. Files are added strongest first.
    ///
    /// # Errors
    /// The line, the column and the message of a file that is not a valid hook file.
    pub fn add_file(&mut self, bytes: &[u8], path: &Path, directory: &Path) -> Result<(), HooksFileError> {
        let HooksFile { hooks, .. } = parse_object::<HooksFile<Vec<HookEntry>>>(bytes)?;
        let source = HookSource { path, directory, format: HookFormat::HooksFile };
        let mut unsupported = Vec::new();
        for (name, entries) in hooks.0 {
            let event = EventName::parse(&name);
            if event.is_none() && !entries.is_empty() {
                unsupported.push(name.clone());
            }
            let Some(event) = event else { continue };
            for entry in entries {
                unsupported.extend(self.add_entry(&name, event, source, entry));
            }
        }
        self.add_unsupported(path, &unsupported);
        Ok(())
    }

    /// Adds a hook. Returns what is not supported of it.
    pub(crate) fn add_entry(
        &mut self,
        name: &str,
        event: EventName,
        source: HookSource<'_>,
        entry: HookEntry,
    ) -> Option<String> {
        match entry {
            HookEntry::Supported(settings) if settings.action.can_run_at(event) => {
                self.add(event, source, settings);
                None
            }
            HookEntry::Supported(_) => Some(format!("{name} of type \"prompt\"")),
            HookEntry::Unsupported { kind } => Some(format!("{name} of type {kind:?}")),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct HooksFileError {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    pub message: String,
}

#[derive(Deserialize)]
#[serde(expecting = "an object with `hooks`", bound(deserialize = "T: Deserialize<'de>"))]
pub(crate) struct HooksFile<T> {
    #[serde(default, rename = "version")]
    _version: Version,
    #[serde(default)]
    pub(crate) hooks: EventList<T>,
}

/// Parses a file that contains one JSON object, with comments and trailing commas, which cannot hide a hook.
///
/// # Errors
/// The line, the column and the message of the first error.
pub(crate) fn parse_object<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, HooksFileError> {
    let bytes = json_with_comments::to_json(bytes);
    if !bytes.trim_ascii_start().starts_with(b"{") {
        let message = "it should be a JSON object".to_owned();
        return Err(HooksFileError { line: 1, column: 1, message });
    }
    serde_json::from_slice(&bytes).map_err(|error| {
        let message = json_fault(&error).to_string();
        HooksFileError { line: error.line(), column: error.column(), message }
    })
}

/// The events in the order of the file, with their entries. The entries of an event that the file names twice all count.
pub(crate) struct EventList<T>(pub(crate) Vec<(String, T)>);

impl<T> Default for EventList<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for EventList<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct EventsVisitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for EventsVisitor<T> {
            type Value = EventList<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of events")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<EventList<T>, A::Error> {
                let mut events = Vec::new();
                while let Some(event) = map.next_entry()? {
                    events.push(event);
                }
                Ok(EventList(events))
            }
        }
        from.deserialize_map(EventsVisitor(PhantomData))
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

#[derive(Deserialize)]
#[serde(try_from = "RawEntry")]
pub(crate) enum HookEntry {
    /// A hook of a supported type.
    Supported(HookSettings),
    /// A hook of a type that is not supported.
    Unsupported { kind: String },
}

#[derive(Deserialize)]
#[serde(expecting = "an object with the `command` of a hook")]
struct RawEntry {
    #[serde(rename = "type")]
    kind: Option<String>,
    command: Option<String>,
    prompt: Option<String>,
    model: Option<String>,
    matcher: Option<String>,
    timeout: Option<f64>,
    #[serde(default, rename = "failClosed")]
    fail_closed: bool,
    /// `Some(None)` for null, which is not a limit.
    #[serde(default, deserialize_with = "present")]
    loop_limit: Option<Option<u32>>,
}

/// Deserializes a key that is present, so that null differs from no key.
pub(crate) fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Option<u32>>, D::Error> {
    Option::deserialize(from).map(Some)
}

impl TryFrom<RawEntry> for HookEntry {
    type Error = String;

    fn try_from(raw: RawEntry) -> Result<Self, String> {
        let RawEntry { kind, command, prompt, model, matcher, timeout, fail_closed, loop_limit } = raw;
        let Some(action) = HookAction::new(kind.as_deref(), command, prompt, model)? else {
            return Ok(Self::Unsupported { kind: kind.unwrap_or_default() });
        };
        // `*` is not a regular expression; it means every subject.
        let matcher = matcher.filter(|matcher| !matcher.is_empty() && matcher != "*");
        let matcher =
            matcher.map(|matcher| Regex::new(&matcher).map_err(|error| bad_matcher(&matcher, &error)));
        Ok(Self::Supported(HookSettings {
            action,
            matcher: matcher.transpose()?,
            timeout: timeout.map(time_limit).transpose()?,
            fail_closed,
            loop_limit: loop_limit.unwrap_or(Some(DEFAULT_LOOP_LIMIT)),
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ibeam_protocol::Notice;

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
        check_bad("{\"hooks\": {", "ends too early", 1);
        check_bad("{\"version\": 1,\n\"hooks\": []}", "there should be", 2);
        check_bad("{\"version\": 2}", "version 2", 1);
        check_bad("{\"hooks\": {\"stop\": [{}]}}", "no `command`", 1);
        check_bad("{\"hooks\": {\"stop\": [\n{\"command\": \" \"}]}}", "no `command`", 2);
        check_bad("{\"hooks\": {\"stop\": [{\"command\": \"a\", \"matcher\": \"(\"}]}}", "matcher", 1);
        check_bad("{\"hooks\": {\"stop\": [{\"command\": \"a\", \"timeout\": -1}]}}", "timeout", 1);
        check_bad("{\"hooks\": {\"stop\": [{\"command\": \"a\", \"failClosed\": 1}]}}", "there should be", 1);
        check_bad("[]", "JSON object", 1);
        check_bad("", "JSON object", 1);
    }

    #[test]
    fn a_file_may_have_comments_and_trailing_commas() {
        let config =
            parse("\u{feff}// ours\n{\"hooks\": {\"stop\": [{\"command\": \"a // b\",}, /* c */],},}")
                .unwrap();
        assert_eq!(config.hooks[&EventName::Stop][0].name, "a // b");
    }

    #[test]
    fn hooks_keep_the_order_of_the_file_and_their_time_limits() {
        let config = parse(
            r#"{"version": 1, "hooks": {"stop": [
                {"command": "first  one", "timeout": 9999, "loop_limit": 7},
                {"command": "second", "type": "command", "matcher": "*", "failClosed": true,
                    "loop_limit": null}],
                "stop": [{"command": "third"}]}}"#,
        );
        let hooks = &config.unwrap().hooks[&EventName::Stop];
        assert_eq!((hooks.len(), hooks[0].name.as_str()), (3, "first one"));
        assert_eq!(hooks[0].timeout, Some(Duration::from_secs(600)));
        assert!(hooks[1].fail_closed && hooks[1].matcher.is_none());
        let limits: Vec<_> = hooks.iter().map(|hook| hook.loop_limit).collect();
        assert_eq!(limits, [Some(7), None, Some(DEFAULT_LOOP_LIMIT)]);
    }

    #[test]
    fn hooks_that_are_not_supported_become_a_notice() {
        let config = parse(
            r#"{"hooks": {"afterTabFileEdit": [{"command": "a"}], "sessionEnd": [{"type": "prompt", "prompt": "b"}],
                "stop": [{"type": "http"}], "workspaceOpen": []}}"#,
        );
        let config = config.unwrap();
        assert!(config.hooks.is_empty());
        let [Notice::HooksNotRun { what, .. }] = &config.notices[..] else { panic!("{:?}", config.notices) };
        assert_eq!(what, "afterTabFileEdit, sessionEnd of type \"prompt\", stop of type \"http\"");
    }

    #[test]
    fn a_prompt_is_a_hook_of_an_event_that_decides() {
        let config = parse(
            r#"{"hooks": {"beforeShellExecution": [
                {"type": "prompt", "prompt": "Is it safe?", "model": "fast", "timeout": 9}]}}"#,
        );
        let hooks = &config.unwrap().hooks[&EventName::BeforeShellExecution];
        let action = HookAction::Prompt { text: "Is it safe?".to_owned(), model: Some("fast".to_owned()) };
        assert_eq!(hooks[0].action, action);
        check_bad("{\"hooks\": {\"stop\": [{\"type\": \"prompt\"}]}}", "no `prompt`", 1);
    }
}
