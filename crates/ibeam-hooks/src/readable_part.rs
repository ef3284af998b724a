//! The readable part of the hook files of a project.
//!
//! One wrong hook does not end a run, and does not widen what is allowed either: what it could refuse is refused. Without
//! the list of events a hook could refuse the prompt itself, so that such a file stays an error.

use std::path::Path;

use ibeam_protocol::json_fault;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::claude_settings::{Group, Settings};
use crate::event_name::EventName;
use crate::hook_config::{HookAction, HookConfig, HookFormat, HookSettings, HookSource};
use crate::hooks_file::{HookEntry, HooksFile, HooksFileError, parse_object};

impl HookConfig {
    /// Adds what can be read of a hook file that [`Self::add_file`] refuses.
    ///
    /// # Errors
    /// The place and the message, if the events cannot be read.
    pub fn add_readable_file(
        &mut self,
        bytes: &[u8],
        path: &Path,
        directory: &Path,
    ) -> Result<(), HooksFileError> {
        let HooksFile { hooks, .. } = parse_object::<HooksFile<Box<RawValue>>>(bytes)?;
        let source = HookSource { path, directory, format: HookFormat::HooksFile };
        let mut left_out = Vec::new();
        for (name, list) in hooks.0 {
            let Some(event) = EventName::parse(&name) else {
                left_out.push(name);
                continue;
            };
            for entry in elements::<HookEntry>(&list) {
                left_out.extend(match entry {
                    Ok(entry) => self.add_entry(&name, event, source, entry),
                    Err(message) => Some(self.add_unreadable(&name, event, source, &message)),
                });
            }
        }
        self.add_unsupported(path, &left_out);
        Ok(())
    }

    /// Adds what can be read of settings that [`Self::add_claude_settings`] refuses.
    ///
    /// # Errors
    /// The place and the message, if the events cannot be read.
    pub fn add_readable_claude_settings(
        &mut self,
        bytes: &[u8],
        path: &Path,
        directory: &Path,
    ) -> Result<(), HooksFileError> {
        let Settings { disable_all_hooks, hooks } = parse_object::<Settings<Box<RawValue>>>(bytes)?;
        if disable_all_hooks {
            return Ok(());
        }
        let source = HookSource { path, directory, format: HookFormat::ClaudeSettings };
        let mut left_out = Vec::new();
        for (name, list) in hooks.0 {
            let Some(event) = EventName::parse_claude(&name) else {
                left_out.push(name);
                continue;
            };
            for group in elements::<Group>(&list) {
                match group {
                    Ok(group) => {
                        for entry in group.into_entries() {
                            left_out.extend(self.add_settings_entry(&name, event, source, entry));
                        }
                    }
                    Err(message) => left_out.push(self.add_unreadable(&name, event, source, &message)),
                }
            }
        }
        self.add_unsupported(path, &left_out);
        Ok(())
    }

    /// Adds a hook that refuses what an unreadable one could refuse. Returns its description for people.
    fn add_unreadable(
        &mut self,
        name: &str,
        event: EventName,
        source: HookSource<'_>,
        message: &str,
    ) -> String {
        let action = HookAction::Unreadable(format!("it cannot be read: {message}"));
        if !action.can_run_at(event) {
            return format!("{name} ({message})");
        }
        let settings =
            HookSettings { action, matcher: None, timeout: None, fail_closed: true, loop_limit: Some(0) };
        self.add(event, source, settings);
        format!("{name} ({message}; what it could refuse is refused)")
    }
}

/// Returns the elements of a list, each by itself, or the message why it cannot be read. What is not a list is one
/// element.
fn elements<'a, T: Deserialize<'a>>(list: &'a RawValue) -> Vec<Result<T, String>> {
    match serde_json::from_str::<Vec<&RawValue>>(list.get()) {
        Ok(elements) => {
            let read = |element: &'a RawValue| serde_json::from_str(element.get());
            elements
                .into_iter()
                .map(|element| read(element).map_err(|error| json_fault(&error).to_string()))
                .collect()
        }
        Err(error) => vec![Err(json_fault(&error).to_string())],
    }
}

#[cfg(test)]
mod tests {
    use ibeam_protocol::Notice;

    use super::*;

    /// Checks the names of the hooks at `event`, and what the notice says.
    #[track_caller]
    fn check(is_settings: bool, text: &str, event: EventName, names: &[&str], expect: &str) {
        let mut config = HookConfig::default();
        let (bytes, path, directory) = (text.as_bytes(), Path::new("/w/f.json"), Path::new("/w"));
        let (strict, read) = match is_settings {
            true => (
                config.add_claude_settings(bytes, path, directory),
                config.add_readable_claude_settings(bytes, path, directory),
            ),
            false => {
                (config.add_file(bytes, path, directory), config.add_readable_file(bytes, path, directory))
            }
        };
        assert!(strict.is_err(), "{text}");
        read.unwrap();
        let hooks = config.hooks.get(&event).map(Vec::as_slice).unwrap_or_default();
        let found: Vec<_> = hooks.iter().map(|hook| hook.name.as_str()).collect();
        assert_eq!(found, names, "{text}");
        let unreadable = hooks.iter().filter(|hook| matches!(hook.action, HookAction::Unreadable(_)));
        assert!(unreadable.into_iter().all(|hook| hook.fail_closed && hook.matcher.is_none()), "{text}");
        let [Notice::HooksNotRun { what, .. }] = &config.notices[..] else { panic!("{:?}", config.notices) };
        assert!(what.contains(expect), "{what}");
    }

    #[test]
    fn an_unreadable_hook_refuses_what_it_could_refuse_and_the_others_stay() {
        let refused = "what it could refuse is refused";
        let none = "it cannot be read: a hook has no `command`";
        check(
            false,
            r#"{"hooks": {"preToolUse": [{"command": "a"}, {"matcher": "Read"}, {"command": "b"}]}}"#,
            EventName::PreToolUse,
            &["a", none, "b"],
            refused,
        );
        check(
            false,
            r#"{"hooks": {"preToolUse": [{"command": "a", "command": "b"}]}}"#,
            EventName::PreToolUse,
            &["it cannot be read: the key `command` is there twice"],
            refused,
        );
        check(
            false,
            r#"{"hooks": {"stop": [{}, {"command": "a"}], "preToolUse": []}}"#,
            EventName::Stop,
            &["a"],
            "stop (a hook has no `command`)",
        );
        check(
            true,
            r#"{"hooks": {"PreToolUse": [{"matcher": "(", "hooks": [{"command": "a"}]},
                {"hooks": [{"command": "b"}]}]}}"#,
            EventName::PreToolUse,
            &["it cannot be read: the `matcher` \"(\" is not a regular expression: unclosed group", "b"],
            refused,
        );
    }

    #[test]
    fn a_list_that_is_none_refuses_all_of_its_event() {
        for (is_settings, name) in [(false, "preToolUse"), (true, "PreToolUse")] {
            let text = format!("{{\"hooks\": {{\"{name}\": {{\"command\": \"a\"}}}}}}");
            let mut config = HookConfig::default();
            let (path, directory) = (Path::new("/w/f.json"), Path::new("/w"));
            let read = match is_settings {
                true => config.add_readable_claude_settings(text.as_bytes(), path, directory),
                false => config.add_readable_file(text.as_bytes(), path, directory),
            };
            read.unwrap();
            let hooks = &config.hooks[&EventName::PreToolUse];
            assert!(matches!(&hooks[..], [hook] if hook.fail_closed), "{hooks:?}");
        }
    }

    #[test]
    fn a_file_whose_events_cannot_be_read_stays_an_error() {
        for text in ["{\"hooks\": [", "{\"hooks\": []}", "[]", "{\"version\": 2, \"hooks\": {}}", ""] {
            let mut config = HookConfig::default();
            let read = config.add_readable_file(text.as_bytes(), Path::new("/w/f.json"), Path::new("/w"));
            assert!(read.is_err(), "{text}");
        }
    }
}
