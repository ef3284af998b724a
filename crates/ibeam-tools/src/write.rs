//! `write`: replaces or creates a file, completely or not at all.
//!
//! An existing file keeps its mode, owner, encoding, byte order mark and CRLF line ends where the new text allows it.
//! Refuses directories, devices, and links that lead nowhere or out of the workspace.

use std::path::Path;
use std::sync::Arc;

use encoding_rs::UTF_8;
use futures_util::future::BoxFuture;
use ibeam_core::{Access, CallPreview, PreparedCall, Tool, ToolContext, ToolInputError};
use ibeam_protocol::tool_output::WriteOutput;
use ibeam_protocol::{ToolOutcome, ToolOutput, ToolSpec};
use rustix::fs::Stat;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::arguments::{self, Arguments};
use crate::blocking::{self, EndFlag};
use crate::bounded_read::read_up_to;
use crate::dir_entry::{DirEntryAt, Parents};
use crate::edit::diff::diff;
use crate::editor_files::EditorTurn;
use crate::evidence::FileState;
use crate::file_error::{FileAction, FileError};
use crate::files::{Files, TargetPath};
use crate::known_contents::ContentDigest;
use crate::name_collision::NameCollision;
use crate::text_format::{PLAIN_UTF8, TextFormat, count_lines, format_line_count};
use crate::workspace::ResolvedPath;

/// The conventions of a larger file are not detected.
const CONVENTION_LIMIT: usize = 16 << 20;

/// Larger texts are not compared, in bytes.
const MAX_COMPARED: usize = 1 << 20;

/// Writes a file of the workspace.
pub(crate) struct Write {
    files: Arc<Files>,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WriteArguments {
    #[serde(alias = "file_path", alias = "filePath", alias = "target_file")]
    path: String,
    /// The whole new content
    #[serde(alias = "content", alias = "contents", alias = "file_text", alias = "text")]
    file_text: String,
}

impl Arguments for WriteArguments {
    const TOOL: &'static str = "write";
    const EXAMPLE: &'static str = r#"{"path": "notes.txt", "fileText": "first line\n"}"#;
}

impl Write {
    pub(crate) fn new(files: &Arc<Files>) -> Self {
        Self { files: Arc::clone(files) }
    }
}

impl Tool for Write {
    fn spec(&self) -> ToolSpec {
        arguments::spec::<WriteArguments>(include_str!("write.md"))
    }

    fn prepare(&self, arguments: &Value) -> Result<PreparedCall, ToolInputError> {
        let args = arguments::parse::<WriteArguments>(arguments)?;
        let target = self.files.target(&args.path);
        let access = Access::Write(target.checked_path().to_owned());
        let canonical = arguments::to_canonical_json(&args)?;
        let files = Arc::clone(&self.files);
        Ok(blocking::prepare_call(canonical, access, move |end| {
            write(&files, &args, target, end).unwrap_or_else(ToolOutcome::from)
        }))
    }

    fn preview<'a>(
        &'a self,
        arguments: &'a Value,
        access: &'a Access,
        context: ToolContext,
    ) -> BoxFuture<'a, CallPreview> {
        let Ok(args) = arguments::parse::<WriteArguments>(arguments) else {
            return blocking::unknown_preview();
        };
        let target = self.files.target(&args.path);
        if !target.is_written_by(access) {
            return blocking::unknown_preview();
        }
        let files = Arc::clone(&self.files);
        blocking::preview(context, move |end| {
            match WritePlan::new(&files, &args, target, Parents::Required, end) {
                Ok(WritePlan { old: Some(_), diff, .. }) => CallPreview::Change { diff },
                // A new file has no difference, and the call creates the directories of its path.
                Ok(WritePlan { old: None, .. }) | Err(FileError::NotFound { .. }) => CallPreview::Unknown,
                Err(error) => CallPreview::Failure(error.into()),
            }
        })
    }

    fn evidence(&self, arguments: &Value) -> Option<String> {
        let args = arguments::parse::<WriteArguments>(arguments).ok()?;
        let requested = &args.path;
        Some(FileState::at(&self.files, requested).describe(requested, |bytes| {
            if is_written(&args, bytes) {
                format!("`{requested}` now holds exactly what this call was to write")
            } else {
                let size = bytes.len();
                format!("`{requested}` has {size} bytes now, which are not what this call was to write")
            }
        }))
    }

    fn has_no_effect_yet(&self, arguments: &Value) -> bool {
        let Ok(args) = arguments::parse::<WriteArguments>(arguments) else { return false };
        // The file is replaced at once.
        match FileState::at(&self.files, &args.path) {
            FileState::Missing => true,
            FileState::Content(bytes) => !is_written(&args, &bytes),
            FileState::TooLarge(_) | FileState::Other(_) => false,
        }
    }
}

/// Whether a file with the content `bytes` has the text of a call.
fn is_written(args: &WriteArguments, bytes: &[u8]) -> bool {
    bytes == args.file_text.as_bytes() || bytes == encode_like(bytes, true, &args.file_text)
}

/// A file that is about to be written.
struct WritePlan<'a> {
    resolved: ResolvedPath,
    entry: DirEntryAt,
    /// The existing file.
    old: Option<Stat>,
    bytes: Vec<u8>,
    diff: String,
    turn: EditorTurn<'a>,
}

impl<'a> WritePlan<'a> {
    /// Determines the new content of the file if it may be written. `parents` is the treatment of missing directories in the
    /// workspace.
    ///
    /// # Errors
    /// The file must not be written.
    fn new(
        files: &'a Files,
        args: &WriteArguments,
        target: TargetPath,
        parents: Parents,
        end: &EndFlag,
    ) -> Result<Self, FileError> {
        let requested = args.path.as_str();
        let resolved = check_writable(files, requested, target)?;
        let parents = if resolved.is_inside { parents } else { Parents::Required };
        let entry = DirEntryAt::find(files.workspace(), requested, &resolved.real, parents);
        let entry = entry.map_err(|error| match error {
            FileError::NotFound { .. } if !resolved.is_inside => FileError::refused(
                requested,
                "is in a directory that does not exist; outside the workspace, none is created",
            ),
            error => error,
        })?;
        let old = entry.stat_regular_file()?;
        let mut turn = files.editor_turn();
        let Some(stat) = &old else {
            let bytes = args.file_text.clone().into_bytes();
            return Ok(Self { resolved, entry, old, bytes, diff: String::new(), turn });
        };
        let unsaved = turn.unsaved_text(&entry, &resolved, end)?;
        match &unsaved {
            Some(text) => {
                files.known_contents().check_bytes(requested, &resolved, stat, text.as_bytes())?;
            }
            None => files.known_contents().check_file(&entry, &resolved, stat, end)?,
        }
        let content = read_content(files, &entry)?;
        let bytes = encode_like(&content, content.len() < CONVENTION_LIMIT, &args.file_text);
        let diff = text_diff(requested, unsaved.as_deref().map_or(&content, str::as_bytes), &bytes);
        Ok(Self { resolved, entry, old, bytes, diff, turn })
    }
}

fn write(
    files: &Files,
    args: &WriteArguments,
    target: TargetPath,
    end: &EndFlag,
) -> Result<ToolOutcome, FileError> {
    let requested = args.path.as_str();
    let planned = WritePlan::new(files, args, target, Parents::Created, end)?;
    let WritePlan { resolved, entry, old, bytes, diff, turn } = planned;
    turn.replace(&entry, &resolved, &bytes, old.as_ref(), end)?;
    drop(turn);
    files.known_contents().record(&resolved, ContentDigest::from_bytes(&bytes));

    let lines_created = count_lines(args.file_text.as_bytes());
    let verb = if old.is_some() { "replaced" } else { "created" };
    let mut for_model =
        format!("{verb} `{requested}`: {}, {} bytes", format_line_count(lines_created), bytes.len());
    if old.is_none()
        && let Some(collision) = entry.name_collision()
    {
        let NameCollision { name, difference } = collision;
        for_model.push_str(&format!("; beware: `{name}` exists and differs only in {difference}"));
    }
    let output = WriteOutput {
        path: resolved.real,
        lines_created,
        file_size: bytes.len() as u64,
        created: old.is_none(),
        diff,
    };
    Ok(ToolOutcome::Success { output: ToolOutput::Write(output), for_model: for_model.into() })
}

/// Returns the path that a write to `requested` changes; refuses links that lead nowhere or out of the workspace.
pub(crate) fn check_writable(
    files: &Files,
    requested: &str,
    target: TargetPath,
) -> Result<ResolvedPath, FileError> {
    let resolved = files.check_write(FileAction::Write, requested, target)?;
    if resolved.is_dangling {
        let target = resolved.real.display();
        return Err(FileError::refused(
            requested,
            format!(
                "goes through a symbolic link to `{target}`, which does not exist; write to that path, or delete the link"
            ),
        ));
    }
    if files.workspace().contains(&resolved.lexical) && !resolved.is_inside {
        let target = resolved.real.display();
        return Err(FileError::refused(
            requested,
            format!("goes through a symbolic link out of the workspace, to `{target}`; name a file inside"),
        ));
    }
    Ok(resolved)
}

/// Returns the start of the existing file; nothing of a file that may be written but not read.
fn read_content(files: &Files, entry: &DirEntryAt) -> Result<Vec<u8>, FileError> {
    let Ok((mut file, stat)) = entry.open() else { return Ok(Vec::new()) };
    if files.check_hard_links(&entry.requested, &stat).is_err() {
        return Ok(Vec::new());
    }
    read_up_to(&mut file, CONVENTION_LIMIT)
        .map_err(|error| FileError::io(FileAction::Read, &entry.requested, &error))
}

/// Returns the unified diff of two texts; nothing where one of them is large or not UTF-8.
fn text_diff(name: &str, old: &[u8], new: &[u8]) -> String {
    let is_compared = |text: &[u8]| text.len() <= MAX_COMPARED && std::str::from_utf8(text).is_ok();
    if is_compared(old) && is_compared(new) { diff(name, old, new).unified } else { String::new() }
}

/// Returns the unified diff from the content of a file to a text, for a question before the file is written; `None` for a
/// file that does not exist, cannot be read, or is not compared.
pub fn diff_of_file(path: &Path, new: &str) -> Option<String> {
    let metadata = path.symlink_metadata().ok()?;
    if !metadata.is_file() || metadata.len() > MAX_COMPARED as u64 {
        return None;
    }
    let old = std::fs::read(path).ok()?;
    Some(text_diff(&path.display().to_string(), &old, new.as_bytes())).filter(|diff| !diff.is_empty())
}

/// Returns `text` in the encoding and with the line ends of `old`, where these can represent it; `is_complete` when `old` is
/// the complete file.
fn encode_like(old: &[u8], is_complete: bool, text: &str) -> Vec<u8> {
    let format = TextFormat::detect(old, is_complete).unwrap_or(PLAIN_UTF8);
    let crlf = format.decode(old).is_some_and(|old| has_only_crlf(&old)) && !text.contains('\r');
    let text = if crlf { text.replace('\n', "\r\n") } else { text.to_owned() };
    let format = match text.strip_prefix('\u{FEFF}') {
        // The text brings its own byte order mark.
        Some(_) => PLAIN_UTF8,
        None if old.len() == format.bom_length() && format.encoding == UTF_8 => PLAIN_UTF8,
        None => format,
    };
    format.encode(&text).unwrap_or_else(|_| text.into_bytes())
}

/// Whether there are line ends, and all of them are CRLF.
fn has_only_crlf(text: &[u8]) -> bool {
    let ends = memchr::memchr_iter(b'\n', text).count();
    ends > 0 && ends == memchr::memmem::find_iter(text, b"\r\n").count()
}

#[cfg(test)]
#[path = "write_test.rs"]
mod tests;
