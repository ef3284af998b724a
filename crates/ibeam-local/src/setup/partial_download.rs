//! The partial file, to which every source appends its bytes.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use ibeam_files::file_lock;
use sha2::{Digest, Sha256};

use super::{BUFFER_BYTES, Phase, PinnedModel, Progress, ProgressCallback, SetupError};

/// An incomplete model file, locked against other processes.
#[derive(Debug)]
pub struct PartialDownload {
    file: File,
    path: PathBuf,
    target: PathBuf,
    length: u64,
    pin: PinnedModel,
}

impl PartialDownload {
    /// Opens or creates the partial file in `directory`.
    pub(super) fn open(directory: &Path, pin: PinnedModel) -> Result<Self, SetupError> {
        let target = directory.join(&pin.name);
        let path = directory.join(format!("{}.partial", pin.name));
        let io = |source| SetupError::io(&path, pin.bytes, source);
        fs::create_dir_all(directory).map_err(io)?;
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(io)?;
        match file_lock::try_lock(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(SetupError::Busy { path: directory.to_owned() }),
            Err(TryLockError::Error(source)) => return Err(io(source)),
        }
        let length = file.metadata().map_err(io)?.len();
        let mut this = Self { file, path, target, length, pin };
        if length > this.pin.bytes {
            this.restart()?;
        }
        this.truncate(this.length)?;
        Ok(this)
    }

    /// Returns the number of bytes so far.
    #[expect(clippy::len_without_is_empty, reason = "a download is complete or not, never merely empty")]
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// `NoSpace`, `Io`.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), SetupError> {
        self.file.write_all(bytes).map_err(|source| SetupError::io(&self.path, self.pin.bytes, source))?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Removes all bytes.
    pub fn restart(&mut self) -> Result<(), SetupError> {
        self.truncate(0)
    }

    /// Keeps only the first `length` bytes.
    pub(super) fn truncate(&mut self, length: u64) -> Result<(), SetupError> {
        let io = |source| SetupError::io(&self.path, self.pin.bytes, source);
        self.file.set_len(length).map_err(io)?;
        self.file.seek(SeekFrom::Start(length)).map_err(io)?;
        self.length = length;
        Ok(())
    }

    /// Verifies the bytes, moves the file to its final path and returns that path.
    ///
    /// # Errors
    /// `Incomplete` (the bytes are kept), `HashMismatch` (the bytes are removed), `Stopped`, `NoSpace`, `Io`.
    pub fn finish(mut self, on_progress: ProgressCallback<'_>) -> Result<PathBuf, SetupError> {
        if self.length != self.pin.bytes {
            return Err(SetupError::Incomplete { have: self.length, need: self.pin.bytes });
        }
        let found = self.hash(on_progress)?;
        if found != self.pin.sha256 {
            // Emptied before it is removed, because another process may already have opened it.
            self.restart()?;
            let _ = fs::remove_file(&self.path);
            return Err(SetupError::HashMismatch { expected: self.pin.sha256.clone(), found });
        }
        let io = |source| SetupError::io(&self.path, self.pin.bytes, source);
        self.file.sync_all().map_err(io)?;
        fs::rename(&self.path, &self.target).map_err(io)?;
        // Syncs the new name. A failure is ignored, because some file systems cannot sync directories.
        if let Some(directory) = self.target.parent()
            && let Ok(directory) = File::open(directory)
        {
            let _ = directory.sync_all();
        }
        Ok(self.target)
    }

    fn hash(&mut self, on_progress: ProgressCallback<'_>) -> Result<String, SetupError> {
        let io = |source| SetupError::io(&self.path, self.pin.bytes, source);
        self.file.seek(SeekFrom::Start(0)).map_err(io)?;
        let mut hash = Sha256::new();
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut done = 0;
        loop {
            let count = self.file.read(&mut buffer).map_err(io)?;
            if count == 0 {
                break;
            }
            hash.update(buffer.get(..count).unwrap_or_default());
            done += count as u64;
            report(on_progress, Phase::Verifying, done, self.pin.bytes)?;
        }
        Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

/// Reports the progress.
///
/// # Errors
/// `Stopped` if the callback stops the installation.
pub(super) fn report(
    on_progress: ProgressCallback<'_>,
    phase: Phase,
    done: u64,
    total: u64,
) -> Result<(), SetupError> {
    if on_progress(Progress { phase, done, total }).is_break() { Err(SetupError::Stopped) } else { Ok(()) }
}
