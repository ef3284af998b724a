//! Turns a stream of one agent into that of another, line by line, and says what was lost on the way.
//!
//! Contract 1 is the form in the middle. A decoder makes [`step`]s of the lines of the source, an encoder writes them
//! as the target does. What stands in a head, a call or an end goes as a *card*, a value in the source's own form;
//! `form` turns cards into contract 1 and back. What is lost is found by trying: a card that was said in the target is
//! brought back, and whatever is not there again is in [`Losses`]. So a gap in a table is a loss that is told.
//!
//! State is what a stream needs: the text of a segment, the calls that are open, and the answer where the target
//! repeats it. Does no I/O, knows no clock and makes up no random ids: the same lines give the same bytes.
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

mod claude;
mod codex;
mod contract;
mod converter;
mod cursor;
mod dialect;
mod gemini;
mod ids;
mod iso_time;
mod json;
mod losses;
mod opencode;
mod source_line;
mod step;
mod step_writer;
mod text_results;
mod tool_table;

pub use claude::VERSION as CLAUDE_CODE_VERSION;
pub use converter::{Converter, LiveEncoder};
pub use dialect::{DialectName, UnknownDialect};
pub use json::write_line;
pub use losses::{Loss, LossKind, Losses};
pub use source_line::ConvertError;
pub use step::{CallStep, Payload, Step, TextStep};
