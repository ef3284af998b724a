//! Errors of the system about too few descriptors, too little memory or too few threads.

use std::io;
use std::os::fd::OwnedFd;

use ibeam_protocol::Reason;
use rustix::io::Errno;

/// The number of descriptors that a run has open at once, with a reserve.
const RUN_DESCRIPTORS: usize = 24;

/// Checks that the descriptors of a run and `more` can be opened, so that a run does not fail half-way.
pub(crate) fn check_descriptors(more: usize) -> Result<(), Reason> {
    let open = |_| rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stderr(), 3);
    let held: Result<Vec<OwnedFd>, Errno> = (0..RUN_DESCRIPTORS + more).map(open).collect();
    match held {
        Ok(_) => Ok(()),
        Err(errno) => Err(Reason::System { what: "descriptor".to_owned(), detail: errno.to_string() }),
    }
}

/// Returns the reason if `error` occurred because the system ran out of a resource.
pub(crate) fn from_io_error(error: &io::Error) -> Option<Reason> {
    let what = ibeam_files::exhausted_resource(error)?;
    Some(Reason::System { what: what.to_owned(), detail: error.to_string() })
}
