//! What `grep` gives in the arm `success`, in the form that was asked for. Contract section 4.

use std::collections::BTreeMap;

use ibeam_protocol::tool_output::{FileMatches, GrepMatches, GrepOutput};
use schemars::JsonSchema;
use serde::Serialize;

use super::LossyPath;

/// What was found by content.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GrepSuccess<'a> {
    /// The regular expression that was searched for.
    pattern: &'a str,
    /// Where it was searched for.
    path: LossyPath<'a>,
    /// What `workspaceResults` holds.
    #[schemars(extend("enum" = ["content", "files_with_matches", "count"]))]
    output_mode: &'static str,
    /// The findings; one key, the path searched.
    workspace_results: BTreeMap<String, GrepResults<'a>>,
}

impl<'a> GrepSuccess<'a> {
    pub(crate) fn new(output: &'a GrepOutput) -> Self {
        let GrepOutput { pattern, path, matches, truncated: _ } = output;
        let results = GrepResults::new(matches);
        Self {
            pattern,
            path: LossyPath(path),
            output_mode: output_mode(matches),
            workspace_results: BTreeMap::from([(path.to_string_lossy().into_owned(), results)]),
        }
    }
}

fn output_mode(matches: &GrepMatches) -> &'static str {
    match matches {
        GrepMatches::Content(_) => "content",
        GrepMatches::Files(_) => "files_with_matches",
        GrepMatches::Count(_) => "count",
    }
}

/// What was found under one path, in the form that was asked for.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum GrepResults<'a> {
    /// The lines.
    Content(GrepContent<'a>),
    /// The files alone.
    Files(GrepFiles<'a>),
    /// How many lines of each file.
    Count(GrepCounts<'a>),
}

/// The lines that match, by file.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GrepContent<'a> {
    /// The files.
    matches: Vec<GrepFile<'a>>,
    /// The lines of all of them together.
    #[schemars(extend("x-unit" = "lines"))]
    total_lines: usize,
}

/// The files that have a line that matches.
#[derive(Serialize, JsonSchema)]
pub(crate) struct GrepFiles<'a> {
    /// Their paths.
    files: Vec<LossyPath<'a>>,
}

/// How many lines match, by file.
#[derive(Serialize, JsonSchema)]
pub(crate) struct GrepCounts<'a> {
    /// The files.
    counts: Vec<GrepCount<'a>>,
}

impl<'a> GrepResults<'a> {
    fn new(matches: &'a GrepMatches) -> Self {
        match matches {
            GrepMatches::Content(files) => Self::Content(GrepContent {
                total_lines: files.iter().map(|file| file.lines.len()).sum(),
                matches: files.iter().map(GrepFile::new).collect(),
            }),
            GrepMatches::Files(files) => {
                Self::Files(GrepFiles { files: files.iter().map(|file| LossyPath(file)).collect() })
            }
            GrepMatches::Count(counts) => Self::Count(GrepCounts {
                counts: counts
                    .iter()
                    .map(|(file, count)| GrepCount { file: LossyPath(file), count: *count })
                    .collect(),
            }),
        }
    }
}

/// A file with the lines that match.
#[derive(Serialize, JsonSchema)]
pub(crate) struct GrepFile<'a> {
    /// Its path.
    file: LossyPath<'a>,
    /// The lines.
    matches: Vec<GrepLine<'a>>,
}

impl<'a> GrepFile<'a> {
    fn new(file: &'a FileMatches) -> Self {
        let matches = file
            .lines
            .iter()
            .map(|(number, line)| GrepLine { line_number: *number, content: line })
            .collect();
        Self { file: LossyPath(&file.file), matches }
    }
}

/// A line that matches.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GrepLine<'a> {
    /// Its number, from 1.
    #[schemars(extend("x-unit" = "line number"))]
    line_number: u64,
    /// Its text, without its end.
    content: &'a str,
}

/// How many lines of a file match.
#[derive(Serialize, JsonSchema)]
pub(crate) struct GrepCount<'a> {
    /// Its path.
    file: LossyPath<'a>,
    /// How many lines.
    #[schemars(extend("x-unit" = "lines"))]
    count: u64,
}
