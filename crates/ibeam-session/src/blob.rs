//! Large payloads, stored outside of the journal: `blobs/<SHA-256>`, the JSON of an event's kind.
//!
//! A blob is complete under its name before a record refers to it. Equal payloads share one blob. A blob whose content
//! does not have the hash in its name is an error.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use ibeam_protocol::EventKind;
use sha2::{Digest, Sha256};

use crate::layout::BLOB_DIRECTORY;
use crate::private_files;
use crate::record::{BlobRef, decode};

/// The maximum length of a payload in the journal. Longer payloads are stored as blobs.
pub(crate) const MAX_INLINE_BYTES: usize = 64 << 10;
/// The name of a blob while it is written.
const UNFINISHED: &str = "new";

/// Returns the path of the blob with this hash.
pub(crate) fn path(directory: &Path, sha256: &str) -> PathBuf {
    directory.join(BLOB_DIRECTORY).join(sha256)
}

/// Returns the name of a payload: its SHA-256 in 64 lower-case hexadecimal digits.
pub(crate) fn digest(payload: &[u8]) -> String {
    Sha256::digest(payload).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Stores `payload` for the session in `directory` and returns the file, which may not be synced yet.
///
/// # Errors
/// The errors of the file system. After an error, an existing blob of this name is unchanged.
pub(crate) fn store(directory: &Path, sha256: &str, payload: &[u8]) -> io::Result<File> {
    let target = path(directory, sha256);
    // A power cut may have left a blob without its content: such a blob is written again.
    if read_with_length(&target, payload.len() as u64).is_ok_and(|stored| stored == payload) {
        return private_files::open(&target);
    }
    let blobs = directory.join(BLOB_DIRECTORY);
    private_files::create_directory(&blobs)?;
    private_files::check_owned_directory(&blobs)?;
    let new = blobs.join(UNFINISHED);
    let mut file = private_files::create_empty(&new)?;
    let written = file.write_all(payload).and_then(|()| fs::rename(&new, &target));
    if let Err(error) = written {
        // The unfinished file would take up space on a disk that may be full.
        drop(fs::remove_file(&new));
        return Err(error);
    }
    Ok(file)
}

/// Returns the event kind that a blob holds.
///
/// # Errors
/// A description of what is wrong with the blob.
pub(crate) fn load(directory: &Path, blob: &BlobRef) -> Result<EventKind, String> {
    if !is_digest(&blob.sha256) {
        return Err("the name of its payload is not a SHA-256".to_owned());
    }
    let problem = |detail: &str| format!("its payload `{BLOB_DIRECTORY}/{}` {detail}", blob.sha256);
    let bytes = read_with_length(&path(directory, &blob.sha256), blob.bytes).map_err(|error| {
        if error.kind() == ErrorKind::NotFound {
            problem("is missing")
        } else {
            problem(&format!("cannot be read: {error}"))
        }
    })?;
    if bytes.len() as u64 != blob.bytes || digest(&bytes) != blob.sha256 {
        return Err(problem("is not the one that was stored"));
    }
    decode(&bytes).map_err(|detail| problem(&format!("is not an event: {detail}")))
}

/// Returns the names of all stored blobs, whether or not a record refers to them.
///
/// # Errors
/// The errors of the file system, if the directory cannot be read.
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

/// Returns the content of a file of `bytes` bytes. A file of another length is not read, and the result is empty.
fn read_with_length(path: &Path, bytes: u64) -> io::Result<Vec<u8>> {
    let file = private_files::open(path)?;
    let mut content = Vec::new();
    if file.metadata()?.len() == bytes {
        file.take(bytes).read_to_end(&mut content)?;
    }
    Ok(content)
}

pub(crate) fn is_digest(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
