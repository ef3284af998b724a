//! The thread that carries events from the loop to the disk, then to the reader, then to people.
//!
//! Disk first: nothing is visible that is not written. One `write` to each per batch; a batch is whatever is
//! waiting. A disk that fails or fills, or a reader that has gone, ends the run in order; what follows until its
//! end is recorded and told all the same, as far as it goes.
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

use crate::printer::{Pending, Printer, split};
use crate::resource_exhaustion;

/// Events that may wait for the pump; more make the loop wait.
pub(crate) const WAITING_EVENTS: usize = 1024;

/// The stop of the run that goes on now: a conversation has one pump and many runs.
#[derive(Clone)]
pub(crate) struct CurrentStop(Arc<Mutex<Stop>>);

impl CurrentStop {
    /// That of the first run, or the only one.
    pub(crate) fn new(stop: Stop) -> Self {
        Self(Arc::new(Mutex::new(stop)))
    }

    /// From here on another run goes on.
    pub(crate) fn set(&self, stop: Stop) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = stop;
    }

    /// Asks that run to stop.
    pub(crate) fn request(&self, reason: Reason) {
        self.get().request(reason);
    }

    /// The stop of that run.
    pub(crate) fn get(&self) -> Stop {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Where events go.
pub(crate) struct Pump {
    /// The journal, stdout and stderr.
    pub(crate) printer: Arc<Printer>,
}

/// The thread of a pump.
pub(crate) struct PumpThread {
    has_ended: Arc<AtomicBool>,
}

impl PumpThread {
    /// Whether the thread has ended; waits for that for `time`. Only the thread that started the pump may wait.
    pub(crate) fn has_ended_within(&self, time: Duration) -> bool {
        let has_ended = || self.has_ended.load(Ordering::Acquire);
        if !has_ended() {
            thread::park_timeout(time);
        }
        has_ended()
    }
}

impl Pump {
    /// Starts the thread; it ends when the loop's end of the channel is dropped, or when the end of a run did not wait
    /// for it.
    ///
    /// # Errors
    /// The system's error when no thread can be had.
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
        let mut batch = Vec::with_capacity(WAITING_EVENTS);
        while inbox.blocking_recv_many(&mut batch, WAITING_EVENTS) > 0 {
            let (events, receipts) = split(&mut batch);
            let events = Arc::new(events);
            let (held, since) = (Arc::clone(&events), Instant::now());
            let is_durable = !receipts.is_empty();
            if !self.printer.hold(Pending { events: held, receipts, inbox, since }) {
                return;
            }
            // Tried again with every batch: the records of the end may fit where a larger one did not.
            let recorded = self.printer.with_session(|session| record(session, &events, is_durable));
            let unrecorded = recorded.unwrap_or(Ok(())).err();
            let unrecorded = unrecorded.map(|error| reason_of(&error));
            let Some(returned) = self.printer.print_held(unrecorded) else { return };
            inbox = returned;
        }
        self.printer.close_session();
    }
}

fn record(session: &mut Session, events: &[Event], is_durable: bool) -> Result<(), SessionError> {
    let mut appended = Ok(());
    let (mut ended, mut compacted) = (false, false);
    for event in events {
        ended |= matches!(event.kind, EventKind::RunFinished(_));
        compacted |= matches!(event.kind, EventKind::Compacted(_));
        appended = appended.and(session.append(event));
    }
    let kept = match (ended, is_durable) {
        (true, _) => session.settle(),
        (false, true) => session.point(),
        (false, false) => session.flush(),
    };
    // What the model no longer sees begins a segment of its own.
    let rolled = if compacted { session.roll() } else { Ok(()) };
    appended.and(kept).and(rolled)
}

/// Why the session cannot be written: the system is short of something, or the disk fails.
fn reason_of(error: &SessionError) -> Reason {
    let source = match error {
        SessionError::Create { source, .. }
        | SessionError::Low { source, .. }
        | SessionError::Io { source, .. } => Some(source),
        SessionError::Unknown { .. }
        | SessionError::Busy { .. }
        | SessionError::Leased { .. }
        | SessionError::Removed { .. }
        | SessionError::Cancelled
        | SessionError::Damaged { .. } => None,
    };
    source.and_then(resource_exhaustion::from_io_error).unwrap_or_else(|| crate::run::unwritten(error))
}
