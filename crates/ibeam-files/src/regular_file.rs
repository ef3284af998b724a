//! Reads small files that another program may have written, without blocking and with a size limit.
//!
//! Refuses what is not a regular file, because a FIFO would block and a device may never end, and what is too large. A
//! device is not opened at all, because opening some devices has an effect.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::OFlags;

/// A file that was changed less than this ago may be incomplete: it is read again until it is unchanged for this long.
const STABLE_AFTER: Duration = Duration::from_millis(50);
/// An empty file, and a file that was longer before, must be unchanged for this long: on a busy machine a writer may have
/// truncated it and not written it yet.
const EMPTY_STABLE_AFTER: Duration = Duration::from_secs(1);
/// The time limit for reading a file that is being written.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The shortest pause between two reads.
const PAUSE: Duration = Duration::from_millis(1);
/// The maximum addition to a pause, so that reads do not run in step with a writer.
const JITTER: Duration = Duration::from_millis(5);
/// The largest buffer, in bytes, that is created because a file has that size: a sparse file may state any.
const MAX_CAPACITY: u64 = 1 << 20;
/// The number of reads at different states that must agree for a file that is written over and over. If the complete file
/// is visible a fifth of the time, all of them miss it once in seven thousand times.
const AGREEING_READS: u32 = 40;

/// Opens a regular file for reading, without blocking.
///
/// # Errors
/// The error of the system, or an error if the file is not a regular file.
pub fn open(path: &Path, follow_links: bool) -> io::Result<File> {
    let kind = if follow_links { path.metadata()? } else { path.symlink_metadata()? }.file_type();
    if !kind.is_file() && !kind.is_symlink() {
        return Err(not_regular_error());
    }
    let no_wait = OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = if follow_links { no_wait } else { no_wait | OFlags::NOFOLLOW };
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(not_regular_error()),
    }
}

fn not_regular_error() -> io::Error {
    io::Error::other("it is not a regular file")
}

/// Returns all bytes of a regular file of at most `max_bytes` bytes.
///
/// # Errors
/// The errors of `open`, or an error if the file is larger.
pub fn read(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    read_all(&open(path, true)?, max_bytes)
}

/// Returns all bytes of an open file.
///
/// # Errors
/// The error of the system, or an error if the file is larger.
pub fn read_all(file: &File, max_bytes: u64) -> io::Result<Vec<u8>> {
    let limit = max_bytes.saturating_add(1);
    // With one byte more than the file has, its end is found without another buffer.
    let expected = file.metadata()?.len().saturating_add(1).min(limit).min(MAX_CAPACITY);
    let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or_default());
    file.take(limit).read_to_end(&mut bytes)?;
    match u64::try_from(bytes.len()).is_ok_and(|length| length <= max_bytes) {
        true => Ok(bytes),
        false => Err(io::Error::other(format!("it is larger than {max_bytes} bytes"))),
    }
}

/// Returns all bytes of a file that decides what is allowed, which another program may be writing at this moment.
///
/// A file that was not changed recently is read once. A recently changed file is read again until it is unchanged. If a
/// program writes the file over and over, its content is what many reads agree on: each returns the content or its
/// beginning. `check` receives the metadata of the open file and may refuse it.
///
/// # Errors
/// The errors of `open`, `read_all` and `check`, or an error if the file keeps changing.
pub fn read_stable(
    path: &Path,
    follow_links: bool,
    max_bytes: u64,
    check: &dyn Fn(&Metadata) -> io::Result<()>,
) -> io::Result<Vec<u8>> {
    let mut last = Snapshot::take(path, follow_links, max_bytes, check)?;
    if last.is_stable() {
        return Ok(last.bytes);
    }
    let started = Instant::now();
    let (mut unchanged_since, mut missing_since) = (started, None);
    let mut reads = Reads::default();
    while started.elapsed() < TIMEOUT {
        std::thread::sleep(PAUSE + jitter());
        let next = match Snapshot::take(path, follow_links, max_bytes, check) {
            // The file existed a moment ago: another program is replacing it.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if missing_since.get_or_insert_with(Instant::now).elapsed() > STABLE_AFTER * 2 {
                    break;
                }
                continue;
            }
            next => next?,
        };
        missing_since = None;
        if !next.is_consistent || next != last {
            unchanged_since = Instant::now();
        } else if unchanged_since.elapsed() >= reads.stable_after(&next.bytes) {
            return Ok(next.bytes);
        }
        if next.state != last.state && reads.add(&next.bytes) >= AGREEING_READS {
            return Ok(reads.longest);
        }
        last = next;
    }
    Err(io::Error::other("another program is writing it at this moment; run again when it is complete"))
}

fn jitter() -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    JITTER.mul_f64(f64::from(now.subsec_nanos() % 1_000) / 1_000.0)
}

/// The reads of a file that is written over and over. A read during which the file changed counts as well: it returns the
/// beginning of the content, or it does not agree with the other reads.
#[derive(Default)]
struct Reads {
    longest: Vec<u8>,
    /// The number of reads that returned the longest content or its beginning.
    agreeing: u32,
}

impl Reads {
    /// Returns how long a file with this content must be unchanged.
    fn stable_after(&self, bytes: &[u8]) -> Duration {
        let is_beginning = bytes.len() < self.longest.len() && self.longest.starts_with(bytes);
        if bytes.is_empty() || is_beginning { EMPTY_STABLE_AFTER } else { STABLE_AFTER }
    }

    /// Adds a read and returns how many agree. An empty read is ignored; other content restarts the count.
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

/// The content and the state of a file.
struct Snapshot {
    bytes: Vec<u8>,
    state: FileState,
    /// Whether nothing changed during two reads.
    is_consistent: bool,
}

/// Device, inode, size, and the times of the last change of content and of the inode, in nanoseconds.
type FileState = (u64, u64, u64, i128, i128);

impl PartialEq for Snapshot {
    fn eq(&self, other: &Self) -> bool {
        self.state == other.state && self.bytes == other.bytes
    }
}

impl Snapshot {
    fn take(
        path: &Path,
        follow_links: bool,
        max_bytes: u64,
        check: &dyn Fn(&Metadata) -> io::Result<()>,
    ) -> io::Result<Self> {
        let mut file = open(path, follow_links)?;
        let before = file.metadata()?;
        check(&before)?;
        let bytes = read_all(&file, max_bytes)?;
        file.rewind()?;
        let again = read_all(&file, max_bytes)?;
        let state = state_of(&before);
        let is_complete = u64::try_from(bytes.len()).is_ok_and(|length| length == before.len());
        let is_consistent = is_complete && bytes == again && state == state_of(&file.metadata()?);
        Ok(Self { bytes, state, is_consistent })
    }

    /// Whether the file was not changed recently.
    fn is_stable(&self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let (.., content, inode) = self.state;
        let age = i128::try_from(now.as_nanos()).unwrap_or(i128::MAX).saturating_sub(content.max(inode));
        let delay = Reads::default().stable_after(&self.bytes);
        self.is_consistent && age >= i128::try_from(delay.as_nanos()).unwrap_or(i128::MAX)
    }
}

fn state_of(found: &Metadata) -> FileState {
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
    fn a_file_that_was_not_changed_recently_is_read_once() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("file");
        std::fs::write(&path, TEXT).unwrap();
        std::thread::sleep(STABLE_AFTER * 2);
        let started = Instant::now();
        for _ in 0..20 {
            assert_eq!(read_policy(&path).unwrap(), TEXT.as_bytes());
        }
        assert!(started.elapsed() < STABLE_AFTER * 10, "no read waited: {:?}", started.elapsed());
    }

    #[test]
    fn a_file_that_is_written_a_moment_later_is_read_completely() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("file");
        // The writer has emptied it.
        std::fs::write(&path, "").unwrap();
        let later = path.clone();
        let writer = std::thread::spawn(move || {
            std::thread::sleep(STABLE_AFTER / 5);
            std::fs::write(later, TEXT).unwrap();
        });
        assert_eq!(read_policy(&path).unwrap(), TEXT.as_bytes());
        writer.join().unwrap();
    }

    #[test]
    fn a_file_that_is_being_written_is_complete_or_an_error() {
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
    fn an_empty_file_may_be_written_later() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("file");
        std::fs::write(&path, "").unwrap();
        let later = path.clone();
        let writer = std::thread::spawn(move || {
            std::thread::sleep(STABLE_AFTER * 4);
            std::fs::write(later, TEXT).unwrap();
        });
        assert_eq!(read_policy(&path).unwrap(), TEXT.as_bytes());
        writer.join().unwrap();
        std::fs::write(&path, "").unwrap();
        assert_eq!(read_policy(&path).unwrap(), b"", "a file that stays empty is empty");
    }

    /// Imitates a program that writes its configuration after each step.
    #[test]
    fn a_file_that_is_written_over_and_over_is_read_completely() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("file");
        std::fs::write(&path, TEXT).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    std::fs::write(&path, TEXT).unwrap();
                    std::thread::sleep(STABLE_AFTER / 10);
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
    fn reads_agree_on_the_longest_content_and_restart_with_other_content() {
        let mut reads = Reads::default();
        let counts: Vec<u32> =
            ["ab", "", "a", "abc", "ab", "x", "xy"].iter().map(|text| reads.add(text.as_bytes())).collect();
        assert_eq!(counts, [1, 1, 2, 3, 4, 1, 2]);
        assert_eq!(reads.longest, b"xy");
    }

    #[test]
    fn a_file_that_is_removed_while_it_is_read_does_not_count_as_missing() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("file");
        std::fs::write(&path, "").unwrap();
        let gone = path.clone();
        let remover = std::thread::spawn(move || {
            std::thread::sleep(STABLE_AFTER / 5);
            std::fs::remove_file(gone).unwrap();
        });
        assert_ne!(read_policy(&path).unwrap_err().kind(), ErrorKind::NotFound);
        remover.join().unwrap();
    }

    #[test]
    fn only_a_regular_file_is_read() {
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
    fn a_file_is_read_up_to_the_limit() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("file");
        std::fs::write(&path, "0123456789").unwrap();
        assert_eq!(read(&path, 10).unwrap(), b"0123456789");
        assert!(read(&path, 9).is_err());
    }

    #[test]
    fn a_link_is_followed_only_on_request() {
        let home = tempfile::tempdir().unwrap();
        let (path, link) = (home.path().join("file"), home.path().join("link"));
        std::fs::write(&path, "here").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(open(&link, true).is_ok());
        assert!(open(&link, false).is_err());
    }
}
