//! `grep`: searches the content of files.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::definition::Tool;
use crate::describe::{Constraint, Describe, DescribeObject, Key, Need, Object, Shape, contract_object};

/// The key of `tool_call`.
pub const KEY: &str = "grepToolCall";

/// The tool `grep`.
pub const TOOL: Tool = Tool {
    name: Some("grep"),
    key: KEY,
    description: "Searches the content of files.",
    args: Some(GrepArgs::<String>::object),
    success: GrepSuccess::<String>::object,
    arms: &[],
    repeats_call_id: true,
};

/// The forms of the matches.
const OUTPUT_MODES: &[&str] = &["content", "files_with_matches", "count"];

contract_object! {
    /// The pattern and the files to search.
    pub struct GrepArgs<S: Default = String> {
        /// The regular expression.
        required pattern("pattern"): S,
        /// The file or directory to search.
        optional path("path"): Option<S>,
        /// A glob of the files to search.
        optional glob("glob"): Option<S>,
        /// The form of the matches.
        optional output_mode("outputMode", shape: Shape::OpenEnum(OUTPUT_MODES)): Option<S>,
        /// Whether the match ignores case.
        optional case_insensitive("caseInsensitive"): Option<bool>,
        /// Whether a match may span lines.
        optional multiline("multiline"): Option<bool>,
        /// The maximum number of matches.
        optional head_limit("headLimit", unit: "count"): Option<u64>,
        /// The type of the files, e.g. `rust`.
        optional kind("type"): Option<S>,
        /// The `call_id` of the event.
        required tool_call_id("toolCallId"): S,
    }
}

contract_object! {
    /// The matches of a search.
    pub struct GrepSuccess<S: Default = String> {
        /// The regular expression.
        payload pattern("pattern"): S,
        /// The searched file or directory.
        payload path("path"): S,
        /// The form of the values of `workspaceResults`.
        payload output_mode("outputMode", shape: Shape::OpenEnum(OUTPUT_MODES)): S,
        /// The matches under one key, the searched path.
        payload workspace_results("workspaceResults"): BTreeMap<String, GrepResults<S>>,
    }
}

/// The matches under one path, in the requested form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum GrepResults<S: Default = String> {
    /// The matching lines.
    Content(GrepContent<S>),
    /// The files with matches.
    Files(GrepFiles<S>),
    /// The number of matching lines of each file.
    Count(GrepCounts<S>),
}

impl<S: Describe + Default> DescribeObject for GrepResults<S> {
    const OBJECT: Object = Object {
        constraint: Constraint::OneKey,
        ..Object::new(
            "GrepResults",
            &["The matches under one path, in the requested form."],
            &[
                Key::new("content", Need::IbeamPayload, GrepContent::<S>::SHAPE, &["The matching lines."]),
                Key::new("files", Need::IbeamPayload, GrepFiles::<S>::SHAPE, &["The files with matches."]),
                Key::new(
                    "count",
                    Need::IbeamPayload,
                    GrepCounts::<S>::SHAPE,
                    &["The number of matching lines of each file."],
                ),
            ],
        )
    };
}

impl<S: Describe + Default> Describe for BTreeMap<String, GrepResults<S>> {
    const SHAPE: Shape = Shape::UncheckedMap(GrepResults::<S>::object);
}

contract_object! {
    /// The matching lines, grouped by file.
    pub struct GrepContent<S: Default = String> {
        /// The files.
        required matches("matches"): Vec<GrepFile<S>>,
        /// The number of lines of all files together.
        required total_lines("totalLines", unit: "lines"): u64,
    }
}

contract_object! {
    /// The files with a matching line.
    pub struct GrepFiles<S: Default = String> {
        /// The paths of the files.
        required files("files"): Vec<S>,
    }
}

contract_object! {
    /// The number of matching lines, grouped by file.
    pub struct GrepCounts<S: Default = String> {
        /// The files.
        required counts("counts"): Vec<GrepCount<S>>,
    }
}

contract_object! {
    /// A file with its matching lines.
    pub struct GrepFile<S: Default = String> {
        /// The path of the file.
        required file("file"): S,
        /// The matching lines.
        required matches("matches"): Vec<GrepLine<S>>,
    }
}

contract_object! {
    /// A matching line.
    pub struct GrepLine<S: Default = String> {
        /// The line number, from 1.
        required line_number("lineNumber", unit: "line number"): u64,
        /// The text, without its line end.
        required content("content"): S,
    }
}

contract_object! {
    /// The number of matching lines of a file.
    pub struct GrepCount<S: Default = String> {
        /// The path of the file.
        required file("file"): S,
        /// The number of matching lines.
        required count("count", unit: "lines"): u64,
    }
}
