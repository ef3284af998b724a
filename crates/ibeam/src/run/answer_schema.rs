//! `--json-schema`: reads the schema of the final answer, and writes the instruction for the model.
//!
//! The value is a path, or the schema itself. A schema that requires anything is an object, so a value that begins with
//! `{` is a schema.

use std::io;
use std::path::Path;
use std::sync::Arc;

use ibeam_core::{InvalidSchema, JsonSchema};
use ibeam_files::regular_file;
use ibeam_protocol::Reason;

use crate::app::AppContext;

/// The maximum size of a schema file. The schema is a part of every request.
const MAX_BYTES: u64 = 256 * 1024;

/// Returns the schema of the flag; `None` without the flag.
///
/// # Errors
/// `NoInput` for a file that cannot be read, or is no regular file; `InvalidJsonSchema`.
pub(super) fn load(app: &AppContext) -> Result<Option<Arc<JsonSchema>>, Reason> {
    let Some(value) = &app.base.flags.json_schema else { return Ok(None) };
    let (source, text) = match value.to_str().filter(|text| text.trim_start().starts_with('{')) {
        Some(schema) => ("--json-schema".to_owned(), schema.to_owned()),
        None => (value.display().to_string(), read_file(value)?),
    };
    JsonSchema::parse(&text)
        .map(|schema| Some(Arc::new(schema)))
        .map_err(|InvalidSchema { place, detail }| Reason::InvalidJsonSchema { path: source, place, detail })
}

fn read_file(path: &Path) -> Result<String, Reason> {
    let text = regular_file::read(path, MAX_BYTES).and_then(|bytes| {
        String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    });
    text.map_err(|error| Reason::NoInput { path: path.display().to_string(), detail: error.to_string() })
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
