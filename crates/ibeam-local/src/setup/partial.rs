//! The partial file: bytes from any source, in order, until they are the model.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::{BUFFER_BYTES, Phase, Pin, Progress, ProgressCallback, SetupError};

/// A model on its way, locked against other processes.
#[derive(Debug)]
pub struct PartialDownload {
    file: File,
    path: PathBuf,
    target: PathBuf,
    length: u64,
    pin: Pin,
}

impl PartialDownload {
    /// Opens or makes the partial file in `directory`.
    pub(super) fn open(directory: &Path, pin: Pin) -> Result<Self, SetupError> {
        let target = directory.join(&pin.name);
        let path = directory.join(format!("{}.partial", pin.name));
        let io = |source| SetupError::io(&path, pin.bytes, source);
        fs::create_dir_all(directory).map_err(io)?;
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(SetupError::Busy { path: directory.to_owned() }),
            Err(TryLockError::Error(source)) => return Err(io(source)),
        }
        let length = file.metadata().map_err(io)?.len();
        let mut this = Self { file, path, target, length, pin };
        if length > this.pin.bytes {
            this.restart()?;
        }
        this.cut(this.length)?;
        Ok(this)
    }

    /// Bytes that are there.
    #[expect(clippy::len_without_is_empty, reason = "a download is complete or not, never merely empty")]
    pub fn len(&self) -> u64 {
        self.length
    }

    /// Adds the next bytes.
    ///
    /// # Errors
    /// `NoSpace`, `Io`.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), SetupError> {
        self.file.write_all(bytes).map_err(|source| SetupError::io(&self.path, self.pin.bytes, source))?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Drops all bytes.
    ///
    /// # Errors
    /// `Io`.
    pub fn restart(&mut self) -> Result<(), SetupError> {
        self.cut(0)
    }

    /// Keeps the first `length` bytes and goes on after them.
    pub(super) fn cut(&mut self, length: u64) -> Result<(), SetupError> {
        let io = |source| SetupError::io(&self.path, self.pin.bytes, source);
        self.file.set_len(length).map_err(io)?;
        self.file.seek(SeekFrom::Start(length)).map_err(io)?;
        self.length = length;
        Ok(())
    }

    /// Verifies the bytes and puts the model in its place; returns where that is.
    ///
    /// # Errors
    /// `Incomplete` (kept, to go on), `HashMismatch` (removed), `Stopped`, `NoSpace`, `Io`.
    pub fn finish(mut self, watch: ProgressCallback<'_>) -> Result<PathBuf, SetupError> {
        if self.length != self.pin.bytes {
            return Err(SetupError::Incomplete { have: self.length, need: self.pin.bytes });
        }
        let found = self.hash(watch)?;
        if found != self.pin.sha256 {
            // Emptied first: the lock is on this file, another process may be waiting to open it.
            self.restart()?;
            let _ = fs::remove_file(&self.path);
            return Err(SetupError::HashMismatch { expected: self.pin.sha256.clone(), found });
        }
        let io = |source| SetupError::io(&self.path, self.pin.bytes, source);
        self.file.sync_all().map_err(io)?;
        fs::rename(&self.path, &self.target).map_err(io)?;
        // The new name must survive a power cut too; where directories cannot be synced it does anyway.
        if let Some(directory) = self.target.parent()
            && let Ok(directory) = File::open(directory)
        {
            let _ = directory.sync_all();
        }
        Ok(self.target)
    }

    fn hash(&mut self, watch: ProgressCallback<'_>) -> Result<String, SetupError> {
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
            tell(watch, Phase::Verifying, done, self.pin.bytes)?;
        }
        Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

/// Reports and asks whether to go on.
pub(super) fn tell(
    watch: ProgressCallback<'_>,
    phase: Phase,
    done: u64,
    total: u64,
) -> Result<(), SetupError> {
    if watch(Progress { phase, done, total }).is_break() { Err(SetupError::Stopped) } else { Ok(()) }
}
