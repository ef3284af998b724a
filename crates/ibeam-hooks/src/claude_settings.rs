//! The hooks in the settings of Claude Code:
//! `{"hooks": {"EVENT": [{"matcher", "hooks": [{"type", "command", "timeout"}]}]}}`.
//!
//! Only `hooks` and `disableAllHooks` are read. A file that cannot be parsed is an error with line and column, as in
//! hook files.

use std::path::Path;

use regex::Regex;
use serde::Deserialize;

use crate::event_name::EventName;
use crate::hook_config::{
    DEFAULT_LOOP_LIMIT, HookAction, HookConfig, HookFormat, HookSettings, HookSource, bad_matcher, time_limit,
};
use crate::hooks_file::{EventList, HooksFileError, parse_object, present};

impl HookConfig {
    /// Adds the hooks of the settings at `path`, which run in `directory`. Files are added strongest first.
    ///
    /// # Errors
    /// The line, the column and the message of settings whose hooks are not valid.
    pub fn add_claude_settings(
        &mut self,
        bytes: &[u8],
        path: &Path,
        directory: &Path,
    ) -> Result<(), HooksFileError> {
        let Settings { disable_all_hooks, hooks } = parse_object::<Settings<Vec<Group>>>(bytes)?;
        if disable_all_hooks {
            return Ok(());
        }
        let source = HookSource { path, directory, format: HookFormat::ClaudeSettings };
        let mut unsupported = Vec::new();
        for (name, groups) in hooks.0 {
            let event = EventName::parse_claude(&name);
            let mut entries = groups.into_iter().flat_map(Group::into_entries).peekable();
            let Some(event) = event else {
                if entries.peek().is_some() {
                    unsupported.push(name);
                }
                continue;
            };
            for entry in entries {
                unsupported.extend(self.add_settings_entry(&name, event, source, entry));
            }
        }
        self.add_unsupported(path, &unsupported);
        Ok(())
    }

    /// Adds a hook. Returns what is not supported of it.
    pub(crate) fn add_settings_entry(
        &mut self,
        name: &str,
        event: EventName,
        source: HookSource<'_>,
        entry: Entry,
    ) -> Option<String> {
        match entry {
            Entry::Supported(settings) if settings.action.can_run_at(event) => {
                self.add(event, source, settings);
                None
            }
            Entry::Supported(_) => Some(format!("{name} of type \"prompt\"")),
            Entry::Unsupported { what } => Some(format!("{name} {what}")),
        }
    }
}

/// Compiles a matcher: names with `|` between them, or a regular expression for a part of the name; `None` for a matcher
/// of every name.
///
/// # Errors
/// The error of the regular expression.
pub fn compile_claude_matcher(matcher: &str) -> Result<Option<Regex>, regex::Error> {
    if matcher.is_empty() || matcher == "*" {
        return Ok(None);
    }
    let is_names = matcher.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '|'));
    let compiled = if is_names { Regex::new(&format!("^(?:{matcher})$")) } else { Regex::new(matcher) };
    compiled.map(Some)
}

/// The keys of the settings that concern hooks.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "T: Deserialize<'de>"))]
pub(crate) struct Settings<T> {
    #[serde(default)]
    pub(crate) disable_all_hooks: bool,
    #[serde(default)]
    pub(crate) hooks: EventList<T>,
}

/// Hooks with a common matcher.
#[derive(Deserialize)]
#[serde(try_from = "RawGroup")]
pub(crate) struct Group {
    matcher: Option<Regex>,
    entries: Vec<Entry>,
}

impl Group {
    /// Returns the hooks, each with the matcher.
    pub(crate) fn into_entries(self) -> impl Iterator<Item = Entry> {
        let Self { matcher, entries } = self;
        entries.into_iter().map(move |entry| match entry {
            Entry::Supported(settings) => {
                Entry::Supported(HookSettings { matcher: matcher.clone(), ..settings })
            }
            Entry::Unsupported { what } => Entry::Unsupported { what },
        })
    }
}

#[derive(Deserialize)]
#[serde(expecting = "an object with `hooks`")]
struct RawGroup {
    matcher: Option<String>,
    #[serde(default)]
    hooks: Vec<Entry>,
}

impl TryFrom<RawGroup> for Group {
    type Error = String;

    fn try_from(raw: RawGroup) -> Result<Self, String> {
        let RawGroup { matcher, hooks: entries } = raw;
        let matcher = matcher.unwrap_or_default();
        let matcher = compile_claude_matcher(&matcher).map_err(|error| bad_matcher(&matcher, &error))?;
        Ok(Self { matcher, entries })
    }
}

/// A hook of the settings.
#[derive(Deserialize)]
#[serde(try_from = "RawEntry")]
pub(crate) enum Entry {
    /// A hook of a supported type.
    Supported(HookSettings),
    /// A hook that is not run. The text names its type or the key that is not supported.
    Unsupported { what: String },
}

#[derive(Deserialize)]
#[serde(expecting = "an object with the `command` of a hook")]
struct RawEntry {
    #[serde(rename = "type")]
    kind: Option<String>,
    command: Option<String>,
    prompt: Option<String>,
    model: Option<String>,
    timeout: Option<f64>,
    /// A permission rule for the calls of the hook.
    #[serde(rename = "if")]
    condition: Option<String>,
    /// The arguments of a program that is started without a shell.
    args: Option<serde::de::IgnoredAny>,
    shell: Option<String>,
    /// A key of ibeam.
    #[serde(default, rename = "failClosed")]
    fail_closed: bool,
    /// A key of ibeam. `Some(None)` for null, which is not a limit.
    #[serde(default, deserialize_with = "present")]
    loop_limit: Option<Option<u32>>,
}

impl TryFrom<RawEntry> for Entry {
    type Error = String;

    fn try_from(raw: RawEntry) -> Result<Self, String> {
        let RawEntry { kind, command, prompt, model, timeout, fail_closed, loop_limit, .. } = raw;
        // Without its condition, a hook would refuse calls that its author did not mean.
        let key = [
            ("if", raw.condition.is_some()),
            ("args", raw.args.is_some()),
            ("shell", raw.shell.is_some_and(|shell| shell != "bash")),
        ]
        .into_iter()
        .find_map(|(key, is_used)| is_used.then_some(key));
        if let Some(key) = key {
            return Ok(Self::Unsupported { what: format!("with `{key}`") });
        }
        let Some(action) = HookAction::new(kind.as_deref(), command, prompt, model)? else {
            return Ok(Self::Unsupported { what: format!("of type {:?}", kind.unwrap_or_default()) });
        };
        let timeout = timeout.map(time_limit).transpose()?;
        let loop_limit = loop_limit.unwrap_or(Some(DEFAULT_LOOP_LIMIT));
        Ok(Self::Supported(HookSettings { action, matcher: None, timeout, fail_closed, loop_limit }))
    }
}

#[cfg(test)]
mod tests {
    use ibeam_protocol::Notice;

    use super::*;

    fn parse(text: &str) -> Result<HookConfig, HooksFileError> {
        let mut config = HookConfig::default();
        let (path, directory) = (Path::new("/w/.claude/settings.json"), Path::new("/w"));
        config.add_claude_settings(text.as_bytes(), path, directory).map(|()| config)
    }

    #[test]
    fn hooks_have_the_matcher_of_their_group() {
        let config = parse(
            r#"{"permissions": {"allow": ["Bash"]}, "hooks": {"PreToolUse": [
                {"matcher": "Bash|Write", "hooks": [
                    {"type": "command", "command": "a", "timeout": 5},
                    {"type": "prompt", "prompt": "ok? $ARGUMENTS"}]},
                {"hooks": [{"type": "command", "command": "b"}]}],
              "Stop": [{"matcher": "", "hooks": [{"command": "c", "loop_limit": null}]}]}}"#,
        );
        let config = config.unwrap();
        let hooks = &config.hooks[&EventName::PreToolUse];
        let matches = |index: usize, name: &str| {
            hooks[index].matcher.as_ref().is_none_or(|matcher| matcher.is_match(name))
        };
        assert!(matches(0, "Bash") && matches(1, "Write") && !matches(0, "BashOutput"));
        assert!(matches(2, "Read"));
        assert_eq!(hooks[0].timeout, Some(std::time::Duration::from_secs(5)));
        assert_eq!(config.hooks[&EventName::Stop][0].loop_limit, None);
        assert!(config.notices.is_empty());
        let commands: Vec<_> = config.commands().collect();
        assert_eq!(commands[0], ("PreToolUse", "a"));
    }

    #[test]
    fn hooks_that_are_not_supported_become_a_notice() {
        let config = parse(
            r#"{"hooks": {"Notification": [{"hooks": [{"type": "command", "command": "a"}]}],
                "PreCompact": [], "PreToolUse": [{"hooks": [{"type": "http", "url": "u"},
                {"type": "command", "command": "a", "if": "Bash(git *)"}]}]}}"#,
        );
        let config = config.unwrap();
        assert!(config.hooks.is_empty());
        let [Notice::HooksNotRun { what, .. }] = &config.notices[..] else { panic!("{:?}", config.notices) };
        assert_eq!(what, "Notification, PreToolUse of type \"http\", PreToolUse with `if`");
    }

    #[test]
    fn settings_without_hooks_have_none() {
        for text in [
            "{}",
            "{\"hooks\": {}}",
            "{\"disableAllHooks\": true, \"hooks\": {\"Stop\": [{\"hooks\": [{\"command\": \"a\"}]}]}}",
        ] {
            let config = parse(text).unwrap();
            assert!(config.hooks.is_empty() && config.notices.is_empty(), "{text}");
        }
    }

    #[test]
    fn invalid_settings_are_an_error_with_its_place() {
        for (text, part, line) in [
            ("{\"hooks\": {\n\"Stop\": {}}}", "there should be", 2),
            ("{\"hooks\": {\"Stop\": [{\"hooks\": [{}]}]}}", "no `command`", 1),
            ("{\"hooks\": {\"Stop\": [{\"matcher\": \"(\"}]}}", "matcher", 1),
            ("[]", "JSON object", 1),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.message.contains(part) && error.line == line, "{error}");
        }
    }
}
