//! stdout as a private duplicate: after `take`, fd 1 is stderr, so no library and no child can spoil the stream.

use std::fs::File;
use std::io;
use std::thread;

use ibeam_core::Stop;
use ibeam_protocol::Reason;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

/// Takes stdout away from everybody else. Call once, before any thread starts.
///
/// # Errors
/// The system's error when stdout is closed or there are no descriptors left.
pub(crate) fn take() -> io::Result<File> {
    let private = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    Ok(File::from(private))
}

/// Asks the run to stop when the reader goes away, also while there is nothing to write.
///
/// The thread ends with the process: a file has no reader that could go.
///
/// # Errors
/// The system's error when no thread can be had.
pub(crate) fn watch_reader(stdout: File, stop: &Stop) -> io::Result<()> {
    let stop = stop.clone();
    let watch = move || loop {
        // Asked for nothing, poll tells errors and hang-ups alone.
        match poll(&mut [PollFd::new(&stdout, PollFlags::empty())], None) {
            Ok(_) => return stop.request(Reason::OutputClosed),
            Err(Errno::INTR) => {}
            Err(_) => return,
        }
    };
    thread::Builder::new().name("stdout-watch".to_owned()).spawn(watch).map(drop)
}
