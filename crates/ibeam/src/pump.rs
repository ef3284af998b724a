//! The thread that carries events from the loop to the disk, then to the reader, then to people.
//!
//! Disk first: nothing is visible that is not written. One `write` to each per batch; a batch is whatever is
//! waiting. A reader that has gone ends the run, but the session is kept to its end.

use std::io;
use std::thread::JoinHandle;

use ibeam_core::{Envelope, Stop};
use ibeam_output::EventWriter;
use ibeam_protocol::{EventKind, Reason};
use ibeam_session::Session;
use tokio::sync::mpsc;

use crate::talk::Talk;

/// Events that may wait for the pump; more make the loop wait.
pub(crate) const WAITING_EVENTS: usize = 1024;

/// Where events go.
pub(crate) struct Pump {
    /// The journal on disk.
    pub(crate) session: Session,
    /// The output format.
    pub(crate) writer: Box<dyn EventWriter + Send>,
    /// stderr.
    pub(crate) talk: Talk,
    /// Asked to end the run when the disk or the reader fails.
    pub(crate) stop: Stop,
    /// Wait for the disk at every durable point.
    pub(crate) strict: bool,
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
            let (mut disk, mut reader) = (true, true);
            let mut unwritten = None;
            while events.blocking_recv_many(&mut batch, WAITING_EVENTS) > 0 {
                if disk && let Err(error) = self.record(&batch) {
                    disk = false;
                    let reason = Reason::Io { what: "session".to_owned(), said: error };
                    self.stop.request(unwritten.get_or_insert(reason).clone());
                }
                if reader && let Err(error) = self.print(&batch) {
                    reader = false;
                    let reason = match error.kind() {
                        io::ErrorKind::BrokenPipe => Reason::OutputClosed,
                        _ => Reason::Io { what: "stdout".to_owned(), said: error.to_string() },
                    };
                    self.stop.request(unwritten.get_or_insert(reason).clone());
                }
                for envelope in batch.drain(..) {
                    self.talk.hear(&envelope.event.kind);
                    if let Some(receipt) = envelope.receipt {
                        // The loop may have been dropped while it waited.
                        let _ = receipt.send(());
                    }
                }
            }
            unwritten
        })
    }

    fn record(&mut self, batch: &[Envelope]) -> Result<(), String> {
        let mut durable = false;
        for Envelope { event, receipt } in batch {
            durable |= self.strict && receipt.is_some();
            durable |= matches!(event.kind, EventKind::RunFinished(_));
            self.session.append(event).map_err(|error| error.to_string())?;
        }
        self.session.flush().map_err(|error| error.to_string())?;
        if durable { self.session.sync().map_err(|error| error.to_string()) } else { Ok(()) }
    }

    fn print(&mut self, batch: &[Envelope]) -> io::Result<()> {
        batch.iter().try_for_each(|envelope| self.writer.write(&envelope.event))?;
        self.writer.flush()
    }
}
