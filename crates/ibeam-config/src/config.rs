//! All settings with their origins, and typed access to the values in force.

use std::cmp::Ordering;
use std::fmt;
use std::path::{Path, PathBuf};

use ibeam_protocol::{Notice, Sentence};

use crate::keys::Key;
use crate::{ConfigError, Setting};

/// The layer of a value, and the place in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A built-in default.
    Default,
    User {
        path: PathBuf,
        /// The line, from 1.
        line: u64,
    },
    Project {
        path: PathBuf,
        /// The line, from 1.
        line: u64,
    },
    /// The environment variable of this name.
    Env(String),
    Flag(String),
    /// The file of the administrator.
    Managed {
        path: PathBuf,
        /// The line, from 1.
        line: u64,
    },
}

impl Origin {
    /// Whether the managed file sets the value.
    pub fn is_managed(&self) -> bool {
        matches!(self, Self::Managed { .. })
    }

    /// Returns the error for a wrong value of this origin: `Flag` for a flag, else `Invalid` with the place.
    pub fn invalid(&self, message: impl Into<Sentence>) -> ConfigError {
        let message = message.into();
        let (path, line) = match self {
            Self::Flag(_) => return ConfigError::Flag { message },
            Self::User { path, line } | Self::Project { path, line } | Self::Managed { path, line } => {
                (path.display().to_string(), Some(*line))
            }
            Self::Default | Self::Env(_) => (self.to_string(), None),
        };
        ConfigError::Invalid { path, line, column: None, message }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::User { path, line } | Self::Project { path, line } | Self::Managed { path, line } => {
                write!(f, "{}:{line}", path.display())
            }
            Self::Env(name) => write!(f, "${name}"),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}

/// All settings by key. A stronger layer overrides a weaker one: managed file, flags, environment, project, user, defaults.
#[derive(Debug, Default)]
pub struct Config {
    /// The settings of each key, weakest layer first. Sorted by key.
    settings: Vec<(Vec<String>, Vec<Setting>)>,
    /// Warnings about the files.
    pub notices: Vec<Notice>,
}

impl Config {
    /// Returns the project's file that sets a key at or below `key_path` that only a trusted workspace may set.
    pub fn untrusted_file(&self, key_path: &[&str]) -> Option<&Path> {
        let wanted = key_path.join(".");
        let is_below = |key: &str| {
            key.strip_prefix(&wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        self.notices.iter().find_map(|notice| {
            let Notice::UntrustedConfigKey { path, key } = notice else { return None };
            is_below(key).then_some(Path::new(path))
        })
    }

    /// Returns every key with all its settings, weakest first.
    pub fn all_settings(&self) -> impl Iterator<Item = (&[String], &[Setting])> {
        self.settings.iter().map(|(path, settings)| (path.as_slice(), settings.as_slice()))
    }

    /// Returns the setting in force.
    pub fn get<S: AsRef<str>>(&self, path: &[S]) -> Option<&Setting> {
        self.layers(path).last()
    }

    /// Returns the settings of a key, weakest layer first.
    pub(crate) fn layers<S: AsRef<str>>(&self, path: &[S]) -> &[Setting] {
        let found = self.find(path).ok().and_then(|position| self.settings.get(position));
        found.map_or(&[], |(_, settings)| settings)
    }

    /// Returns the position of a key, or the position at which it belongs.
    fn find<S: AsRef<str>>(&self, path: &[S]) -> Result<usize, usize> {
        self.settings.binary_search_by(|(key, _)| compare(key, path))
    }

    /// Adds a setting of a stronger layer.
    pub(crate) fn add(&mut self, path: Vec<String>, setting: Setting) {
        match self.find(&path) {
            Ok(position) => {
                if let Some((_, settings)) = self.settings.get_mut(position) {
                    settings.push(setting);
                }
            }
            Err(position) => self.settings.insert(position, (path, vec![setting])),
        }
    }

    /// Returns the paths of files with secrets that any layer names, except for files of the project: the table of keys says
    /// which keys name one.
    pub fn secret_files(&self) -> Vec<&str> {
        let all = self.settings.iter();
        let all = all.flat_map(|(path, settings)| settings.iter().map(move |setting| (path, setting)));
        let of_user = all.filter(|(_, setting)| !matches!(setting.origin, Origin::Project { .. }));
        let named = of_user.filter(|(path, _)| Key::is_secret_file(path));
        named.flat_map(|(_, setting)| setting.value.texts()).collect()
    }

    /// Returns the names one level below `path`, e.g. the configured providers.
    pub fn children(&self, path: &[&str]) -> Vec<&str> {
        let start = self.settings.partition_point(|(key, _)| compare(key, path) == Ordering::Less);
        let below = self.settings.iter().skip(start).map_while(|(key, _)| {
            let (parent, rest) = key.split_at_checked(path.len())?;
            (parent == path).then_some(rest)
        });
        let mut names: Vec<&str> = below.filter_map(|rest| rest.first().map(String::as_str)).collect();
        names.dedup();
        names
    }
}

/// Compares a key with a path, name by name.
fn compare<S: AsRef<str>>(key: &[String], path: &[S]) -> Ordering {
    key.iter().map(String::as_str).cmp(path.iter().map(AsRef::as_ref))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;

    #[test]
    fn files_with_secrets_of_every_layer_but_the_project_are_returned() {
        let user = Origin::User { path: "c".into(), line: 1 };
        let project = Origin::Project { path: "c".into(), line: 1 };
        let mut config = Config::default();
        for (path, text, origin) in [
            ("providers.a.api_key_file", "weak", user.clone()),
            ("providers.a.api_key_file", "strong", Origin::Flag("--x".to_owned())),
            ("providers.a.base_url", "none", user.clone()),
            ("mcp_servers.m.auth.assertion_file", "assertion", user),
            ("mcp_servers.m.auth.private_key_file", "of the project", project),
        ] {
            let path = path.split('.').map(str::to_owned).collect();
            config.add(path, Setting { value: Value::Text(text.to_owned()), origin });
        }
        assert_eq!(config.secret_files(), ["assertion", "weak", "strong"]);
    }
}
