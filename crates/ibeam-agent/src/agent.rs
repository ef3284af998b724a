//! The agent for programs that embed it: [`Agent`] opens a [`Session`], whose prompts are [`Turn`]s of events.

use std::future::pending;
use std::io;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Instant;

use futures_util::future::BoxFuture;
use ibeam_core::{Access, Approval, ApprovalRequest, Approver, NoApprover, Stop, Tool};
use ibeam_output::EventWriter;
use ibeam_protocol::{Block, Event, EventKind, Reason, RunFinished, SessionId, Signal, ToolCall, UserPrompt};
use tokio::sync::mpsc as channel;

use crate::app::{AppContext, ConfigUse};
use crate::model;
use crate::prompt::Prompt;
use crate::run::front_end::FrontEnd;
use crate::run::run_process::{RunKind, RunProcess};
use crate::run::run_session::RunSession;
use crate::run::sandbox::RunSandbox;
use crate::run::{on_runtime, thread_error};
use crate::run_error::RunError;
use crate::run_options::RunOptions;

/// The number of events that wait for a slow reader; then the run waits.
const WAITING_EVENTS: usize = 256;

/// An agent with its settings, tools and approval.
///
/// Reads the configuration, keys and trust of the user as the program does. Starts no signal handler and prints nothing on
/// stdout.
#[derive(Clone)]
pub struct Agent {
    options: RunOptions,
    tools: Vec<Arc<dyn Tool>>,
    approver: Arc<dyn Approver>,
}

impl Agent {
    /// Returns an agent whose runs have these options. It refuses calls that no rule allows.
    pub fn new(options: RunOptions) -> Self {
        Self { options, tools: Vec::new(), approver: Arc::new(NoApprover) }
    }

    /// Returns the agent with another tool, for example a [`HostTool`](crate::HostTool).
    #[must_use]
    pub fn with_tool(mut self, tool: impl Tool + 'static) -> Self {
        self.tools.push(Arc::new(tool));
        self
    }

    /// Returns the agent with a function that decides calls that no rule decides. It gets the call and the reason why it
    /// is asked, and runs on the thread of the session, which waits for it.
    #[must_use]
    pub fn with_approval(
        mut self,
        decide: impl Fn(&ToolCall, &str) -> Approval + Send + Sync + 'static,
    ) -> Self {
        self.approver = Arc::new(Approve(decide));
        self
    }

    /// Opens the session that the options name, on a thread of its own.
    ///
    /// # Errors
    /// Every failure before the first prompt: an invalid configuration, no key or model, no sandbox, a session that does
    /// not exist or that another process holds.
    pub fn open(&self) -> Result<Session, RunError> {
        let (prompts, received) = mpsc::channel();
        let (opened, is_open) = mpsc::sync_channel(1);
        let agent = self.clone();
        let work = move || {
            let outcome = agent.serve(&received, &opened);
            if let Err(failed) = &outcome {
                // Nobody waits for the failure of an opening that has succeeded.
                let _ = opened.try_send(Err(failed.clone()));
            }
            outcome
        };
        let thread =
            std::thread::Builder::new().name("session".to_owned()).spawn(work).map_err(thread_error)?;
        let gone = || Reason::Internal { detail: "the thread of the session has ended".to_owned() };
        let id = is_open.recv().map_err(|_| RunError::from(gone()))??;
        Ok(Session { id, prompts: Some(prompts), thread: Some(thread) })
    }

    /// Serves the prompts of a session until its owner drops it.
    fn serve(
        &self,
        prompts: &mpsc::Receiver<PromptRequest>,
        opened: &mpsc::SyncSender<Result<SessionId, RunError>>,
    ) -> Result<(), RunError> {
        let app = Arc::new(AppContext::new(self.options.clone(), ConfigUse::Needed, Instant::now())?);
        on_runtime(|runtime| {
            let reader = CurrentReader::default();
            let writer = reader.clone();
            let process = RunProcess::for_connection(
                runtime,
                &app,
                RunKind::Served,
                Stop::default(),
                Box::new(move || Box::new(writer.clone())),
            );
            let (model, sandbox) = (model::choose_model(&app)?, RunSandbox::spawn(&app)?);
            let none = Prompt { blocks: Vec::new(), notice: None };
            let mut session =
                RunSession::open(process, &app.base.options.session, model, sandbox, &none, self)?;
            // The owner waits for it.
            let _ = opened.send(Ok(session.id()));
            let mut outcome = Ok(());
            while let Ok(PromptRequest { prompt, events, stop, ended }) = prompts.recv() {
                reader.set(Some(events));
                outcome = session.run_prompt(prompt, Some(stop), pending());
                reader.set(None);
                let must_close = outcome.as_ref().is_err_and(|failed| session.must_close(failed));
                // The owner may have dropped the turn.
                let _ = ended.send(outcome.clone());
                if must_close {
                    break;
                }
            }
            session.close(outcome)
        })
    }
}

impl FrontEnd for Agent {
    fn approver(&self) -> Arc<dyn Approver> {
        Arc::clone(&self.approver)
    }

    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.tools.clone()
    }
}

/// An approver that calls a function.
struct Approve<F>(F);

impl<F: Fn(&ToolCall, &str) -> Approval + Send + Sync> Approver for Approve<F> {
    fn decide<'a>(
        &'a self,
        call: &'a ToolCall,
        _: &'a Access,
        request: ApprovalRequest<'a>,
    ) -> BoxFuture<'a, Approval> {
        Box::pin(std::future::ready(self.0(call, request.reason)))
    }
}

struct PromptRequest {
    prompt: UserPrompt,
    events: channel::Sender<Event>,
    stop: Stop,
    ended: mpsc::SyncSender<Result<(), RunError>>,
}

/// An open session. Dropping it ends its commands and servers and waits until its journal is complete.
pub struct Session {
    id: SessionId,
    prompts: Option<mpsc::Sender<PromptRequest>>,
    thread: Option<JoinHandle<Result<(), RunError>>>,
}

impl Session {
    /// Returns the id, with which the session is resumed: [`RunOptions::session`].
    pub fn id(&self) -> SessionId {
        self.id
    }

    /// Starts a turn for a prompt.
    pub fn prompt(&mut self, prompt: impl Into<String>) -> Turn<'_> {
        let prompt = UserPrompt { texts: vec![prompt.into()], ..UserPrompt::default() };
        let ((events, received), (ended, end)) = (channel::channel(WAITING_EVENTS), mpsc::sync_channel(1));
        let stop = Stop::default();
        let request = PromptRequest { prompt, events, stop: stop.clone(), ended };
        // After a failure that no prompt can follow, the thread is gone; the end of the turn says so.
        if let Some(prompts) = &self.prompts {
            let _ = prompts.send(request);
        }
        Turn { events: received, stop, end, text: String::new(), run: None, _session: self }
    }

    /// Ends the session in order.
    ///
    /// # Errors
    /// The failure of the last turn, or the reason why some events were not stored.
    pub fn close(mut self) -> Result<(), RunError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), RunError> {
        drop(self.prompts.take());
        match self.thread.take().map(JoinHandle::join) {
            None => Ok(()),
            Some(Ok(outcome)) => outcome,
            Some(Err(_)) => {
                Err(Reason::Internal { detail: "the thread of the session panicked".to_owned() }.into())
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // The turn has reported its failure.
        let _ = self.end();
    }
}

/// The events of a prompt as they happen, the last of which is [`EventKind::RunFinished`]. Dropping it cancels the run.
pub struct Turn<'s> {
    events: channel::Receiver<Event>,
    stop: Stop,
    end: mpsc::Receiver<Result<(), RunError>>,
    /// The text of the last answer.
    text: String,
    run: Option<RunFinished>,
    _session: &'s mut Session,
}

impl Turn<'_> {
    /// Returns the next event; `None` after the last one. Cancelling the future loses no event.
    pub async fn next_event(&mut self) -> Option<Event> {
        let event = self.events.recv().await;
        event.inspect(|event| self.observe(event))
    }

    /// Cancels the run, which then ends in order.
    pub fn cancel(&self) {
        self.stop.request(Reason::Signalled(Signal::Int));
    }

    /// Waits for the end of the run, and returns the final answer.
    ///
    /// # Errors
    /// The failure of the run.
    pub fn finish(mut self) -> Result<FinalAnswer, RunError> {
        self.by_ref().for_each(drop);
        let gone = || RunError::from(Reason::Internal { detail: "the session has ended".to_owned() });
        self.end.recv().map_err(|_| gone())??;
        let run = self.run.take().ok_or_else(gone)?;
        Ok(FinalAnswer { text: std::mem::take(&mut self.text), run })
    }

    fn observe(&mut self, event: &Event) {
        if let EventKind::ModelRequestFinished { answer, .. } = &event.kind {
            let texts = answer.blocks.iter().filter_map(|block| match block {
                Block::Text(text) => Some(text.as_str()),
                Block::Thinking { .. } | Block::ToolCall(_) | Block::Opaque(_) => None,
            });
            self.text = texts.collect();
        } else if let EventKind::RunFinished(run) = &event.kind {
            self.run = Some(run.as_ref().clone());
        }
    }
}

/// Blocks the thread until the next event; in asynchronous code, use [`Turn::next_event`].
impl Iterator for Turn<'_> {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        let event = self.events.blocking_recv();
        event.inspect(|event| self.observe(event))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if self.run.is_none() {
            self.cancel();
        }
    }
}

/// The end of a run that succeeded.
#[derive(Clone, Debug, PartialEq)]
pub struct FinalAnswer {
    /// The text of the last answer of the model.
    pub text: String,
    /// The totals of the run, and the document of a run with [`RunOptions::json_schema`].
    pub run: RunFinished,
}

/// The writer of events to the turn that runs.
#[derive(Clone, Default)]
struct CurrentReader(Arc<Mutex<Option<channel::Sender<Event>>>>);

impl CurrentReader {
    fn set(&self, events: Option<channel::Sender<Event>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = events;
    }
}

impl EventWriter for CurrentReader {
    fn write(&mut self, event: &Event) -> io::Result<()> {
        let events = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match events {
            Some(events) => {
                // The owner of a dropped turn has cancelled the run.
                let _ = events.blocking_send(event.clone());
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
