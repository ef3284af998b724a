//! Loads the layers of the configuration, from the weakest to the strongest.
//!
//! Skips what a project may not set, with a notice. Refuses a flag that contradicts the managed file, and an invalid
//! permission token.

use std::path::{Path, PathBuf};

use ibeam_policy::Rule;
use ibeam_protocol::{Notice, Sentence, sentence};

use crate::keys::{self, Key, ProjectScope};
use crate::layer::{Entry, Layer, Owner, UnknownKey};
use crate::value::{Kind, Value};
use crate::{Config, ConfigError, Dirs, Origin, Setting, Trust, config_file, cursor_file};

/// The number of unknown keys of a file that notices name; of the others they give the number.
const MAX_UNKNOWN_KEYS: usize = 10;

/// Returns the bytes of a file; `None` if there is no file.
type ReadFile<'a> = dyn Fn(&Path) -> Result<Option<Vec<u8>>, ConfigError> + 'a;

/// Decides whether loading continues after an error of a file or variable.
pub(crate) type OnError<'a> = dyn FnMut(ConfigError) -> Result<(), ConfigError> + 'a;

/// A flag of the command line that sets a key of the configuration.
#[derive(Clone, Debug)]
pub struct FlagSetting {
    /// The flag, e.g. `--model`.
    pub flag: &'static str,
    /// The key, e.g. `limits.max_turns`. Loading fails if there is no such key.
    pub key: &'static str,
    pub input: FlagInput,
}

#[derive(Clone, Debug)]
pub enum FlagInput {
    /// A text, parsed as the kind of the key.
    Text(String),
    /// The entries of a list, as they are. No entries set nothing.
    Entries(Vec<String>),
}

impl Config {
    /// Reads the files in `dirs`, the environment and the flags. `trust` decides which keys the project's files may
    /// set.
    ///
    /// # Errors
    /// `Invalid` with file, line and column, and the other variants. An unknown key is a notice only.
    pub fn load(
        flags: &[FlagSetting],
        dirs: &Dirs,
        trust: &Trust,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        Self::assemble(flags, dirs, trust, variable, &mut Err)
    }

    /// Loads like `load`, but skips wrong values and files that cannot be read, and returns their errors.
    ///
    /// No run may use this configuration: a rule that denies may be among what was skipped.
    ///
    /// # Errors
    /// `Flag`.
    pub fn load_readable(
        flags: &[FlagSetting],
        dirs: &Dirs,
        trust: &Trust,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(Self, Vec<ConfigError>), ConfigError> {
        let mut errors = Vec::new();
        let mut on_error = |error| {
            errors.push(error);
            Ok(())
        };
        let config = Self::assemble(flags, dirs, trust, variable, &mut on_error)?;
        Ok((config, errors))
    }

    fn assemble(
        flags: &[FlagSetting],
        dirs: &Dirs,
        trust: &Trust,
        variable: &dyn Fn(&str) -> Option<String>,
        on_error: &mut OnError<'_>,
    ) -> Result<Self, ConfigError> {
        let mut config = Self::from_defaults();
        config.add_files(&dirs.user_config, &dirs.user_cursor, Owner::User, &config_file::read, on_error)?;
        let project = Owner::Project { trusted: trust.is_trusted() };
        let cursor_files = std::slice::from_ref(&dirs.project_cursor);
        // The bytes whose hash is trusted, even if the file has changed since.
        let read = |path: &Path| trust.files.bytes(path);
        config.add_files(&dirs.project_config, cursor_files, project, &read, on_error)?;
        for key in keys::all() {
            let Some(name) = key.variable else { continue };
            if let Some(text) = variable(name).filter(|text| !text.is_empty()) {
                match Value::parse(key.kind, &text) {
                    None => on_error(invalid_variable(name, key, &text))?,
                    value => config.set(key.path_names(), value, Origin::Env(name.to_owned())),
                }
            }
        }
        config.add_flags(flags)?;
        let managed = &dirs.managed_config;
        if let Some(bytes) = skip_error(config_file::read_managed(managed), on_error)?.flatten()
            && let Some(layer) = skip_error(Layer::from_toml(managed, &bytes, on_error), on_error)?
        {
            config.reject_contradictions(&layer)?;
            config.add_layer(layer, Owner::Managed).or_else(on_error)?;
        }
        Ok(config)
    }

    /// Returns the configuration of the flags alone.
    ///
    /// # Errors
    /// `Flag`.
    pub fn from_flags(flags: &[FlagSetting]) -> Result<Self, ConfigError> {
        let mut config = Self::from_defaults();
        config.add_flags(flags)?;
        Ok(config)
    }

    fn from_defaults() -> Self {
        let mut config = Self::default();
        for key in keys::all() {
            if let Some(default) = key.default {
                config.set(key.path_names(), Value::parse(key.kind, default), Origin::Default);
            }
        }
        config
    }

    /// Adds the file in this program's format, and the first existing file in the format of the Cursor CLI.
    fn add_files(
        &mut self,
        own_file: &Path,
        cursor_files: &[PathBuf],
        owner: Owner,
        read: &ReadFile<'_>,
        on_error: &mut OnError<'_>,
    ) -> Result<(), ConfigError> {
        let own = match skip_error(read(own_file), on_error)?.flatten() {
            Some(bytes) => skip_error(Layer::from_toml(own_file, &bytes, on_error), on_error)?,
            None => None,
        };
        for path in cursor_files {
            let Some(bytes) = skip_error(read(path), on_error)?.flatten() else { continue };
            let Some(mut layer) = skip_error(cursor_file::parse(path, &bytes, owner), on_error)? else {
                break;
            };
            if own.as_ref().is_some_and(|own| own.sets_key("permissions.allow")) {
                // The lists that deny are merged. The list that allows comes from one file.
                layer.entries.retain(|entry| entry.key.path != "permissions.allow");
            }
            self.add_layer(layer, owner).or_else(&mut *on_error)?;
            break;
        }
        own.map_or(Ok(()), |own| self.add_layer(own, owner)).or_else(on_error)
    }

    fn add_layer(&mut self, mut layer: Layer, owner: Owner) -> Result<(), ConfigError> {
        for entry in std::mem::take(&mut layer.entries) {
            if entry.key.kind == Kind::Tokens {
                check_tokens(&entry.value).map_err(|message| layer.error_at(entry.offset, message))?;
            }
            if let Owner::Project { trusted } = owner
                && let Some(notice) = self.refusal(&entry, &layer.path, trusted)
            {
                if !self.notices.contains(&notice) {
                    self.notices.push(notice);
                }
                continue;
            }
            let (path, line) = (layer.path.clone(), layer.line(entry.offset));
            let origin = match owner {
                Owner::User => Origin::User { path, line },
                Owner::Project { .. } => Origin::Project { path, line },
                Owner::Managed => Origin::Managed { path, line },
            };
            self.set(entry.path, Some(entry.value), origin);
        }
        let more = layer.unknown.len().saturating_sub(MAX_UNKNOWN_KEYS);
        layer.unknown.truncate(MAX_UNKNOWN_KEYS);
        let file = layer.path.display().to_string();
        self.notices.extend(layer.unknown.into_iter().map(|UnknownKey { path, line }| {
            let near = Key::closest(&path);
            Notice::UnknownConfigKey { path: file.clone(), line, key: path.join("."), near }
        }));
        self.notices.extend((more > 0).then(|| {
            let key = format!("… (+{more})");
            Notice::UnknownConfigKey { path: file, line: None, key, near: None }
        }));
        Ok(())
    }

    /// Returns the notice about a value that the project's file may not set.
    fn refusal(&self, Entry { key, path, value, .. }: &Entry, file: &Path, trusted: bool) -> Option<Notice> {
        let equals = |text: &str| *value == Value::Text(text.to_owned());
        let in_force = self.get(path);
        let (may_now, may_trusted) = match key.project_scope {
            ProjectScope::Any | ProjectScope::Delegated => (true, true),
            ProjectScope::Trusted => (false, true),
            ProjectScope::MayLower => (in_force.is_none_or(|in_force| value.is_below(&in_force.value)), true),
            ProjectScope::MayTighten => {
                (in_force.is_none_or(|in_force| key.kind.is_at_or_after(value, &in_force.value)), true)
            }
            ProjectScope::IfEqual(text) => (equals(text), true),
            ProjectScope::OnlyEqual(text) => (equals(text), equals(text)),
            ProjectScope::Never => (false, false),
        };
        let (file, key) = (file.display().to_string(), path.join("."));
        match (may_now || (trusted && may_trusted), may_trusted) {
            (true, _) => None,
            (false, true) => Some(Notice::UntrustedConfigKey { path: file, key }),
            (false, false) => Some(Notice::ForbiddenConfigKey { path: file, key }),
        }
    }

    /// Refuses a flag with another value than the managed file sets: ignoring the flag would mislead.
    fn reject_contradictions(&self, managed: &Layer) -> Result<(), ConfigError> {
        for entry in managed.entries.iter().filter(|entry| !entry.key.kind.merges_layers()) {
            let Some(setting) = self.get(&entry.path) else { continue };
            if let Origin::Flag(flag) = &setting.origin
                && setting.value != entry.value
            {
                let (key, value, managed_value) = (entry.path.join("."), &setting.value, &entry.value);
                let (path, line) = (managed.path.display(), managed.line(entry.offset));
                let message = sentence!(
                    "`{flag}` sets `{key}` to {value}, but {place} sets it to {other}",
                    flag,
                    key,
                    value,
                    place = format!("{path}:{line}"),
                    other = managed_value
                );
                return Err(ConfigError::Flag { message });
            }
        }
        Ok(())
    }

    fn add_flags(&mut self, flags: &[FlagSetting]) -> Result<(), ConfigError> {
        for FlagSetting { flag, key: path, input } in flags {
            let key = keys::all().find(|key| key.path == *path).ok_or_else(|| ConfigError::Flag {
                message: format!("`{flag}` sets `{path}`, which is no key").into(),
            })?;
            let value = match input {
                FlagInput::Text(text) => Value::parse(key.kind, text).ok_or_else(|| {
                    let message = key.kind.should_be(format!("{flag} {text}"));
                    ConfigError::Flag { message }
                })?,
                FlagInput::Entries(entries) if entries.is_empty() => continue,
                FlagInput::Entries(entries) => Value::List(entries.clone()),
            };
            if key.kind == Kind::Tokens {
                check_tokens(&value).map_err(|message| ConfigError::Flag { message })?;
            }
            self.set(key.path_names(), Some(value), Origin::Flag((*flag).to_owned()));
        }
        Ok(())
    }

    fn set(&mut self, path: Vec<String>, value: Option<Value>, origin: Origin) {
        if let Some(value) = value {
            self.add(path, Setting { value, origin });
        }
    }
}

/// Returns the value, or `None` after an error that `on_error` accepts.
fn skip_error<T>(
    result: Result<T, ConfigError>,
    on_error: &mut OnError<'_>,
) -> Result<Option<T>, ConfigError> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) => on_error(error).map(|()| None),
    }
}

/// Returns what is wrong with the first invalid permission token.
fn check_tokens(value: &Value) -> Result<(), Sentence> {
    let Value::List(tokens) = value else { return Ok(()) };
    for token in tokens {
        token.parse::<Rule>().map_err(|error| error.sentence())?;
    }
    Ok(())
}

fn invalid_variable(name: &str, key: &Key, text: &str) -> ConfigError {
    ConfigError::Invalid {
        path: Origin::Env(name.to_owned()).to_string(),
        line: None,
        column: None,
        message: key.kind.should_be(text),
    }
}
