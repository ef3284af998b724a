//! How the bytes are handed over: whole lines, one write per batch, nothing after an error.

use std::io::{self, Write};

use ibeam_output::{EventWriter, StreamJson};
use serde_json::Value;

use crate::story::{self, Shared, Story};

fn writes(events: &[ibeam_protocol::Event]) -> Vec<Vec<u8>> {
    let out = Shared::default();
    let mut writer = StreamJson::new(out.clone());
    events.iter().for_each(|event| writer.write(event).unwrap());
    writer.flush().unwrap();
    let writes = out.0.lock().unwrap();
    writes.clone()
}

#[test]
fn a_batch_is_one_write() {
    assert_eq!(writes(&Story::new().user("hi").text("a").text("b").done()).len(), 1);
}

#[test]
fn a_long_batch_is_several_writes_of_whole_lines() {
    let long = "x".repeat(20_000);
    let story = (0..40).fold(Story::new(), |story, _| story.text(&long));
    let writes = writes(&story.done());
    assert!(writes.len() > 5, "{}", writes.len());
    for write in writes {
        assert!(write.ends_with(b"\n"));
        assert!(write.len() < 128 * 1024 || write.iter().filter(|byte| **byte == b'\n').count() == 1);
    }
}

#[test]
fn no_character_ends_a_line_for_any_reader() {
    let text = "a\u{2028}b\u{2029}c\u{85}d\u{b}e\u{c}f\r\n\u{1c}é\u{2028}\u{2028}";
    let line = story::lines(&Story::new().text(text).events).remove(1);
    assert!(line.contains(r"a\u2028b\u2029c\u0085d\u000be\ff\r\n\u001cé\u2028\u2028"), "{line}");
    let value: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(value["message"]["content"][0]["text"], text);
}

/// Takes `room` bytes, then its disk is full.
struct Full {
    room: usize,
    taken: Shared,
}

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.room == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let count = bytes.len().min(self.room);
        self.room -= count;
        self.taken.write(&bytes[..count])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn after_an_error_nothing_more_is_written() {
    let taken = Shared::default();
    let mut writer = StreamJson::new(Full { room: 10, taken: taken.clone() });
    let events = Story::new().text("a").done();
    writer.write(&events[0]).unwrap();
    assert_eq!(writer.flush().unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert_eq!(writer.write(&events[1]).unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert_eq!(writer.flush().unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert_eq!(taken.text().len(), 10);
}

#[test]
fn a_delta_before_the_head_of_the_run_is_an_error_and_prints_nothing() {
    let out = Shared::default();
    let mut writer = StreamJson::new(out.clone());
    assert!(writer.write(&Story::default().text("a").events[0]).is_err());
    writer.flush().unwrap();
    assert_eq!(out.text(), "");
}
