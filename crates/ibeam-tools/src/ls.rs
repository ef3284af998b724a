//! `ls`: a directory as a tree, level by level up to a number of entries.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ibeam_core::{Access, PreparedCall, Tool, ToolInputError};
use ibeam_protocol::tool_output::{Directory, LsOutput};
use ibeam_protocol::{Sentence, ToolOutcome, ToolOutput, ToolSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::arguments::{self, Arguments, lenient};
use crate::blocking::{self, EndFlag};
use crate::dir_cache::DirCache;
use crate::dir_walk::{self, DirReader};
use crate::files::{Files, TargetPath};
use crate::ignore_rules::IgnoreRules;
use crate::path_glob::PathGlob;
use crate::tree_search::{self, SearchRoot, WalkSummary};

/// The number of entries that are returned.
const ENTRY_LIMIT: usize = 400;
/// The number of globs that a call may pass.
const GLOB_LIMIT: usize = 100;
/// The depth of directories that are returned: many JSON parsers fail at a depth of 128.
const DEPTH_LIMIT: usize = 40;

/// Lists directories of the workspace.
pub(crate) struct Ls {
    files: Arc<Files>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
pub(crate) struct LsArguments {
    #[serde(default = "default_path", alias = "directory", alias = "target_directory")]
    path: String,
    /// Globs to leave out
    #[serde(default, deserialize_with = "lenient::texts")]
    ignore: Vec<String>,
}

impl Arguments for LsArguments {
    const TOOL: &'static str = "ls";
    const EXAMPLE: &'static str = r#"{"path": "src", "ignore": ["*.snap"]}"#;
}

impl Ls {
    pub(crate) fn new(files: &Arc<Files>) -> Self {
        Self { files: Arc::clone(files) }
    }
}

impl Tool for Ls {
    fn spec(&self) -> ToolSpec {
        arguments::spec::<LsArguments>(include_str!("ls.md"))
    }

    fn prepare(&self, arguments: &Value) -> Result<PreparedCall, ToolInputError> {
        let args = arguments::parse::<LsArguments>(arguments)?;
        let target = self.files.target(path_or_default(&args.path));
        let access = Access::Read(target.checked_path().to_owned());
        let canonical = arguments::to_canonical_json(&args)?;
        let files = Arc::clone(&self.files);
        Ok(blocking::prepare_call(canonical, access, move |end| ls(&files, &args, target, end)))
    }
}

fn default_path() -> String {
    ".".to_owned()
}

fn path_or_default(path: &str) -> &str {
    if path.is_empty() { "." } else { path }
}

fn ls(files: &Files, args: &LsArguments, target: TargetPath, end: &EndFlag) -> ToolOutcome {
    let start = match SearchRoot::for_directory(files, path_or_default(&args.path), target) {
        Ok(start) => start,
        Err(error) => return error.into(),
    };
    if args.ignore.len() > GLOB_LIMIT {
        let many = format!("`ignore` has {} globs; {GLOB_LIMIT} is the limit", args.ignore.len());
        return arguments::error_outcome::<LsArguments>(many);
    }
    let globs: Result<Vec<PathGlob>, Sentence> =
        args.ignore.iter().map(|glob| PathGlob::new(glob, &start.directory)).collect();
    let ignored = match globs {
        Ok(ignored) => ignored,
        Err(wrong) => return arguments::error_outcome::<LsArguments>(wrong),
    };
    let mut listing = TreeListing {
        levels: Vec::new(),
        remaining: ENTRY_LIMIT,
        summary: WalkSummary::default(),
        truncated: false,
    };
    listing.fill(files, &start, &ignored, end);
    if end.is_stopped() {
        return blocking::interrupted_outcome();
    }
    let walked = std::mem::take(&mut listing.summary);
    let truncated = listing.truncated || walked.is_partial();
    let Some(root) = listing.into_tree() else {
        return ToolOutcome::error(format!("`{}` could not be listed", args.path));
    };
    let mut for_model = format!("{}/\n", files.workspace().display(&root.path));
    write_tree(&root, 1, &mut for_model);
    if truncated {
        for_model.push_str("(more exists; list a directory further down)\n");
    }
    for_model.push_str(&tree_search::summary_note(files.workspace(), &walked));
    ToolOutcome::Success { output: ToolOutput::Ls(LsOutput { root, truncated }), for_model: for_model.into() }
}

/// The listed directories, each after its parent and with the index of the parent.
struct TreeListing {
    levels: Vec<(Option<usize>, Directory)>,
    remaining: usize,
    summary: WalkSummary,
    truncated: bool,
}

impl TreeListing {
    fn fill(&mut self, files: &Files, start: &SearchRoot, ignored: &[PathGlob], end: &EndFlag) {
        let mut reader = DirReader::new(files.read_policy(), end);
        let mut pending: VecDeque<(Option<usize>, PathBuf, Option<IgnoreRules>)> =
            VecDeque::from([(None, start.path.clone(), None)]);
        let depth_of_start = start.path.components().count();
        while let Some((parent, path, above)) = pending.pop_front() {
            if end.is_stopped() {
                return;
            }
            self.summary.is_out_of_time |= end.is_out_of_time();
            let index = self.levels.len();
            let mut directory =
                Directory { path: path.clone(), num_files: 0, files: Vec::new(), directories: Vec::new() };
            let depth = path.components().count() - depth_of_start;
            if self.remaining > 0 && depth < DEPTH_LIMIT && !self.summary.is_out_of_time {
                let mut listing = match above {
                    None => reader.read_start(&path),
                    Some(above) => reader.read_subdirectory(&path, &above),
                };
                let subdirectories = self.read(files, &mut directory, start, ignored, &reader, &mut listing);
                pending.extend(
                    subdirectories.into_iter().map(|path| (Some(index), path, Some(listing.rules.clone()))),
                );
            } else {
                // The parent names this directory, but it is not opened.
                if self.summary.is_out_of_time {
                    reader.unread.add(&path);
                }
                self.truncated = true;
            }
            self.levels.push((parent, directory));
        }
        self.summary.add(reader);
    }

    /// Fills in the files of `directory` from its `listing` and returns its directories.
    fn read(
        &mut self,
        files: &Files,
        directory: &mut Directory,
        start: &SearchRoot,
        ignored: &[PathGlob],
        reader: &DirReader<'_>,
        listing: &mut dir_walk::Listing,
    ) -> Vec<PathBuf> {
        let mut subdirectories = Vec::new();
        let mut dir_cache = DirCache::new(files.workspace());
        while let Some(entry) = reader.next_entry(listing) {
            let relative = start.relative(&entry.path);
            if ignored.iter().any(|glob| glob.is_match(relative)) {
                continue;
            }
            if self.remaining == 0 {
                self.truncated = true;
                break;
            }
            // The entry may have been replaced by a link meanwhile.
            if dir_cache.stat(&entry.path).is_err() {
                self.summary.skipped += 1;
                continue;
            }
            self.remaining -= 1;
            if entry.kind.is_dir() {
                subdirectories.push(entry.path);
            } else {
                let name = entry.path.file_name().unwrap_or_default();
                directory.files.push(name.to_string_lossy().into_owned());
            }
        }
        directory.num_files = directory.files.len() as u64;
        subdirectories
    }

    fn into_tree(mut self) -> Option<Directory> {
        // From the back, every directory is complete before it moves into its parent.
        while let Some((parent, directory)) = self.levels.pop() {
            let Some((_, above)) = parent.and_then(|index| self.levels.get_mut(index)) else {
                return Some(directory);
            };
            above.num_files += directory.num_files;
            above.directories.insert(0, directory);
        }
        None
    }
}

fn write_tree(directory: &Directory, depth: usize, text: &mut String) {
    for subdirectory in &directory.directories {
        let name = subdirectory.path.file_name().map(Path::new).unwrap_or(&subdirectory.path).display();
        text.push_str(&format!("{:width$}{name}/\n", "", width = depth * 2));
        write_tree(subdirectory, depth + 1, text);
    }
    for file in &directory.files {
        text.push_str(&format!("{:width$}{file}\n", "", width = depth * 2));
    }
}

#[cfg(test)]
#[path = "ls_test.rs"]
mod tests;
