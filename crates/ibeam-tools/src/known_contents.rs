//! The contents of files as the model last read or wrote them, so that changes by others are not overwritten.
//!
//! Only digests are stored, of a limited number of files. A file that was not read is not in the list, and nothing is
//! refused because of it. Comparing reads a file; files that are not in the list are not compared.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::fs::File;
use std::hash::Hasher as _;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ibeam_protocol::sentence;
use rustix::fs::Stat;

use crate::blocking::EndFlag;
use crate::bounded_read::{SAMPLE_BYTES, SCAN_LIMIT, read_up_to};
use crate::dir_entry::DirEntryAt;
use crate::file_error::{FileAction, FileError};
use crate::workspace::ResolvedPath;

/// The number of files in the list. A further one replaces the least recently used one.
const MAX_FILES: usize = 4096;

/// The length and a hash of a file's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ContentDigest {
    length: u64,
    hash: u64,
}

/// Computes the digest of a content that is fed in pieces of [`SAMPLE_BYTES`] bytes.
#[derive(Default)]
pub(crate) struct DigestBuilder {
    hasher: DefaultHasher,
    length: u64,
}

impl DigestBuilder {
    /// Adds the next piece; only the last one may be shorter than [`SAMPLE_BYTES`].
    pub(crate) fn feed(&mut self, piece: &[u8]) {
        self.hasher.write(piece);
        self.length += piece.len() as u64;
    }

    /// Returns the digest of everything that was fed.
    pub(crate) fn finish(&self) -> ContentDigest {
        ContentDigest { length: self.length, hash: self.hasher.finish() }
    }
}

impl ContentDigest {
    /// Returns the digest of `bytes`.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        let mut builder = DigestBuilder::default();
        bytes.chunks(SAMPLE_BYTES).for_each(|piece| builder.feed(piece));
        builder.finish()
    }

    /// Returns the digest of a file that is open at its start; `None` where it is too large or the time is up.
    fn from_file(file: &mut File, end: &EndFlag) -> io::Result<Option<Self>> {
        let mut builder = DigestBuilder::default();
        while builder.length < SCAN_LIMIT && !end.is_stopped() && !end.is_out_of_time() {
            let piece = read_up_to(file, SAMPLE_BYTES)?;
            builder.feed(&piece);
            if piece.len() < SAMPLE_BYTES {
                return Ok(Some(builder.finish()));
            }
        }
        Ok(None)
    }
}

/// The digests by path, absolute and without links.
#[derive(Default)]
pub(crate) struct KnownContents {
    list: Mutex<ContentList>,
}

/// The state behind the lock.
#[derive(Default)]
struct ContentList {
    digests: HashMap<PathBuf, KnownContent>,
    uses: u64,
    /// The times, in milliseconds, at which earlier runs of the session read or wrote files, by absolute paths whose
    /// links are not resolved.
    past_ms: HashMap<PathBuf, u64>,
}

struct KnownContent {
    digest: ContentDigest,
    last_use: u64,
}

impl KnownContents {
    /// Returns a list without digests; `past_ms` are the times at which earlier runs read or wrote files.
    pub(crate) fn new(past_ms: HashMap<PathBuf, u64>) -> Self {
        Self { list: Mutex::new(ContentList { past_ms, ..ContentList::default() }) }
    }

    /// Records the content of the file at `path` that the model has seen.
    pub(crate) fn record(&self, path: &ResolvedPath, digest: ContentDigest) {
        let mut list = self.lock();
        list.uses += 1;
        let entry = KnownContent { digest, last_use: list.uses };
        list.digests.insert(path.real.clone(), entry);
        if list.digests.len() > MAX_FILES {
            let oldest = list.digests.iter().min_by_key(|(_, entry)| entry.last_use);
            if let Some(path) = oldest.map(|(path, _)| path.clone()) {
                list.digests.remove(&path);
            }
        }
    }

    /// Removes the file at `path` from the list.
    pub(crate) fn remove(&self, path: &ResolvedPath) {
        let mut list = self.lock();
        list.digests.remove(&path.real);
        list.past_ms.remove(&path.real);
        list.past_ms.remove(&path.lexical);
    }

    /// Checks that the file at `path`, which holds `bytes`, has not changed since the model read or wrote it.
    ///
    /// # Errors
    /// The file has changed.
    pub(crate) fn check_bytes(
        &self,
        requested: &str,
        path: &ResolvedPath,
        stat: &Stat,
        bytes: &[u8],
    ) -> Result<(), FileError> {
        match self.digest(path) {
            Some(known) if known != ContentDigest::from_bytes(bytes) => Err(changed_error(requested)),
            Some(_) => Ok(()),
            None => self.check_time(requested, path, stat),
        }
    }

    /// Checks that a file was not changed after an earlier run of the session read or wrote it.
    fn check_time(&self, requested: &str, path: &ResolvedPath, stat: &Stat) -> Result<(), FileError> {
        let list = self.lock();
        let Some(known_ms) = list.past_ms.get(&path.real).or_else(|| list.past_ms.get(&path.lexical)) else {
            return Ok(());
        };
        let modified_ms = i128::from(stat.st_mtime) * 1000 + i128::from(stat.st_mtime_nsec) / 1_000_000;
        if modified_ms > i128::from(*known_ms) { Err(changed_error(requested)) } else { Ok(()) }
    }

    /// Like [`Self::check_bytes`], for the regular file at `entry`, which is read only where it is in the list.
    ///
    /// # Errors
    /// The file has changed, or cannot be read.
    pub(crate) fn check_file(
        &self,
        entry: &DirEntryAt,
        path: &ResolvedPath,
        stat: &Stat,
        end: &EndFlag,
    ) -> Result<(), FileError> {
        let Some(known) = self.digest(path) else { return self.check_time(&entry.requested, path, stat) };
        let (mut file, stat) = entry.open()?;
        let requested = entry.requested.as_str();
        if u64::try_from(stat.st_size).is_ok_and(|size| size != known.length) {
            return Err(changed_error(requested));
        }
        let now = ContentDigest::from_file(&mut file, end);
        match now.map_err(|error| FileError::io(FileAction::Read, requested, &error))? {
            Some(now) if now == known => Ok(()),
            Some(_) | None => Err(changed_error(requested)),
        }
    }

    fn digest(&self, path: &ResolvedPath) -> Option<ContentDigest> {
        Some(self.lock().digests.get(&path.real)?.digest)
    }

    fn lock(&self) -> MutexGuard<'_, ContentList> {
        // The list is consistent whenever its lock is released.
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the error about a file that others have changed.
fn changed_error(requested: &str) -> FileError {
    FileError::Refused(sentence!(
        "`{path}` has changed on disk since you last read or wrote it (by a command, a person or another program), and \
         nothing was done; read it again with `read`, then repeat the call if it still fits",
        path = requested
    ))
}

#[cfg(test)]
#[path = "known_contents_test.rs"]
mod tests;
