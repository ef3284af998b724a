//! `glob`: files found by name.

use super::Tool;
use crate::describe::{DescribeObject, contract_object};

/// The tool.
pub const TOOL: Tool = Tool {
    name: Some("glob"),
    key: "globToolCall",
    description: "Finds files by name.",
    args: Some(GlobArgs::<String>::object),
    success: GlobSuccess::<String>::object,
    arms: &[],
    repeats_call_id: false,
};

contract_object! {
    /// Which names are looked for, and where.
    pub struct GlobArgs<S: Default = String> {
        /// The glob.
        required glob_pattern("globPattern"): S,
        /// The directory.
        optional target_directory("targetDirectory"): Option<S>,
    }
}

contract_object! {
    /// What was found by name.
    pub struct GlobSuccess<S: Default = String> {
        /// The glob that was looked for.
        payload pattern("pattern"): S,
        /// Where it was looked for.
        payload path("path"): S,
        /// The files.
        payload files("files"): Vec<S>,
        /// How many files matched, those beyond the limit of `files` included.
        payload total_files("totalFiles", unit: "count"): u64,
    }
}
