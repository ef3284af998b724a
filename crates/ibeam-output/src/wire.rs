//! The contract's types: what programs parse, in its names and its order of keys.
//!
//! Apart from `Event`, which may change freely; these only grow. Refuses every translated word. A change here
//! changes `docs/output-format.md` too.

mod ending;
mod grep_success;
mod init;
mod line;
mod line_safe;
mod lossy_path;
mod schemas;
mod segment;
mod tool_args;
mod tool_call;
mod tool_result;
mod tool_success;

pub(crate) use ending::{ErrorLine, JsonResult, RunSummary, TokenUsage};
pub use ending::{cli_error_object, error_object};
pub(crate) use init::{InitExtras, ServerEntry, key_source, permission_mode};
pub(crate) use line::{Line, Message, Role, Subtype, TextBlock};
pub(crate) use line_safe::write_line;
pub(crate) use lossy_path::LossyPath;
pub(crate) use segment::Segment;
pub(crate) use tool_call::{ToolCallObject, mcp_tool};
pub(crate) use tool_result::ToolResultObject;
