//! Converts the streams of agents into each other, line by line, and reports what was lost.
//!
//! Contract 1 is the common form. A decoder turns the lines of the source into [`Step`]s, and an encoder writes the steps
//! as lines of the target. The data of the start of a run, of a call or of the end of a run is a [`Payload`] in the form of
//! its dialect, which the dialect converts into contract 1 and back. A payload is converted back to find losses: a part
//! that is missing or different afterwards is in [`Losses`]. So a missing row of a table leads to a reported loss.
//!
//! A stream needs state: the text of a segment, the open calls, and the answer where the target repeats it. The crate
//! does no I/O, reads no clock and invents no random ids: the same lines give the same bytes.
//!
//! ```
//! use ibeam_dialects::{Converter, DialectName};
//!
//! let mut converter = Converter::new(DialectName::Codex, DialectName::Cursor);
//! let mut out = Vec::new();
//! converter.convert_line(br#"{"type":"thread.started","thread_id":"01a1fe85-2c7a-7d73-b0d1-25506eed9403"}"#, &mut out)?;
//! let losses = converter.finish(&mut out)?;
//! assert!(out.starts_with(br#"{"type":"system","subtype":"init","#) && losses.is_empty());
//! # Ok::<(), ibeam_dialects::ConvertError>(())
//! ```

mod contract;
mod converter;
mod dialect;
mod dialects;
mod ids;
mod iso_time;
mod json;
mod losses;
mod source_line;
mod step;
mod step_writer;
mod text_results;
mod tool_table;

pub use converter::{Converter, LiveEncoder};
pub use dialects::claude::{
    DEFAULT_CONTEXT_WINDOW as CLAUDE_CODE_CONTEXT_WINDOW, DEFAULT_MAX_OUTPUT as CLAUDE_CODE_MAX_OUTPUT,
    VERSION as CLAUDE_CODE_VERSION,
};
pub use dialects::{DialectName, UnknownDialect};
pub use json::write_line;
pub use losses::{Loss, LossKind, Losses};
pub use source_line::ConvertError;
pub use step::{CallStep, Payload, Step, TextStep};
