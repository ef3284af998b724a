//! The right to write to a session: a `flock` on its file `lock`.
//!
//! The lock goes with the descriptor, so a killed process leaves none, and neither what the file says nor whose
//! number it names gives or takes the right: that is for people, and tells when it is worth waiting a moment. Where a
//! file system knows no locks, `lease_file` takes their place.

use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;

use crate::error::{SessionError, create_error, io_error};
use crate::layout::LOCK_FILE;
use crate::lease_file::{LEASE_FILE, LeaseFile};
use crate::options::SessionOptions;
use crate::private_files;

/// Between two looks at a lock that is held.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// What a holder that was killed may take to let go: a thread of it may still wait for the disk.
const KILLED_HOLDER_TIMEOUT: Duration = Duration::from_secs(10);
/// More of a holder's name is not read.
const MAX_NAME_BYTES: usize = 256;

/// The right to write to a session, until it is dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    /// Where the file system cannot lock.
    pub(crate) file: Option<LeaseFile>,
    /// Last, so that the file is gone before.
    _lock: File,
}

/// Takes the lock of the session in `directory`, waiting for at most `options.wait`, and says in it who holds it. Where
/// the file system cannot lock, a lease file takes its place.
///
/// A holder that has been killed and is not quite gone is waited for a little longer.
///
/// # Errors
/// `Busy` with the holder, `Leased`, `Cancelled`, `Create` when the file cannot be created, `Io`.
pub(crate) fn acquire(directory: &Path, options: &SessionOptions) -> Result<Lease, SessionError> {
    acquire_with(directory, options, File::try_lock)
}

fn acquire_with(
    directory: &Path,
    options: &SessionOptions,
    lock: impl Fn(&File) -> Result<(), TryLockError>,
) -> Result<Lease, SessionError> {
    let path = directory.join(LOCK_FILE);
    let opened =
        private_files::open_options().read(true).write(true).create(true).truncate(false).open(&path);
    let mut lock_file = opened.and_then(private_files::restrict_mode).map_err(create_error(&path))?;
    let started = Instant::now();
    let file = loop {
        let holder = match try_acquire(directory, &lock_file, &lock) {
            Ok(file) => break file,
            Err(SessionError::Busy { holder }) => holder,
            Err(error) => return Err(error),
        };
        // One that looks alive is looked at twice: it may have been killed just now.
        let timeout =
            options.wait.max(if is_terminating(&holder) { KILLED_HOLDER_TIMEOUT } else { POLL_INTERVAL });
        if started.elapsed() >= timeout {
            return Err(SessionError::Busy { holder });
        }
        options.cancel.check()?;
        thread::sleep(POLL_INTERVAL);
    };
    // A full disk has no room for the name; the lock holds without it.
    drop(lock_file.set_len(0).and_then(|()| lock_file.write_all(process_name().as_bytes())));
    Ok(Lease { file, _lock: lock_file })
}

/// One attempt; the lease file where there is one.
fn try_acquire(
    directory: &Path,
    lock_file: &File,
    lock: impl Fn(&File) -> Result<(), TryLockError>,
) -> Result<Option<LeaseFile>, SessionError> {
    match lock(lock_file) {
        // Whoever made a lease file could not lock.
        Ok(()) if directory.join(LEASE_FILE).symlink_metadata().is_ok() => {
            LeaseFile::acquire(directory).map(Some)
        }
        Ok(()) => Ok(None),
        Err(TryLockError::WouldBlock) => Err(SessionError::Busy { holder: holder(lock_file) }),
        Err(TryLockError::Error(error)) if cannot_lock(&error) => LeaseFile::acquire(directory).map(Some),
        Err(TryLockError::Error(source)) => Err(io_error(&directory.join(LOCK_FILE))(source)),
    }
}

/// Whether the file system knows no locks, as some network file systems do.
fn cannot_lock(error: &std::io::Error) -> bool {
    let number = error.raw_os_error();
    [Errno::NOLCK, Errno::NOSYS, Errno::OPNOTSUPP].iter().any(|errno| number == Some(errno.raw_os_error()))
}

/// The name of this process, for people.
pub(crate) fn process_name() -> String {
    format!("process {} on {}", std::process::id(), host())
}

fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// What the file says; its holder may be about to write its name.
fn holder(lease: &File) -> String {
    let mut buffer = [0; MAX_NAME_BYTES];
    let length = lease.read_at(&mut buffer, 0).unwrap_or_default();
    let text = String::from_utf8_lossy(buffer.get(..length).unwrap_or_default());
    let name = text.lines().next().unwrap_or_default().trim();
    if name.is_empty() { "another process".to_owned() } else { name.to_owned() }
}

/// Whether the holder is a process of this host that has been killed and has not let go of everything yet.
fn is_terminating(holder: &str) -> bool {
    let Some((number, host_name)) = holder.strip_prefix("process ").and_then(|name| name.split_once(" on "))
    else {
        return false;
    };
    let Ok(number) = number.parse::<u32>() else { return false };
    let proc_file = |file| fs::read_to_string(format!("/proc/{number}/{file}")).unwrap_or_default();
    host_name == host() && (has_ended(&proc_file("stat")) || is_killed(&proc_file("status")))
}

/// Whether `/proc/N/stat` tells of a zombie, or of a process on its way there.
fn has_ended(stat: &str) -> bool {
    /// `PF_EXITING` of the kernel.
    const EXITING: u64 = 4;
    // The name stands in parentheses and may hold some; the state follows, and the flags are six fields on.
    let mut fields = stat.rsplit(") ").next().unwrap_or_default().split_ascii_whitespace();
    let state = fields.next().unwrap_or_default();
    let flags: u64 = fields.nth(5).and_then(|flags| flags.parse().ok()).unwrap_or_default();
    matches!(state, "Z" | "X") || flags & EXITING != 0
}

/// Whether `/proc/N/status` tells of a SIGKILL that is still to be obeyed.
fn is_killed(status: &str) -> bool {
    const KILL: u64 = 1 << 8;
    let mut pending = status.lines().filter_map(|line| {
        let (name, mask) = line.split_once(':')?;
        let mask = matches!(name, "SigPnd" | "ShdPnd").then_some(mask)?;
        u64::from_str_radix(mask.trim(), 16).ok()
    });
    pending.any(|mask| mask & KILL != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_without_locks_gets_a_lease_file() {
        for errno in [Errno::NOLCK, Errno::NOSYS, Errno::OPNOTSUPP] {
            let home = tempfile::tempdir().unwrap();
            let take = || {
                let lock = |_: &File| Err(TryLockError::Error(errno.into()));
                acquire_with(home.path(), &SessionOptions::default(), lock)
            };
            let lease = take().unwrap();
            assert!(lease.file.is_some());
            assert!(matches!(take(), Err(SessionError::Busy { .. })), "it is exclusive");
            // A process whose file system can lock respects it.
            let locking = acquire_with(home.path(), &SessionOptions::default(), |_| Ok(()));
            assert!(matches!(locking, Err(SessionError::Busy { .. })));
            drop(lease);
            assert!(
                take().is_ok() && acquire_with(home.path(), &SessionOptions::default(), |_| Ok(())).is_ok()
            );
        }
    }

    #[test]
    fn another_failure_of_the_lock_is_an_error() {
        let home = tempfile::tempdir().unwrap();
        let lock = |_: &File| Err(TryLockError::Error(Errno::IO.into()));
        let taken = acquire_with(home.path(), &SessionOptions::default(), lock);
        assert!(matches!(taken, Err(SessionError::Io { .. })), "{taken:?}");
    }

    #[test]
    fn a_process_that_dies_is_told_from_one_that_lives() {
        assert!(!has_ended("7 (a) b) S 1 7 7 0 -1 4194560 0 0"));
        assert!(has_ended("7 (a) b) Z 1 7 7 0 -1 4194560 0 0"));
        assert!(has_ended("7 (a) D 1 7 7 0 -1 4194564 0 0"));
        assert!(!has_ended("") && !is_killed(""));
        assert!(!is_killed("Name:\ta\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000004000\nSigBlk:\t0100"));
        assert!(is_killed("SigPnd:\t0000000000000100\n"));
    }

    #[test]
    fn only_processes_of_this_host_are_looked_at() {
        assert!(!is_terminating(&process_name()));
        for other in
            ["another process", "process x on y", "process 1 on elsewhere", "process 4294967295 on y"]
        {
            assert!(!is_terminating(other), "{other}");
        }
    }
}
