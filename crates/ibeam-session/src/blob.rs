//! Large payloads beside the journal: `blobs/<SHA-256>`, the JSON of an event's kind.
//!
//! A blob stands under its name whole before any record names it. Equal ones are stored once. What does not
//! have the hash it is named by is never given out.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use ibeam_protocol::EventKind;
use sha2::{Digest, Sha256};

use crate::layout::BLOB_DIRECTORY;
use crate::private_files;
use crate::record::{BlobRef, decode};

/// Payloads longer than this are blobs.
pub(crate) const INLINE_BYTES: usize = 64 << 10;
/// A blob that is not whole yet.
const UNFINISHED: &str = "new";

/// Where the blob of that hash is.
pub(crate) fn path(directory: &Path, sha256: &str) -> PathBuf {
    directory.join(BLOB_DIRECTORY).join(sha256)
}

/// The name of a payload: 64 lower-case hexadecimal digits.
pub(crate) fn digest(payload: &[u8]) -> String {
    Sha256::digest(payload).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Stores `payload` for the session in `directory` and gives the file, which need not be on the disk yet.
///
/// # Errors
/// The system's; then there is no blob of that name, or the one that was there.
pub(crate) fn store(directory: &Path, sha256: &str, payload: &[u8]) -> io::Result<File> {
    let target = path(directory, sha256);
    // What a power cut left under this name is written anew.
    if read_expected(&target, payload.len() as u64).is_ok_and(|stored| stored == payload) {
        return private_files::open(&target);
    }
    let blobs = directory.join(BLOB_DIRECTORY);
    private_files::create_directory(&blobs)?;
    private_files::check_owned_directory(&blobs)?;
    let new = blobs.join(UNFINISHED);
    let mut file = private_files::create_empty(&new)?;
    let written = file.write_all(payload).and_then(|()| fs::rename(&new, &target));
    if let Err(error) = written {
        // What was written takes room that others may need.
        drop(fs::remove_file(&new));
        return Err(error);
    }
    Ok(file)
}

/// The kind that a blob holds.
///
/// # Errors
/// What is wrong with it, in words.
pub(crate) fn load(directory: &Path, blob: &BlobRef) -> Result<EventKind, String> {
    if !is_digest(&blob.sha256) {
        return Err("it names a payload that cannot be one".to_owned());
    }
    let problem = |detail: &str| format!("its payload `{BLOB_DIRECTORY}/{}` {detail}", blob.sha256);
    let bytes = read_expected(&path(directory, &blob.sha256), blob.bytes).map_err(|error| {
        if error.kind() == ErrorKind::NotFound {
            problem("is missing")
        } else {
            problem(&format!("cannot be read: {error}"))
        }
    })?;
    if bytes.len() as u64 != blob.bytes || digest(&bytes) != blob.sha256 {
        return Err(problem("is not the one that was stored"));
    }
    decode(&bytes).map_err(|detail| problem(&format!("holds no event: {detail}")))
}

/// The blobs that are there, whether or not a record names them.
///
/// # Errors
/// The system's, when the directory cannot be read.
pub(crate) fn stored_digests(directory: &Path) -> io::Result<Vec<String>> {
    match fs::read_dir(directory.join(BLOB_DIRECTORY)) {
        Ok(entries) => {
            let digests = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
            digests.filter(|name| name.as_ref().map_or(true, |name| is_digest(name))).collect()
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// At most one byte more than `bytes`, so that a wrong length shows and costs nothing.
fn read_expected(path: &Path, bytes: u64) -> io::Result<Vec<u8>> {
    let file = private_files::open(path)?;
    let mut content = Vec::new();
    if file.metadata()?.len() == bytes {
        file.take(bytes).read_to_end(&mut content)?;
    }
    Ok(content)
}

fn is_digest(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
