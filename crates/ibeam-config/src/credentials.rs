//! The API keys that `ibeam login` stores: one file, readable by its owner only.

use std::collections::BTreeMap;
use std::fs::DirBuilder;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use ibeam_files::{private_file, regular_file};
use toml_edit::{DocumentMut, Item, value};

use crate::ConfigError;
use crate::toml_fault::toml_fault;
use crate::value::Kind;

/// The maximum size of the file in bytes.
const MAX_BYTES: u64 = 1024 * 1024;

/// The stored keys by provider.
#[derive(Debug)]
pub struct Credentials {
    path: PathBuf,
    keys: BTreeMap<String, String>,
}

impl Credentials {
    /// Reads the file; a missing file holds no keys.
    ///
    /// # Errors
    /// `Invalid` if it cannot be read or parsed, or if other users may read it.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let mut keys = BTreeMap::new();
        match read(path) {
            Ok(text) => {
                let document: DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| {
                    let before = error.span().and_then(|span| text.get(..span.start));
                    let line = before.map(|before| before.matches('\n').count() as u64 + 1);
                    let (path, message) = (path.display().to_string(), toml_fault(&error));
                    ConfigError::Invalid { path, line, column: None, message }
                })?;
                if let Some(table) = document.get("keys").and_then(Item::as_table_like) {
                    for (provider, key) in table.iter() {
                        let key = key.as_str().ok_or_else(|| {
                            ConfigError::in_file(path, Kind::Text.should_be(format!("keys.{provider}")))
                        })?;
                        keys.insert(provider.to_owned(), key.to_owned());
                    }
                }
            }
            Err(error) if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind()) => {}
            Err(error) => return Err(ConfigError::from_io(path, &error)),
        }
        Ok(Self { path: path.to_owned(), keys })
    }

    /// Returns credentials without keys, for a file at `path` that cannot be read.
    pub fn empty(path: &Path) -> Self {
        Self { path: path.to_owned(), keys: BTreeMap::new() }
    }

    /// Returns the key of a provider.
    pub fn get(&self, provider: &str) -> Option<&str> {
        self.keys.get(provider).map(String::as_str).filter(|key| !key.trim().is_empty())
    }

    /// Returns the providers that have a stored key, in the order of their names.
    pub fn providers(&self) -> impl Iterator<Item = &str> {
        self.keys.keys().map(String::as_str)
    }

    /// Returns all stored keys.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.keys.values().map(String::as_str)
    }

    /// Stores a key and writes the file.
    ///
    /// # Errors
    /// `CannotCreate` with the path.
    pub fn store(&mut self, provider: &str, key: &str) -> Result<(), ConfigError> {
        self.keys.insert(provider.to_owned(), key.to_owned());
        self.write()
    }

    /// Removes the key of a provider, or all keys, and returns the number of removed keys.
    ///
    /// # Errors
    /// `CannotCreate` with the path.
    pub fn remove(&mut self, provider: Option<&str>) -> Result<usize, ConfigError> {
        let before = self.keys.len();
        match provider {
            Some(provider) => drop(self.keys.remove(provider)),
            None => self.keys.clear(),
        }
        let removed = before - self.keys.len();
        if removed > 0 {
            self.write()?;
        }
        Ok(removed)
    }

    fn write(&self) -> Result<(), ConfigError> {
        let mut document = DocumentMut::new();
        let mut table = toml_edit::Table::new();
        for (provider, key) in &self.keys {
            table.insert(provider, value(key));
        }
        document.insert("keys", Item::Table(table));
        write(&self.path, document.to_string().as_bytes()).map_err(|error| {
            let message = format!("{error}; set XDG_CONFIG_HOME to a directory that can be written");
            ConfigError::cannot_create(&self.path, message)
        })
    }
}

fn read(path: &Path) -> io::Result<String> {
    let bytes = regular_file::read_stable(path, false, MAX_BYTES, &|found| {
        let mode = found.permissions().mode();
        match mode & 0o077 {
            0 => Ok(()),
            _ => {
                let mode = mode & 0o777;
                Err(io::Error::other(format!("other users may read it (mode {mode:o}); `chmod 600` it")))
            }
        }
    })?;
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is not UTF-8"))
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or_else(|| Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    private_file::replace(path, bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_stored_key_is_read_again_and_only_the_owner_may_read_it() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("new").join("credentials.toml");
        let mut credentials = Credentials::load(&path).unwrap();
        credentials.store("anthropic", "k-1").unwrap();
        credentials.store("openai", "k-2").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let mut again = Credentials::load(&path).unwrap();
        assert_eq!(again.get("anthropic"), Some("k-1"));
        assert_eq!(again.remove(Some("anthropic")).unwrap(), 1);
        let last = Credentials::load(&path).unwrap();
        assert_eq!((last.get("anthropic"), last.get("openai")), (None, Some("k-2")));
    }

    #[test]
    fn a_file_that_other_users_may_read_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("credentials.toml");
        fs::write(&path, "[keys]\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(Credentials::load(&path), Err(ConfigError::Invalid { .. })));
    }
}
