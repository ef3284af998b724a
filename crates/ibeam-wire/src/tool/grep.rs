//! `grep`: what was found by content.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Tool;
use crate::describe::{Constraint, Describe, DescribeObject, Key, Need, Object, Shape, contract_object};

/// The tool.
pub const TOOL: Tool = Tool {
    name: Some("grep"),
    key: "grepToolCall",
    description: "Searches the content of files.",
    args: Some(GrepArgs::<String>::object),
    success: GrepSuccess::<String>::object,
    arms: &[],
    repeats_call_id: true,
};

/// The forms of the findings.
const OUTPUT_MODES: &[&str] = &["content", "files_with_matches", "count"];

contract_object! {
    /// What is searched for, and where.
    pub struct GrepArgs<S: Default = String> {
        /// A regular expression.
        required pattern("pattern"): S,
        /// The file or directory.
        optional path("path"): Option<S>,
        /// A glob of the files to search.
        optional glob("glob"): Option<S>,
        /// What is told of the findings.
        optional output_mode("outputMode", shape: Shape::OpenEnum(OUTPUT_MODES)): Option<S>,
        /// Whether upper and lower case are the same.
        optional case_insensitive("caseInsensitive"): Option<bool>,
        /// Whether the expression may span lines.
        optional multiline("multiline"): Option<bool>,
        /// The most findings.
        optional head_limit("headLimit", unit: "count"): Option<u64>,
        /// A type of files, e.g. `rust`.
        optional kind("type"): Option<S>,
        /// The `call_id` again.
        required tool_call_id("toolCallId"): S,
    }
}

contract_object! {
    /// What was found by content.
    pub struct GrepSuccess<S: Default = String> {
        /// The regular expression that was searched for.
        payload pattern("pattern"): S,
        /// Where it was searched for.
        payload path("path"): S,
        /// What `workspaceResults` holds.
        payload output_mode("outputMode", shape: Shape::OpenEnum(OUTPUT_MODES)): S,
        /// The findings; one key, the path searched.
        payload workspace_results("workspaceResults"): BTreeMap<String, GrepResults<S>>,
    }
}

/// What was found under one path, in the form that was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum GrepResults<S: Default = String> {
    /// The lines.
    Content(GrepContent<S>),
    /// The files alone.
    Files(GrepFiles<S>),
    /// How many lines of each file.
    Count(GrepCounts<S>),
}

impl<S: Describe + Default> DescribeObject for GrepResults<S> {
    const OBJECT: Object = Object {
        constraint: Constraint::OneKey,
        ..Object::new(
            "GrepResults",
            &["What was found under one path, in the form that was asked for."],
            &[
                Key::new("content", Need::IbeamPayload, GrepContent::<S>::SHAPE, &["The lines."]),
                Key::new("files", Need::IbeamPayload, GrepFiles::<S>::SHAPE, &["The files alone."]),
                Key::new(
                    "count",
                    Need::IbeamPayload,
                    GrepCounts::<S>::SHAPE,
                    &["How many lines of each file."],
                ),
            ],
        )
    };
}

impl<S: Describe + Default> Describe for BTreeMap<String, GrepResults<S>> {
    const SHAPE: Shape = Shape::UncheckedMap(GrepResults::<S>::object);
}

contract_object! {
    /// The lines that match, by file.
    pub struct GrepContent<S: Default = String> {
        /// The files.
        required matches("matches"): Vec<GrepFile<S>>,
        /// The lines of all of them together.
        required total_lines("totalLines", unit: "lines"): u64,
    }
}

contract_object! {
    /// The files that have a line that matches.
    pub struct GrepFiles<S: Default = String> {
        /// Their paths.
        required files("files"): Vec<S>,
    }
}

contract_object! {
    /// How many lines match, by file.
    pub struct GrepCounts<S: Default = String> {
        /// The files.
        required counts("counts"): Vec<GrepCount<S>>,
    }
}

contract_object! {
    /// A file with the lines that match.
    pub struct GrepFile<S: Default = String> {
        /// Its path.
        required file("file"): S,
        /// The lines.
        required matches("matches"): Vec<GrepLine<S>>,
    }
}

contract_object! {
    /// A line that matches.
    pub struct GrepLine<S: Default = String> {
        /// Its number, from 1.
        required line_number("lineNumber", unit: "line number"): u64,
        /// Its text, without its end.
        required content("content"): S,
    }
}

contract_object! {
    /// How many lines of a file match.
    pub struct GrepCount<S: Default = String> {
        /// Its path.
        required file("file"): S,
        /// How many lines.
        required count("count", unit: "lines"): u64,
    }
}
