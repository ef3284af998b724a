//! The debug log of `--debug FILE`: one JSON object per line with what the process did, and when.
//!
//! `docs/trace.md`, "Debug log", describes the lines. The log is private to the user. Every line passes the redactor of
//! the process. A log that cannot be written is a warning and does not change the run. Without the flag, nothing is
//! created or collected.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use ibeam_core::Redactor;
use ibeam_output::Catalogue;
use ibeam_protocol::{Event, Reason};
use ibeam_providers::recording::RecordingStore;
use serde_json::{Value, json};

use crate::clock::now_ms;
use crate::stderr;

/// An open debug log.
pub struct DebugLog {
    file: Mutex<File>,
    started_at: Instant,
    redactor: Redactor,
    catalogue: Arc<Catalogue>,
    has_failed: AtomicBool,
}

impl DebugLog {
    /// Writes a log with the failure of a process that could not start, e.g. because of its configuration. Where the log
    /// cannot be created, nothing is written: the failure is reported in any case.
    pub fn record_start_failure(path: &Path, started_at: Instant, catalogue: Catalogue, reason: &Reason) {
        let log = Self::create(path, started_at, Redactor::default(), Arc::new(catalogue), None);
        if let Ok(log) = log {
            log.write("failure", Value::from(log.catalogue.reason(reason).message));
        }
    }

    /// Creates a log, or replaces an older one, and writes its first line.
    ///
    /// # Errors
    /// The error of the system.
    pub(crate) fn create(
        path: &Path,
        started_at: Instant,
        redactor: Redactor,
        catalogue: Arc<Catalogue>,
        workspace: Option<&Path>,
    ) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        let log = Self {
            file: Mutex::new(file),
            started_at,
            redactor,
            catalogue,
            has_failed: AtomicBool::new(false),
        };
        log.write(
            "start",
            json!({
                "at_ms": now_ms(),
                "version": env!("CARGO_PKG_VERSION"),
                "os": std::env::consts::OS,
                "arch": std::env::consts::ARCH,
                "workspace": workspace.map(Path::to_string_lossy),
            }),
        );
        Ok(log)
    }

    /// Writes that a step of the start is complete.
    pub(crate) fn write_step(&self, name: &str) {
        self.write("step", Value::from(name));
    }

    /// Writes an event of a run. Deltas are left out: the complete answer follows them.
    pub(crate) fn write_event(&self, event: &Event) {
        if !event.kind.is_delta() {
            self.write("event", serde_json::to_value(event).unwrap_or_default());
        }
    }

    /// Writes the message of the failure that ends the process.
    pub fn write_failure(&self, message: String) {
        self.write("failure", Value::from(message));
    }

    fn write(&self, kind: &str, value: Value) {
        let ms = u64::try_from(self.started_at.elapsed().as_millis()).unwrap_or(u64::MAX);
        let line = json!({ "ms": ms, kind: value }).to_string();
        let line = format!("{}\n", self.redactor.redact(&line));
        let written = self.file.lock().unwrap_or_else(PoisonError::into_inner).write_all(line.as_bytes());
        if let Err(error) = written {
            self.warn_once(&error);
        }
    }

    fn warn_once(&self, error: &io::Error) {
        if !self.has_failed.swap(true, Ordering::Relaxed) {
            let reason = Reason::Io { what: "debug log".to_owned(), detail: error.to_string() };
            stderr::write_line(&format!("warning: {}", self.catalogue.reason(&reason).message));
        }
    }
}

/// Writes exchanges with models into a debug log. It never fails.
pub(crate) struct LoggedExchanges(pub(crate) Arc<DebugLog>);

impl RecordingStore for LoggedExchanges {
    fn store(&self, content: &str) -> Result<(), String> {
        self.0.write("exchange", serde_json::from_str(content).unwrap_or_else(|_| Value::from(content)));
        Ok(())
    }
}
