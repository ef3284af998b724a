//! `grep`: lines, files or counts that match a regular expression, with ripgrep's libraries.
//!
//! The engine takes time linear in the text. Time, matches and bytes are limited, and the model learns what was left
//! out. Look-around and back-references are not supported.

mod collect;

use std::path::PathBuf;
use std::sync::Arc;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use ibeam_core::{Access, PreparedCall, Tool, ToolInputError};
use ibeam_protocol::tool_output::{GrepMatches, GrepOutput};
use ibeam_protocol::{Sentence, ToolOutcome, ToolOutput, ToolSpec, sentence};
use ignore::types::{Types, TypesBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::arguments::{self, Arguments, lenient};
use crate::blocking::{self, EndFlag};
use crate::files::{Files, TargetPath};
use crate::path_glob::PathGlob;
use crate::tree_search::{self, SearchRoot};
use crate::workspace::Workspace;
use collect::{Collector, PatternOptions};

/// Maximum bytes of a pattern.
const PATTERN_LIMIT: usize = 32 << 10;
/// Maximum bytes of a compiled pattern: the time of a search is proportional to this times the length of the text.
const PROGRAM_LIMIT: usize = 4 << 20;
/// With a larger compiled pattern, long lines are not searched.
const LIGHT_PROGRAM_LIMIT: usize = 512 << 10;
/// Maximum bytes of the engine's state cache.
const CACHE_LIMIT: usize = 32 << 20;
/// Lines, files or counts that are returned unless the call sets a limit.
const DEFAULT_HEAD_LIMIT: u64 = 250;

/// Searches files of the workspace.
pub(crate) struct Grep {
    files: Arc<Files>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GrepArguments {
    #[serde(alias = "regex", alias = "query")]
    pattern: String,
    #[serde(default, alias = "directory", deserialize_with = "lenient::text")]
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// Files to search, e.g. `*.ts`
    #[serde(default, alias = "include", deserialize_with = "lenient::text")]
    #[serde(skip_serializing_if = "Option::is_none")]
    glob: Option<String>,
    #[serde(default, alias = "output_mode", skip_serializing_if = "Option::is_none")]
    output_mode: Option<OutputMode>,
    #[serde(default, alias = "case_insensitive", alias = "-i", deserialize_with = "lenient::boolean")]
    #[serde(skip_serializing_if = "Option::is_none")]
    case_insensitive: Option<bool>,
    #[serde(default, deserialize_with = "lenient::boolean", skip_serializing_if = "Option::is_none")]
    multiline: Option<bool>,
    #[serde(default, alias = "head_limit", deserialize_with = "lenient::number")]
    #[serde(skip_serializing_if = "Option::is_none")]
    head_limit: Option<u64>,
    /// File type, e.g. `rust`
    #[serde(default, deserialize_with = "lenient::text", skip_serializing_if = "Option::is_none")]
    r#type: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum OutputMode {
    Content,
    FilesWithMatches,
    Count,
}

impl Arguments for GrepArguments {
    const TOOL: &'static str = "grep";
    const EXAMPLE: &'static str = r#"{"pattern": "fn main", "path": "src", "glob": "*.rs"}"#;
}

impl GrepArguments {
    fn start_path(&self) -> &str {
        self.path.as_deref().unwrap_or(".")
    }
}

impl Grep {
    pub(crate) fn new(files: &Arc<Files>) -> Self {
        Self { files: Arc::clone(files) }
    }
}

impl Tool for Grep {
    fn spec(&self) -> ToolSpec {
        arguments::spec::<GrepArguments>(include_str!("grep.md"))
    }

    fn prepare(&self, arguments: &Value) -> Result<PreparedCall, ToolInputError> {
        let args = arguments::parse::<GrepArguments>(arguments)?;
        let target = self.files.target(args.start_path());
        let access = Access::Read(target.checked_path().to_owned());
        let canonical = arguments::to_canonical_json(&args)?;
        let files = Arc::clone(&self.files);
        Ok(blocking::prepare_call(canonical, access, move |end| grep(&files, args, target, end)))
    }
}

fn grep(files: &Files, args: GrepArguments, target: TargetPath, end: &EndFlag) -> ToolOutcome {
    let search_root = match SearchRoot::new(files, args.start_path(), target) {
        Ok(search_root) => search_root,
        Err(error) => return error.into(),
    };
    let ((matcher, is_light), filter) = match (compile_pattern(&args), Filter::new(&args, &search_root)) {
        (Ok(matcher), Ok(filter)) => (matcher, filter),
        (Err(wrong), _) | (_, Err(wrong)) => {
            return arguments::error_outcome::<GrepArguments>(wrong);
        }
    };
    let mode = args.output_mode.unwrap_or(OutputMode::Content);
    let limit = args.head_limit.filter(|limit| *limit > 0).unwrap_or(DEFAULT_HEAD_LIMIT);
    let multiline = args.multiline == Some(true);
    let mut collector = Collector::new(files, mode, limit, PatternOptions { multiline, is_light });
    let walked = tree_search::walk_files(&search_root.path, files.read_policy(), end, |path| {
        if filter.accepts(&search_root, path) {
            collector.search(&matcher, path, &search_root, end)
        } else {
            tree_search::WalkStep::Continue
        }
    });
    if end.is_stopped() {
        return blocking::interrupted_outcome();
    }
    let truncated = collector.truncated || walked.is_partial();
    let matches = collector.matches;
    let mut for_model = format_matches(files.workspace(), &search_root, &matches);
    if collector.truncated {
        for_model.push_str("(more was found; narrow the search, or raise `headLimit`)\n");
    }
    for_model.push_str(&tree_search::summary_note(files.workspace(), &walked));
    let output = GrepOutput { pattern: args.pattern, path: search_root.path, matches, truncated };
    ToolOutcome::Success { output: ToolOutput::Grep(output), for_model: for_model.into() }
}

/// Compiles the pattern; the flag is true where the pattern is light enough for lines of any length.
fn compile_pattern(args: &GrepArguments) -> Result<(RegexMatcher, bool), Sentence> {
    if args.pattern.len() > PATTERN_LIMIT {
        return Err(format!(
            "`pattern` is longer than {PATTERN_LIMIT} bytes; simplify it, or search several times"
        )
        .into());
    }
    let multiline = args.multiline == Some(true);
    let mut builder = RegexMatcherBuilder::new();
    builder
        .case_insensitive(args.case_insensitive == Some(true))
        .multi_line(true)
        .dot_matches_new_line(multiline)
        .dfa_size_limit(CACHE_LIMIT);
    if !multiline {
        builder.line_terminator(Some(b'\n'));
    }
    if let Ok(matcher) = builder.size_limit(LIGHT_PROGRAM_LIMIT).build(&args.pattern) {
        return Ok((matcher, true));
    }
    builder.size_limit(PROGRAM_LIMIT).build(&args.pattern).map(|matcher| (matcher, false)).map_err(|error| {
        let message = error.to_string();
        if message.contains("size limit") {
            return format!(
                "`pattern` compiles to a program larger than {} MiB; simplify it: repeat less often, or use ASCII \
                 classes such as `[0-9A-Za-z_]` in the place of `\\w`",
                PROGRAM_LIMIT >> 20
            )
            .into();
        }
        let reason = message.lines().last().unwrap_or_default().trim_start_matches("error: ");
        let tip = match reason.contains(r#""\n" is not allowed"#) {
            true => "set `multiline` to find text over several lines",
            false => "escape special characters with a backslash",
        };
        let reason = format!("{reason}; {tip}");
        sentence!("`pattern` is not a regular expression that can be searched: {reason}", reason)
    })
}

/// Which files are searched.
struct Filter {
    glob: Option<PathGlob>,
    types: Option<Types>,
}

impl Filter {
    fn new(args: &GrepArguments, search_root: &SearchRoot) -> Result<Self, Sentence> {
        let glob =
            args.glob.as_deref().map(|glob| PathGlob::new(glob, &search_root.directory)).transpose()?;
        let types = args.r#type.as_deref().map(|name| {
            let mut builder = TypesBuilder::new();
            builder.add_defaults().select(name);
            builder.build().map_err(|_| {
                Sentence::from(format!("unknown file type `{name}`; use `glob`, e.g. `*.{name}`"))
            })
        });
        Ok(Self { glob, types: types.transpose()? })
    }

    fn accepts(&self, search_root: &SearchRoot, path: &std::path::Path) -> bool {
        // A file that the call names is searched whatever its name.
        path.as_os_str() == search_root.path.as_os_str()
            || (self.glob.as_ref().is_none_or(|glob| glob.is_match(search_root.relative(path)))
                && self.types.as_ref().is_none_or(|types| types.matched(path, false).is_whitelist()))
    }
}

fn format_matches(workspace: &Workspace, search_root: &SearchRoot, matches: &GrepMatches) -> String {
    let name = |file: &PathBuf| workspace.display(&search_root.directory.join(file)).to_string();
    let mut text = String::new();
    match matches {
        GrepMatches::Content(files) => {
            for found in files {
                text.push_str(&format!("{}\n", name(&found.file)));
                for (number, line) in &found.lines {
                    text.push_str(&format!("{number}:{line}\n"));
                }
            }
        }
        GrepMatches::Files(files) => {
            files.iter().for_each(|file| text.push_str(&format!("{}\n", name(file))))
        }
        GrepMatches::Count(counts) => {
            counts.iter().for_each(|(file, count)| text.push_str(&format!("{}:{count}\n", name(file))));
        }
    }
    if text.is_empty() {
        text.push_str("(no match)\n");
    }
    text
}

#[cfg(test)]
#[path = "grep_test.rs"]
mod tests;
