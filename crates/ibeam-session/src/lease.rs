//! The right to write to a session: a `flock` on its file `lock`.
//!
//! The lock belongs to the descriptor, so a killed process leaves none. The content of the file names the holder for
//! people, and shows whether to wait for a killed holder; it does not grant the lease. On a file system without locks
//! `lease_file` is used instead.

use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use ibeam_files::file_lock;
use rustix::io::Errno;

use crate::error::{SessionError, io_error, unusable_error};
use crate::layout::LOCK_FILE;
use crate::lease_file::{LEASE_FILE, LeaseFile};
use crate::options::SessionOptions;
use crate::private_files;

/// Pause between two attempts to take a lock that is held.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Time that a killed holder may need to release the lock: one of its threads may still wait for the disk.
const KILLED_HOLDER_TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum length of a holder's name that is read, in bytes.
const MAX_NAME_BYTES: usize = 256;

/// The right to write to a session, until it is dropped.
#[derive(Debug)]
pub(crate) struct Lease {
    /// The lease file, if the file system does not support locks.
    pub(crate) file: Option<LeaseFile>,
    /// The last field, because it is dropped last: the lease file is removed before the lock is released.
    _lock: File,
}

/// Takes the lock of the session in `directory`, waiting for at most `options.wait`, and writes the name of this
/// process into the lock file. On a file system without locks, this function creates a lease file instead.
///
/// Waits longer for a holder that was killed and is still terminating.
///
/// # Errors
/// `Busy` with the holder, `Leased`, `Cancelled`, `Unusable` if the file cannot be created, `Io`.
pub(crate) fn acquire(directory: &Path, options: &SessionOptions) -> Result<Lease, SessionError> {
    acquire_with(directory, options, |file| file_lock::try_lock(file))
}

fn acquire_with(
    directory: &Path,
    options: &SessionOptions,
    lock: impl Fn(&File) -> Result<(), TryLockError>,
) -> Result<Lease, SessionError> {
    let path = directory.join(LOCK_FILE);
    let opened =
        private_files::open_options().read(true).write(true).create(true).truncate(false).open(&path);
    let mut lock_file = opened.and_then(private_files::restrict_mode).map_err(unusable_error(&path))?;
    let started = Instant::now();
    let file = loop {
        let holder = match try_acquire(directory, &lock_file, &lock) {
            Ok(file) => break file,
            Err(SessionError::Busy { holder }) => holder,
            Err(error) => return Err(error),
        };
        // A running holder is checked twice, because it may have been killed just now.
        let timeout =
            options.wait.max(if is_terminating(&holder) { KILLED_HOLDER_TIMEOUT } else { POLL_INTERVAL });
        if started.elapsed() >= timeout {
            return Err(SessionError::Busy { holder });
        }
        options.cancel.check()?;
        thread::sleep(POLL_INTERVAL);
    };
    // A full disk has no space for the name, but the lock is valid without it.
    drop(lock_file.set_len(0).and_then(|()| lock_file.write_all(process_name().as_bytes())));
    Ok(Lease { file, _lock: lock_file })
}

/// Tries once to take the lock. Returns the lease file if one was created.
fn try_acquire(
    directory: &Path,
    lock_file: &File,
    lock: impl Fn(&File) -> Result<(), TryLockError>,
) -> Result<Option<LeaseFile>, SessionError> {
    match lock(lock_file) {
        // The process that created a lease file could not lock, so the lock alone is not enough.
        Ok(()) if directory.join(LEASE_FILE).symlink_metadata().is_ok() => {
            LeaseFile::acquire(directory).map(Some)
        }
        Ok(()) => Ok(None),
        Err(TryLockError::WouldBlock) => Err(SessionError::Busy { holder: holder_name(lock_file) }),
        Err(TryLockError::Error(error)) if is_lock_unsupported(&error) => {
            LeaseFile::acquire(directory).map(Some)
        }
        Err(TryLockError::Error(source)) => Err(io_error(&directory.join(LOCK_FILE))(source)),
    }
}

/// Whether the file system does not support locks, like some network file systems.
fn is_lock_unsupported(error: &std::io::Error) -> bool {
    let number = error.raw_os_error();
    [Errno::NOLCK, Errno::NOSYS, Errno::OPNOTSUPP].iter().any(|errno| number == Some(errno.raw_os_error()))
}

/// Returns a description of this process that a person can read, e.g. `process 4711 on build-3`.
pub(crate) fn process_name() -> String {
    format!("process {} on {}", std::process::id(), host())
}

fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Returns the name of the holder, which is in the lock file; `another process` while the file is still empty.
fn holder_name(lock_file: &File) -> String {
    let mut buffer = [0; MAX_NAME_BYTES];
    let length = lock_file.read_at(&mut buffer, 0).unwrap_or_default();
    let text = String::from_utf8_lossy(buffer.get(..length).unwrap_or_default());
    let name = text.lines().next().unwrap_or_default().trim();
    if name.is_empty() { "another process".to_owned() } else { name.to_owned() }
}

/// Whether the holder is a process of this host that was killed and is still terminating.
fn is_terminating(holder: &str) -> bool {
    let Some((number, host_name)) = holder.strip_prefix("process ").and_then(|name| name.split_once(" on "))
    else {
        return false;
    };
    let Ok(number) = number.parse::<u32>() else { return false };
    let proc_file = |file| fs::read_to_string(format!("/proc/{number}/{file}")).unwrap_or_default();
    host_name == host() && (has_ended(&proc_file("stat")) || is_killed(&proc_file("status")))
}

/// Whether `/proc/N/stat` shows a zombie or a process that is exiting.
fn has_ended(stat: &str) -> bool {
    /// The flag `PF_EXITING` of the kernel.
    const EXITING: u64 = 4;
    // The name is in parentheses and may contain parentheses. The state follows, and the flags six fields later.
    let mut fields = stat.rsplit(") ").next().unwrap_or_default().split_ascii_whitespace();
    let state = fields.next().unwrap_or_default();
    let flags: u64 = fields.nth(5).and_then(|flags| flags.parse().ok()).unwrap_or_default();
    matches!(state, "Z" | "X") || flags & EXITING != 0
}

/// Whether `/proc/N/status` shows a pending SIGKILL.
fn is_killed(status: &str) -> bool {
    /// The bit of signal 9 in a mask of signals.
    const SIGKILL_BIT: u64 = 1 << 8;
    let mut pending = status.lines().filter_map(|line| {
        let (name, mask) = line.split_once(':')?;
        let mask = matches!(name, "SigPnd" | "ShdPnd").then_some(mask)?;
        u64::from_str_radix(mask.trim(), 16).ok()
    });
    pending.any(|mask| mask & SIGKILL_BIT != 0)
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
        let acquired = acquire_with(home.path(), &SessionOptions::default(), lock);
        assert!(matches!(acquired, Err(SessionError::Io { .. })), "{acquired:?}");
    }

    #[test]
    fn a_terminating_process_is_distinguished_from_a_running_one() {
        assert!(!has_ended("7 (a) b) S 1 7 7 0 -1 4194560 0 0"));
        assert!(has_ended("7 (a) b) Z 1 7 7 0 -1 4194560 0 0"));
        assert!(has_ended("7 (a) D 1 7 7 0 -1 4194564 0 0"));
        assert!(!has_ended("") && !is_killed(""));
        assert!(!is_killed("Name:\ta\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000004000\nSigBlk:\t0100"));
        assert!(is_killed("SigPnd:\t0000000000000100\n"));
    }

    #[test]
    fn only_processes_of_this_host_are_checked() {
        assert!(!is_terminating(&process_name()));
        for other in
            ["another process", "process x on y", "process 1 on elsewhere", "process 4294967295 on y"]
        {
            assert!(!is_terminating(other), "{other}");
        }
    }
}
