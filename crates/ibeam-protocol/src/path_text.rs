//! Paths in JSON: strings, with U+FFFD in place of bytes that are not UTF-8.
//!
//! An event with such a path must still be recorded. The path that is read back is for people; no code opens it.

use std::path::{Path, PathBuf};

use serde::Serializer;

/// Writes a path, for `serialize_with`.
///
/// # Errors
/// The errors of the serializer.
pub fn serialize_path<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}

/// Writes a list of paths, for `serialize_with`.
///
/// # Errors
/// The errors of the serializer.
pub fn serialize_paths<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|path| path.to_string_lossy()))
}

/// Writes a list of paths with a count each, for `serialize_with`.
///
/// # Errors
/// The errors of the serializer.
pub fn serialize_counted_paths<S: Serializer>(
    paths: &[(PathBuf, u64)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|(path, count)| (path.to_string_lossy(), count)))
}
