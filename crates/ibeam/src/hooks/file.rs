//! The files of hooks, and what stands in them.
//!
//! A missing file has no hooks. A file that cannot be read or understood is an error with the place, for it may
//! hold what somebody relies on. A project's file means nothing until the workspace is trusted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ibeam_config::{ConfigError, source};
use ibeam_protocol::{Notice, Reason};
use regex::Regex;

use super::event::Event;
use super::format::{Entry, HooksFile, Wrong};
use crate::app::AppContext;

/// Characters of a command that stand for the hook's name.
const NAME: usize = 80;

/// A hook as a file has it.
#[derive(Clone, Debug)]
pub(super) struct Hook {
    /// The command, in short.
    pub(super) name: String,
    /// A line for the shell.
    pub(super) command: String,
    /// Where it runs.
    pub(super) directory: PathBuf,
    /// What it is told of; `None` for everything of its event.
    pub(super) matcher: Option<Regex>,
    /// Its own bound.
    pub(super) timeout: Option<Duration>,
    /// When it fails, what it should have judged is refused.
    pub(super) fail_closed: bool,
}

/// The hooks of all files by event, strongest file first.
#[derive(Debug, Default)]
pub(crate) struct HookConfig {
    pub(super) hooks: BTreeMap<Event, Vec<Hook>>,
    /// What people should know of the files.
    pub(crate) notices: Vec<Notice>,
}

/// Reads every file there is.
///
/// # Errors
/// `BadConfig` with line and column.
pub(crate) fn load(app: &AppContext) -> Result<HookConfig, Reason> {
    let mut listed = HookConfig::default();
    let home = &app.dirs.home;
    for directory in ["/etc/cursor", "/etc/ibeam"] {
        let directory = Path::new(directory);
        let path = directory.join("hooks.json");
        listed.take_bytes(source::read_managed(&path)?, &path, directory)?;
    }
    for directory in [".cursor", ".ibeam"] {
        let path = app.workspace.join(directory).join("hooks.json");
        if app.workspace == *home && directory == ".cursor" {
            // It is the user's own, which comes next.
            continue;
        }
        if app.trust.is_trusted() {
            listed.take_bytes(app.trust.files.bytes(&path)?, &path, &app.workspace)?;
        } else if app.trust.files.exists(&path) {
            listed.notices.push(Notice::HooksUntrusted { path: path.display().to_string() });
        }
    }
    let cursor = home.join(".cursor");
    listed.take(&cursor.join("hooks.json"), &cursor)?;
    let directory = app.dirs.config_directory();
    listed.take(&directory.join("hooks.json"), directory)?;
    Ok(listed)
}

/// What stands in the project's files, whether or not it would run: the event and the command of each hook.
///
/// # Errors
/// `BadConfig` with line and column.
pub(crate) fn project_hooks(app: &AppContext) -> Result<Vec<(PathBuf, String, String)>, Reason> {
    let mut found = Vec::new();
    for directory in [".cursor", ".ibeam"] {
        let path = app.workspace.join(directory).join("hooks.json");
        let mut listed = HookConfig::default();
        listed.take_bytes(app.trust.files.bytes(&path)?, &path, &app.workspace)?;
        for (event, hooks) in listed.hooks {
            found.extend(hooks.into_iter().map(|hook| (path.clone(), event.name().to_owned(), hook.command)));
        }
    }
    Ok(found)
}

impl HookConfig {
    fn take(&mut self, path: &Path, directory: &Path) -> Result<(), Reason> {
        self.take_bytes(source::read(path)?, path, directory)
    }

    fn take_bytes(&mut self, bytes: Option<Vec<u8>>, path: &Path, directory: &Path) -> Result<(), Reason> {
        let Some(bytes) = bytes else { return Ok(()) };
        let hooks = HooksFile::parse(&bytes).map_err(|wrong| {
            let Wrong { line, column, said } = wrong;
            ConfigError::at(path, line, column, said)
        })?;
        let mut not_run = Vec::new();
        for (name, entries) in hooks {
            let event = Event::named(&name);
            if event.is_none() && !entries.is_empty() {
                not_run.push(name.clone());
            }
            let Some(event) = event else { continue };
            for entry in entries {
                match entry {
                    Entry::Command { command, matcher, timeout, fail_closed } => {
                        let (name, directory) = (short(&command), directory.to_owned());
                        let hook = Hook { name, command, directory, matcher, timeout, fail_closed };
                        self.hooks.entry(event).or_default().push(hook);
                    }
                    Entry::NotRun { kind } => not_run.push(format!("{name} of type {kind:?}")),
                }
            }
        }
        if !not_run.is_empty() {
            let path = path.display().to_string();
            self.notices.push(Notice::HooksNotRun { path, what: not_run.join(", ") });
        }
        Ok(())
    }
}

/// A command on one line, cut where it is long.
fn short(command: &str) -> String {
    let line = command.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(NAME) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::super::format::LONGEST;
    use super::*;

    fn take(text: &str) -> Result<HookConfig, Reason> {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("hooks.json");
        std::fs::write(&path, text).unwrap();
        let mut listed = HookConfig::default();
        listed.take(&path, home.path()).map(|()| listed)
    }

    #[track_caller]
    fn check_bad(text: &str, expect: &str, on_line: u64) {
        let Err(Reason::BadConfig { detail, line, column, .. }) = take(text) else {
            panic!("{text} is taken")
        };
        assert!(detail.contains(expect), "{detail}");
        assert!(line == Some(on_line) && column > Some(0), "{line:?} {column:?} {text}");
    }

    #[test]
    fn a_file_that_is_wrong_is_an_error_with_its_place() {
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
    fn hooks_stand_in_the_order_of_the_file_with_their_bounds() {
        let listed = take(
            r#"{"version": 1, "hooks": {"stop": [
                {"command": "first  one", "timeout": 9999, "loop_limit": 5},
                {"command": "second", "type": "command", "matcher": "*", "failClosed": true}],
                "stop": [{"command": "third"}]}}"#,
        );
        let hooks = &listed.unwrap().hooks[&Event::Stop];
        assert_eq!((hooks.len(), hooks[0].name.as_str()), (3, "first one"));
        assert_eq!(hooks[0].timeout, Some(LONGEST));
        assert!(hooks[1].fail_closed && hooks[1].matcher.is_none());
    }

    #[test]
    fn what_is_not_run_is_told() {
        let listed = take(
            r#"{"hooks": {"preCompact": [{"command": "a"}], "stop": [{"type": "prompt", "prompt": "b"}],
                "workspaceOpen": []}}"#,
        );
        let listed = listed.unwrap();
        assert!(listed.hooks.is_empty());
        let [Notice::HooksNotRun { what, .. }] = &listed.notices[..] else { panic!("{:?}", listed.notices) };
        assert_eq!(what, "preCompact, stop of type \"prompt\"");
    }

    #[test]
    fn a_long_command_is_a_short_name() {
        assert_eq!(short("a\n  b\tc"), "a b c");
        assert_eq!(short(&"é".repeat(200)).chars().count(), NAME + 1);
    }
}
