//! What people are told on stderr. It never changes a result: not when stderr is closed, full, or read by nobody.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use ibeam_output::escape_invisible;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// A reader of stderr that takes nothing for so long is not waited for again.
const PATIENCE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };
const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
/// A pipe that says it takes something takes this much without waiting (POSIX's PIPE_BUF on Linux).
const PIECE: usize = 4096;

/// Nobody reads: every later word is dropped unless there is room for it.
static STUCK: AtomicBool = AtomicBool::new(false);

/// Says `text` and ends the line. What is not seen is written out: paths and the words of others are in it.
pub(crate) fn write_line(text: &str) {
    write(&format!("{}\n", escape_invisible(text)));
}

/// Says `text` as it is.
pub(crate) fn write(text: &str) {
    let mut stderr = io::stderr().lock();
    for piece in text.as_bytes().chunks(PIECE) {
        if !takes_more() || stderr.write_all(piece).is_err() {
            return;
        }
    }
    drop(stderr.flush());
}

/// Whether a write would not wait.
fn takes_more() -> bool {
    let wait = if STUCK.load(Ordering::Relaxed) { AT_ONCE } else { PATIENCE };
    loop {
        match poll(&mut [PollFd::new(&rustix::stdio::stderr(), PollFlags::OUT)], Some(&wait)) {
            Ok(ready) => {
                STUCK.store(ready == 0, Ordering::Relaxed);
                return ready > 0;
            }
            Err(Errno::INTR) => {}
            // Then the write says what is wrong, to nobody.
            Err(_) => return true,
        }
    }
}
