//! The right to write to a session: a `flock` on its file `lock`.
//!
//! The lock goes with the descriptor, so a killed process leaves none, and neither what the file says nor whose
//! number it names gives or takes the right: that is for people, and tells when it is worth waiting a moment.

use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{SessionError, create, io};
use crate::layout::LOCK;
use crate::private;

/// Between two looks at a lock that is held.
const PAUSE: Duration = Duration::from_millis(20);
/// What a holder that was killed may take to let go: a thread of it may still wait for the disk.
const DYING: Duration = Duration::from_secs(10);
/// More of a holder's name is not read.
const NAME_LIMIT: usize = 256;

/// Takes the lock of the session in `directory`, waiting for at most `wait`, and says in it who holds it.
///
/// A holder that has been killed and is not quite gone is waited for a little longer.
///
/// # Errors
/// `Busy` with the holder, `Create` when the file is not to be had, `Io`.
pub(crate) fn take(directory: &Path, wait: Duration) -> Result<File, SessionError> {
    let path = directory.join(LOCK);
    let opened = private::options().read(true).write(true).create(true).truncate(false).open(&path);
    let mut lease = opened.and_then(private::owned).map_err(create(&path))?;
    let begun = Instant::now();
    loop {
        match lease.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) => {
                let holder = holder(&lease);
                let patience = if is_dying(&holder) { wait.max(DYING) } else { wait };
                if begun.elapsed() >= patience {
                    return Err(SessionError::Busy { holder });
                }
                thread::sleep(PAUSE);
            }
            Err(TryLockError::Error(source)) => return Err(io(&path)(source)),
        }
    }
    // A full disk has no room for the name; the lock holds without it.
    drop(lease.set_len(0).and_then(|()| lease.write_all(own_name().as_bytes())));
    Ok(lease)
}

fn own_name() -> String {
    format!("process {} on {}", std::process::id(), host())
}

fn host() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// What the file says; its holder may be about to write its name.
fn holder(lease: &File) -> String {
    let mut said = [0; NAME_LIMIT];
    let length = lease.read_at(&mut said, 0).unwrap_or_default();
    let said = String::from_utf8_lossy(said.get(..length).unwrap_or_default());
    let name = said.lines().next().unwrap_or_default().trim();
    if name.is_empty() { "another process".to_owned() } else { name.to_owned() }
}

/// Whether the holder is a process of this host that has been killed and has not let go of everything yet.
fn is_dying(holder: &str) -> bool {
    let Some((number, on)) = holder.strip_prefix("process ").and_then(|name| name.split_once(" on ")) else {
        return false;
    };
    let Ok(number) = number.parse::<u32>() else { return false };
    let stat = fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
    // The state follows the name, which stands in parentheses and may hold some.
    let state = stat.rsplit(") ").next().unwrap_or_default();
    on == host() && state.starts_with(['Z', 'X'])
}
