//! `glob`: files whose path matches a glob, newest first.

use std::cmp::Reverse;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ibeam_core::{Access, PreparedCall, Tool, ToolInputError};
use ibeam_protocol::tool_output::GlobOutput;
use ibeam_protocol::{ToolOutcome, ToolOutput, ToolSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::arguments::{self, Arguments, lenient};
use crate::blocking::{self, EndFlag};
use crate::dir_cache::DirCache;
use crate::files::{Files, TargetPath};
use crate::path_glob::PathGlob;
use crate::tree_search::{self, SearchRoot, WalkStep};

const MAX_RETURNED_FILES: usize = 200;
/// The number of files that are held while searching for the newest; the others are only counted.
const MAX_CANDIDATES: usize = 20_000;

/// The number of ignored files that are named where no other file matches.
const MAX_NAMED_IGNORED: usize = 3;
/// The time limit of the search for ignored files.
const IGNORED_TIMEOUT: Duration = Duration::from_millis(500);

/// Finds files of the workspace by name.
pub(crate) struct Glob {
    files: Arc<Files>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GlobArguments {
    #[serde(alias = "pattern", alias = "glob_pattern", alias = "glob")]
    glob_pattern: String,
    #[serde(default, alias = "path", alias = "target_directory", deserialize_with = "lenient::text")]
    #[serde(skip_serializing_if = "Option::is_none")]
    target_directory: Option<String>,
}

impl Arguments for GlobArguments {
    const TOOL: &'static str = "glob";
    const EXAMPLE: &'static str = r#"{"globPattern": "**/*.rs", "targetDirectory": "src"}"#;
}

impl GlobArguments {
    fn directory(&self) -> &str {
        self.target_directory.as_deref().unwrap_or(".")
    }
}

impl Glob {
    pub(crate) fn new(files: &Arc<Files>) -> Self {
        Self { files: Arc::clone(files) }
    }
}

impl Tool for Glob {
    fn spec(&self) -> ToolSpec {
        arguments::spec::<GlobArguments>(include_str!("glob.md"))
    }

    fn prepare(&self, arguments: &Value) -> Result<PreparedCall, ToolInputError> {
        let args = arguments::parse::<GlobArguments>(arguments)?;
        let target = self.files.target(args.directory());
        let access = Access::Read(target.checked_path().to_owned());
        let canonical = arguments::to_canonical_json(&args)?;
        let files = Arc::clone(&self.files);
        Ok(blocking::prepare_call(canonical, access, move |end| glob(&files, args, target, end)))
    }
}

fn glob(files: &Files, args: GlobArguments, target: TargetPath, end: &EndFlag) -> ToolOutcome {
    let start = match SearchRoot::for_directory(files, args.directory(), target) {
        Ok(start) => start,
        Err(error) => return error.into(),
    };
    let matcher = match PathGlob::new(&args.glob_pattern, &start.directory) {
        Ok(matcher) => matcher,
        Err(wrong) => return arguments::error_outcome::<GlobArguments>(wrong),
    };
    let mut found: Vec<(Reverse<(i128, i128)>, PathBuf)> = Vec::new();
    let mut total_files = 0u64;
    let mut dir_cache = DirCache::new(files.workspace());
    let walked = tree_search::walk_files(&start.path, files.read_policy(), end, |path| {
        let relative = start.relative(path);
        if matcher.is_match(relative)
            && let Ok(stat) = dir_cache.stat(path)
        {
            total_files += 1;
            let modified = (i128::from(stat.st_mtime), i128::from(stat.st_mtime_nsec));
            found.push((Reverse(modified), relative.to_owned()));
            if found.len() >= MAX_CANDIDATES {
                found.sort_unstable();
                found.truncate(MAX_RETURNED_FILES);
            }
        }
        WalkStep::Continue
    });
    if end.is_stopped() {
        return blocking::interrupted_outcome();
    }
    found.sort_unstable();
    found.truncate(MAX_RETURNED_FILES);
    let newest: Vec<PathBuf> = found.into_iter().map(|(_, file)| file).collect();

    let mut for_model = String::new();
    for file in &newest {
        for_model.push_str(&format!("{}\n", files.workspace().display(&start.directory.join(file))));
    }
    if newest.is_empty() {
        for_model.push_str("(no file matches)\n");
        for_model.push_str(&ignored_note(files, &start, &matcher));
    }
    if total_files > newest.len() as u64 {
        for_model.push_str(&format!("(the newest {} of {total_files}; narrow the glob)\n", newest.len()));
    }
    for_model.push_str(&tree_search::summary_note(files.workspace(), &walked));
    let output = GlobOutput { pattern: args.glob_pattern, path: start.directory, files: newest, total_files };
    ToolOutcome::Success { output: ToolOutput::Glob(output), for_model: for_model.into() }
}

/// Returns a note for the model on the first files that match and are ignored; "" if there are none.
fn ignored_note(files: &Files, start: &SearchRoot, matcher: &PathGlob) -> String {
    let mut ignored = Vec::new();
    let end = EndFlag::after(IGNORED_TIMEOUT);
    tree_search::walk_ignored_files(&start.path, files.read_policy(), &end, |path| {
        if matcher.is_match(start.relative(path)) {
            ignored.push(format!("`{}`", files.workspace().display(path)));
        }
        if ignored.len() == MAX_NAMED_IGNORED { WalkStep::Stop } else { WalkStep::Continue }
    });
    match ignored.is_empty() {
        true => String::new(),
        false => format!(
            "(files match that an ignore file such as `.gitignore` leaves out, the first: {}; `read` opens them, and an \
             ignored directory as `targetDirectory` is searched)\n",
            ignored.join(", ")
        ),
    }
}

#[cfg(test)]
#[path = "glob_test.rs"]
mod tests;
