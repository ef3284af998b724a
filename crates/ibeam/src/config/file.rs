//! One TOML file as a flat list of values, each with its place.
//!
//! A missing file is empty. Anything that is not TOML is an error that names the place.

use std::path::Path;

use ibeam_protocol::Reason;
use toml_edit::{Document, Item};

use super::source;

/// A file that was read.
#[derive(Default)]
pub(crate) struct TomlFile {
    text: String,
    /// Where each line begins, in bytes.
    line_starts: Vec<usize>,
    /// Every value, tables taken apart.
    pub(crate) values: Vec<Found>,
}

/// A value of the file.
pub(crate) struct Found {
    pub(crate) path: Vec<String>,
    pub(crate) value: Item,
    /// In bytes.
    offset: usize,
}

/// Reads the file.
///
/// # Errors
/// `BadConfig` with line and column.
pub(crate) fn read(path: &Path) -> Result<TomlFile, Reason> {
    let Some(bytes) = source::read(path)? else { return Ok(TomlFile::default()) };
    let file = TomlFile::of(&bytes).map_err(|valid| {
        let before = TomlFile::of(bytes.get(..valid).unwrap_or_default()).unwrap_or_default();
        let (line, column) = before.place(valid);
        source::bad_at(path, line, column, "it is not UTF-8".to_owned())
    })?;
    let document = Document::parse(file.text.as_str()).map_err(|error| {
        let said = error.message().to_owned();
        match error.span().map(|span| file.place(span.start)) {
            Some((line, column)) => source::bad_at(path, line, column, said),
            None => source::bad(path, said),
        }
    })?;
    let mut values = Vec::new();
    for (name, item) in document.iter() {
        flatten(vec![name.to_owned()], item, &mut values);
    }
    Ok(TomlFile { values, ..file })
}

impl TomlFile {
    /// The text of `bytes`, not parsed yet; else how many of them are UTF-8.
    fn of(bytes: &[u8]) -> Result<Self, usize> {
        let text = std::str::from_utf8(bytes).map_err(|error| error.valid_up_to())?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).to_owned();
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let line_starts = std::iter::once(0).chain(ends.map(|(offset, _)| offset + 1)).collect();
        Ok(Self { text, line_starts, values: Vec::new() })
    }

    /// The line of a value, from 1.
    pub(crate) fn line(&self, found: &Found) -> u64 {
        self.line_at(found.offset)
    }

    /// Line and column of a value, from 1.
    pub(crate) fn place_of(&self, found: &Found) -> (u64, u64) {
        self.place(found.offset)
    }

    fn line_at(&self, offset: usize) -> u64 {
        let line = self.line_starts.partition_point(|start| *start <= offset);
        u64::try_from(line).unwrap_or(u64::MAX)
    }

    fn place(&self, offset: usize) -> (u64, u64) {
        let offset = offset.min(self.text.len());
        let line = self.line_at(offset);
        let start = usize::try_from(line).ok().and_then(|line| self.line_starts.get(line.checked_sub(1)?));
        let before = self.text.get(start.copied().unwrap_or_default()..offset).unwrap_or_default();
        (line, u64::try_from(before.chars().count() + 1).unwrap_or(u64::MAX))
    }
}

fn flatten(path: Vec<String>, item: &Item, found: &mut Vec<Found>) {
    if let Some(table) = item.as_table_like() {
        for (name, item) in table.iter() {
            let mut path = path.clone();
            path.push(name.to_owned());
            flatten(path, item, found);
        }
        return;
    }
    found.push(Found { path, value: item.clone(), offset: item.span().map_or(0, |span| span.start) });
}
