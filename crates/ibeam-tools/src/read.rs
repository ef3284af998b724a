//! `read`: a part of a text file, with line numbers for the model; an image or PDF for models that see it.
//!
//! Streams: neither a 10 GB file nor a line of 200 MB is held in memory. Refuses anything else, by
//! its type before it is opened and by its first bytes afterwards.

mod line_window;

use std::os::fd::AsFd;
use std::sync::Arc;

use ibeam_core::{Access, PreparedCall, Tool, ToolInputError};
use ibeam_protocol::tool_output::ReadOutput;
use ibeam_protocol::{AcceptedMedia, Media, MediaType, ToolOutcome, ToolOutput, ToolSpec, sentence};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::arguments::{self, Arguments, lenient};
use crate::attachment::{self, AttachmentError};
use crate::blocking::{self, EndFlag};
use crate::bounded_read::{SAMPLE_BYTES, SCAN_LIMIT, read_up_to};
use crate::dir_entry::{DirEntryAt, Parents};
use crate::file_error::{FileAction, FileError};
use crate::files::{Files, TargetPath};
use crate::known_contents::{ContentDigest, DigestBuilder};
use crate::similar_path;
use crate::text_format::TextFormat;
use line_window::LineWindow;

/// The part of the description for models that see images.
const MEDIA_DESCRIPTION: &str = " Images (PNG, JPEG, GIF, WebP) and PDF files are shown to you as they are.";
/// Maximum lines of a call.
const LINE_LIMIT: u64 = 2000;
/// Maximum bytes of text of a call.
const CONTENT_LIMIT: usize = 256 << 10;

/// Reads a file of the workspace.
pub(crate) struct Read {
    files: Arc<Files>,
    accepted_media: AcceptedMedia,
}

#[derive(Deserialize, Serialize, JsonSchema)]
pub(crate) struct ReadArguments {
    #[serde(alias = "file_path", alias = "filePath", alias = "target_file")]
    path: String,
    /// First line, from 1
    #[serde(default, deserialize_with = "lenient::number", skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    /// Lines to read
    #[serde(default, deserialize_with = "lenient::number", skip_serializing_if = "Option::is_none")]
    limit: Option<u64>,
}

impl Arguments for ReadArguments {
    const TOOL: &'static str = "read";
    const EXAMPLE: &'static str = r#"{"path": "src/main.rs", "offset": 1, "limit": 200}"#;
}

impl Read {
    pub(crate) fn new(files: &Arc<Files>, accepted_media: AcceptedMedia) -> Self {
        Self { files: Arc::clone(files), accepted_media }
    }
}

impl Tool for Read {
    fn spec(&self) -> ToolSpec {
        let mut spec = arguments::spec::<ReadArguments>(include_str!("read.md"));
        if self.accepted_media.images {
            spec.description.to_mut().push_str(MEDIA_DESCRIPTION);
        }
        spec
    }

    fn prepare(&self, arguments: &Value) -> Result<PreparedCall, ToolInputError> {
        let args = arguments::parse::<ReadArguments>(arguments)?;
        let target = self.files.target(&args.path);
        let access = Access::Read(target.checked_path().to_owned());
        let canonical = arguments::to_canonical_json(&args)?;
        let (files, accepted_media) = (Arc::clone(&self.files), self.accepted_media);
        Ok(blocking::prepare_call(canonical, access, move |end| {
            read(&files, accepted_media, &args, target, end)
                .unwrap_or_else(|error| similar_path::explain(&files, error).into())
        }))
    }
}

fn read(
    files: &Files,
    accepted_media: AcceptedMedia,
    args: &ReadArguments,
    target: TargetPath,
    end: &EndFlag,
) -> Result<ToolOutcome, FileError> {
    let requested = args.path.as_str();
    let resolved = files.check_read(FileAction::Read, requested, target)?;
    let entry = DirEntryAt::find(files.workspace(), requested, &resolved.real, Parents::Required)?;
    // If reading fails, the model has learned that the file is different now.
    files.known_contents().remove(&resolved);
    let mut result = match scan(files, accepted_media, &entry, args, end)? {
        FileContent::Text(result) => result,
        FileContent::Media(media) => return Ok(media_outcome(media)),
    };
    // Another program is writing the file: read it again, at most twice, until it does not change.
    for _ in 0..2 {
        if result.is_steady || end.is_out_of_time() {
            break;
        }
        result = match scan(files, accepted_media, &entry, args, end)? {
            FileContent::Text(result) => result,
            FileContent::Media(media) => return Ok(media_outcome(media)),
        };
    }
    if end.is_stopped() {
        return Ok(blocking::interrupted_outcome());
    }
    if let Some(text) = files.editor_turn().unsaved_text(&entry, &resolved, end)? {
        let mut window = line_window(args);
        window.feed(&text);
        window.is_complete = true;
        files.known_contents().record(&resolved, ContentDigest::from_bytes(text.as_bytes()));
        return Ok(text_outcome(args, window));
    }
    if let Some(digest) = result.digest {
        files.known_contents().record(&resolved, digest);
    }
    Ok(text_outcome(args, result.window))
}

enum FileContent {
    Text(Scan),
    Media(Media),
}

/// A window, and whether the file changed while it was read.
struct Scan {
    window: LineWindow,
    is_steady: bool,
    /// The digest of the complete file; `None` where it was not read to its end.
    digest: Option<ContentDigest>,
}

fn line_window(args: &ReadArguments) -> LineWindow {
    LineWindow::new(args.offset.unwrap_or(1).max(1), args.limit.unwrap_or(LINE_LIMIT), CONTENT_LIMIT)
}

fn scan(
    files: &Files,
    accepted_media: AcceptedMedia,
    entry: &DirEntryAt,
    args: &ReadArguments,
    end: &EndFlag,
) -> Result<FileContent, FileError> {
    let requested = args.path.as_str();
    let (mut file, before) = entry.open()?;
    files.check_hard_links(requested, &before)?;
    let start = read_up_to(&mut file, SAMPLE_BYTES)
        .map_err(|error| FileError::io(FileAction::Read, requested, &error))?;
    let is_complete = start.len() < SAMPLE_BYTES;
    let format = match (TextFormat::detect(&start, is_complete), MediaType::from_bytes(&start)) {
        (Ok(format), _) => format,
        (Err(_), Some(media_type)) if accepted_media.accepts(media_type) => {
            let media = attachment::read_media(&mut file, start, media_type, requested);
            return media.map(FileContent::Media).map_err(|error| match error {
                AttachmentError::Unreadable(error) => FileError::io(FileAction::Read, requested, &error),
                AttachmentError::TooLarge { .. } | AttachmentError::NotAccepted(_) => {
                    FileError::refused(requested, error.to_string())
                }
            });
        }
        (Err(kind), _) => return Err(not_text_error(requested, kind)),
    };

    let mut window = line_window(args);
    let mut decoder = format.encoding.new_decoder_without_bom_handling();
    let mut text = String::new();
    let mut feed = |bytes: &[u8], last: bool| {
        text.clear();
        // The decoder fills the reserved capacity and does not allocate.
        text.reserve(decoder.max_utf8_buffer_length(bytes.len()).unwrap_or(4 * SAMPLE_BYTES));
        let _ = decoder.decode_to_string(bytes, &mut text, last);
        window.feed(&text);
    };
    feed(start.get(format.bom_length()..).unwrap_or_default(), is_complete);
    let mut digest = DigestBuilder::default();
    digest.feed(&start);
    let mut scanned = start.len() as u64;
    let mut complete = is_complete;
    while !complete && scanned < SCAN_LIMIT && !end.is_stopped() && !end.is_out_of_time() {
        let bytes = read_up_to(&mut file, SAMPLE_BYTES)
            .map_err(|error| FileError::io(FileAction::Read, requested, &error))?;
        complete = bytes.len() < SAMPLE_BYTES;
        scanned += bytes.len() as u64;
        digest.feed(&bytes);
        feed(&bytes, complete);
    }
    window.is_complete = complete;
    let after = rustix::fs::fstat(file.as_fd())
        .map_err(|errno| FileError::system(FileAction::Read, requested, errno))?;
    let is_steady = (before.st_size, before.st_mtime, before.st_mtime_nsec)
        == (after.st_size, after.st_mtime, after.st_mtime_nsec);
    Ok(FileContent::Text(Scan { window, is_steady, digest: complete.then(|| digest.finish()) }))
}

/// Returns the error about a file that is not text.
pub(crate) fn not_text_error(requested: &str, kind: &'static str) -> FileError {
    let suggestion = if kind.ends_with("image") {
        "; images cannot be shown to the model here: ask the user what it shows"
    } else {
        ", not text; use `shell` with a program that understands it (`file`, `xxd | head`)"
    };
    FileError::refused(requested, format!("is {kind}{suggestion}"))
}

/// Returns the outcome with an image or document for the model.
fn media_outcome(media: Media) -> ToolOutcome {
    let Media { name, media_type, .. } = &media;
    let content = format!("{media_type}, {} bytes", media.size_bytes());
    let for_model = format!("`{name}` ({content}) is shown to you.").into();
    let output = ReadOutput {
        content,
        is_empty: false,
        exceeded_limit: false,
        total_lines: 0,
        total_chars: 0,
        media: vec![media],
    };
    ToolOutcome::Success { output: ToolOutput::Read(output), for_model }
}

fn text_outcome(args: &ReadArguments, window: LineWindow) -> ToolOutcome {
    let requested = &args.path;
    let total_lines = window.total_lines();
    let at_least = if window.is_complete { "" } else { "at least " };
    if window.first > total_lines && !window.is_empty() {
        let offset = window.first;
        return ToolOutcome::error(sentence!(
            "`{path}` has {count} lines, `offset` {offset} is beyond; for a part further on use `shell`, e.g. \
             `{example}`",
            path = requested,
            count = format!("{at_least}{total_lines}"),
            offset,
            example = format!("sed -n '{offset},+99p'")
        ));
    }
    let mut view = String::with_capacity(window.content.len() * 9 / 8 + 128);
    for (number, line) in (window.first..).zip(window.content.lines()) {
        push_numbered(line, number, &mut view);
    }
    if window.is_empty() {
        view.push_str("(the file is empty)\n");
    } else if window.is_cut_in_line {
        let line = window.last_line();
        view.push_str(&format!(
            "(cut inside line {line} after {} bytes of text; the file has {at_least}{total_lines} lines; \
             use `shell`, e.g. `sed -n '{line}p' | cut -b 1000-2000`, for the rest of the line)\n",
            window.content.len()
        ));
    } else if window.has_more {
        let last = window.last_line();
        view.push_str(&format!(
            "(lines {}-{last} of {at_least}{total_lines}; read on with offset {})\n",
            window.first,
            last + 1
        ));
    }
    let is_cut_by_limit =
        window.is_cut_in_line || (window.has_more && args.limit.is_none()) || window.is_cut_by_bytes;
    let output = ReadOutput {
        media: Vec::new(),
        is_empty: window.is_empty(),
        exceeded_limit: is_cut_by_limit || !window.is_complete,
        total_lines,
        total_chars: window.chars,
        content: window.content,
    };
    ToolOutcome::Success { output: ToolOutput::Read(output), for_model: view.into() }
}

/// Appends a line with its number, which is at least five characters wide. Without `format!`, which would cost more than
/// the rest: this runs for every line of a file.
fn push_numbered(line: &str, number: u64, view: &mut String) {
    const WIDTH: usize = 5;
    let number = number.to_string();
    view.extend(std::iter::repeat_n(' ', WIDTH.saturating_sub(number.len())));
    view.push_str(&number);
    view.push('\t');
    view.push_str(line);
    view.push('\n');
}

#[cfg(test)]
#[path = "read_test.rs"]
mod tests;
