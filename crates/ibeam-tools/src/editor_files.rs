//! Files through an editor: the text of a buffer that is not saved yet, and writes that the editor carries out.
//!
//! Policy has decided about the path before. The editor opens the file by its name, so no command of the model runs
//! meanwhile (`editor_lock.rs`), and the entry is looked up again, beneath the held directory, before a write and after a
//! read: a link that was put there before is refused.

use std::fmt::Debug;
use std::io::Read as _;
use std::path::Path;

use rustix::fs::Stat;

use crate::blocking::EndFlag;
use crate::dir_entry::{DirEntryAt, Parents};
use crate::editor_lock::{EditorLock, RequestPermit};
use crate::file_error::{FileAction, FileError};
use crate::file_id::file_id;
use crate::files::Files;
use crate::text_format::TextFormat;
use crate::workspace::ResolvedPath;

/// Larger files are only read and written on the disk.
const MAX_BYTES: u64 = 16 << 20;

pub trait EditorFiles: Debug + Send + Sync {
    /// Returns the lock that all sessions of the editor share.
    fn lock(&self) -> &EditorLock;

    /// Requests the text of the file at `path`, and waits for it unless `is_stopped`.
    ///
    /// # Errors
    /// `Refused` if the editor does not read this file.
    fn read(&self, path: &Path, is_stopped: &dyn Fn() -> bool) -> Result<String, EditorFileError>;

    /// Requests that `text` becomes the content of the file at `path`, and waits for it unless `is_stopped`.
    ///
    /// # Errors
    /// `Refused` if the editor does not write this file.
    fn write(&self, path: &Path, text: &str, is_stopped: &dyn Fn() -> bool) -> Result<(), EditorFileError>;
}

/// The reason why an editor has not read or written a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditorFileError {
    /// The editor does not do this, or not with this file.
    #[error("the editor refused it: {0}")]
    Refused(String),
    /// No answer of the editor was received, so the effect of a write is unknown.
    #[error("the editor did not answer: {0}")]
    Unanswered(String),
}

/// The editor during one call. No command runs until it is dropped.
pub(crate) struct EditorTurn<'a> {
    files: &'a Files,
    /// `None` outside of an editor, and while a command runs.
    editor: Option<(&'a dyn EditorFiles, RequestPermit)>,
    /// Whether the editor has other text than the file, so that it must write.
    is_unsaved: bool,
}

impl Files {
    /// Returns the editor for one call. While a command runs, the call uses the disk only.
    pub(crate) fn editor_turn(&self) -> EditorTurn<'_> {
        let editor = self.editor().and_then(|editor| Some((editor, editor.lock().try_begin_request()?)));
        EditorTurn { files: self, editor, is_unsaved: false }
    }
}

impl EditorTurn<'_> {
    /// Returns the text that the editor has for the file at `entry`, if it differs from the file by more than line ends.
    ///
    /// # Errors
    /// The editor does not answer, or the file was replaced meanwhile.
    pub(crate) fn unsaved_text(
        &mut self,
        entry: &DirEntryAt,
        path: &ResolvedPath,
        end: &EndFlag,
    ) -> Result<Option<String>, FileError> {
        let Some((editor, _)) = &self.editor else { return Ok(None) };
        let requested = entry.requested.as_str();
        let (file, stat) = entry.open()?;
        if u64::try_from(stat.st_size).is_ok_and(|size| size > MAX_BYTES) {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        let read = file.take(MAX_BYTES).read_to_end(&mut bytes);
        read.map_err(|error| FileError::io(FileAction::Read, requested, &error))?;
        let Ok(format) = TextFormat::detect(&bytes, true) else { return Ok(None) };
        let text = match editor.read(&path.real, &|| end.is_stopped()) {
            Ok(text) => text,
            Err(EditorFileError::Refused(_)) => return Ok(None),
            Err(error @ EditorFileError::Unanswered(_)) => {
                return Err(FileError::refused(requested, format!("was not read: {error}; try again")));
            }
        };
        let saved = format.decode(&bytes);
        if saved.is_some_and(|saved| {
            String::from_utf8_lossy(&saved).replace("\r\n", "\n") == text.replace("\r\n", "\n")
        }) {
            return Ok(None);
        }
        self.check_still_there(entry, path, Some(&stat))?;
        self.is_unsaved = true;
        Ok(Some(text))
    }

    /// Makes `bytes` the content of the file at `entry`: through the editor where it writes this file, else on the disk.
    /// `old` is the metadata of the file that was there before, if any.
    ///
    /// # Errors
    /// As [`DirEntryAt::replace`], and if the editor does not write text that only it has, or does not answer.
    pub(crate) fn replace(
        &self,
        entry: &DirEntryAt,
        path: &ResolvedPath,
        bytes: &[u8],
        old: Option<&Stat>,
        end: &EndFlag,
    ) -> Result<(), FileError> {
        let requested = entry.requested.as_str();
        let format = TextFormat::detect(bytes, true);
        let text = format.ok().and_then(|format| format.decode(bytes));
        let text = text.and_then(|text| String::from_utf8(text.into_owned()).ok());
        let text = text.filter(|_| bytes.len() as u64 <= MAX_BYTES);
        if let (Some((editor, _)), Some(text)) = (&self.editor, text) {
            self.check_still_there(entry, path, old)?;
            match editor.write(&path.real, &text, &|| end.is_stopped()) {
                Ok(()) => return Ok(()),
                Err(EditorFileError::Refused(_)) if !self.is_unsaved => {}
                Err(error @ EditorFileError::Refused(_)) => {
                    let reason =
                        format!("has changes in the editor that are not saved, and was not changed: {error}");
                    return Err(FileError::refused(requested, reason));
                }
                Err(error @ EditorFileError::Unanswered(_)) => {
                    let reason = format!("may have been written or not: {error}; read it again");
                    return Err(FileError::refused(requested, reason));
                }
            }
        }
        entry.replace(bytes, old)
    }

    /// Checks that the path still leads to the file with these metadata, without a link on the way.
    fn check_still_there(
        &self,
        entry: &DirEntryAt,
        path: &ResolvedPath,
        stat: Option<&Stat>,
    ) -> Result<(), FileError> {
        let requested = entry.requested.as_str();
        let now =
            DirEntryAt::find(self.files.workspace(), requested, &path.real, Parents::Required)?.stat()?;
        if now.as_ref().map(file_id) == stat.map(file_id) {
            return Ok(());
        }
        Err(FileError::refused(requested, "was replaced by another program meanwhile; try again"))
    }
}

#[cfg(test)]
#[path = "editor_files_test.rs"]
mod tests;
