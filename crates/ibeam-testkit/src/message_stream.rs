//! Messages on stdin: `--input-format stream-json`.

use serde_json::json;

/// The flags of a run that reads messages.
pub const FLAGS: [&str; 5] = ["-p", "--input-format", "stream-json", "--output-format", "stream-json"];

/// Returns the line of a message with this text.
pub fn message(text: &str) -> String {
    let content = json!([{ "type": "text", "text": text }]);
    format!("{}\n", json!({ "type": "user", "message": { "role": "user", "content": content } }))
}
