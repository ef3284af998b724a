//! Reading a file in pieces, up to a limit.

use std::fs::File;
use std::io::{ErrorKind, Read as _, Result};

/// Maximum bytes of a file that are read.
pub(crate) const SCAN_LIMIT: u64 = 512 << 20;
/// The number of bytes from which the encoding is detected.
pub(crate) const SAMPLE_BYTES: usize = 1 << 20;

/// Reads at most `limit` bytes; fewer only at the end, or where a file of /proc has no more data at present.
pub(crate) fn read_up_to(file: &mut File, limit: usize) -> Result<Vec<u8>> {
    // Most files are smaller: their content and its end take two reads.
    let mut bytes = Vec::with_capacity(limit.min(8 << 10));
    match file.take(limit as u64).read_to_end(&mut bytes) {
        Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
        Ok(_) | Err(_) => Ok(bytes),
    }
}
