//! `read`: reads a part of a text file.

use super::definition::{FILE_NOT_FOUND, Tool};
use crate::describe::{DescribeObject, contract_object};

/// The key of `tool_call`.
pub const KEY: &str = "readToolCall";

/// The tool `read`.
pub const TOOL: Tool = Tool {
    name: Some("read"),
    key: KEY,
    description: "Reads a file.",
    args: Some(ReadArgs::<String>::object),
    success: ReadSuccess::<String>::object,
    arms: &[FILE_NOT_FOUND],
    repeats_call_id: false,
};

contract_object! {
    /// The file and the part of it to read.
    pub struct ReadArgs<S: Default = String> {
        /// The path of the file.
        required path("path"): S,
        /// The first line, from 1.
        optional offset("offset", unit: "line number"): Option<u64>,
        /// The maximum number of lines.
        optional limit("limit", unit: "lines"): Option<u64>,
    }
}

contract_object! {
    /// The content of a part of a file.
    pub struct ReadSuccess<S: Default = String> {
        /// The text from `offset` on, at most `limit` lines.
        required content("content"): S,
        /// Whether the file is empty.
        required is_empty("isEmpty"): bool,
        /// Whether the file is longer than the maximum of one call, so that the text was cut.
        required exceeded_limit("exceededLimit"): bool,
        /// The number of lines of the complete file.
        required total_lines("totalLines", unit: "lines"): u64,
        /// The number of characters of the complete file.
        required total_chars("totalChars", unit: "characters"): u64,
    }
}
