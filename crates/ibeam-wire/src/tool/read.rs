//! `read`: a part of a text file.

use super::{FILE_NOT_FOUND, Tool};
use crate::describe::{DescribeObject, contract_object};

/// The tool.
pub const TOOL: Tool = Tool {
    name: Some("read"),
    key: "readToolCall",
    description: "Reads a file.",
    args: Some(ReadArgs::<String>::object),
    success: ReadSuccess::<String>::object,
    arms: &[FILE_NOT_FOUND],
    repeats_call_id: false,
};

contract_object! {
    /// Which part of which file is read.
    pub struct ReadArgs<S: Default = String> {
        /// The file.
        required path("path"): S,
        /// The first line, from 1.
        optional offset("offset", unit: "line number"): Option<u64>,
        /// The most lines.
        optional limit("limit", unit: "lines"): Option<u64>,
    }
}

contract_object! {
    /// What was read of a file.
    pub struct ReadSuccess<S: Default = String> {
        /// The text, from `offset` on and no more than `limit` lines.
        required content("content"): S,
        /// Whether the file holds nothing at all.
        required is_empty("isEmpty"): bool,
        /// Whether the file is longer than what one call returns, and was cut.
        required exceeded_limit("exceededLimit"): bool,
        /// The lines of the whole file.
        required total_lines("totalLines", unit: "lines"): u64,
        /// The characters of the whole file.
        required total_chars("totalChars", unit: "characters"): u64,
    }
}
