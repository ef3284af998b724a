//! The writes of a writer: complete lines, one write per batch, nothing after an error.

use std::io::{self, Write};

use ibeam_output::{EventWriter, StreamJson};
use serde_json::Value;

use crate::run_events::{self, RunEvents, SharedBuffer};

fn writes(events: &[ibeam_protocol::Event]) -> Vec<Vec<u8>> {
    let out = SharedBuffer::default();
    let mut writer = StreamJson::new(out.clone());
    events.iter().for_each(|event| writer.write(event).unwrap());
    writer.flush().unwrap();
    let writes = out.0.lock().unwrap();
    writes.clone()
}

#[test]
fn a_batch_is_one_write() {
    assert_eq!(writes(&RunEvents::new().user("hi").text("a").text("b").completed()).len(), 1);
}

#[test]
fn a_long_batch_is_several_writes_of_complete_lines() {
    let long = "x".repeat(20_000);
    let run = (0..40).fold(RunEvents::new(), |run, _| run.text(&long));
    let writes = writes(&run.completed());
    assert!(writes.len() > 5, "{}", writes.len());
    for write in writes {
        assert!(write.ends_with(b"\n"));
        assert!(write.len() < 128 * 1024 || write.iter().filter(|byte| **byte == b'\n').count() == 1);
    }
}

#[test]
fn characters_that_readers_take_for_line_ends_are_escaped() {
    let text = "a\u{2028}b\u{2029}c\u{85}d\u{b}e\u{c}f\r\n\u{1c}é\u{2028}\u{2028}";
    let line = run_events::lines(&RunEvents::new().text(text).events).remove(1);
    assert!(line.contains(r"a\u2028b\u2029c\u0085d\u000be\ff\r\n\u001cé\u2028\u2028"), "{line}");
    let value: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(value["message"]["content"][0]["text"], text);
}

/// An inner writer that accepts `free_bytes` bytes.
struct FullDisk {
    free_bytes: usize,
    written: SharedBuffer,
}

impl Write for FullDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.free_bytes == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let count = bytes.len().min(self.free_bytes);
        self.free_bytes -= count;
        self.written.write(&bytes[..count])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn after_an_error_nothing_more_is_written() {
    let written = SharedBuffer::default();
    let mut writer = StreamJson::new(FullDisk { free_bytes: 10, written: written.clone() });
    let events = RunEvents::new().text("a").completed();
    writer.write(&events[0]).unwrap();
    assert_eq!(writer.flush().unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert_eq!(writer.write(&events[1]).unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert_eq!(writer.flush().unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert_eq!(written.text().len(), 10);
}

#[test]
fn a_delta_before_the_session_starts_is_an_error_and_prints_nothing() {
    let out = SharedBuffer::default();
    let mut writer = StreamJson::new(out.clone());
    assert!(writer.write(&RunEvents::default().text("a").events[0]).is_err());
    writer.flush().unwrap();
    assert_eq!(out.text(), "");
}
