//! Locks of files between processes, which the end of a process releases.
//!
//! The only place that takes them: a signal can interrupt the call where a file system has to ask another machine, and
//! the call is then repeated.

use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;

/// Takes the exclusive lock of an open file, or of an open directory, without waiting for another holder.
///
/// # Errors
/// `WouldBlock` if another open file holds it; `Error` with the error of the system.
pub fn try_lock(file: impl AsFd) -> Result<(), TryLockError> {
    // The lock belongs to the open file, of which the second descriptor is one more.
    let file: io::Result<File> = file.as_fd().try_clone_to_owned().map(File::from);
    let file = file.map_err(TryLockError::Error)?;
    lock_with(|| file.try_lock())
}

fn lock_with(lock: impl Fn() -> Result<(), TryLockError>) -> Result<(), TryLockError> {
    loop {
        match lock() {
            Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Interrupted => {}
            taken => return taken,
        }
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
        let calls = Cell::new(0);
        let check = |last: fn() -> Result<(), TryLockError>| {
            calls.set(0);
            lock_with(|| {
                calls.set(calls.get() + 1);
                if calls.get() < 4 { Err(TryLockError::Error(ErrorKind::Interrupted.into())) } else { last() }
            })
        };
        assert!(check(|| Ok(())).is_ok());
        assert!(matches!(check(|| Err(TryLockError::WouldBlock)), Err(TryLockError::WouldBlock)));
        let failed = check(|| Err(TryLockError::Error(ErrorKind::StorageFull.into())));
        assert!(matches!(failed, Err(TryLockError::Error(error)) if error.kind() == ErrorKind::StorageFull));
        assert_eq!(calls.get(), 4);
    }
}
