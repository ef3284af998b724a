//! What one file gives to the configuration: values in the terms of our keys, each with its place.

use std::path::{Path, PathBuf};

use ibeam_protocol::Reason;

use super::keys::Key;
use super::lines::Lines;
use super::source;
use super::value::Value;

/// Whose file it is, and with it how far it reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// The user's own.
    User,
    /// The project's: a stranger's until the workspace is trusted.
    Project { trusted: bool },
    /// The administrator's.
    Managed,
}

/// A file that was read.
pub(super) struct Layer {
    pub(super) path: PathBuf,
    lines: Lines,
    pub(super) entries: Vec<Entry>,
    /// What is no key of ours.
    pub(super) unknown: Vec<String>,
}

/// A value of the file. Of a list that adds up, each entry is one.
pub(super) struct Entry {
    pub(super) key: &'static Key,
    pub(super) path: Vec<String>,
    pub(super) value: Value,
    /// In bytes.
    pub(super) offset: usize,
}

impl Layer {
    /// The text of `bytes`, with nothing taken out of it yet.
    ///
    /// # Errors
    /// `BadConfig` for what is not UTF-8.
    pub(super) fn of(path: &Path, bytes: &[u8]) -> Result<Self, Reason> {
        let lines = Lines::of(bytes)
            .map_err(|(line, column)| source::bad_at(path, line, column, "it is not UTF-8".to_owned()))?;
        Ok(Self { path: path.to_owned(), lines, entries: Vec::new(), unknown: Vec::new() })
    }

    /// The whole text.
    pub(super) fn text(&self) -> &str {
        &self.lines.text
    }

    /// The line of an offset, from 1.
    pub(super) fn line(&self, offset: usize) -> u64 {
        self.lines.line(offset)
    }

    /// Something is wrong at an offset.
    pub(super) fn bad(&self, offset: usize, said: String) -> Reason {
        let (line, column) = self.lines.place(offset);
        source::bad_at(&self.path, line, column, said)
    }

    /// Takes a value of `key` in.
    pub(super) fn add(&mut self, key: &'static Key, path: Vec<String>, value: Value, offset: usize) {
        self.entries.push(Entry { key, path, value, offset });
    }

    /// Whether the file speaks of this key.
    pub(super) fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|entry| entry.key.path == key)
    }
}
