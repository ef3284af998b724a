//! The right to write to a session: a `flock` on its file `lock`.
//!
//! The lock goes with the descriptor, so a killed process leaves none, and neither what the file says nor whose
//! number it names is ever believed: that is only for people.

use std::fs::{File, TryLockError};
use std::io::{Read, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{SessionError, create, io};
use crate::layout::LOCK;
use crate::private;

/// Between two looks at a lock that is held.
const PAUSE: Duration = Duration::from_millis(20);
/// More of a holder's name is not read.
const NAME_LIMIT: u64 = 256;

/// Takes the lock of the session in `directory`, waiting for at most `wait`, and says in it who holds it.
///
/// # Errors
/// `Busy` with the holder, `Create` when the file is not to be had, `Io`.
pub(crate) fn take(directory: &Path, wait: Duration) -> Result<File, SessionError> {
    let path = directory.join(LOCK);
    let opened = private::options().read(true).write(true).create(true).truncate(false).open(&path);
    let mut lease = opened.and_then(private::owned).map_err(create(&path))?;
    let deadline = Instant::now() + wait;
    loop {
        match lease.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => return Err(SessionError::Busy { holder: holder(&lease) }),
            Err(TryLockError::Error(source)) => return Err(io(&path)(source)),
        }
    }
    // A full disk has no room for the name; the lock holds without it.
    drop(lease.set_len(0).and_then(|()| lease.write_all(own_name().as_bytes())));
    Ok(lease)
}

fn own_name() -> String {
    let host = rustix::system::uname();
    format!("process {} on {}", std::process::id(), host.nodename().to_string_lossy())
}

/// What the file says; its holder may be about to write its name.
fn holder(lease: &File) -> String {
    let mut said = Vec::new();
    drop(lease.take(NAME_LIMIT).read_to_end(&mut said));
    let said = String::from_utf8_lossy(&said);
    let name = said.lines().next().unwrap_or_default().trim();
    if name.is_empty() { "another process".to_owned() } else { name.to_owned() }
}
