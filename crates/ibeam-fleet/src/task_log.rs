//! The streams of all runs of a task, read while they are written.

use std::io;
use std::path::{Path, PathBuf};

use crate::stream_tail::StreamTail;

/// The number of bytes after which a reading ends.
const BATCH_BYTES: usize = 1 << 20;

/// Reads the streams of the runs of a task, the oldest first.
#[derive(Debug)]
pub struct TaskLog {
    directory: PathBuf,
    /// The number of the run, from 1.
    run: u32,
    tail: StreamTail,
}

impl TaskLog {
    /// Returns the streams in the directory of a task.
    pub fn new(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), run: 1, tail: StreamTail::default() }
    }

    /// Returns the next complete lines; none if there are no further ones now.
    pub fn read(&mut self) -> io::Result<Vec<u8>> {
        loop {
            let earlier = self.directory.join(format!("stream.{}.ndjson", self.run));
            let is_earlier = earlier.exists();
            let current = self.directory.join("stream.ndjson");
            let (mut tail, mut lines) = (self.tail, Vec::new());
            let read = tail.read(if is_earlier { &earlier } else { &current }, |_, line| {
                if lines.len() > BATCH_BYTES {
                    return Err(io::ErrorKind::QuotaExceeded.into());
                }
                lines.extend_from_slice(line);
                lines.push(b'\n');
                Ok(())
            });
            if !is_earlier && earlier.exists() {
                // The run has ended meanwhile, and these may be lines of the next one.
                continue;
            }
            match read {
                Err(error) if error.kind() != io::ErrorKind::QuotaExceeded => return Err(error),
                Ok(()) | Err(_) => self.tail = tail,
            }
            match (lines.is_empty(), is_earlier) {
                (true, true) => (self.run, self.tail) = (self.run + 1, StreamTail::default()),
                (_, _) => return Ok(lines),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_lines_of_all_runs_are_read_once_also_of_one_that_ends_meanwhile() {
        let home = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(home.path().join(name), text).unwrap();
        let mut log = TaskLog::new(home.path());
        assert_eq!(log.read().unwrap(), b"");
        write("stream.1.ndjson", "a\ntorn");
        write("stream.ndjson", "b\n");
        assert_eq!(log.read().unwrap(), b"a\n");
        assert_eq!(log.read().unwrap(), b"b\n");
        assert_eq!(log.read().unwrap(), b"");
        write("stream.2.ndjson", "b\nc\n");
        write("stream.ndjson", "d\n");
        assert_eq!([log.read().unwrap(), log.read().unwrap()].concat(), b"c\nd\n");
        assert_eq!(log.read().unwrap(), b"");
    }
}
