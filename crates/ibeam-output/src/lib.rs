//! The writers of ibeam: from events to the bytes that programs and people read.
//!
//! One writer for each output format (`StreamJson`, `Json`, `Text`), what `text` shows on stderr (`Progress`, `RunDetails`),
//! and all texts for people (`Catalogue`). The
//! writers are synchronous and write to any `io::Write`. They do not use the disk, async code, the environment or the
//! agent loop. No writer writes the thinking of the model.

mod catalogue;
mod delta_line;
mod json;
mod json_line;
mod line_buffer;
mod locale;
mod progress;
mod run_details;
mod run_lines;
mod run_summary;
mod stream_json;
mod text;
mod tool_call_line;
mod writer;

pub use catalogue::lines::*;
pub use catalogue::{ApprovalQuestion, Catalogue, Explanation, decompress};
pub use ibeam_protocol::{escape_invisible, escape_invisible_in_json, escape_to_one_line};
pub use ibeam_wire::Contract;
pub use json::{Json, result_line_to_object};
pub use json_line::to_line;
pub use locale::Locale;
pub use progress::Progress;
pub use run_details::{RunDetails, RunDetailsOptions};
pub use run_lines::{
    call_event, cli_error_event, cli_error_object, error_object, failure_event, init_event,
    permission_mode_name, result_event,
};
pub use stream_json::StreamJson;
pub use text::{Text, TextOptions, call_target, hunk_lines, printable_lines};
pub use tool_call_line::{CallBody, call_result_value};
pub use writer::EventWriter;
