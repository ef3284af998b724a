//! What the system has run out of: the same error wherever it shows, whatever was being done.

use std::io;

use ibeam_protocol::Reason;
use rustix::io::Errno;

/// The reason, when `error` is about descriptors or memory rather than about what was asked for.
pub(crate) fn behind(error: &io::Error) -> Option<Reason> {
    let what = match Errno::from_io_error(error)? {
        Errno::MFILE | Errno::NFILE => "descriptor",
        Errno::NOMEM => "memory",
        _ => return None,
    };
    Some(Reason::System { what: what.to_owned(), said: error.to_string() })
}
