//! Paths in JSON: strings, with U+FFFD where the bytes of a name are no UTF-8.
//!
//! Such names exist, and an event that holds one must still be recorded. What is read back names the file for
//! people; nothing opens it by that name.

use std::path::{Path, PathBuf};

use serde::Serializer;

/// Writes a path, for `serialize_with`.
///
/// # Errors
/// The serializer's.
pub fn one<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

/// Writes a list of paths, for `serialize_with`.
///
/// # Errors
/// The serializer's.
pub fn many<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|path| path.to_string_lossy()))
}

/// Writes a list of paths with a count each, for `serialize_with`.
///
/// # Errors
/// The serializer's.
pub fn counted<S: Serializer>(paths: &[(PathBuf, u64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|(path, count)| (path.to_string_lossy(), count)))
}
