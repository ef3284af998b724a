//! The values of one configuration file, each with its place in the file; and the parser of TOML files.
//!
//! A file that is not TOML is an error with its place, and so is a value of the wrong kind. An unknown key is only
//! recorded.

use std::path::{Path, PathBuf};

use toml_edit::{Document, Item};

use crate::keys::Key;
use crate::load::OnError;
use ibeam_protocol::{Sentence, sentence};

use crate::toml_fault::toml_fault;
use crate::{ConfigError, Value};

/// The author of a file, which decides the keys that it may set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    User,
    /// The author of the project.
    Project {
        trusted: bool,
    },
    /// The administrator.
    Managed,
}

/// A file that was read.
pub(crate) struct Layer {
    pub(crate) path: PathBuf,
    lines: Lines,
    pub(crate) entries: Vec<Entry>,
    /// Keys that do not exist.
    pub(crate) unknown: Vec<UnknownKey>,
}

/// A value of the file. Each element of a list that is merged with the lists of other layers is a separate entry.
pub(crate) struct Entry {
    pub(crate) key: &'static Key,
    /// The names of the key, as the file writes them.
    pub(crate) path: Vec<String>,
    pub(crate) value: Value,
    /// The byte offset in the file.
    pub(crate) offset: usize,
}

/// A key of the file that does not exist.
pub(crate) struct UnknownKey {
    /// The names of the key, as the file writes them.
    pub(crate) path: Vec<String>,
    /// The line, where the parser knows it.
    pub(crate) line: Option<u64>,
}

impl Layer {
    /// Returns a layer with the text of `bytes` and without entries.
    ///
    /// # Errors
    /// `Invalid` if `bytes` are not UTF-8.
    pub(crate) fn new(path: &Path, bytes: &[u8]) -> Result<Self, ConfigError> {
        let lines = Lines::new(bytes)
            .map_err(|(line, column)| ConfigError::at(path, line, column, sentence!("it is not UTF-8")))?;
        Ok(Self { path: path.to_owned(), lines, entries: Vec::new(), unknown: Vec::new() })
    }

    /// Parses a TOML file. `on_error` decides what happens after a value of the wrong kind.
    ///
    /// # Errors
    /// `Invalid` with line and column.
    pub(crate) fn from_toml(
        path: &Path,
        bytes: &[u8],
        on_error: &mut OnError<'_>,
    ) -> Result<Self, ConfigError> {
        let mut layer = Self::new(path, bytes)?;
        let document = Document::parse(layer.text().to_owned()).map_err(|error| match error.span() {
            Some(span) => layer.error_at(span.start, toml_fault(&error)),
            None => ConfigError::in_file(path, toml_fault(&error)),
        })?;
        for (name, item) in document.iter() {
            layer.add_item(vec![name.to_owned()], item, on_error)?;
        }
        Ok(layer)
    }

    fn add_item(
        &mut self,
        path: Vec<String>,
        item: &Item,
        on_error: &mut OnError<'_>,
    ) -> Result<(), ConfigError> {
        if let Some(table) = item.as_table_like() {
            for (name, item) in table.iter() {
                let mut path = path.clone();
                path.push(name.to_owned());
                self.add_item(path, item, on_error)?;
            }
            return Ok(());
        }
        let Some(key) = Key::find(&path) else {
            let line = item.span().map(|span| self.line(span.start));
            self.unknown.push(UnknownKey { path, line });
            return Ok(());
        };
        let offset = item.span().map_or(0, |span| span.start);
        let Some(value) = Value::from_toml(key.kind, item) else {
            let message = key.kind.should_be(path.join("."));
            return on_error(self.error_at(offset, message));
        };
        match (item.as_array(), value) {
            (Some(array), Value::List(texts)) if key.kind.merges_layers() && !texts.is_empty() => {
                for (text, item) in texts.into_iter().zip(array) {
                    let offset = item.span().map_or(offset, |span| span.start);
                    self.add(key, path.clone(), Value::List(vec![text]), offset);
                }
            }
            (_, value) => self.add(key, path, value, offset),
        }
        Ok(())
    }

    /// Returns the text of the file.
    pub(crate) fn text(&self) -> &str {
        &self.lines.text
    }

    /// Returns the line of a byte offset, from 1.
    pub(crate) fn line(&self, offset: usize) -> u64 {
        self.lines.line(offset)
    }

    /// Returns the error about the place at a byte offset.
    pub(crate) fn error_at(&self, offset: usize, message: Sentence) -> ConfigError {
        let (line, column) = self.lines.position(offset);
        ConfigError::at(&self.path, line, column, message)
    }

    /// Adds a value of `key`.
    pub(crate) fn add(&mut self, key: &'static Key, path: Vec<String>, value: Value, offset: usize) {
        self.entries.push(Entry { key, path, value, offset });
    }

    /// Whether the file sets this key.
    pub(crate) fn sets_key(&self, key: &str) -> bool {
        self.entries.iter().any(|entry| entry.key.path == key)
    }
}

/// A text and where its lines begin.
#[derive(Default)]
struct Lines {
    text: String,
    /// The byte offset at which each line begins.
    starts: Vec<usize>,
}

/// Line and column, from 1.
type Position = (u64, u64);

impl Lines {
    /// Returns the text of `bytes` without a byte order mark, or the position of the first byte that is not UTF-8.
    fn new(bytes: &[u8]) -> Result<Self, Position> {
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let valid = error.valid_up_to();
                let before = Self::new(bytes.get(..valid).unwrap_or_default()).unwrap_or_default();
                return Err(before.position(valid));
            }
        };
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).to_owned();
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(ends.map(|(offset, _)| offset + 1)).collect();
        Ok(Self { text, starts })
    }

    /// Returns the line of a byte offset.
    fn line(&self, offset: usize) -> u64 {
        as_u64(self.lines_until(offset))
    }

    /// Returns the position of a byte offset; the column counts characters.
    fn position(&self, offset: usize) -> Position {
        let offset = offset.min(self.text.len());
        let line = self.lines_until(offset);
        let start = line.checked_sub(1).and_then(|line| self.starts.get(line)).copied().unwrap_or_default();
        let before = self.text.get(start..offset).unwrap_or_default().chars().count();
        (as_u64(line), as_u64(before + 1))
    }

    fn lines_until(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset)
    }
}

fn as_u64(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
