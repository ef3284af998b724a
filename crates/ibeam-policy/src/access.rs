//! What a call is about to touch.

use std::path::PathBuf;

/// The access a call needs, as its tool declares it. Paths are absolute and resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// Nothing outside our own process.
    Nothing,
    /// Reads a file or a tree.
    Read(PathBuf),
    /// Creates, changes or removes a file.
    Write(PathBuf),
    /// Runs a command with `bash -c`.
    Command(String),
}

impl Access {
    /// True when the call changes nothing, so that several may run at once.
    pub fn is_read_only(&self) -> bool {
        match self {
            Self::Nothing | Self::Read(_) => true,
            Self::Write(_) | Self::Command(_) => false,
        }
    }
}
