//! Large payloads beside the journal: `blobs/<SHA-256>`, the JSON of an event's kind.
//!
//! A blob stands under its name whole before any record names it. Equal ones are stored once. What does not
//! have the hash it is named by is never given out.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use ibeam_protocol::EventKind;
use sha2::{Digest, Sha256};

use crate::layout::BLOBS;
use crate::private;
use crate::record::{BlobRef, decode};

/// Payloads longer than this are blobs.
pub(crate) const INLINE_BYTES: usize = 64 << 10;
/// A blob that is not whole yet.
const NEW: &str = "new";

/// Where the blob of that hash is.
pub(crate) fn path(directory: &Path, sha256: &str) -> PathBuf {
    directory.join(BLOBS).join(sha256)
}

/// The name of a payload: 64 lower-case hexadecimal digits.
pub(crate) fn name(payload: &[u8]) -> String {
    Sha256::digest(payload).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Stores `payload` for the session in `directory` and gives the file, which need not be on the disk yet.
///
/// # Errors
/// The system's; then there is no blob of that name, or the one that was there.
pub(crate) fn store(directory: &Path, sha256: &str, payload: &[u8]) -> io::Result<File> {
    let place = path(directory, sha256);
    // What a power cut left under this name is written anew.
    if fetch_bytes(&place, payload.len() as u64).is_ok_and(|found| found == payload) {
        return private::open(&place);
    }
    let blobs = directory.join(BLOBS);
    private::make_directory(&blobs)?;
    private::check_ours(&blobs)?;
    let new = blobs.join(NEW);
    let mut file = private::anew(&new)?;
    let written = file.write_all(payload).and_then(|()| fs::rename(&new, &place));
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
pub(crate) fn fetch(directory: &Path, blob: &BlobRef) -> Result<EventKind, String> {
    if !is_name(&blob.sha256) {
        return Err("it names a payload that cannot be one".to_owned());
    }
    let told = |detail: &str| format!("its payload `{BLOBS}/{}` {detail}", blob.sha256);
    let bytes = fetch_bytes(&path(directory, &blob.sha256), blob.bytes).map_err(|error| {
        if error.kind() == ErrorKind::NotFound {
            told("is missing")
        } else {
            told(&format!("cannot be read: {error}"))
        }
    })?;
    if bytes.len() as u64 != blob.bytes || name(&bytes) != blob.sha256 {
        return Err(told("is not the one that was stored"));
    }
    decode(&bytes).map_err(|detail| told(&format!("holds no event: {detail}")))
}

/// The blobs that are there, whether or not a record names them.
///
/// # Errors
/// The system's, when the directory cannot be read.
pub(crate) fn names(directory: &Path) -> io::Result<Vec<String>> {
    match fs::read_dir(directory.join(BLOBS)) {
        Ok(entries) => {
            let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
            names.filter(|name| name.as_ref().map_or(true, |name| is_name(name))).collect()
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// At most one byte more than `bytes`, so that a wrong length shows and costs nothing.
fn fetch_bytes(path: &Path, bytes: u64) -> io::Result<Vec<u8>> {
    let file = private::open(path)?;
    let mut found = Vec::new();
    if file.metadata()?.len() == bytes {
        file.take(bytes).read_to_end(&mut found)?;
    }
    Ok(found)
}

fn is_name(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
