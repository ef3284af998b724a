//! Going on with a session that is there.

use std::io::{self, Seek, SeekFrom};
use std::path::Path;

use ibeam_protocol::{Event, SessionId};

use crate::error::{SessionError, io};
use crate::journal::Session;
use crate::layout::{self, TORN};
use crate::lease;
use crate::load::{self, LoadReport};
use crate::options::SessionOptions;
use crate::place::directory_of;
use crate::private;
use crate::segment::Segment;
use crate::sync::Step;
use crate::walk::Walked;

impl Session {
    /// Opens the session `id` to go on with it, and gives `each` event it holds, in order; none is kept, so a long
    /// session costs no memory here.
    ///
    /// A torn last record is kept aside in `events.torn` and cut off.
    ///
    /// # Errors
    /// `Unknown`, `Busy`, `Cancelled`, `Damaged` with the line, `Create` for what is not ours, `Io`. What was given before stands.
    pub fn open(
        sessions: &Path,
        id: SessionId,
        options: &SessionOptions,
        each: &mut dyn FnMut(Event),
    ) -> Result<(Self, LoadReport), SessionError> {
        let directory = directory_of(sessions, id)?;
        let lease = lease::take(&directory, options)?;
        let (header, walked) = load::load(&directory, &options.cancel, each)?;
        let segment = reopen(&directory, &walked, options)?;
        let mut session = Self::of(directory.clone(), header.clone(), options, segment, lease);
        if walked.torn_bytes > 0 {
            session.before.push(session.content());
            session.after.push(Step::Entries(directory));
        }
        Ok((session, LoadReport { header, torn_bytes: walked.torn_bytes }))
    }
}

/// The last segment, open for appending after its whole records; what is torn is kept aside first.
fn reopen(directory: &Path, walked: &Walked, options: &SessionOptions) -> Result<Segment, SessionError> {
    let at = walked.segments.get(walked.last).cloned().unwrap_or_else(|| layout::segment(directory, 1));
    let file = private::append(&at.path).map_err(io(&at.path))?;
    if walked.torn_bytes > 0 {
        set_aside(&at.path, walked.whole, &directory.join(TORN))?;
    }
    // Also gives back what a killed process had set aside.
    file.set_len(walked.whole).map_err(io(&at.path))?;
    Ok(Segment::new(file, at, walked.whole, options.reserve_bytes))
}

/// Appends what `path` holds from `from` on to the file `aside`, and puts it on the disk.
///
/// # Errors
/// `Io`; then nothing is lost, and some of it may be there twice.
pub(crate) fn set_aside(path: &Path, from: u64, aside: &Path) -> Result<(), SessionError> {
    let mut source = private::open(path).map_err(io(path))?;
    source.seek(SeekFrom::Start(from)).map_err(io(path))?;
    let mut keep = private::append(aside).map_err(io(aside))?;
    io::copy(&mut source, &mut keep).and_then(|_| keep.sync_data()).map_err(io(aside))
}
