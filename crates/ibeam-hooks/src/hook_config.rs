//! A configured hook, and the hooks of all files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ibeam_protocol::{Notice, elide_end};
use regex::Regex;

use crate::event_name::EventName;

/// The number of characters of a command that are the hook's name.
const MAX_NAME_CHARS: usize = 80;
/// The longest time limit of a hook.
const MAX_TIMEOUT: Duration = Duration::from_secs(600);
/// The number of messages with which a hook may continue a run, if its file sets none.
pub(crate) const DEFAULT_LOOP_LIMIT: u32 = 5;

/// The format of the file of a hook, which is also that of its input and output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HookFormat {
    /// A `hooks.json`.
    HooksFile,
    /// The settings of Claude Code.
    ClaudeSettings,
}

impl HookFormat {
    /// Returns the name of `event` in this format.
    pub(crate) fn event_name(self, event: EventName) -> &'static str {
        match self {
            Self::HooksFile => event.as_str(),
            Self::ClaudeSettings => event.claude_name().unwrap_or_else(|| event.as_str()),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HookAction {
    /// A command line for the shell.
    Command(String),
    /// A prompt for a model, which decides.
    Prompt {
        /// The text, in which `$ARGUMENTS` is the input of the hook.
        text: String,
        /// The name of the model; `None` for the model of the run.
        model: Option<String>,
    },
    /// A hook that cannot be read, with the message why. It must agree to what it could refuse, and it never does.
    Unreadable(String),
}

impl HookAction {
    /// Returns the action of a hook of type `kind`; `None` if the type is not supported.
    ///
    /// # Errors
    /// The message about a missing command or prompt.
    pub(crate) fn new(
        kind: Option<&str>,
        command: Option<String>,
        prompt: Option<String>,
        model: Option<String>,
    ) -> Result<Option<Self>, String> {
        let given = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        match kind {
            None | Some("command") => {
                Ok(Some(Self::Command(given(command).ok_or("a hook has no `command`")?)))
            }
            Some("prompt") => {
                let text = given(prompt).ok_or("a hook of type \"prompt\" has no `prompt`")?;
                Ok(Some(Self::Prompt { text, model: given(model) }))
            }
            Some(_) => Ok(None),
        }
    }

    /// Whether a hook with this action can run at `event`. The answer of a model is a decision, so `event` must need one.
    pub(crate) fn can_run_at(&self, event: EventName) -> bool {
        match self {
            Self::Command(_) => true,
            Self::Prompt { .. } => event.can_refuse() || event.can_continue(),
            Self::Unreadable(_) => event.can_refuse(),
        }
    }

    /// Returns the command or the prompt, or why there is none.
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Command(text) | Self::Prompt { text, .. } | Self::Unreadable(text) => text,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Hook {
    /// The command or prompt, shortened.
    pub(crate) name: String,
    pub(crate) format: HookFormat,
    pub(crate) action: HookAction,
    pub(crate) path: PathBuf,
    pub(crate) directory: PathBuf,
    /// The subjects of the event for which the hook runs; `None` for all.
    pub(crate) matcher: Option<Regex>,
    /// The time limit; `None` for the configured one.
    pub(crate) timeout: Option<Duration>,
    /// Whether a failure of the hook refuses what is about to happen.
    pub(crate) fail_closed: bool,
    /// The number of messages with which the hook may continue a run; `None` for any number.
    pub(crate) loop_limit: Option<u32>,
}

/// The settings of a hook that both formats have.
#[derive(Debug)]
pub(crate) struct HookSettings {
    pub(crate) action: HookAction,
    pub(crate) matcher: Option<Regex>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) fail_closed: bool,
    pub(crate) loop_limit: Option<u32>,
}

/// The file of hooks, and the directory in which they run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HookSource<'a> {
    pub(crate) path: &'a Path,
    pub(crate) directory: &'a Path,
    pub(crate) format: HookFormat,
}

/// The hooks of all files by event, those of the strongest file first.
#[derive(Debug, Default)]
pub struct HookConfig {
    pub(crate) hooks: BTreeMap<EventName, Vec<Hook>>,
    /// Warnings about the files.
    pub notices: Vec<Notice>,
}

impl HookConfig {
    /// Adds a hook of `source` for `event`.
    pub(crate) fn add(&mut self, event: EventName, source: HookSource<'_>, settings: HookSettings) {
        let HookSettings { action, matcher, timeout, fail_closed, loop_limit } = settings;
        let hook = Hook {
            name: shorten(action.text()),
            format: source.format,
            action,
            path: source.path.to_owned(),
            directory: source.directory.to_owned(),
            matcher,
            timeout,
            fail_closed,
            loop_limit,
        };
        self.hooks.entry(event).or_default().push(hook);
    }

    /// Adds a warning about the hooks of a file that are not run, if there are some.
    pub(crate) fn add_unsupported(&mut self, path: &Path, unsupported: &[String]) {
        if !unsupported.is_empty() {
            let path = path.display().to_string();
            self.notices.push(Notice::HooksNotRun { path, what: unsupported.join(", ") });
        }
    }

    /// Returns the name of the event and the command or prompt of each hook.
    pub fn commands(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.hooks.iter().flat_map(|(event, hooks)| {
            hooks.iter().map(|hook| (hook.format.event_name(*event), hook.action.text()))
        })
    }
}

/// Returns the time limit of `seconds` of a file.
///
/// # Errors
/// The message about a time that is not possible.
pub(crate) fn time_limit(seconds: f64) -> Result<Duration, String> {
    let time = Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero());
    time.map(|time| time.min(MAX_TIMEOUT))
        .ok_or_else(|| format!("a `timeout` of {seconds} s is not possible"))
}

/// Returns the message about a matcher that cannot be compiled.
pub(crate) fn bad_matcher(matcher: &str, error: &regex::Error) -> String {
    let message = error.to_string();
    let message = message.lines().last().unwrap_or_default().trim().trim_start_matches("error: ");
    format!("the `matcher` {matcher:?} is not a regular expression: {message}")
}

/// Returns the command on one line, cut if it is long.
fn shorten(command: &str) -> String {
    let line = command.split_whitespace().collect::<Vec<_>>().join(" ");
    elide_end(&line, MAX_NAME_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_command_has_a_short_name() {
        assert_eq!(shorten("a\n  b\tc"), "a b c");
        assert_eq!(shorten(&"é".repeat(200)).chars().count(), MAX_NAME_CHARS + 1);
    }
}
