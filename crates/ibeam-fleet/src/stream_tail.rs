//! The lines that a run adds to its stream while it works.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Seek as _, SeekFrom};
use std::path::Path;

/// The beginnings of the lines about tool calls.
const CALL_STARTED: &[u8] = br#"{"type":"tool_call","subtype":"started","#;
const CALL_COMPLETED: &[u8] = br#"{"type":"tool_call","subtype":"completed","#;

/// The part of a stream that was read already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StreamTail {
    /// The number of bytes, up to the end of a line.
    pub(crate) offset: u64,
    /// The number of tool calls that started and did not complete.
    open_calls: u64,
}

impl StreamTail {
    /// Returns the tail behind the first bytes of a stream.
    pub(crate) fn from_offset(offset: u64) -> Self {
        Self { offset, open_calls: 0 }
    }

    /// Reads the complete lines behind those that were read, and passes each with its offset to `each`. A file that is
    /// missing has none.
    ///
    /// # Errors
    /// The system's error; the error of `each`, which leaves the line unread.
    pub(crate) fn read(
        &mut self,
        path: &Path,
        mut each: impl FnMut(u64, &[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        if file.metadata()?.len() <= self.offset {
            return Ok(());
        }
        file.seek(SeekFrom::Start(self.offset))?;
        let (mut reader, mut line) = (BufReader::new(file), Vec::new());
        while reader.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
            each(self.offset, line.strip_suffix(b"\n").unwrap_or(&line))?;
            if line.starts_with(CALL_STARTED) {
                self.open_calls += 1;
            } else if line.starts_with(CALL_COMPLETED) {
                self.open_calls = self.open_calls.saturating_sub(1);
            }
            self.offset += line.len() as u64;
            line.clear();
        }
        Ok(())
    }

    /// Whether no tool call works, so that the files of the workspace and the journal agree.
    pub(crate) fn is_quiet(&self) -> bool {
        self.offset > 0 && self.open_calls == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_complete_lines_are_read_and_each_once() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("stream");
        let mut tail = StreamTail::default();
        let read = |tail: &mut StreamTail| {
            let mut lines = Vec::new();
            tail.read(&path, |offset, line| {
                lines.push((offset, String::from_utf8(line.to_vec()).unwrap()));
                Ok(())
            })
            .unwrap();
            lines
        };
        assert_eq!((read(&mut tail), tail.is_quiet()), (Vec::new(), false));
        std::fs::write(&path, "a\nbc").unwrap();
        assert_eq!((read(&mut tail), tail.is_quiet()), (vec![(0, "a".to_owned())], true));
        let started = r#"{"type":"tool_call","subtype":"started","call_id":"1"}"#;
        std::fs::write(&path, format!("a\nbcd\n{started}\n")).unwrap();
        assert_eq!(read(&mut tail), [(2, "bcd".to_owned()), (6, started.to_owned())]);
        assert!(!tail.is_quiet(), "a call works");
        let completed = started.replace("started", "completed");
        std::fs::write(&path, format!("a\nbcd\n{started}\n{completed}\n")).unwrap();
        assert_eq!((read(&mut tail).len(), tail.is_quiet()), (1, true));
    }
}
