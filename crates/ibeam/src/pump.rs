//! The thread that carries events from the loop to the disk, then to the reader, then to people.
//!
//! Disk first: nothing is visible that is not written. One `write` to each per batch; a batch is whatever is
//! waiting. A disk that fails or fills, or a reader that has gone, ends the run in order; what follows until its
//! end is recorded and told all the same, as far as it goes.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use ibeam_core::{Envelope, Stop};
use ibeam_output::EventWriter;
use ibeam_protocol::{EventKind, Reason, RunOutcome};
use ibeam_session::{Session, SessionError};
use tokio::sync::mpsc;

use crate::stderr;
use crate::talk::Talk;

/// Events that may wait for the pump; more make the loop wait.
pub(crate) const WAITING_EVENTS: usize = 1024;

/// The stop of the run that goes on now: a conversation has one pump and many runs.
#[derive(Clone)]
pub(crate) struct CurrentStop(Arc<Mutex<Stop>>);

impl CurrentStop {
    /// That of the first run, or the only one.
    pub(crate) fn of(stop: Stop) -> Self {
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
    /// The journal on disk; `None` for a run that keeps no session.
    pub(crate) session: Option<Session>,
    /// The output format.
    pub(crate) writer: Box<dyn EventWriter + Send>,
    /// stderr.
    pub(crate) talk: Talk,
    /// Asked to end the run when the disk or the reader fails.
    pub(crate) stop: CurrentStop,
}

impl Pump {
    /// Starts the thread; it ends when the loop's end of the channel is dropped, and gives what kept it from
    /// writing everything.
    ///
    /// # Errors
    /// The system's error when no thread can be had.
    pub(crate) fn start(
        mut self,
        mut events: mpsc::Receiver<Envelope>,
    ) -> io::Result<JoinHandle<Option<Reason>>> {
        std::thread::Builder::new().name("pump".to_owned()).spawn(move || {
            let mut batch = Vec::with_capacity(WAITING_EVENTS);
            let mut reader = true;
            let mut unwritten = None;
            while events.blocking_recv_many(&mut batch, WAITING_EVENTS) > 0 {
                // Tried again with every batch: the records of the end may fit where a larger one did not.
                if let Err(error) = self.record(&batch) {
                    let reason = Reason::Io { what: "session".to_owned(), said: error.to_string() };
                    self.stop.get().request(unwritten.get_or_insert(reason).clone());
                }
                if let Some(reason) = &unwritten {
                    unsucceed(&mut batch, reason);
                }
                if let Err(error) = self.show(&batch, reader) {
                    reader = false;
                    let reason = match (error.kind(), self.stop.get().requested()) {
                        (io::ErrorKind::BrokenPipe, _) => Reason::OutputClosed,
                        // A reader that does not read is given up only after a stop: that is what ended the run.
                        (io::ErrorKind::TimedOut, Some(reason)) => reason.clone(),
                        _ => Reason::Io { what: "stdout".to_owned(), said: error.to_string() },
                    };
                    self.stop.get().request(unwritten.get_or_insert(reason).clone());
                }
                for receipt in batch.drain(..).filter_map(|envelope| envelope.receipt) {
                    // The loop may have been dropped while it waited.
                    let _ = receipt.send(());
                }
            }
            unwritten
        })
    }

    fn record(&mut self, batch: &[Envelope]) -> Result<(), SessionError> {
        let Some(session) = &mut self.session else { return Ok(()) };
        let mut appended = Ok(());
        let (mut durable, mut ended, mut compacted) = (false, false, false);
        for Envelope { event, receipt } in batch {
            durable |= receipt.is_some();
            ended |= matches!(event.kind, EventKind::RunFinished(_));
            compacted |= matches!(event.kind, EventKind::Compacted(_));
            appended = appended.and(session.append(event));
        }
        let kept = match (ended, durable) {
            (true, _) => session.settle(),
            (false, true) => session.point(),
            (false, false) => session.flush(),
        };
        // What the model no longer sees begins a segment of its own.
        let rolled = if compacted { session.roll() } else { Ok(()) };
        appended.and(kept).and(rolled)
    }

    /// Prints each event, and what stderr says of it after that: on a terminal that shows both, in the order in
    /// which they happened. Without a reader, or once printing fails, the lines on stderr alone.
    fn show(&mut self, batch: &[Envelope], reader: bool) -> io::Result<()> {
        let mut printed = Ok(());
        for Envelope { event, .. } in batch {
            if reader && printed.is_ok() {
                printed = self.writer.write(event);
            }
            let lines = self.talk.hear(&event.kind);
            if lines.is_empty() {
                continue;
            }
            if reader && printed.is_ok() {
                printed = self.writer.end_line().and_then(|()| self.writer.flush());
            }
            lines.iter().for_each(|line| stderr::say(line));
        }
        if reader { printed.and_then(|()| self.writer.flush()) } else { Ok(()) }
    }
}

/// Tells no success of a run that could not be kept or told whole.
fn unsucceed(batch: &mut [Envelope], reason: &Reason) {
    for envelope in batch {
        if let EventKind::RunFinished(finished) = &mut envelope.event.kind
            && finished.outcome == RunOutcome::Completed
        {
            finished.outcome = RunOutcome::Failed(reason.clone().into());
        }
    }
}
