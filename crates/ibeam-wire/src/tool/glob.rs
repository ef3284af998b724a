//! `glob`: finds files by name.

use super::definition::Tool;
use crate::describe::{DescribeObject, contract_object};

/// The key of `tool_call`.
pub const KEY: &str = "globToolCall";

/// The tool `glob`.
pub const TOOL: Tool = Tool {
    name: Some("glob"),
    key: KEY,
    description: "Finds files by name.",
    args: Some(GlobArgs::<String>::object),
    success: GlobSuccess::<String>::object,
    arms: &[],
    repeats_call_id: false,
};

contract_object! {
    /// The names to find and the directory to search.
    pub struct GlobArgs<S: Default = String> {
        /// The glob pattern.
        required glob_pattern("globPattern"): S,
        /// The directory to search.
        optional target_directory("targetDirectory"): Option<S>,
    }
}

contract_object! {
    /// The files with matching names.
    pub struct GlobSuccess<S: Default = String> {
        /// The glob pattern.
        payload pattern("pattern"): S,
        /// The searched directory.
        payload path("path"): S,
        /// The matching files.
        payload files("files"): Vec<S>,
        /// The number of all matching files, including those beyond the limit of `files`.
        payload total_files("totalFiles", unit: "count"): u64,
    }
}
