//! The thread that writes events of the loop to the disk, then to stdout, then to stderr.
//!
//! The disk comes first: no event is visible before it is on the disk. Each batch of waiting events takes one `write`
//! to each of the three. If the disk fails or is full, or stdout is closed, the run ends in order. The events up to the
//! end of the run are recorded and printed as far as possible.
//!
//! Only the end of a run does not wait for a disk that does not answer: see [`Printer`].

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ibeam_core::{Envelope, Stop};
use ibeam_protocol::{Event, EventKind, Reason};
use ibeam_session::{Session, SessionError};
use tokio::sync::mpsc;

use crate::printer::{PendingBatch, Printer, split_batch};
use crate::resource_exhaustion;

/// The number of events that may wait for the pump. With more events, the loop of the run waits.
pub(crate) const MAX_WAITING_EVENTS: usize = 1024;

/// The stop of the current run. A session with one pump may have many runs.
#[derive(Clone)]
pub struct CurrentStop(Arc<Mutex<Stop>>);

impl CurrentStop {
    /// Returns a current stop with the stop of the first run.
    pub fn new(stop: Stop) -> Self {
        Self(Arc::new(Mutex::new(stop)))
    }

    /// Replaces the stop by the one of another run.
    pub fn set(&self, stop: Stop) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = stop;
    }

    /// Requests the stop of the current run.
    pub fn request(&self, reason: Reason) {
        self.get().request(reason);
    }

    /// Returns the stop of the current run.
    pub(crate) fn get(&self) -> Stop {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The time between two batches of deltas that a person reads: 30 changes of the screen in a second.
pub(crate) const SCREEN_DELTA_INTERVAL: Duration = Duration::from_millis(33);

/// Writes events to a printer and its session.
pub(crate) struct Pump {
    pub(crate) printer: Arc<Printer>,
    /// The time between two batches that hold nothing but deltas of the model; zero writes each delta at once.
    pub(crate) delta_interval: Duration,
}

/// A running pump.
pub(crate) struct PumpThread {
    has_ended: Arc<AtomicBool>,
}

impl PumpThread {
    /// Whether the thread has ended; waits up to `timeout` for it. Only the thread that started the pump may wait.
    pub(crate) fn has_ended_within(&self, timeout: Duration) -> bool {
        let has_ended = || self.has_ended.load(Ordering::Acquire);
        if !has_ended() {
            thread::park_timeout(timeout);
        }
        has_ended()
    }
}

impl Pump {
    /// Starts the thread. It ends when the sender of `inbox` is dropped, or when the pump was replaced.
    ///
    /// # Errors
    /// The system's error when no thread can be started.
    pub(crate) fn start(self, inbox: mpsc::Receiver<Envelope>) -> io::Result<PumpThread> {
        let has_ended = Arc::new(AtomicBool::new(false));
        let (ending, starter) = (Arc::clone(&has_ended), thread::current());
        thread::Builder::new().name("pump".to_owned()).spawn(move || {
            self.run(inbox);
            ending.store(true, Ordering::Release);
            starter.unpark();
        })?;
        Ok(PumpThread { has_ended })
    }

    fn run(self, mut inbox: mpsc::Receiver<Envelope>) {
        let mut batch = Vec::with_capacity(MAX_WAITING_EVENTS);
        let mut next_deltas = Instant::now();
        while inbox.blocking_recv_many(&mut batch, MAX_WAITING_EVENTS) > 0 {
            if !self.delta_interval.is_zero() && batch.iter().all(is_delta) {
                thread::sleep(next_deltas.saturating_duration_since(Instant::now()));
                collect_waiting(&mut inbox, &mut batch);
                next_deltas = Instant::now() + self.delta_interval;
            }
            let (events, receipts) = split_batch(&mut batch);
            let events = Arc::new(events);
            let (held, since) = (Arc::clone(&events), Instant::now());
            let is_durable = !receipts.is_empty();
            if !self.printer.begin_batch(PendingBatch { events: held, receipts, inbox, since }) {
                return;
            }
            // Every batch is tried: the small records of the end may fit where a larger batch did not.
            let recorded = self.printer.with_session(|session| record(session, &events, is_durable));
            let unrecorded = recorded.unwrap_or(Ok(())).err();
            let unrecorded = unrecorded.map(|error| reason_of(&error));
            let Some(returned) = self.printer.finish_batch(unrecorded) else { return };
            inbox = returned;
        }
        self.printer.close_session();
    }
}

/// Whether an event is a part of a text that the model is writing, for whose record nobody waits.
fn is_delta(envelope: &Envelope) -> bool {
    let kind = &envelope.event.kind;
    envelope.receipt.is_none() && kind.is_delta()
}

/// Adds the events that wait to a batch, up to its capacity.
fn collect_waiting(inbox: &mut mpsc::Receiver<Envelope>, batch: &mut Vec<Envelope>) {
    while batch.len() < MAX_WAITING_EVENTS
        && let Ok(envelope) = inbox.try_recv()
    {
        batch.push(envelope);
    }
}

/// Records events on the disk.
///
/// # Errors
/// The error of the journal.
pub(crate) fn record(session: &mut Session, events: &[Event], is_durable: bool) -> Result<(), SessionError> {
    let mut appended = Ok(());
    let (mut ended, mut compacted) = (false, false);
    for event in events {
        ended |= matches!(event.kind, EventKind::RunFinished(_));
        compacted |= matches!(event.kind, EventKind::Compacted(_));
        appended = appended.and(session.append(event));
    }
    let written = match (ended, is_durable) {
        (true, _) => session.sync_to_disk(),
        (false, true) => session.begin_sync(),
        (false, false) => session.flush(),
    };
    // A compaction starts a new segment, so that a resumed session does not read events that the model no longer
    // receives.
    let rolled = if compacted { session.rotate() } else { Ok(()) };
    appended.and(written).and(rolled)
}

/// Returns why the session cannot be written: a resource of the system is exhausted, or the disk fails.
pub(crate) fn reason_of(error: &SessionError) -> Reason {
    let source = match error {
        SessionError::Unusable { source, .. }
        | SessionError::LowDiskSpace { source, .. }
        | SessionError::Io { source, .. } => Some(source),
        SessionError::Unknown { .. }
        | SessionError::Busy { .. }
        | SessionError::Leased { .. }
        | SessionError::Removed { .. }
        | SessionError::Cancelled
        | SessionError::Damaged { .. } => None,
    };
    source
        .and_then(resource_exhaustion::from_io_error)
        .unwrap_or_else(|| crate::run::journal_write_reason(error))
}
