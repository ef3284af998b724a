//! The output of a run for a client: progress as it happens, and at the end the object of `--output-format json`.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use ibeam_mcp_server::Progress;
use ibeam_output::{EventWriter, Json, escape_to_one_line};
use ibeam_protocol::{Event, EventKind, ToolCall, elide_end};
use serde_json::Value;

/// Maximum number of characters of a path or command in a report.
const MAX_DETAIL_CHARS: usize = 200;
/// The arguments that say most about a call, the most telling first.
const TELLING_ARGUMENTS: [&str; 5] = ["command", "path", "pattern", "url", "query"];

/// The object of a run, empty until it has completed.
#[derive(Clone, Default)]
pub(super) struct RunObject(Arc<Mutex<Vec<u8>>>);

impl RunObject {
    /// Returns the object of a completed run.
    pub(super) fn parse(&self) -> Option<Value> {
        serde_json::from_slice(&self.0.lock().unwrap_or_else(PoisonError::into_inner)).ok()
    }
}

impl Write for RunObject {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reports the progress of a run, and writes its object.
pub(super) struct RunWriter {
    object: Json<RunObject>,
    progress: Progress,
}

impl RunWriter {
    pub(super) fn new(object: RunObject, progress: Progress) -> Self {
        Self { object: Json::new(object), progress }
    }

    fn report(&self, kind: &EventKind) {
        if let EventKind::RunStarted(head) = kind {
            self.progress.report(&format!("session {}", head.session_id));
        } else if let EventKind::ToolCallStarted { call, .. } = kind {
            self.progress.report(&call_text(call));
        } else if let EventKind::Retrying { attempt, delay_ms, .. } = kind {
            let seconds = delay_ms.div_ceil(1000);
            self.progress.report(&format!("attempt {attempt} failed; next in {seconds} s"));
        } else if let EventKind::Compacted(_) = kind {
            self.progress.report("conversation shortened");
        }
    }
}

impl EventWriter for RunWriter {
    fn write(&mut self, event: &Event) -> io::Result<()> {
        self.report(&event.kind);
        self.object.write(event)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.object.flush()
    }
}

/// Returns the name of the tool and the argument that says most.
fn call_text(call: &ToolCall) -> String {
    let detail = TELLING_ARGUMENTS.iter().find_map(|name| call.arguments.get(name)?.as_str());
    let text = detail.map_or_else(
        || call.name.clone(),
        |detail| format!("{}: {}", call.name, elide_end(detail, MAX_DETAIL_CHARS)),
    );
    escape_to_one_line(&text)
}
