//! One TOML file as a flat list of values, each with its line.
//!
//! A missing file is empty. Anything that is no regular file, too large, or not TOML is an error that names the
//! place.

use std::io::{self, ErrorKind};
use std::path::Path;

use ibeam_protocol::Reason;
use toml_edit::{Document, Item};

/// No configuration written by hand comes near it.
const LARGEST: u64 = 1024 * 1024;

/// A value of the file.
pub(crate) struct Found {
    pub(crate) path: Vec<String>,
    pub(crate) value: Item,
    /// From 1.
    pub(crate) line: u64,
    /// From 1.
    pub(crate) column: u64,
}

/// Reads the file.
///
/// # Errors
/// `BadConfig` with line and column.
pub(crate) fn read(path: &Path) -> Result<Vec<Found>, Reason> {
    let bad = |line_column: Option<(u64, u64)>, said: String| Reason::BadConfig {
        path: path.display().to_string(),
        line: line_column.map(|(line, _)| line),
        column: line_column.map(|(_, column)| column),
        said,
    };
    let text = match text_of(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound || error.kind() == ErrorKind::NotADirectory => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(bad(None, error.to_string())),
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let document = Document::parse(text).map_err(|error| {
        let place = error.span().map(|span| line_column(text, span.start));
        bad(place, error.message().to_owned())
    })?;
    let mut found = Vec::new();
    for (name, item) in document.iter() {
        flatten(vec![name.to_owned()], item, text, &mut found);
    }
    Ok(found)
}

fn text_of(path: &Path) -> io::Result<String> {
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    if metadata.len() > LARGEST {
        return Err(io::Error::other("larger than 1 MiB"));
    }
    std::fs::read_to_string(path)
}

fn flatten(path: Vec<String>, item: &Item, text: &str, found: &mut Vec<Found>) {
    if let Some(table) = item.as_table_like() {
        for (name, item) in table.iter() {
            let mut path = path.clone();
            path.push(name.to_owned());
            flatten(path, item, text, found);
        }
        return;
    }
    let (line, column) = line_column(text, item.span().map_or(0, |span| span.start));
    found.push(Found { path, value: item.clone(), line, column });
}

fn line_column(text: &str, offset: usize) -> (u64, u64) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
    (u64::try_from(line).unwrap_or(u64::MAX), u64::try_from(column).unwrap_or(u64::MAX))
}
