//! The configuration: the managed file over flags over environment over project file over user file over defaults.
//!
//! Every value keeps where it came from. Resolved once at start; nothing below the binary reads the environment
//! or the home directory. Refuses a flag that contradicts the managed file, and what a project may not set.

mod cursor;
mod keys;
mod layer;
mod lines;
mod load;
mod origin;
pub(crate) mod source;
mod toml;
mod value;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use ibeam_protocol::Notice;

pub(crate) use origin::Origin;
pub(crate) use value::{Value, parse_time};

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
    /// The project's file that sets something at or below `path` which only a trusted workspace may set.
    pub(crate) fn untrusted_file(&self, path: &[&str]) -> Option<&Path> {
        let wanted = path.join(".");
        let is_below = |key: &str| {
            key.strip_prefix(&wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.notices.iter().find_map(|notice| {
            let Notice::UntrustedConfigKey { path, key } = notice else { return None };
            is_below(key).then_some(Path::new(path))
        })
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

    /// The setting in force, where it is the managed file's.
    pub(crate) fn managed(&self, path: &[&str]) -> Option<&Setting> {
        self.get(path).filter(|setting| matches!(setting.origin, Origin::Managed { .. }))
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
    pub(crate) fn timeout(&self, key: &str) -> Duration {
        self.time(&["timeouts", key]).unwrap_or_default()
    }

    /// How many processes commands, hooks and servers may each have.
    pub(crate) fn process_limit(&self) -> u32 {
        let limit = self.number(&["limits", "processes"]);
        limit.map_or(ibeam_tools::DEFAULT_PROCESS_LIMIT, |limit| u32::try_from(limit).unwrap_or(u32::MAX))
    }

    /// The switch in force; off when nobody set it.
    pub(crate) fn is_enabled(&self, path: &[&str]) -> bool {
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
