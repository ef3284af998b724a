//! Small files that somebody else may have put there: never waited for, never read without end.
//!
//! Refuses whatever is no regular file (a FIFO would be waited for, a device may never end) and what is too large
//! to be what it should be.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a regular file for reading, at once whatever stands there.
///
/// # Errors
/// The system's, or that it is something else.
pub(crate) fn open(path: &Path, follow: bool) -> io::Result<File> {
    let no_wait = OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = if follow { no_wait } else { no_wait | OFlags::NOFOLLOW };
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

/// All bytes of a regular file of `largest` bytes at most.
///
/// # Errors
/// Those of `open`, or that it is larger.
pub(crate) fn read(path: &Path, largest: u64) -> io::Result<Vec<u8>> {
    bytes_of(&open(path, true)?, largest)
}

/// The same of a file that is open.
///
/// # Errors
/// The system's, or that it is larger.
pub(crate) fn bytes_of(file: &File, largest: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(largest.saturating_add(1)).read_to_end(&mut bytes)?;
    match u64::try_from(bytes.len()).is_ok_and(|length| length <= largest) {
        true => Ok(bytes),
        false => Err(io::Error::other(format!("it is larger than {largest} bytes"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_regular_file_is_refused_at_once() {
        let home = tempfile::tempdir().unwrap();
        let fifo = home.path().join("fifo");
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        for path in [fifo.as_path(), home.path(), Path::new("/dev/zero")] {
            let error = read(path, 10).unwrap_err();
            assert_eq!(error.to_string(), "it is not a regular file", "{}", path.display());
        }
    }

    #[test]
    fn a_file_is_read_up_to_its_bound() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("file");
        std::fs::write(&path, "0123456789").unwrap();
        assert_eq!(read(&path, 10).unwrap(), b"0123456789");
        assert!(read(&path, 9).is_err());
    }

    #[test]
    fn a_link_is_followed_only_where_it_may_be() {
        let home = tempfile::tempdir().unwrap();
        let (path, link) = (home.path().join("file"), home.path().join("link"));
        std::fs::write(&path, "here").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(open(&link, true).is_ok());
        assert!(open(&link, false).is_err());
    }
}
