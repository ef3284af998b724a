//! Prints events, and guarantees the last line of a run even when the disk does not answer.
//!
//! The pump (`pump.rs`) is the thread that records batches of events on the disk and then prints them here. While it
//! records a batch, the printer holds the batch and the inbox, which is the channel of further events. So the end of a
//! run does not depend on the disk: if the disk does not answer, the watchdog takes both and continues without
//! recording. The printer also writes the last lines of a run that cannot end in order after a panic or at the end of
//! its time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};
use std::{io, mem};

use ibeam_core::{Envelope, Tally};
use ibeam_output::EventWriter;
use ibeam_protocol::{
    CallId, Event, EventKind, Failure, ModelCallId, Notice, Reason, RunFinished, RunOutcome, SessionId,
    ToolCall, ToolFailure, ToolOutcome,
};
use ibeam_session::Session;
use tokio::sync::{mpsc, oneshot};

use crate::clock::now_ms;
use crate::process_end;
use crate::progress_line;
use crate::pump::CurrentStop;
use crate::stderr;
use crate::stderr_notices::NoticePrinter;

/// The time between two attempts to lock the writer.
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(5);

/// The printer of this process, for a forced exit from any thread.
static CURRENT: Mutex<Option<Arc<Printer>>> = Mutex::new(None);

/// Returns the printer of this process, once there are events to print.
pub fn current() -> Option<Arc<Printer>> {
    CURRENT.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Prints the events of all runs of this process.
pub struct Printer {
    state: Mutex<PrinterState>,
    /// The journal on disk, locked while events are recorded; `None` for an ephemeral run, and once the pump has ended.
    session: Mutex<Option<Session>>,
    /// Requested when writing to stdout fails.
    stop: CurrentStop,
}

struct PrinterState {
    writer: Box<dyn EventWriter + Send>,
    notice_printer: NoticePrinter,
    /// False once stdout has failed.
    has_reader: bool,
    /// The reason why some events did not reach the disk or stdout.
    unwritten: Option<Reason>,
    /// The batch that the pump is recording.
    pending: Option<PendingBatch>,
    /// Whether the run ended without waiting for the disk.
    is_unsynced: bool,
    /// The batch that the pump was recording when it was replaced.
    taken: Option<TakenBatch>,
    /// Whether a forced end has printed the last line, which nothing may follow.
    is_closed: bool,
    /// The run whose last line is not printed yet.
    run: Option<OpenRun>,
    /// The sequence number of the next event.
    next_seq: u64,
    /// Whether the progress of the process is that of these runs.
    shows_progress: bool,
}

/// Events to print, and the receipts to send to those who wait for the printing.
type TakenBatch = (Arc<Vec<Event>>, Vec<oneshot::Sender<()>>);

/// A batch that is being recorded.
pub(crate) struct PendingBatch {
    pub(crate) events: Arc<Vec<Event>>,
    /// Sent when the events are printed.
    pub(crate) receipts: Vec<oneshot::Sender<()>>,
    /// The source of the next events.
    pub(crate) inbox: mpsc::Receiver<Envelope>,
    /// When recording started.
    pub(crate) since: Instant,
}

/// A run that has started and not ended.
struct OpenRun {
    session_id: SessionId,
    ephemeral: bool,
    started_at: Instant,
    tally: Tally,
    /// Tool calls that have started and not finished, in any order.
    calls: HashMap<CallId, (ModelCallId, ToolCall)>,
}

impl Printer {
    /// Returns a printer to `writer` and, on stderr, of `notice_printer`.
    pub(crate) fn new(
        session: Option<Session>,
        writer: Box<dyn EventWriter + Send>,
        notice_printer: NoticePrinter,
        stop: CurrentStop,
    ) -> Arc<Self> {
        let state = PrinterState {
            writer,
            notice_printer,
            has_reader: true,
            unwritten: None,
            pending: None,
            is_unsynced: false,
            taken: None,
            is_closed: false,
            run: None,
            next_seq: 0,
            shows_progress: false,
        };
        Arc::new(Self { state: Mutex::new(state), session: Mutex::new(session), stop })
    }

    /// Makes this the printer of this process, which a forced exit uses, in place of that of an earlier session.
    pub(crate) fn register(self: &Arc<Self>) {
        self.lock().shows_progress = true;
        *CURRENT.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(self));
    }

    /// Holds a batch while it is recorded. Returns false when nothing more may be printed.
    pub(crate) fn begin_batch(&self, pending: PendingBatch) -> bool {
        let mut state = self.lock();
        if !state.is_closed {
            state.pending = Some(pending);
        }
        !state.is_closed
    }

    /// Calls `work` with the journal.
    pub(crate) fn with_session<T>(&self, work: impl FnOnce(&mut Session) -> T) -> Option<T> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(work)
    }

    /// Closes the journal, which releases the lease of the session.
    pub(crate) fn close_session(&self) {
        drop(self.session.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Prints the recorded batch and returns the inbox; `None` when the pump has been replaced.
    ///
    /// `unrecorded` is the reason why the batch could not be recorded.
    pub(crate) fn finish_batch(&self, unrecorded: Option<Reason>) -> Option<mpsc::Receiver<Envelope>> {
        let mut state = self.lock();
        let PendingBatch { events, receipts, inbox, .. } = state.pending.take()?;
        if let Some(reason) = unrecorded {
            self.stop.request(state.unwritten.get_or_insert(reason).clone());
        }
        state.deliver(&events, receipts, &self.stop);
        Some(inbox)
    }

    /// Whether recording of the current batch has taken longer than `timeout`.
    pub(crate) fn waits_for_disk(&self, timeout: Duration) -> bool {
        // While the state is locked, a thread prints and does not wait for the disk.
        let state = self.state.try_lock();
        state.is_ok_and(|state| state.pending.as_ref().is_some_and(|held| held.since.elapsed() >= timeout))
    }

    /// Replaces a pump that waits for the disk, and returns its inbox. The batch that it was recording is printed by
    /// [`Self::print_taken`].
    pub(crate) fn take_over(&self) -> Option<mpsc::Receiver<Envelope>> {
        let mut state = self.state.try_lock().ok()?;
        let PendingBatch { events, receipts, inbox, .. } = state.pending.take()?;
        state.is_unsynced = true;
        state.taken = Some((events, receipts));
        Some(inbox)
    }

    /// Prints the batch of the pump that was replaced.
    pub(crate) fn print_taken(&self) {
        let mut state = self.lock();
        if let Some((events, receipts)) = state.taken.take() {
            state.deliver(&events, receipts, &self.stop);
        }
    }

    /// Prints a batch without recording it, and empties it.
    pub(crate) fn print_unrecorded(&self, batch: &mut Vec<Envelope>) {
        let (events, receipts) = split_batch(batch);
        self.lock().deliver(&events, receipts, &self.stop);
    }

    /// Whether the pump was replaced because the disk did not answer.
    pub(crate) fn is_taken_over(&self) -> bool {
        self.lock().is_unsynced
    }

    /// Whether a run has started whose last line is not printed.
    pub(crate) fn has_open_run(&self) -> bool {
        self.lock().run.is_some()
    }

    /// Returns why some events did not reach the disk or stdout.
    pub(crate) fn unwritten(&self) -> Option<Reason> {
        self.lock().unwritten.clone()
    }

    /// Ends the open run with `failure`: finishes its calls and prints its last line. Waits for a thread that prints no
    /// longer than `timeout`. Returns the end of the run; `None` where no run is open or nothing can be printed.
    ///
    /// No event is printed afterwards.
    pub fn force_end(&self, failure: &Failure, timeout: Duration) -> Option<RunFinished> {
        let deadline = Instant::now() + timeout;
        let mut state = loop {
            match self.state.try_lock() {
                Ok(state) => break state,
                Err(TryLockError::Poisoned(poisoned)) => break poisoned.into_inner(),
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => return None,
                Err(TryLockError::WouldBlock) => thread::sleep(LOCK_RETRY_INTERVAL),
            }
        };
        let is_short_of_memory = matches!(&failure.reason, Reason::System { what, .. } if what == "memory");
        if is_short_of_memory {
            state.writer.spare_memory();
        }
        // The pending events have happened, whether or not they are recorded. They may be what needs the memory.
        let pending = state.pending.take();
        if pending.is_some() {
            state.is_unsynced = true;
        }
        let unrecorded =
            pending.map(|held| held.events).or_else(|| state.taken.take().map(|(events, _)| events));
        if let Some(events) = &unrecorded
            && !is_short_of_memory
        {
            state.deliver(events, Vec::new(), &self.stop);
        }
        state.is_closed = true;
        let run = state.run.take()?;
        let (finished, events) = state.finish_run(run, failure);
        // Printing comes first, because the disk may hang. Nothing can be recorded after a batch that is still being
        // recorded.
        if !state.is_unsynced
            && let Ok(mut session) = self.session.try_lock()
            && let Some(session) = session.as_mut()
        {
            let recorded = events.iter().try_for_each(|event| session.append(event));
            // If these events cannot be recorded, the next run in this session records the end of the open calls.
            drop(recorded.and_then(|()| session.flush()));
        }
        Some(finished)
    }

    fn lock(&self) -> MutexGuard<'_, PrinterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the events and the receipts of a batch, and empties it.
pub(crate) fn split_batch(batch: &mut Vec<Envelope>) -> (Vec<Event>, Vec<oneshot::Sender<()>>) {
    let mut receipts = Vec::new();
    let events = batch.drain(..).map(|Envelope { event, receipt }| {
        receipts.extend(receipt);
        event
    });
    (events.collect(), receipts)
}

impl PrinterState {
    /// Prints events on stdout and stderr, and sends their receipts. A failure of stdout requests the stop.
    fn deliver(&mut self, events: &[Event], receipts: Vec<oneshot::Sender<()>>, stop: &CurrentStop) {
        if self.is_closed {
            return;
        }
        if self.is_unsynced && self.unwritten.is_none() {
            self.unwritten = stop.get().reason().cloned();
        }
        if let Err(error) = self.print_events(events) {
            self.has_reader = false;
            let reason = match (error.kind(), stop.get().reason()) {
                (io::ErrorKind::BrokenPipe, _) => Reason::OutputClosed,
                // The wait for a reader times out only after a stop, whose reason ended the run.
                (io::ErrorKind::TimedOut, Some(reason)) => reason.clone(),
                _ => Reason::Io { what: "stdout".to_owned(), detail: error.to_string() },
            };
            stop.request(self.unwritten.get_or_insert(reason).clone());
        }
        for receipt in receipts {
            // The receiver may have been dropped.
            let _ = receipt.send(());
        }
    }

    fn print_events(&mut self, events: &[Event]) -> io::Result<()> {
        let mut printed = Ok(());
        for event in events {
            let changed;
            let mut event = event;
            if let EventKind::RunFinished(finished) = &event.kind
                && let Some(finished) = self.amend_end(finished)
            {
                let kind = EventKind::RunFinished(Box::new(finished));
                changed = Event { kind, ..event.clone() };
                event = &changed;
            }
            self.track(event);
            if self.shows_progress {
                progress_line::on_event(event);
            }
            let shown = self.print_event(event);
            // Without a reader of stdout, only stderr is written to.
            self.has_reader &= shown.is_ok();
            printed = printed.and(shown);
        }
        printed.and_then(|()| if self.has_reader { self.writer.flush() } else { Ok(()) })
    }

    /// Prints an event, then its lines on stderr. A terminal that shows both shows them in this order.
    fn print_event(&mut self, event: &Event) -> io::Result<()> {
        let mut printed = if self.has_reader { self.writer.write(event) } else { Ok(()) };
        let mut lines = self.notice_printer.on_event(&event.kind);
        if let EventKind::RunFinished(finished) = &event.kind
            && finished.totals.unsynced
        {
            lines.extend(self.notice_printer.on_event(&EventKind::Notice(Notice::SessionUnsynced)));
        }
        if lines.is_empty() {
            return printed;
        }
        if self.has_reader && printed.is_ok() {
            printed = self.writer.end_line().and_then(|()| self.writer.flush());
        }
        // In one piece, so that no other program that writes to the terminal comes between the lines.
        stderr::write_line(&lines.join("\n"));
        printed
    }

    /// Returns the changed end of a run whose events were not all written: a failure, marked as unsynced where the disk
    /// may lack it. `None` where nothing changes.
    fn amend_end(&self, finished: &RunFinished) -> Option<RunFinished> {
        if self.unwritten.is_none() && !self.is_unsynced {
            return None;
        }
        let mut finished = finished.clone();
        if let (RunOutcome::Completed, Some(reason)) = (&finished.outcome, &self.unwritten) {
            finished.outcome = RunOutcome::Failed(reason.clone().into());
        }
        finished.totals.unsynced = self.is_unsynced;
        Some(finished)
    }

    /// Records which run and which calls are open.
    fn track(&mut self, event: &Event) {
        self.next_seq = event.seq + 1;
        let kind = &event.kind;
        if let EventKind::RunStarted(started) = kind {
            process_end::on_run_started();
            self.run = Some(OpenRun {
                session_id: started.session_id,
                ephemeral: started.ephemeral,
                started_at: Instant::now(),
                tally: Tally::default(),
                calls: HashMap::new(),
            });
        } else if let EventKind::RunFinished(_) = kind {
            self.run = None;
        } else if let Some(run) = &mut self.run
            // The writer holds the text.
            && !kind.is_delta()
        {
            run.tally.fold(kind, Duration::ZERO);
            if let EventKind::ToolCallStarted { model_call_id, call } = kind {
                run.calls.insert(call.id.clone(), (model_call_id.clone(), call.clone()));
            } else if let EventKind::ToolCallFinished { call, .. } = kind {
                run.calls.remove(&call.id);
            }
        }
    }

    /// Prints the ends of the open calls and of the run. Returns the end of the run, and all these events.
    fn finish_run(&mut self, mut run: OpenRun, failure: &Failure) -> (RunFinished, Vec<Event>) {
        let at_ms = now_ms();
        let mut kinds = Vec::new();
        for (_, (model_call_id, call)) in mem::take(&mut run.calls) {
            let for_model = "interrupted: the run ended before this call did; its effect is unknown".into();
            let outcome = ToolOutcome::Failure { failure: ToolFailure::Interrupted, for_model };
            kinds.push(EventKind::ToolCallFinished { model_call_id, call, outcome: Box::new(outcome) });
        }
        kinds.iter().for_each(|kind| run.tally.fold(kind, Duration::ZERO));
        run.tally.totals.unsynced = true;
        let finished = RunFinished {
            session_id: run.session_id,
            outcome: RunOutcome::Failed(failure.clone()),
            duration_ms: u64::try_from(run.started_at.elapsed().as_millis()).unwrap_or(u64::MAX),
            totals: run.tally.totals,
            partial: None,
            structured: None,
            ephemeral: run.ephemeral,
        };
        kinds.push(EventKind::RunFinished(Box::new(finished.clone())));
        let numbers = self.next_seq..;
        let events: Vec<_> = numbers.zip(kinds).map(|(seq, kind)| Event { seq, at_ms, kind }).collect();
        // An error of stdout is ignored, because the process ends now.
        let _ = events.iter().try_for_each(|event| self.print_event(event));
        if self.has_reader {
            let _ = self.writer.flush();
        }
        (finished, events)
    }
}
