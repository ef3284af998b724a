//! Small files that somebody else may have put there: never waited for, never read without end.
//!
//! Refuses whatever is no regular file (a FIFO would be waited for, a device may never end) and what is too large
//! to be what it should be. A device is not even opened: opening some has an effect.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::OFlags;

/// A file that was changed less than this ago may be half written: it is read again after this time.
const SETTLED: Duration = Duration::from_millis(50);
/// How often a file that another program is writing is read again.
const RETRIES: u32 = 2;

/// Opens a regular file for reading, at once whatever stands there.
///
/// # Errors
/// The system's, or that it is something else.
pub fn open(path: &Path, follow: bool) -> io::Result<File> {
    let kind = if follow { path.metadata()? } else { path.symlink_metadata()? }.file_type();
    if !kind.is_file() && !kind.is_symlink() {
        return Err(not_regular());
    }
    let no_wait = OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = if follow { no_wait } else { no_wait | OFlags::NOFOLLOW };
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(not_regular()),
    }
}

fn not_regular() -> io::Error {
    io::Error::other("it is not a regular file")
}

/// All bytes of a regular file of `largest` bytes at most.
///
/// # Errors
/// Those of `open`, or that it is larger.
pub fn read(path: &Path, largest: u64) -> io::Result<Vec<u8>> {
    bytes_of(&open(path, true)?, largest)
}

/// Returns all bytes of an open file.
///
/// # Errors
/// The system's, or that it is larger.
pub fn bytes_of(file: &File, largest: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(largest.saturating_add(1)).read_to_end(&mut bytes)?;
    match u64::try_from(bytes.len()).is_ok_and(|length| length <= largest) {
        true => Ok(bytes),
        false => Err(io::Error::other(format!("it is larger than {largest} bytes"))),
    }
}

/// Returns all bytes of a file that decides what is allowed, which another program may be writing at this moment.
///
/// A file that nobody has changed for a while is read at once. One that was changed a moment ago is read again after
/// a short pause, and once more if it has changed since. `check` judges the file that is open.
///
/// # Errors
/// Those of `open`, of `bytes_of` and of `check`; and that the file does not stay the same.
pub fn read_whole(
    path: &Path,
    follow: bool,
    largest: u64,
    check: &dyn Fn(&Metadata) -> io::Result<()>,
) -> io::Result<Vec<u8>> {
    let mut last = Snapshot::take(path, follow, largest, check)?;
    if last.is_settled() {
        return Ok(last.bytes);
    }
    for _ in 0..RETRIES {
        std::thread::sleep(SETTLED);
        let next = match Snapshot::take(path, follow, largest, check) {
            // It was there a moment ago: another program is putting a new one in its place.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            next => next?,
        };
        if next.is_consistent && next == last {
            return Ok(next.bytes);
        }
        last = next;
    }
    Err(io::Error::other("another program is writing it at this moment; run again when it is complete"))
}

/// A file as it was read.
struct Snapshot {
    bytes: Vec<u8>,
    state: State,
    /// Nothing changed while it was read, twice.
    is_consistent: bool,
}

/// Device, inode, size, and the times of the last change of content and of the inode, in nanoseconds.
type State = (u64, u64, u64, i128, i128);

impl PartialEq for Snapshot {
    fn eq(&self, other: &Self) -> bool {
        self.state == other.state && self.bytes == other.bytes
    }
}

impl Snapshot {
    fn take(
        path: &Path,
        follow: bool,
        largest: u64,
        check: &dyn Fn(&Metadata) -> io::Result<()>,
    ) -> io::Result<Self> {
        let mut file = open(path, follow)?;
        let before = file.metadata()?;
        check(&before)?;
        let bytes = bytes_of(&file, largest)?;
        file.rewind()?;
        let again = bytes_of(&file, largest)?;
        let state = state_of(&before);
        let is_whole = u64::try_from(bytes.len()).is_ok_and(|length| length == before.len());
        let is_consistent = is_whole && bytes == again && state == state_of(&file.metadata()?);
        Ok(Self { bytes, state, is_consistent })
    }

    /// Whether nothing has changed for a while.
    fn is_settled(&self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let (.., content, inode) = self.state;
        let age = i128::try_from(now.as_nanos()).unwrap_or(i128::MAX).saturating_sub(content.max(inode));
        self.is_consistent && age >= i128::try_from(SETTLED.as_nanos()).unwrap_or(i128::MAX)
    }
}

fn state_of(found: &Metadata) -> State {
    let time = |seconds: i64, nanoseconds: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds);
    let content = time(found.mtime(), found.mtime_nsec());
    (found.dev(), found.ino(), found.size(), content, time(found.ctime(), found.ctime_nsec()))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Instant;

    use super::*;

    const TEXT: &str = "[permissions]\ndeny = [\"Shell(rm)\"]\n";

    fn read_policy(path: &Path) -> io::Result<Vec<u8>> {
        read_whole(path, true, 1000, &|_| Ok(()))
    }

    #[test]
    fn a_file_that_was_left_alone_is_read_at_once() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("file");
        std::fs::write(&path, TEXT).unwrap();
        std::thread::sleep(SETTLED * 2);
        let begun = Instant::now();
        for _ in 0..20 {
            assert_eq!(read_policy(&path).unwrap(), TEXT.as_bytes());
        }
        assert!(begun.elapsed() < SETTLED * 10, "no read waited: {:?}", begun.elapsed());
    }

    #[test]
    fn a_file_that_is_written_a_moment_later_is_read_whole() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("file");
        // The writer has emptied it.
        std::fs::write(&path, "").unwrap();
        let later = path.clone();
        let writer = std::thread::spawn(move || {
            std::thread::sleep(SETTLED / 5);
            std::fs::write(later, TEXT).unwrap();
        });
        assert_eq!(read_policy(&path).unwrap(), TEXT.as_bytes());
        writer.join().unwrap();
    }

    #[test]
    fn beside_a_writer_a_file_is_whole_or_an_error() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("file");
        std::fs::write(&path, TEXT).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    std::fs::write(&path, "").unwrap();
                    std::thread::sleep(Duration::from_millis(3));
                    std::fs::write(&path, TEXT).unwrap();
                    std::thread::sleep(Duration::from_millis(1));
                }
            });
            for _ in 0..8 {
                match read_policy(&path) {
                    Ok(bytes) => assert_eq!(bytes, TEXT.as_bytes()),
                    Err(error) => assert!(error.to_string().contains("another program"), "{error}"),
                }
            }
            done.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn a_file_that_goes_while_it_is_looked_at_is_not_taken_for_none() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("file");
        std::fs::write(&path, "").unwrap();
        let gone = path.clone();
        let remover = std::thread::spawn(move || {
            std::thread::sleep(SETTLED / 5);
            std::fs::remove_file(gone).unwrap();
        });
        assert_ne!(read_policy(&path).unwrap_err().kind(), ErrorKind::NotFound);
        remover.join().unwrap();
    }

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
