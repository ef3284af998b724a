//! Our own files: TOML, taken apart into values.
//!
//! Anything that is not TOML is an error that names the place, and so is a value of the wrong kind. A key that
//! is none of ours is only noted.

use std::path::Path;

use ibeam_protocol::Reason;
use toml_edit::{Document, Item};

use super::keys::Key;
use super::layer::Layer;
use super::load::OnFault;
use super::source;
use super::value::Value;

/// Parses the values of a file. `on_fault` decides about a value of the wrong kind.
///
/// # Errors
/// `BadConfig` with line and column.
pub(super) fn parse(path: &Path, bytes: &[u8], on_fault: &mut OnFault<'_>) -> Result<Layer, Reason> {
    let mut layer = Layer::of(path, bytes)?;
    let document = Document::parse(layer.text().to_owned()).map_err(|error| {
        let said = error.message().to_owned();
        match error.span() {
            Some(span) => layer.bad(span.start, said),
            None => source::bad(path, said),
        }
    })?;
    for (name, item) in document.iter() {
        take(&mut layer, vec![name.to_owned()], item, on_fault)?;
    }
    Ok(layer)
}

fn take(layer: &mut Layer, path: Vec<String>, item: &Item, on_fault: &mut OnFault<'_>) -> Result<(), Reason> {
    if let Some(table) = item.as_table_like() {
        for (name, item) in table.iter() {
            let mut path = path.clone();
            path.push(name.to_owned());
            take(layer, path, item, on_fault)?;
        }
        return Ok(());
    }
    let Some(key) = Key::named(&path) else {
        layer.unknown.push(path.join("."));
        return Ok(());
    };
    let offset = item.span().map_or(0, |span| span.start);
    let Some(value) = Value::from_toml(key.kind, item) else {
        let said = format!("`{}` should be {}", path.join("."), key.kind.describe());
        return on_fault(layer.bad(offset, said));
    };
    match (item.as_array(), value) {
        (Some(array), Value::List(texts)) if key.kind.adds_up() && !texts.is_empty() => {
            for (text, item) in texts.into_iter().zip(array) {
                let offset = item.span().map_or(offset, |span| span.start);
                layer.add(key, path.clone(), Value::List(vec![text]), offset);
            }
        }
        (_, value) => layer.add(key, path, value, offset),
    }
    Ok(())
}
