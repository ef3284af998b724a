//! `--json-schema`: reads the schema of the final answer, and writes the instruction for the model.
//!
//! The value is a path, or the schema itself. A schema that requires anything is an object, so a value that begins with
//! `{` is a schema.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use ibeam_core::{InvalidSchema, JsonSchema};
use ibeam_protocol::Reason;

use crate::app::AppContext;

/// The maximum size of a schema. The schema is a part of every request.
const MAX_BYTES: u64 = 256 * 1024;

/// Returns the schema of the flag; `None` without the flag.
///
/// # Errors
/// `NoInput` for a file that cannot be read; `InvalidJsonSchema`.
pub(super) fn load(app: &AppContext) -> Result<Option<Arc<JsonSchema>>, Reason> {
    let Some(value) = &app.base.flags.json_schema else { return Ok(None) };
    let (source, text) = match value.to_str().filter(|text| text.trim_start().starts_with('{')) {
        Some(schema) => ("--json-schema".to_owned(), schema.to_owned()),
        None => (value.display().to_string(), read_file(value)?),
    };
    parse(&text)
        .map(|schema| Some(Arc::new(schema)))
        .map_err(|InvalidSchema { place, detail }| Reason::InvalidJsonSchema { path: source, place, detail })
}

fn parse(text: &str) -> Result<JsonSchema, InvalidSchema> {
    if text.len() as u64 > MAX_BYTES {
        let detail = format!("the schema is larger than {} KiB", MAX_BYTES / 1024);
        return Err(InvalidSchema { place: "top level".to_owned(), detail });
    }
    JsonSchema::parse(text)
}

fn read_file(path: &Path) -> Result<String, Reason> {
    read_limited(path)
        .map_err(|error| Reason::NoInput { path: path.display().to_string(), detail: error.to_string() })
}

/// Reads a file, up to one byte more than the maximum size.
fn read_limited(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    Ok(text)
}

/// Returns the instruction for the model.
pub(super) fn instruction(schema: &JsonSchema) -> String {
    format!(
        "# Form of the final answer\n\nA program reads your final answer. It must be exactly one JSON document that \
         matches the JSON Schema below: no text before or after it, and no code fence. You may call tools first. \
         Text that you write before a call is not shown to anyone.\n\n{}",
        schema.document()
    )
}
