//! The configuration: flags over environment over project file over user file over defaults.
//!
//! Every value keeps where it came from. Resolved once at start; nothing below the binary reads the environment
//! or the home directory.

mod file;
mod keys;
mod origin;
pub(crate) mod source;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ibeam_protocol::{Notice, Reason};

use crate::cli::{BackgroundWord, Flags};
use crate::place::Places;
pub(crate) use keys::Value;
use keys::{KEYS, Key, Reach};
pub(crate) use origin::Origin;

/// A file full of unknown keys is not a configuration; nobody reads more warnings.
const UNKNOWN_KEYS_TOLD: usize = 10;

/// A value and where it came from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Setting {
    pub(crate) value: Value,
    pub(crate) origin: Origin,
}

/// All settings, by path, weakest first.
#[derive(Debug, Default)]
pub(crate) struct Config {
    settings: BTreeMap<Vec<String>, Vec<Setting>>,
    /// What people should know about the files.
    pub(crate) notices: Vec<Notice>,
}

impl Config {
    /// Reads the files in `places`, the environment and the flags; a project's file counts whole where it is
    /// `trusted`.
    ///
    /// # Errors
    /// `BadConfig` with file, line and column; an unknown key is a notice only.
    pub(crate) fn load(
        flags: &Flags,
        places: &Places,
        trusted: bool,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, Reason> {
        let mut config = Self::default();
        for key in KEYS {
            if let Some(default) = key.default {
                config.set(key.path_words(), Value::parse(key.kind, default), Origin::Default);
            }
        }
        config.take_file(&places.user_config, true, |path, line| Origin::User { path, line })?;
        config.take_file(&places.project_config, trusted, |path, line| Origin::Project { path, line })?;
        for key in KEYS {
            let Some(name) = key.variable else { continue };
            if let Some(text) = variable(name).filter(|text| !text.is_empty()) {
                let value = Value::parse(key.kind, &text).ok_or_else(|| bad_text(name, key, &text))?;
                config.set(key.path_words(), Some(value), Origin::Env(name.to_owned()));
            }
        }
        config.take_flags(flags)?;
        Ok(config)
    }

    fn take_file(
        &mut self,
        path: &Path,
        trusted: bool,
        origin: impl Fn(PathBuf, u64) -> Origin,
    ) -> Result<(), Reason> {
        let mut file = file::read(path)?;
        let mut unknown = Vec::new();
        for found in std::mem::take(&mut file.values) {
            let Some(key) = KEYS.iter().find(|key| key.matches(&found.path)) else {
                unknown.push(found.path.join("."));
                continue;
            };
            if key.reach == Reach::Trusted && !trusted {
                let key = found.path.join(".");
                self.notices.push(Notice::UntrustedConfigKey { path: path.display().to_string(), key });
                continue;
            }
            let value = Value::from_toml(key.kind, &found.value).ok_or_else(|| {
                let (line, column) = file.place_of(&found);
                Reason::BadConfig {
                    path: path.display().to_string(),
                    line: Some(line),
                    column: Some(column),
                    said: format!("`{}` should be {}", found.path.join("."), key.kind.describe()),
                }
            })?;
            let line = file.line(&found);
            self.set(found.path, Some(value), origin(path.to_owned(), line));
        }
        let more = unknown.len().saturating_sub(UNKNOWN_KEYS_TOLD);
        unknown.truncate(UNKNOWN_KEYS_TOLD);
        unknown.extend((more > 0).then(|| format!("… (+{more})")));
        let path = path.display().to_string();
        self.notices
            .extend(unknown.into_iter().map(|key| Notice::UnknownConfigKey { path: path.clone(), key }));
        Ok(())
    }

    fn take_flags(&mut self, flags: &Flags) -> Result<(), Reason> {
        let texts = [
            ("--model", "model", flags.model.clone()),
            ("--lang", "lang", flags.lang.clone()),
            ("--timeout", "limits.timeout", flags.timeout.clone()),
            ("--max-turns", "limits.max_turns", flags.max_turns.map(|turns| turns.to_string())),
            ("--max-tokens", "limits.max_tokens", flags.max_tokens.map(|tokens| tokens.to_string())),
            ("--max-cost", "limits.max_cost", flags.max_cost.clone()),
            (
                "--max-tool-calls",
                "limits.max_tool_calls",
                flags.max_tool_calls.map(|calls| calls.to_string()),
            ),
            (
                "--background",
                "background",
                flags.background.map(|word| match word {
                    BackgroundWord::Stop => "stop".to_owned(),
                    BackgroundWord::Wait => "wait".to_owned(),
                }),
            ),
            ("--verbose", "verbose", flags.verbose.then(|| "true".to_owned())),
        ];
        for (flag, name, text) in texts {
            let (Some(text), Some(key)) = (text, KEYS.iter().find(|key| key.path == name)) else { continue };
            let value = Value::parse(key.kind, &text).ok_or_else(|| Reason::Usage {
                said: format!("`{flag} {text}` should be {}", key.kind.describe()),
            })?;
            self.set(key.path_words(), Some(value), Origin::Flag(flag.to_owned()));
        }
        for (flag, name, tokens) in
            [("--allow", "permissions.allow", &flags.allow), ("--deny", "permissions.deny", &flags.deny)]
        {
            if !tokens.is_empty() {
                let path = name.split('.').map(str::to_owned).collect();
                self.set(path, Some(Value::List(tokens.clone())), Origin::Flag(flag.to_owned()));
            }
        }
        Ok(())
    }

    fn set(&mut self, path: Vec<String>, value: Option<Value>, origin: Origin) {
        if let Some(value) = value {
            self.settings.entry(path).or_default().push(Setting { value, origin });
        }
    }

    /// Every path with all its settings, weakest first.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&[String], &[Setting])> {
        self.settings.iter().map(|(path, settings)| (path.as_slice(), settings.as_slice()))
    }

    /// The setting in force.
    pub(crate) fn get(&self, path: &[&str]) -> Option<&Setting> {
        let path: Vec<String> = path.iter().map(|word| (*word).to_owned()).collect();
        self.settings.get(&path).and_then(|settings| settings.last())
    }

    /// The text in force.
    pub(crate) fn text(&self, path: &[&str]) -> Option<&str> {
        match &self.get(path)?.value {
            Value::Text(text) => Some(text),
            Value::Number(_) | Value::Switch(_) | Value::Time(_) | Value::Money(_) | Value::List(_) => None,
        }
    }

    /// The number in force.
    pub(crate) fn number(&self, path: &[&str]) -> Option<u64> {
        match &self.get(path)?.value {
            Value::Number(number) => Some(*number),
            Value::Text(_) | Value::Switch(_) | Value::Time(_) | Value::Money(_) | Value::List(_) => None,
        }
    }

    /// The time in force.
    pub(crate) fn time(&self, path: &[&str]) -> Option<Duration> {
        match &self.get(path)?.value {
            Value::Time(time) => Some(*time),
            Value::Text(_) | Value::Number(_) | Value::Switch(_) | Value::Money(_) | Value::List(_) => None,
        }
    }

    /// The amount in force, in millionths of a US dollar.
    pub(crate) fn money(&self, path: &[&str]) -> Option<u64> {
        match &self.get(path)?.value {
            Value::Money(micros) => Some(*micros),
            Value::Text(_) | Value::Number(_) | Value::Switch(_) | Value::Time(_) | Value::List(_) => None,
        }
    }

    /// The bound `timeouts.KEY` of a wait, for a key that has a default.
    pub(crate) fn bound(&self, key: &str) -> Duration {
        self.time(&["timeouts", key]).unwrap_or_default()
    }

    /// How many processes commands, hooks and servers may each have.
    pub(crate) fn most_processes(&self) -> u32 {
        let limit = self.number(&["limits", "processes"]);
        limit.map_or(ibeam_tools::PROCESSES, |limit| u32::try_from(limit).unwrap_or(u32::MAX))
    }

    /// The switch in force; off when nobody set it.
    pub(crate) fn switch(&self, path: &[&str]) -> bool {
        self.get(path).is_some_and(|setting| setting.value == Value::Switch(true))
    }

    /// The lists of every layer, each entry with its origin: lists add up.
    pub(crate) fn list(&self, path: &[&str]) -> Vec<(&str, &Origin)> {
        let path: Vec<String> = path.iter().map(|word| (*word).to_owned()).collect();
        let settings = self.settings.get(&path).map(Vec::as_slice).unwrap_or_default();
        settings
            .iter()
            .flat_map(|setting| match &setting.value {
                Value::List(entries) => {
                    entries.iter().map(|entry| (entry.as_str(), &setting.origin)).collect()
                }
                Value::Text(_) | Value::Number(_) | Value::Switch(_) | Value::Time(_) | Value::Money(_) => {
                    Vec::new()
                }
            })
            .collect()
    }

    /// The names one level below `path`, e.g. the providers the files speak of.
    pub(crate) fn children(&self, path: &[&str]) -> Vec<&str> {
        let mut names: Vec<&str> = self
            .settings
            .keys()
            .filter(|found| found.iter().map(String::as_str).take(path.len()).eq(path.iter().copied()))
            .filter_map(|found| found.get(path.len()).map(String::as_str))
            .collect();
        names.dedup();
        names
    }
}

fn bad_text(name: &str, key: &Key, text: &str) -> Reason {
    Reason::BadConfig {
        path: name.to_owned(),
        line: None,
        column: None,
        said: format!("`{text}` should be {}", key.kind.describe()),
    }
}
