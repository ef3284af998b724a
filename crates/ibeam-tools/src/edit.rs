//! `edit`: changes a part of a text file, by exact replacement or by a unified patch.
//!
//! Bytes outside the edit stay as they are: line ends, byte order mark, encoding, final newline, mode. Refuses binary
//! files, files of ambiguous encoding, and edits that do not match exactly.

mod change_evidence;
pub(crate) mod diff;
mod edit_call;
mod patch;
mod str_replace;

use std::borrow::Cow;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use encoding_rs::UTF_8;
use futures_util::future::BoxFuture;
use ibeam_core::{Access, CallPreview, PreparedCall, Tool, ToolContext, ToolInputError};
use ibeam_protocol::tool_output::EditOutput;
use ibeam_protocol::{Sentence, ToolOutcome, ToolOutput, ToolSpec};
use rustix::fs::Stat;
use serde_json::Value;

use crate::arguments;
use crate::blocking::{self, EndFlag};
use crate::dir_entry::{DirEntryAt, Parents};
use crate::editor_files::EditorTurn;
use crate::evidence::FileState;
use crate::file_error::{FileAction, FileError};
use crate::files::{Files, TargetPath};
use crate::known_contents::ContentDigest;
use crate::read::not_text_error;
use crate::similar_path;
use crate::text_format::{TextFormat, format_line_count};
use crate::workspace::ResolvedPath;
use crate::write::check_writable;
use diff::{Diff, diff};
pub(crate) use edit_call::EditArguments;
use edit_call::{Change, EditCall};

/// Maximum bytes of a file that is edited in memory.
const MAX_FILE_BYTES: u64 = 64 << 20;

pub(crate) struct Edit {
    files: Arc<Files>,
}

impl Edit {
    pub(crate) fn new(files: &Arc<Files>) -> Self {
        Self { files: Arc::clone(files) }
    }
}

impl Tool for Edit {
    fn spec(&self) -> ToolSpec {
        arguments::spec::<EditArguments>(include_str!("edit.md"))
    }

    fn prepare(&self, arguments: &Value) -> Result<PreparedCall, ToolInputError> {
        let args = EditCall::parse(arguments)?;
        let target = self.files.target(&args.path);
        let access = Access::Write(target.checked_path().to_owned());
        let canonical = arguments::to_canonical_json(&args)?;
        let files = Arc::clone(&self.files);
        Ok(blocking::prepare_call(canonical, access, move |end| {
            edit(&files, &args, target, end)
                .unwrap_or_else(|error| similar_path::explain(&files, error).into())
        }))
    }

    fn preview<'a>(
        &'a self,
        arguments: &'a Value,
        access: &'a Access,
        context: ToolContext,
    ) -> BoxFuture<'a, CallPreview> {
        let Ok(args) = EditCall::parse(arguments) else { return blocking::unknown_preview() };
        let target = self.files.target(&args.path);
        if !target.is_written_by(access) {
            return blocking::unknown_preview();
        }
        let files = Arc::clone(&self.files);
        blocking::preview(context, move |end| match EditSource::open(&files, &args.path, target, end) {
            Ok(source) => match source.apply(&args) {
                Ok(new) => {
                    let Diff { unified, .. } = diff(&args.path, &new.old_text, &new.new_text);
                    CallPreview::Change { diff: unified }
                }
                Err(error) => CallPreview::Failure(error.into()),
            },
            Err(error) => CallPreview::Failure(error.into()),
        })
    }

    fn evidence(&self, arguments: &Value) -> Option<String> {
        let EditCall { path: requested, change } = EditCall::parse(arguments).ok()?;
        Some(FileState::at(&self.files, &requested).describe(&requested, |bytes| {
            match TextFormat::detect(bytes, true) {
                Ok(format) => match format.decode(bytes) {
                    Some(text) => format!("`{requested}` {}", change.describe_in(&text)),
                    None => format!("`{requested}` exists, but its encoding cannot be determined reliably"),
                },
                Err(kind) => format!("`{requested}` is {kind} now"),
            }
        }))
    }
}

/// The file of an edit before the change.
struct EditSource<'a> {
    entry: DirEntryAt,
    resolved: ResolvedPath,
    stat: Stat,
    content: Vec<u8>,
    turn: EditorTurn<'a>,
}

impl<'a> EditSource<'a> {
    /// Reads the file if it may be changed.
    ///
    /// # Errors
    /// The file cannot be read or must not be changed.
    fn open(files: &'a Files, requested: &str, target: TargetPath, end: &EndFlag) -> Result<Self, FileError> {
        let resolved = check_writable(files, requested, target)?;
        let entry = DirEntryAt::find(files.workspace(), requested, &resolved.real, Parents::Required)?;
        let (file, stat) = entry.open()?;
        // The result shows lines of the file, so a hard link to a file that must not be read is refused.
        files.check_hard_links(requested, &stat)?;
        let size = u64::try_from(stat.st_size).unwrap_or_default();
        if size > MAX_FILE_BYTES {
            let reason = format!("has {size} bytes, more than `edit` takes; use `shell` with `sed`");
            return Err(FileError::refused(requested, reason));
        }
        let mut saved = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
        file.take(MAX_FILE_BYTES)
            .read_to_end(&mut saved)
            .map_err(|error| FileError::io(FileAction::Read, requested, &error))?;
        let mut turn = files.editor_turn();
        let unsaved = turn.unsaved_text(&entry, &resolved, end)?;
        let content = unsaved.map_or(saved, String::into_bytes);
        files.known_contents().check_bytes(requested, &resolved, &stat, &content)?;
        Ok(Self { entry, resolved, stat, content, turn })
    }

    /// Returns the file after the change.
    ///
    /// # Errors
    /// The change does not fit the file.
    fn apply(&self, call: &EditCall) -> Result<EditResult<'_>, FileError> {
        let requested = call.path.as_str();
        apply_change(&self.content, requested, &call.change).map_err(|reason| match reason {
            EditError::NotText(kind) => not_text_error(requested, kind),
            EditError::Reason(reason) => FileError::Refused(reason),
        })
    }
}

fn edit(files: &Files, call: &EditCall, target: TargetPath, end: &EndFlag) -> Result<ToolOutcome, FileError> {
    let requested = call.path.as_str();
    if let Change::ApplyPatch(patch) = &call.change
        && let Some(content) = patch::added_file(&patch.patch_content)
    {
        return create(files, requested, &content, target, end);
    }
    let source = EditSource::open(files, requested, target, end)?;
    let new = source.apply(call)?;
    let EditSource { entry, resolved, stat, turn, .. } = &source;
    turn.replace(entry, resolved, &new.bytes, Some(stat), end)?;
    files.known_contents().record(resolved, ContentDigest::from_bytes(&new.bytes));

    let diff = diff(requested, &new.old_text, &new.new_text);
    let (added, removed) = (format_line_count(diff.lines_added), diff.lines_removed);
    let message = format!("edited `{requested}`: {added} added, {removed} removed");
    Ok(success(&resolved.real, diff, message))
}

/// Creates the file that a patch adds.
fn create(
    files: &Files,
    requested: &str,
    content: &str,
    target: TargetPath,
    end: &EndFlag,
) -> Result<ToolOutcome, FileError> {
    let resolved = check_writable(files, requested, target)?;
    let parents = if resolved.is_inside { Parents::Created } else { Parents::Required };
    let entry = DirEntryAt::find(files.workspace(), requested, &resolved.real, parents)?;
    if entry.stat_regular_file()?.is_some() {
        return Err(FileError::refused(
            requested,
            "exists already, and the patch adds it; give a patch that changes it, or use `write`",
        ));
    }
    files.editor_turn().replace(&entry, &resolved, content.as_bytes(), None, end)?;
    files.known_contents().record(&resolved, ContentDigest::from_bytes(content.as_bytes()));
    let diff = diff(requested, b"", content.as_bytes());
    let message = format!("created `{requested}`: {}", format_line_count(diff.lines_added));
    Ok(success(&resolved.real, diff, message))
}

fn success(path: &Path, diff: Diff, message: String) -> ToolOutcome {
    let Diff { lines_added, lines_removed, unified } = diff;
    let path = path.to_owned();
    let output = EditOutput { path, lines_added, lines_removed, diff: unified, message: message.clone() };
    ToolOutcome::Success { output: ToolOutput::Edit(output), for_model: message.into() }
}

/// A file before and after the change, as text, and its new bytes.
struct EditResult<'a> {
    bytes: Vec<u8>,
    old_text: Cow<'a, [u8]>,
    new_text: Vec<u8>,
}

/// Why a file is not changed.
#[derive(Debug)]
enum EditError {
    NotText(&'static str),
    /// The whole message.
    Reason(Sentence),
}

/// Applies the change to the content of a file.
fn apply_change<'a>(old: &'a [u8], path: &str, change: &Change) -> Result<EditResult<'a>, EditError> {
    let format = TextFormat::detect(old, true).map_err(EditError::NotText)?;
    let name = format.encoding.name();
    let old_text = format.decode(old).ok_or_else(|| {
        let reason = format!(
            "`{path}` looks like {name} but changes when it is decoded and encoded again; use `shell` with a tool that \
             edits bytes"
        );
        EditError::Reason(reason.into())
    })?;
    let new_text = match change {
        Change::StrReplace(one) => str_replace::apply(&old_text, path, std::slice::from_ref(one)),
        Change::MultiStrReplace(list) => str_replace::apply(&old_text, path, &list.edits),
        Change::ApplyPatch(patch) => patch::apply(&old_text, &patch.patch_content)
            .map_err(|reason| format!("`{path}` {reason}").into()),
    }
    .map_err(EditError::Reason)?;
    let bytes = if format.encoding == UTF_8 {
        // UTF-8 bytes outside the edit are copied, even invalid ones.
        [old.get(..format.bom_length()).unwrap_or_default(), &new_text].concat()
    } else {
        let text = String::from_utf8_lossy(&new_text);
        format.encode(&text).map_err(|missing| {
            let reason =
                format!("`{path}` is encoded in {name}, which has no `{missing}`; use other characters");
            EditError::Reason(reason.into())
        })?
    };
    Ok(EditResult { bytes, old_text, new_text })
}

#[cfg(test)]
#[path = "edit_test.rs"]
mod tests;
