//! The agent for programs that embed it: [`Agent`] opens a [`Session`], whose prompts are [`Turn`]s of events.

use std::fmt;
use std::future::pending;
use std::io;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Instant;

use futures_util::future::BoxFuture;
use ibeam_core::{Access, Approval, ApprovalRequest, Approver, NoApprover, Stop, Tool};
use ibeam_output::EventWriter;
use ibeam_protocol::{Block, Event, EventKind, Reason, RunFinished, SessionId, Signal, ToolCall, UserPrompt};
use tokio::sync::{mpsc as channel, oneshot};

use crate::app::{AppContext, ConfigUse};
use crate::model;
use crate::option_checks;
use crate::prompt::Prompt;
use crate::run::front_end::FrontEnd;
use crate::run::run_process::{RunKind, RunProcess};
use crate::run::run_session::RunSession;
use crate::run::sandbox::RunSandbox;
use crate::run::session_opener::SessionTarget;
use crate::run::{on_runtime, thread_error};
use crate::run_error::RunError;
use crate::run_options::RunOptions;
use crate::worktree;

/// The number of events that may wait for a slow reader before the run waits too.
const WAITING_EVENTS: usize = 256;

/// An agent with its settings, tools and approval.
///
/// Reads the environment, `$XDG_CONFIG_HOME/ibeam`, `.ibeam`, `/etc/ibeam`, stored keys and trust, as the program does, and
/// stores sessions in `$XDG_DATA_HOME/ibeam`. Installs no signal handlers, prints nothing on stdout, and prints warnings on
/// stderr.
#[derive(Clone)]
pub struct Agent {
    options: RunOptions,
    tools: Vec<Arc<dyn Tool>>,
    /// `None` refuses calls that need an approval.
    approver: Option<Arc<dyn Approver>>,
}

impl Agent {
    /// Returns an agent whose runs have these options. It works in the workspace and runs commands in the sandbox; calls that
    /// need an approval are refused.
    pub fn new(options: RunOptions) -> Self {
        Self { options, tools: Vec::new(), approver: None }
    }

    /// Adds a tool, for example a [`HostTool`](crate::HostTool). It replaces a built-in one of the same name; sub-agents do
    /// not get it.
    #[must_use]
    pub fn with_tool(mut self, tool: impl Tool + 'static) -> Self {
        self.tools.push(Arc::new(tool));
        self
    }

    /// Adds a function that decides on calls which the rules leave open or ask about. It gets the call and the reason why it
    /// is asked.
    ///
    /// It runs on a thread of its own and may wait for a person. A run that is cancelled meanwhile refuses the call.
    #[must_use]
    pub fn with_approval(
        mut self,
        decide: impl Fn(&ToolCall, &str) -> Approval + Send + Sync + 'static,
    ) -> Self {
        self.approver = Some(Arc::new(Approve(Arc::new(decide))));
        self
    }

    /// Opens the session that the options name, on a thread of its own. Blocks until the sandbox and the MCP servers have
    /// started; in asynchronous code, call it in `spawn_blocking`.
    ///
    /// # Errors
    /// Every failure before the first prompt: an invalid configuration or option, no key or model, no sandbox, a session
    /// that does not exist or that another process holds. `Usage` for options that only the command line has: `setup`,
    /// `from_plan`, `unpark` and `heartbeat`.
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
        let mut options = self.options.clone();
        refuse_options_of_the_command_line(&options)?;
        option_checks::check_names(&options)?;
        let worktree = worktree::enter(&mut options, &Stop::default())?;
        let mut app = AppContext::new(options, ConfigUse::Needed, Instant::now())?;
        app.worktree = worktree;
        check_session(&app)?;
        let app = Arc::new(app);
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
            let model = model::choose_model(&app)?;
            let sandbox = match self.approver {
                Some(_) => RunSandbox::spawn_for_person(&app)?,
                None => RunSandbox::spawn(&app)?,
            };
            let none = Prompt { blocks: Vec::new(), notice: None };
            let mut session =
                RunSession::open(process, &app.base.options.session, model, sandbox, &none, self)?;
            // The owner waits for it.
            let _ = opened.send(Ok(session.id()));
            while let Ok(PromptRequest { prompt, events, stop, ended }) = prompts.recv() {
                reader.set(Some(events));
                let outcome = session.run_prompt(prompt, Some(stop), pending());
                reader.set(None);
                let failed = outcome.as_ref().err().filter(|failed| session.must_close(failed)).cloned();
                // The owner may have dropped the turn, which has the failure.
                let _ = ended.send(outcome);
                if let Some(failed) = failed {
                    return session.close(Err(failed));
                }
            }
            session.close(Ok(()))
        })
    }
}

/// A mistyped ID of a session would begin a new one.
///
/// # Errors
/// `UnknownSession`.
fn check_session(app: &AppContext) -> Result<(), Reason> {
    let RunOptions { session, creates_named_session, .. } = &app.base.options;
    match session {
        SessionTarget::Named(name)
            if !creates_named_session
                && name.parse().is_ok_and(|id| !ibeam_session::exists(&app.dirs.sessions(), id)) =>
        {
            Err(Reason::UnknownSession { session: name.clone() })
        }
        SessionTarget::New
        | SessionTarget::Newest
        | SessionTarget::Named(_)
        | SessionTarget::Before { .. } => Ok(()),
    }
}

/// # Errors
/// `Usage` with the flag for an option that has an effect only in the program.
fn refuse_options_of_the_command_line(options: &RunOptions) -> Result<(), Reason> {
    let given = [
        ("--setup", options.setup),
        ("--from-plan", options.from_plan.is_some()),
        ("--unpark", options.unpark),
        ("--heartbeat", options.heartbeat.is_some()),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) => {
            let detail = format!("`{flag}` has no effect in a program that embeds the agent; leave it out");
            Err(Reason::Usage { detail: detail.into() })
        }
        None => Ok(()),
    }
}

impl FrontEnd for Agent {
    fn approver(&self) -> Arc<dyn Approver> {
        self.approver.clone().unwrap_or_else(|| Arc::new(NoApprover))
    }

    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.tools.clone()
    }
}

/// An approver that calls a function.
struct Approve<F>(Arc<F>);

impl<F: Fn(&ToolCall, &str) -> Approval + Send + Sync + 'static> Approver for Approve<F> {
    fn decide<'a>(
        &'a self,
        call: &'a ToolCall,
        _: &'a Access,
        request: ApprovalRequest<'a>,
    ) -> BoxFuture<'a, Approval> {
        let (decide, call, reason) = (Arc::clone(&self.0), call.clone(), request.reason.to_owned());
        Box::pin(async move {
            let decided = tokio::task::spawn_blocking(move || decide(&call, &reason)).await;
            decided.unwrap_or(Approval::Unanswered)
        })
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Agent").field("options", &self.options).finish_non_exhaustive()
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Session").field("id", &self.id).finish_non_exhaustive()
    }
}

struct PromptRequest {
    prompt: UserPrompt,
    events: channel::Sender<Event>,
    stop: Stop,
    ended: oneshot::Sender<Result<(), RunError>>,
}

/// An open session. Dropping it, as [`Session::close`], ends its commands and servers and blocks until its journal is
/// complete.
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
        let ((events, received), (ended, end)) = (channel::channel(WAITING_EVENTS), oneshot::channel());
        let stop = Stop::default();
        let request = PromptRequest { prompt, events, stop: stop.clone(), ended };
        // After a failure that no prompt can follow, the thread has ended; `finish` then returns that failure.
        if let Some(prompts) = &self.prompts {
            let _ = prompts.send(request);
        }
        Turn { events: received, stop, end: Some(end), text: String::new(), run: None, session: self }
    }

    /// Shuts the session down cleanly. Blocks for some seconds at most; in asynchronous code, call it in `spawn_blocking`.
    ///
    /// # Errors
    /// The reason why some events were not stored, or the failure after which no prompt could follow.
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

/// The events of a prompt as they happen, the last of which is [`EventKind::RunFinished`].
#[must_use = "dropping a turn cancels its run; call `finish`"]
pub struct Turn<'s> {
    events: channel::Receiver<Event>,
    stop: Stop,
    end: Option<oneshot::Receiver<Result<(), RunError>>>,
    /// The text of the last answer.
    text: String,
    run: Option<RunFinished>,
    session: &'s mut Session,
}

impl Turn<'_> {
    /// Returns the next event; `None` after the last one. Cancelling the future loses no event.
    pub async fn next_event(&mut self) -> Option<Event> {
        let event = self.events.recv().await;
        event.inspect(|event| self.observe(event))
    }

    /// Returns what cancels the run from any thread.
    pub fn canceller(&self) -> Canceller {
        Canceller(self.stop.clone())
    }

    /// Blocks until the run ends, and returns the final answer. In asynchronous code, use [`Self::finished`].
    ///
    /// # Errors
    /// The failure of the run; `Signalled(Int)` if it was cancelled.
    ///
    /// # Panics
    /// Within a runtime of tokio.
    pub fn finish(mut self) -> Result<FinalAnswer, RunError> {
        self.by_ref().for_each(drop);
        let end = self.end.take().and_then(|end| end.blocking_recv().ok());
        self.answer(end)
    }

    /// Waits for the end of the run, and returns the final answer.
    ///
    /// # Errors
    /// As [`Self::finish`].
    pub async fn finished(mut self) -> Result<FinalAnswer, RunError> {
        while self.next_event().await.is_some() {}
        let end = match self.end.take() {
            Some(end) => end.await.ok(),
            None => None,
        };
        self.answer(end)
    }

    fn answer(&mut self, end: Option<Result<(), RunError>>) -> Result<FinalAnswer, RunError> {
        match (end, self.run.take()) {
            (Some(Ok(())), Some(run)) => Ok(FinalAnswer { text: std::mem::take(&mut self.text), run }),
            (Some(Err(failed)), _) => Err(failed),
            // The thread of the session has ended before.
            (Some(Ok(())) | None, _) => {
                self.session.end()?;
                Err(Reason::Internal { detail: "the session has ended".to_owned() }.into())
            }
        }
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

/// Blocks the thread until the next event, and panics within a runtime of tokio: use [`Turn::next_event`] there.
impl Iterator for Turn<'_> {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        let event = self.events.blocking_recv();
        event.inspect(|event| self.observe(event))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if self.end.is_some() {
            self.canceller().cancel();
        }
    }
}

/// Cancels a run, which then ends as after an interrupt. Clones cancel the same run.
#[derive(Clone)]
pub struct Canceller(Stop);

impl Canceller {
    /// Cancels the run; without effect once it has ended.
    pub fn cancel(&self) {
        self.0.request(Reason::Signalled(Signal::Int));
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
