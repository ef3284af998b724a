//! Small files that somebody else may have put there: never waited for, never read without end.
//!
//! Refuses whatever is no regular file (a FIFO would be waited for, a device may never end) and what is too large
//! to be what it should be. A device is not even opened: opening some has an effect.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::OFlags;

/// A file that was changed less than this ago may be half written: it is read again until it has rested this long.
const SETTLED: Duration = Duration::from_millis(50);
/// An empty file, and one of which more has been read before, must rest this long: a writer that was interrupted on a busy
/// machine may have emptied it and not written it yet.
const EMPTY_SETTLED: Duration = Duration::from_secs(1);
/// A file that is still being written after this time is given up.
const PATIENCE: Duration = Duration::from_secs(5);
/// The shortest pause between two readings.
const PAUSE: Duration = Duration::from_millis(1);
/// At most this is added to a pause, so that the readings do not keep step with a writer.
const JITTER: Duration = Duration::from_millis(5);
/// So many readings at different states of a file that is written over and over show its whole content: a complete file
/// that can be seen a fifth of the time is missed by all of them once in seven thousand times.
const READINGS: u32 = 40;

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
    read_all(&open(path, true)?, largest)
}

/// Returns all bytes of an open file.
///
/// # Errors
/// The system's, or that it is larger.
pub fn read_all(file: &File, largest: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(largest.saturating_add(1)).read_to_end(&mut bytes)?;
    match u64::try_from(bytes.len()).is_ok_and(|length| length <= largest) {
        true => Ok(bytes),
        false => Err(io::Error::other(format!("it is larger than {largest} bytes"))),
    }
}

/// Returns all bytes of a file that decides what is allowed, which another program may be writing at this moment.
///
/// A file that nobody has changed for a while is read at once. One that was changed a moment ago is read again until it
/// rests. Of one that never rests, because a program writes it over and over, the whole content is what many readings
/// agree on: each is that content, or the beginning of it. `check` judges the file that is open.
///
/// # Errors
/// Those of `open`, of `read_all` and of `check`; and that the file does not stay the same.
pub fn read_stable(
    path: &Path,
    follow: bool,
    largest: u64,
    check: &dyn Fn(&Metadata) -> io::Result<()>,
) -> io::Result<Vec<u8>> {
    let mut last = Snapshot::take(path, follow, largest, check)?;
    if last.is_settled() {
        return Ok(last.bytes);
    }
    let begun = Instant::now();
    let (mut unchanged_since, mut missing_since) = (begun, None);
    let mut readings = Readings::default();
    while begun.elapsed() < PATIENCE {
        std::thread::sleep(PAUSE + jitter());
        let next = match Snapshot::take(path, follow, largest, check) {
            // It was there a moment ago: another program is putting a new one in its place.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if missing_since.get_or_insert_with(Instant::now).elapsed() > SETTLED * 2 {
                    break;
                }
                continue;
            }
            next => next?,
        };
        missing_since = None;
        if !next.is_consistent || next != last {
            unchanged_since = Instant::now();
        } else if unchanged_since.elapsed() >= readings.rest_of(&next.bytes) {
            return Ok(next.bytes);
        }
        if next.state != last.state && readings.add(&next.bytes) >= READINGS {
            return Ok(readings.longest);
        }
        last = next;
    }
    Err(io::Error::other("another program is writing it at this moment; run again when it is complete"))
}

fn jitter() -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    JITTER.mul_f64(f64::from(now.subsec_nanos() % 1_000) / 1_000.0)
}

/// What was read of a file that is written over and over. A reading during which the file changed counts as well: it is
/// the beginning of the content, or it does not agree with the other readings.
#[derive(Default)]
struct Readings {
    longest: Vec<u8>,
    /// How many readings are the longest or the beginning of it.
    agreeing: u32,
}

impl Readings {
    /// How long a file with this content must rest.
    fn rest_of(&self, bytes: &[u8]) -> Duration {
        let is_beginning = bytes.len() < self.longest.len() && self.longest.starts_with(bytes);
        if bytes.is_empty() || is_beginning { EMPTY_SETTLED } else { SETTLED }
    }

    /// Takes a reading, and returns how many agree. An emptied file says nothing; other content begins anew.
    fn add(&mut self, bytes: &[u8]) -> u32 {
        if bytes.is_empty() {
            return self.agreeing;
        }
        if !self.longest.starts_with(bytes) {
            if !bytes.starts_with(&self.longest) {
                self.agreeing = 0;
            }
            self.longest = bytes.to_owned();
        }
        self.agreeing += 1;
        self.agreeing
    }
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
        let bytes = read_all(&file, largest)?;
        file.rewind()?;
        let again = read_all(&file, largest)?;
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
        let rest = Readings::default().rest_of(&self.bytes);
        self.is_consistent && age >= i128::try_from(rest.as_nanos()).unwrap_or(i128::MAX)
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

    use super::*;

    const TEXT: &str = "[permissions]\ndeny = [\"Shell(rm)\"]\n";

    fn read_policy(path: &Path) -> io::Result<Vec<u8>> {
        read_stable(path, true, 1000, &|_| Ok(()))
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

    /// On a busy machine a writer may be interrupted between the two.
    #[test]
    fn a_file_that_was_emptied_is_waited_for() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("file");
        std::fs::write(&path, "").unwrap();
        let later = path.clone();
        let writer = std::thread::spawn(move || {
            std::thread::sleep(SETTLED * 4);
            std::fs::write(later, TEXT).unwrap();
        });
        assert_eq!(read_policy(&path).unwrap(), TEXT.as_bytes());
        writer.join().unwrap();
        std::fs::write(&path, "").unwrap();
        assert_eq!(read_policy(&path).unwrap(), b"", "a file that stays empty is empty");
    }

    /// As a program does that writes its configuration at each of its steps.
    #[test]
    fn a_file_that_never_rests_is_read_whole() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("file");
        std::fs::write(&path, TEXT).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    std::fs::write(&path, TEXT).unwrap();
                    std::thread::sleep(SETTLED / 10);
                }
            });
            let read: Vec<_> = (0..4).map(|_| read_policy(&path)).collect();
            done.store(true, Ordering::Relaxed);
            for found in &read {
                assert!(found.as_ref().map_or(true, |bytes| bytes == TEXT.as_bytes()), "{found:?}");
            }
            // A machine that is busy with other things may take too few readings once.
            assert!(read.iter().filter(|found| found.is_ok()).count() >= 2, "{read:?}");
        });
    }

    #[test]
    fn readings_agree_on_the_longest_and_begin_anew_with_other_content() {
        let mut readings = Readings::default();
        let counts: Vec<u32> = ["ab", "", "a", "abc", "ab", "x", "xy"]
            .iter()
            .map(|text| readings.add(text.as_bytes()))
            .collect();
        assert_eq!(counts, [1, 1, 2, 3, 4, 1, 2]);
        assert_eq!(readings.longest, b"xy");
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
