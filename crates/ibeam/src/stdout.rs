//! stdout as a private duplicate: after `take`, fd 1 is stderr, so no library and no child can spoil the stream.

use std::fs::File;
use std::io;

/// Takes stdout away from everybody else. Call once, before any thread starts.
///
/// # Errors
/// The system's error when stdout is closed or there are no descriptors left.
pub(crate) fn take() -> io::Result<File> {
    let private = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    Ok(File::from(private))
}
