//! The cost of finding the position of an edit, and of making it: from the arguments to the outcome.
//!
//! An edit that does not match is read, decoded and searched, but not written, so it measures the matching alone. Rows
//! named `by_…` are the baselines of their group.

#![allow(clippy::unwrap_used, reason = "a bench that fails should stop")]

use std::fs;
use std::hint::black_box;
use std::time::Duration;

use divan::Bencher;
use divan::counter::BytesCount;
use ibeam_core::{Stop, ToolContext};
use ibeam_protocol::ToolOutcome;
use ibeam_tools::{ToolSettings, Workspace, all};
use serde_json::{Value, json};

fn main() {
    divan::main();
}

/// Lines of a typical file, and of a generated one.
const LINES: [usize; 2] = [500, 20_000];

/// Returns a program without repeated lines.
fn program(lines: usize, line_end: &str) -> String {
    let line =
        |number| format!("    let value_{number} = compute(\"argument {number}\", {number});{line_end}");
    (0..lines).map(line).collect()
}

/// Returns the text that occurs once: the line in the middle.
fn once(lines: usize) -> String {
    let number = lines / 2;
    format!("value_{number} = compute(\"argument {number}\", {number})")
}

mod matching {
    use super::*;

    /// Found twice, so refused with the line numbers.
    #[divan::bench(args = LINES)]
    fn found_twice(bencher: Bencher<'_, '_>, lines: usize) {
        let text = [program(lines, "\n"), "the end\n".to_owned(), "the end\n".to_owned()].concat();
        refuse(bencher, &text, "the end\n");
    }

    /// Refused in a file with CRLF, for an old text with LF.
    #[divan::bench(args = LINES)]
    fn found_twice_over_crlf(bencher: Bencher<'_, '_>, lines: usize) {
        let text = [program(lines, "\r\n"), "the end\r\n".to_owned(), "the end\r\n".to_owned()].concat();
        refuse(bencher, &text, "the end\n");
    }

    /// Not found, so refused with the line where it occurs with other white space.
    #[divan::bench(args = LINES)]
    fn found_with_other_spaces(bencher: Bencher<'_, '_>, lines: usize) {
        refuse(bencher, &program(lines, "\n"), &once(lines).replace(' ', "  "));
    }

    #[divan::bench(args = LINES)]
    fn by_memcpy(bencher: Bencher<'_, '_>, lines: usize) {
        let text = program(lines, "\n").into_bytes();
        let mut copy = vec![0; text.len()];
        bencher.counter(BytesCount::of_slice(&text)).bench_local(|| {
            copy.copy_from_slice(black_box(&text));
            black_box(copy.last().copied())
        });
    }

    fn refuse(bencher: Bencher<'_, '_>, text: &str, old: &str) {
        let file = EditedFile::new(text);
        let call = file.arguments(json!({ "oldText": old, "newText": "else" }));
        bencher.counter(BytesCount::of_str(text)).bench_local(|| {
            let outcome = file.run(&call);
            assert!(matches!(outcome, ToolOutcome::Failure { .. }), "{outcome:?}");
        });
    }
}

mod edited {
    use super::*;

    /// Edits forth and back, so that the file is the same each time.
    #[divan::bench(args = LINES)]
    fn twice(bencher: Bencher<'_, '_>, lines: usize) {
        let text = program(lines, "\n");
        let (old, new) = (once(lines), "other = 1");
        let file = EditedFile::new(&text);
        let there = file.arguments(json!({ "oldText": old, "newText": new }));
        let back = file.arguments(json!({ "oldText": new, "newText": old }));
        bencher.counter(BytesCount::new(2 * text.len())).bench_local(|| {
            for call in [&there, &back] {
                let outcome = file.run(call);
                assert!(matches!(outcome, ToolOutcome::Success { .. }), "{outcome:?}");
            }
        });
    }

    /// An edit of the same durability without a tool: read, write to a new file, fsync, rename, fsync of the directory.
    #[divan::bench(args = LINES)]
    fn by_synced_rename(bencher: Bencher<'_, '_>, lines: usize) {
        let text = program(lines, "\n");
        let directory = tempfile::tempdir().unwrap();
        let [file, new_file] = ["file", "beside"].map(|name| directory.path().join(name));
        fs::write(&file, &text).unwrap();
        bencher.counter(BytesCount::new(2 * text.len())).bench_local(|| {
            for _ in 0..2 {
                let bytes = fs::read(&file).unwrap();
                fs::write(&new_file, black_box(&bytes)).unwrap();
                fs::File::open(&new_file).unwrap().sync_data().unwrap();
                fs::rename(&new_file, &file).unwrap();
                fs::File::open(directory.path()).unwrap().sync_all().unwrap();
            }
        });
    }
}

/// A workspace with one file, and the tool.
struct EditedFile {
    _directory: tempfile::TempDir,
    runtime: tokio::runtime::Runtime,
    tool: std::sync::Arc<dyn ibeam_core::Tool>,
}

impl EditedFile {
    fn new(text: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("file.rs"), text).unwrap();
        let workspace = Workspace::new(directory.path(), &[]).unwrap();
        Self {
            _directory: directory,
            runtime: tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap(),
            tool: all(workspace, ToolSettings::default()).remove("edit").unwrap(),
        }
    }

    fn arguments(&self, mut arguments: Value) -> Value {
        let path = json!("file.rs");
        arguments.as_object_mut().unwrap().insert("path".to_owned(), path);
        arguments
    }

    fn run(&self, arguments: &Value) -> ToolOutcome {
        let context = ToolContext::new(Stop::default(), Duration::from_secs(60));
        let call = self.tool.prepare(black_box(arguments)).unwrap();
        self.runtime.block_on((call.run)(context))
    }
}
