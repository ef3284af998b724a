//! Locks of files between processes, which the end of a process releases.
//!
//! The only place that takes them: a signal can interrupt the call where a file system has to ask another machine, and
//! the call is then repeated.

use std::fs::TryLockError;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// Takes the exclusive lock of an open file, or of an open directory, without waiting for another holder.
///
/// # Errors
/// `WouldBlock` if another open file holds it; `Error` with the error of the system.
pub fn try_lock(file: impl AsFd) -> Result<(), TryLockError> {
    lock_with(file.as_fd(), |file| flock(file, FlockOperation::NonBlockingLockExclusive))
}

fn lock_with(
    file: BorrowedFd<'_>,
    lock: impl Fn(BorrowedFd<'_>) -> Result<(), Errno>,
) -> Result<(), TryLockError> {
    match rustix::io::retry_on_intr(|| lock(file)) {
        Err(Errno::WOULDBLOCK) => Err(TryLockError::WouldBlock),
        locked => locked.map_err(|error| TryLockError::Error(error.into())),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_lock_has_one_holder() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let other = file.reopen().unwrap();
        try_lock(&file).unwrap();
        try_lock(&file).unwrap();
        assert!(matches!(try_lock(&other), Err(TryLockError::WouldBlock)));
        drop(file);
        try_lock(&other).unwrap();
    }

    #[test]
    fn an_interrupted_call_is_repeated_and_another_error_is_returned() {
        let file = tempfile::tempfile().unwrap();
        let calls = Cell::new(0);
        let check = |last: Result<(), Errno>| {
            calls.set(0);
            lock_with(file.as_fd(), |_| {
                calls.set(calls.get() + 1);
                if calls.get() < 4 { Err(Errno::INTR) } else { last }
            })
        };
        assert!(check(Ok(())).is_ok());
        assert!(matches!(check(Err(Errno::AGAIN)), Err(TryLockError::WouldBlock)));
        let failed = check(Err(Errno::NOLCK));
        assert!(
            matches!(failed, Err(TryLockError::Error(error)) if Errno::from_io_error(&error) == Some(Errno::NOLCK))
        );
        assert_eq!(calls.get(), 4);
    }
}
