//! The reader's side of the pump: what is printed, and the last line of a run whatever becomes of the disk.
//!
//! The pump prints a batch once it is recorded. While it records, the batch and the inbox lie here, so that the end of
//! a run need not wait for a disk that does not answer: the watchdog takes them and goes on without recording. A run
//! that cannot end in order, because of a panic or because its time is up, gets its last lines here too.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
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
use crate::pump::CurrentStop;
use crate::stderr;
use crate::stderr_notices::NoticePrinter;

/// Between two attempts to get hold of the writer.
const PAUSE: Duration = Duration::from_millis(5);

/// The printer of the events of this process; a panic of any thread finds it here.
static CURRENT: OnceLock<Arc<Printer>> = OnceLock::new();

/// The printer of this process, once there are events to print.
pub(crate) fn current() -> Option<&'static Arc<Printer>> {
    CURRENT.get()
}

/// Prints events, and ends what is printed.
pub(crate) struct Printer {
    state: Mutex<State>,
    /// The journal on disk, locked while something is recorded; `None` for a run that keeps no session, and once the
    /// pump has ended.
    session: Mutex<Option<Session>>,
    /// Asked to end the run when the reader fails.
    stop: CurrentStop,
}

struct State {
    writer: Box<dyn EventWriter + Send>,
    talk: NoticePrinter,
    /// False once stdout has failed.
    has_reader: bool,
    /// What kept events from the disk or from the reader.
    unwritten: Option<Reason>,
    /// What the pump records at this moment.
    pending: Option<Pending>,
    /// The disk was not waited for.
    is_unsynced: bool,
    /// What the pump recorded when it was not waited for any more.
    taken: Option<Taken>,
    /// The last line has been printed by force: nothing follows it.
    is_closed: bool,
    /// The run whose last line has not been printed.
    run: Option<OpenRun>,
    /// The number after that of the last event.
    next_seq: u64,
}

/// Events to print, and the receipts that they ask for.
type Taken = (Arc<Vec<Event>>, Vec<oneshot::Sender<()>>);

/// A batch that is being recorded.
pub(crate) struct Pending {
    /// Its events.
    pub(crate) events: Arc<Vec<Event>>,
    /// Answered when they are printed.
    pub(crate) receipts: Vec<oneshot::Sender<()>>,
    /// Where the next events come from.
    pub(crate) inbox: mpsc::Receiver<Envelope>,
    /// When recording began.
    pub(crate) since: Instant,
}

/// A run that has begun and not ended.
struct OpenRun {
    session_id: SessionId,
    /// The run keeps no session.
    ephemeral: bool,
    began: Instant,
    tally: Tally,
    /// Calls that were started and not finished, in any order.
    calls: HashMap<CallId, (ModelCallId, ToolCall)>,
}

impl Printer {
    /// A printer to `writer` and, for people, to `talk`; from here on the printer of this process.
    pub(crate) fn new(
        session: Option<Session>,
        writer: Box<dyn EventWriter + Send>,
        talk: NoticePrinter,
        stop: CurrentStop,
    ) -> Arc<Self> {
        let state = State {
            writer,
            talk,
            has_reader: true,
            unwritten: None,
            pending: None,
            is_unsynced: false,
            taken: None,
            is_closed: false,
            run: None,
            next_seq: 0,
        };
        let printer = Arc::new(Self { state: Mutex::new(state), session: Mutex::new(session), stop });
        // A process has one.
        let _ = CURRENT.set(Arc::clone(&printer));
        printer
    }

    /// Keeps a batch while it is recorded; false where nothing may follow what has been printed.
    pub(crate) fn hold(&self, pending: Pending) -> bool {
        let mut state = self.lock();
        if !state.is_closed {
            state.pending = Some(pending);
        }
        !state.is_closed
    }

    /// Does `work` with the journal.
    pub(crate) fn with_session<T>(&self, work: impl FnOnce(&mut Session) -> T) -> Option<T> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(work)
    }

    /// Gives up the journal, and with it the lease.
    pub(crate) fn close_session(&self) {
        drop(self.session.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Prints the batch that was held and returns the inbox; `None` when somebody else goes on in the pump's place.
    ///
    /// `unrecorded` is what kept the batch from being recorded.
    pub(crate) fn print_held(&self, unrecorded: Option<Reason>) -> Option<mpsc::Receiver<Envelope>> {
        let mut state = self.lock();
        let Pending { events, receipts, inbox, .. } = state.pending.take()?;
        if let Some(reason) = unrecorded {
            self.stop.request(state.unwritten.get_or_insert(reason).clone());
        }
        state.deliver(&events, receipts, &self.stop);
        Some(inbox)
    }

    /// Whether a batch has been recorded for longer than `patience`, and is not there yet.
    pub(crate) fn waits_for_disk(&self, patience: Duration) -> bool {
        // Where it is locked, somebody prints and does not wait for the disk.
        let state = self.state.try_lock();
        state.is_ok_and(|state| state.pending.as_ref().is_some_and(|held| held.since.elapsed() >= patience))
    }

    /// Takes the inbox from a pump that records: it is not waited for any more. What it records is to be printed with
    /// [`Self::print_taken`].
    pub(crate) fn take_over(&self) -> Option<mpsc::Receiver<Envelope>> {
        let mut state = self.state.try_lock().ok()?;
        let Pending { events, receipts, inbox, .. } = state.pending.take()?;
        state.is_unsynced = true;
        state.taken = Some((events, receipts));
        Some(inbox)
    }

    /// Prints the batch of the pump that was not waited for.
    pub(crate) fn print_taken(&self) {
        let mut state = self.lock();
        if let Some((events, receipts)) = state.taken.take() {
            state.deliver(&events, receipts, &self.stop);
        }
    }

    /// Prints a batch that is not recorded, and empties it.
    pub(crate) fn print_unrecorded(&self, batch: &mut Vec<Envelope>) {
        let (events, receipts) = split(batch);
        self.lock().deliver(&events, receipts, &self.stop);
    }

    /// Whether the disk was not waited for.
    pub(crate) fn is_taken_over(&self) -> bool {
        self.lock().is_unsynced
    }

    /// Whether a run has begun whose last line is not printed.
    pub(crate) fn has_open_run(&self) -> bool {
        self.lock().run.is_some()
    }

    /// What kept events from the disk or from the reader.
    pub(crate) fn unwritten(&self) -> Option<Reason> {
        self.lock().unwritten.clone()
    }

    /// Ends the run that is open with `failure`: finishes its calls and prints its last line. Waits no longer than
    /// `patience` for a thread that prints. Returns the end; `None` where no run is open or nothing can be printed.
    ///
    /// Nothing is printed afterwards.
    pub(crate) fn end_by_force(&self, failure: &Failure, patience: Duration) -> Option<RunFinished> {
        let deadline = Instant::now() + patience;
        let mut state = loop {
            match self.state.try_lock() {
                Ok(state) => break state,
                Err(TryLockError::Poisoned(poisoned)) => break poisoned.into_inner(),
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => return None,
                Err(TryLockError::WouldBlock) => thread::sleep(PAUSE),
            }
        };
        // They are facts, whether or not they come to be recorded.
        let pending = state.pending.take();
        if pending.is_some() {
            state.is_unsynced = true;
        }
        let unrecorded =
            pending.map(|held| held.events).or_else(|| state.taken.take().map(|(events, _)| events));
        if let Some(events) = &unrecorded {
            state.deliver(events, Vec::new(), &self.stop);
        }
        state.is_closed = true;
        let run = state.run.take()?;
        let (finished, events) = state.end(run, failure);
        // Printed first: nothing is known of the disk. Behind a batch that is being recorded there is no place.
        if !state.is_unsynced
            && let Ok(mut session) = self.session.try_lock()
            && let Some(session) = session.as_mut()
        {
            let recorded = events.iter().try_for_each(|event| session.append(event));
            // What cannot be recorded now, the next run on this session makes good.
            drop(recorded.and_then(|()| session.flush()));
        }
        Some(finished)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The events and the receipts of a batch, which is empty afterwards.
pub(crate) fn split(batch: &mut Vec<Envelope>) -> (Vec<Event>, Vec<oneshot::Sender<()>>) {
    let mut receipts = Vec::new();
    let events = batch.drain(..).map(|Envelope { event, receipt }| {
        receipts.extend(receipt);
        event
    });
    (events.collect(), receipts)
}

impl State {
    /// Prints events, tells people of them, and answers the loop. A reader that fails ends the run.
    fn deliver(&mut self, events: &[Event], receipts: Vec<oneshot::Sender<()>>, stop: &CurrentStop) {
        if self.is_closed {
            return;
        }
        if self.is_unsynced && self.unwritten.is_none() {
            self.unwritten = stop.get().requested().cloned();
        }
        if let Err(error) = self.print(events) {
            self.has_reader = false;
            let reason = match (error.kind(), stop.get().requested()) {
                (io::ErrorKind::BrokenPipe, _) => Reason::OutputClosed,
                // A reader that does not read is given up only after a stop: that is what ended the run.
                (io::ErrorKind::TimedOut, Some(reason)) => reason.clone(),
                _ => Reason::Io { what: "stdout".to_owned(), detail: error.to_string() },
            };
            stop.request(self.unwritten.get_or_insert(reason).clone());
        }
        for receipt in receipts {
            // The loop may have been dropped while it waited.
            let _ = receipt.send(());
        }
    }

    fn print(&mut self, events: &[Event]) -> io::Result<()> {
        let mut printed = Ok(());
        for event in events {
            let kept;
            let mut event = event;
            if let EventKind::RunFinished(finished) = &event.kind
                && let Some(finished) = self.amended(finished)
            {
                let kind = EventKind::RunFinished(Box::new(finished));
                kept = Event { kind, ..event.clone() };
                event = &kept;
            }
            self.track(event);
            let shown = self.show(event);
            // Without a reader there are the lines on stderr alone.
            self.has_reader &= shown.is_ok();
            printed = printed.and(shown);
        }
        printed.and_then(|()| if self.has_reader { self.writer.flush() } else { Ok(()) })
    }

    /// Prints an event, and what stderr says of it after that: on a terminal that shows both, in the order in which
    /// they happened.
    fn show(&mut self, event: &Event) -> io::Result<()> {
        let mut printed = if self.has_reader { self.writer.write(event) } else { Ok(()) };
        let mut lines = self.talk.on_event(&event.kind);
        if let EventKind::RunFinished(finished) = &event.kind
            && finished.totals.unsynced
        {
            lines.extend(self.talk.on_event(&EventKind::Notice(Notice::SessionUnsynced)));
        }
        if lines.is_empty() {
            return printed;
        }
        if self.has_reader && printed.is_ok() {
            printed = self.writer.end_line().and_then(|()| self.writer.flush());
        }
        lines.iter().for_each(|line| stderr::write_line(line));
        printed
    }

    /// The end of a run that could not be kept or told whole: no success, and marked where it may not be on the disk.
    /// `None` where there is nothing to change.
    fn amended(&self, finished: &RunFinished) -> Option<RunFinished> {
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

    /// Keeps account of what is open.
    fn track(&mut self, event: &Event) {
        self.next_seq = event.seq + 1;
        let kind = &event.kind;
        match kind {
            EventKind::SessionStarted(started) => {
                self.run = Some(OpenRun {
                    session_id: started.session_id,
                    ephemeral: started.ephemeral,
                    began: Instant::now(),
                    tally: Tally::default(),
                    calls: HashMap::new(),
                });
            }
            // The writer has the text.
            EventKind::TextDelta { .. } | EventKind::ThinkingDelta { .. } => {}
            EventKind::RunFinished(_) => self.run = None,
            EventKind::UserMessage { .. }
            | EventKind::PromptWithheld { .. }
            | EventKind::ModelRequestFinished { .. }
            | EventKind::PermissionDecided(_)
            | EventKind::ToolCallStarted { .. }
            | EventKind::CallInterrupted { .. }
            | EventKind::ToolCallFinished { .. }
            | EventKind::Retrying { .. }
            | EventKind::Compacted(_)
            | EventKind::Notice(_) => {
                let Some(run) = &mut self.run else { return };
                run.tally.fold(kind, Duration::ZERO);
                if let EventKind::ToolCallStarted { model_call_id, call } = kind {
                    run.calls.insert(call.id.clone(), (model_call_id.clone(), call.clone()));
                } else if let EventKind::ToolCallFinished { call, .. } = kind {
                    run.calls.remove(&call.id);
                }
            }
        }
    }

    /// Prints the ends of the calls that are open, and of the run; returns the latter, and all these events.
    fn end(&mut self, mut run: OpenRun, failure: &Failure) -> (RunFinished, Vec<Event>) {
        let at_ms = now_ms();
        let mut kinds = Vec::new();
        for (_, (model_call_id, call)) in mem::take(&mut run.calls) {
            let for_model = "interrupted: the run ended before this call did; its effect is unknown".into();
            let outcome = ToolOutcome::Failure { failure: ToolFailure::Interrupted, for_model };
            kinds.push(EventKind::ToolCallFinished { model_call_id, call, outcome });
        }
        kinds.iter().for_each(|kind| run.tally.fold(kind, Duration::ZERO));
        run.tally.totals.unsynced = true;
        let finished = RunFinished {
            session_id: run.session_id,
            outcome: RunOutcome::Failed(failure.clone()),
            duration_ms: u64::try_from(run.began.elapsed().as_millis()).unwrap_or(u64::MAX),
            totals: run.tally.totals,
            partial: None,
            ephemeral: run.ephemeral,
        };
        kinds.push(EventKind::RunFinished(Box::new(finished.clone())));
        let numbers = self.next_seq..;
        let events: Vec<_> = numbers.zip(kinds).map(|(seq, kind)| Event { seq, at_ms, kind }).collect();
        // There is nobody left to tell of an error.
        let _ = events.iter().try_for_each(|event| self.show(event));
        if self.has_reader {
            let _ = self.writer.flush();
        }
        (finished, events)
    }
}
