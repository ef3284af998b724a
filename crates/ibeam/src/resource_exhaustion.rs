//! What the system has run out of: the same error wherever it shows, whatever was being done.

use std::io;
use std::os::fd::OwnedFd;

use ibeam_protocol::Reason;
use rustix::io::Errno;

/// The descriptors that a run has open at once, and some to spare.
const DESCRIPTORS: usize = 24;

/// Holds that there is room for the descriptors of a run and `more`, before something breaks half-way for want of
/// them.
///
/// # Errors
/// `System`.
pub(crate) fn check_descriptors(more: usize) -> Result<(), Reason> {
    let open = |_| rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stderr(), 3);
    let held: Result<Vec<OwnedFd>, Errno> = (0..DESCRIPTORS + more).map(open).collect();
    match held {
        Ok(_) => Ok(()),
        Err(errno) => Err(Reason::System { what: "descriptor".to_owned(), detail: errno.to_string() }),
    }
}

/// The reason, when `error` is about descriptors or memory rather than about what was asked for.
pub(crate) fn from_io_error(error: &io::Error) -> Option<Reason> {
    let what = ibeam_files::exhausted_resource(error)?;
    Some(Reason::System { what: what.to_owned(), detail: error.to_string() })
}
