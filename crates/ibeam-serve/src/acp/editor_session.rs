//! One session of an editor: a thread with its own configuration, sandbox and journal, which runs its prompts.
//!
//! The journal is opened with the first prompt, so that a session without one leaves no trace. A change of the mode, the
//! model or the effort takes effect with the next prompt, which opens the session again with the new configuration.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use ibeam_acp::schema::{
    ConfigOptionUpdate, ContentBlock, CurrentModeUpdate, LoadSessionResponse, NewSessionResponse,
    PromptResponse, ResumeSessionResponse, SessionConfigOptionValue, SessionNotification, SessionUpdate,
    SetSessionConfigOptionRequest, SetSessionConfigOptionResponse, SetSessionModeResponse,
};
use ibeam_acp::{
    ClientFeatures, EFFORT_OPTION, MODE_OPTION, MODEL_OPTION, PromptPart, REQUEST_CANCELLED, SessionSettings,
    SessionUpdates, UpdateOptions, available_commands, config_options, mode_name, mode_state, parse_mode,
    prompt_parts, stop_reason,
};
use ibeam_json_rpc::{INTERNAL_ERROR, INVALID_PARAMS, Peer, Responder, RpcError};
use ibeam_output::Catalogue;
use ibeam_protocol::{Attachment, Failure, PermissionMode, Reason, RunOutcome, SessionId, UserPrompt};
use ibeam_tools::EditorLock;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

use super::editor_approver::{EditorApprover, LastingAnswers};
use super::editor_file_system::EditorFileSystem;
use super::editor_front_end::{EditorFrontEnd, EditorWriter, UPDATE};
use super::editor_questioner::EditorQuestioner;
use super::session_settings::{add_model, changed_context, new_context, rpc_error, settings_of};
use super::stored_past::read_past;
use super::turn_control::{SessionControl, Turn, lock};
use ibeam_agent::app::AppContext;
use ibeam_agent::model::{self, model_info};
use ibeam_agent::prompt::Prompt;
use ibeam_agent::run::run_process::{RunKind, RunProcess};
use ibeam_agent::run::run_session::RunSession;
use ibeam_agent::run::sandbox::RunSandbox;
use ibeam_agent::run::session_opener::SessionTarget;
use ibeam_agent::run::{attachments, on_runtime, policy_rules};
use ibeam_agent::run_error::RunError;
use ibeam_agent::run_options::RunOptions;
use ibeam_agent::skills::Skills;
use ibeam_agent::slash_commands::{self, SlashCommand};
use ibeam_agent::text_sources::TextSources;

/// The past with which a session begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionStart {
    /// Without a past.
    New,
    /// With its past, which is sent.
    Load,
    /// With its past, which the editor has already.
    Resume,
}

/// A request for a session.
pub(super) enum SessionRequest {
    Prompt { blocks: Vec<ContentBlock>, turn: Turn, responder: Responder },
    SetMode { mode: String, responder: Responder },
    SetOption { request: SetSessionConfigOptionRequest, responder: Responder },
}

impl SessionRequest {
    /// Returns the way to respond.
    pub(super) fn into_responder(self) -> Responder {
        match self {
            Self::Prompt { responder, .. }
            | Self::SetMode { responder, .. }
            | Self::SetOption { responder, .. } => responder,
        }
    }
}

/// A session before its thread serves it.
pub(super) struct EditorSession {
    pub(super) peer: Arc<Peer>,
    pub(super) id: SessionId,
    pub(super) start: SessionStart,
    /// The options of the process, with the workspace and the MCP servers of the session.
    pub(super) options: RunOptions,
    pub(super) catalogue: Arc<Catalogue>,
    pub(super) features: ClientFeatures,
    pub(super) control: SessionControl,
    /// Keeps the files of the editor and the commands of all its sessions apart.
    pub(super) editor_lock: EditorLock,
    pub(super) requests: mpsc::Receiver<SessionRequest>,
}

impl EditorSession {
    /// Answers the request that begins the session, then its other requests, until the session is closed.
    pub(super) fn serve(self, responder: Responder) {
        let mut responder = Some(responder);
        let catalogue = Arc::clone(&self.catalogue);
        let served = on_runtime(|runtime| {
            let app = new_context(self.options.clone())?;
            let settings = settings_of(&app)?;
            let updates = SessionUpdates::new(self.update_options(&app)?, Arc::clone(&self.catalogue));
            let served = ServedSession {
                updates: Arc::new(Mutex::new(updates)),
                settings,
                model: None,
                is_changed: false,
                answers: LastingAnswers::default(),
                runtime,
                session: self,
            };
            if let Some(responder) = responder.take() {
                served.serve(app, responder);
            }
            Ok::<_, Failure>(())
        });
        if let (Err(failure), Some(responder)) = (served, responder) {
            responder.try_respond(Err::<(), _>(rpc_error(&catalogue, &failure.reason)));
        }
    }

    /// Returns what the updates of the session depend on.
    fn update_options(&self, app: &AppContext) -> Result<UpdateOptions, Reason> {
        let context_window = model_info::context_window(app, model::choose_model(app)?.info());
        Ok(UpdateOptions { cwd: app.workspace.clone(), features: self.features, context_window })
    }

    fn notification(&self, update: SessionUpdate) -> SessionNotification {
        SessionNotification::new(self.id.to_string(), update)
    }
}

fn commands_update(commands: Vec<SlashCommand>) -> SessionUpdate {
    let commands = commands.into_iter();
    available_commands(commands.map(|command| (command.name, command.description, command.argument_hint)))
}

/// A prompt that waits for its turn.
struct PromptRequest {
    blocks: Vec<ContentBlock>,
    turn: Turn,
    responder: Responder,
}

/// The next step after an opened session was closed.
enum Next {
    End,
    /// The session is opened again with the next prompt.
    Wait,
    /// The session is opened again with the changed settings, for this prompt.
    Reopen(PromptRequest),
}

/// A session that its thread serves.
struct ServedSession<'a> {
    session: EditorSession,
    runtime: &'a Runtime,
    settings: SessionSettings,
    /// The model that the editor chose.
    model: Option<String>,
    /// Whether the settings have changed since the configuration was read.
    is_changed: bool,
    updates: Arc<Mutex<SessionUpdates>>,
    answers: LastingAnswers,
}

impl<'a> ServedSession<'a> {
    fn serve(mut self, app: AppContext, responder: Responder) {
        let mut app = Arc::new(app);
        if !self.respond_start(&app, responder) {
            return;
        }
        self.send_commands(&app);
        let mut waiting = None;
        loop {
            match self.serve_opened(&app, waiting.take()) {
                Next::End => return,
                Next::Wait => {}
                Next::Reopen(request) => match self.reread_configuration() {
                    Ok(changed) => {
                        app = Arc::new(changed);
                        self.is_changed = false;
                        waiting = Some(request);
                    }
                    Err(reason) => self.finish_prompt(request.turn, request.responder, {
                        Err(rpc_error(&app.base.catalogue, &reason))
                    }),
                },
            }
        }
    }

    /// Answers the request that begins the session. Returns false if it fails.
    fn respond_start(&mut self, app: &AppContext, responder: Responder) -> bool {
        let catalogue = &self.session.catalogue;
        let modes = mode_state(self.settings.mode, catalogue);
        let options = config_options(&self.settings, catalogue);
        let past = match self.session.start {
            SessionStart::New => Ok(()),
            SessionStart::Load => self.replay(app),
            SessionStart::Resume => self.skip_past(app),
        };
        let is_open = past.is_ok();
        if !is_open {
            // The session can be begun again once the editor has the response.
            self.session.requests.close();
        }
        self.runtime.block_on(async {
            match (past, self.session.start) {
                (Err(error), _) => responder.respond(Err::<(), _>(error)).await,
                (Ok(()), SessionStart::New) => {
                    let response = NewSessionResponse::new(self.session.id.to_string());
                    responder.respond(Ok(response.modes(modes).config_options(options))).await;
                }
                (Ok(()), SessionStart::Load) => {
                    let response = LoadSessionResponse::new();
                    responder.respond(Ok(response.modes(modes).config_options(options))).await;
                }
                (Ok(()), SessionStart::Resume) => {
                    let response = ResumeSessionResponse::new();
                    responder.respond(Ok(response.modes(modes).config_options(options))).await;
                }
            }
        });
        is_open
    }

    /// Sends the slash commands of files and skills, if there are any.
    fn send_commands(&self, app: &AppContext) {
        let commands = self.file_commands(app);
        if !commands.is_empty() {
            let update = self.session.notification(commands_update(commands));
            self.runtime.block_on(self.session.peer.notify(UPDATE, update));
        }
    }

    /// Sends all slash commands once the MCP servers have listed their prompts, if there are any.
    fn send_server_commands(&self, app: &AppContext, opened: &RunSession<'_>) {
        let Some(of_servers) = opened.server_commands() else { return };
        let (commands, peer, id) =
            (self.file_commands(app), Arc::clone(&self.session.peer), self.session.id.to_string());
        drop(self.runtime.spawn(async move {
            let of_servers = of_servers.await;
            if !of_servers.is_empty() {
                let commands = commands.into_iter().chain(of_servers).collect();
                peer.notify(UPDATE, SessionNotification::new(id, commands_update(commands))).await;
            }
        }));
    }

    /// Returns the slash commands of files and skills.
    fn file_commands(&self, app: &AppContext) -> Vec<SlashCommand> {
        if app.base.options.without_instructions {
            return Vec::new();
        }
        // A policy that cannot be built is the error of the first prompt.
        let Ok(policy) = policy_rules::build_policy(app, self.settings.mode) else { return Vec::new() };
        let sources = TextSources::new(app, policy.path_policy());
        slash_commands::available(&sources, &Skills::load(&sources))
    }

    /// Sends the updates of the past.
    fn replay(&self, app: &AppContext) -> Result<(), RpcError> {
        let mut updates = lock(&self.updates);
        let send = |update| self.session.peer.notify_blocking(UPDATE, self.session.notification(update));
        updates.set_replay(true);
        read_past(app, self.session.id, &mut |event| updates.convert(&event).into_iter().try_for_each(send))?;
        let rest = updates.set_replay(false).into_iter().chain(updates.usage());
        // A closed connection ends the session.
        drop(rest.into_iter().try_for_each(send));
        Ok(())
    }

    /// Reads the past without sending it.
    fn skip_past(&self, app: &AppContext) -> Result<(), RpcError> {
        let mut updates = lock(&self.updates);
        read_past(app, self.session.id, &mut |event| {
            updates.skip(&event);
            Ok(())
        })
    }

    /// Runs prompts in one opening of the session, until its settings change or it ends.
    fn serve_opened(&mut self, app: &Arc<AppContext>, first: Option<PromptRequest>) -> Next {
        let Some(first) = first.or_else(|| self.next_prompt(app)) else { return Next::End };
        if self.is_changed {
            return Next::Reopen(first);
        }
        let mut opened = match self.open(app) {
            Ok(opened) => opened,
            Err(failed) => {
                let error = rpc_error(&app.base.catalogue, &failed.failure.reason);
                self.finish_prompt(first.turn, first.responder, Err(error));
                return Next::Wait;
            }
        };
        self.send_server_commands(app, &opened);
        let mut waiting = Some(first);
        let (outcome, next) = loop {
            let Some(request) = waiting.take().or_else(|| self.next_prompt(app)) else {
                break (Ok(()), Next::End);
            };
            if self.is_changed {
                break (Ok(()), Next::Reopen(request));
            }
            if let Err(failed) = self.run(app, &mut opened, request)
                && opened.must_close(&failed)
            {
                break (Err(failed), Next::End);
            }
        };
        // The failure of a prompt was its response.
        drop(opened.close(outcome));
        next
    }

    /// Opens the journal and starts what the runs need.
    fn open<'b>(&self, app: &'b Arc<AppContext>) -> Result<RunSession<'b>, RunError>
    where
        'a: 'b,
    {
        let (peer, id) = (Arc::clone(&self.session.peer), self.session.id.to_string());
        let approver = EditorApprover {
            peer: Arc::clone(&peer),
            session_id: id.clone(),
            cwd: app.workspace.clone(),
            catalogue: Arc::clone(&self.session.catalogue),
            features: self.session.features,
            answers: Arc::clone(&self.answers),
        };
        let files = self.session.features.has_files().then(|| {
            Arc::new(EditorFileSystem {
                peer: Arc::clone(&peer),
                handle: self.runtime.handle().clone(),
                session_id: id.clone(),
                features: self.session.features,
                workspace: app.workspace.clone(),
                given: self.session.options.workspace.clone().unwrap_or_else(|| app.workspace.clone()),
                timeout: app.base.settings.timeouts.files.value,
                lock: self.session.editor_lock.clone(),
            })
        });
        let questioner = self.session.features.forms.then(|| {
            let (peer, session_id) = (Arc::clone(&peer), id.clone());
            Arc::new(EditorQuestioner { peer, session_id, control: self.session.control.clone() })
        });
        let writer = EditorWriter { peer, updates: Arc::clone(&self.updates), session_id: id };
        let front_end = EditorFrontEnd {
            approver: Arc::new(approver),
            files,
            questioner,
            writer: Arc::new(writer.clone()),
        };
        let new_writer = move || Box::new(writer.clone()) as _;
        let stop = self.session.control.stop.clone();
        let process =
            RunProcess::for_connection(self.runtime, app, RunKind::Editor, stop, Box::new(new_writer));
        let choice = model::choose_model(app)?.with_shown_thinking();
        let sandbox = RunSandbox::spawn_for_person(app)?;
        let target = SessionTarget::Named(self.session.id.to_string());
        let no_prompt = Prompt { blocks: Vec::new(), notice: None };
        RunSession::open(process, &target, choice, sandbox, &no_prompt, &front_end)
    }

    /// Answers requests until the next prompt; `None` when the session ends.
    fn next_prompt(&mut self, app: &AppContext) -> Option<PromptRequest> {
        let stop = self.session.control.stop.clone();
        self.runtime.block_on(async {
            loop {
                let request = tokio::select! {
                    biased;
                    _ = stop.wait() => return None,
                    request = self.session.requests.recv() => request?,
                };
                if let Some(prompt) = self.answer(app, request) {
                    return Some(prompt);
                }
            }
        })
    }

    /// Answers requests while a turn runs.
    async fn answer_requests(&mut self, app: &AppContext) -> Infallible {
        while let Some(request) = self.session.requests.recv().await {
            // The connection passes no second prompt while a turn runs.
            drop(self.answer(app, request));
        }
        std::future::pending().await
    }

    /// Answers a request, unless it is a prompt, which is returned.
    fn answer(&mut self, app: &AppContext, request: SessionRequest) -> Option<PromptRequest> {
        match request {
            SessionRequest::Prompt { blocks, turn, responder } => {
                return Some(PromptRequest { blocks, turn, responder });
            }
            SessionRequest::SetMode { mode, responder } => {
                let changed = self.set_mode(&mode).map(|()| SetSessionModeResponse::new());
                let options =
                    ConfigOptionUpdate::new(config_options(&self.settings, &self.session.catalogue));
                self.respond(responder, changed, SessionUpdate::ConfigOptionUpdate(options));
            }
            SessionRequest::SetOption { request, responder } => {
                let changed = self.set_option(app, request);
                let options = config_options(&self.settings, &self.session.catalogue);
                let changed = changed.map(|()| SetSessionConfigOptionResponse::new(options));
                let mode = CurrentModeUpdate::new(mode_name(self.settings.mode));
                self.respond(responder, changed, SessionUpdate::CurrentModeUpdate(mode));
            }
        }
        None
    }

    /// Responds, and after a success sends `update`.
    fn respond<R: serde::Serialize + Send + 'static>(
        &self,
        responder: Responder,
        result: Result<R, String>,
        update: SessionUpdate,
    ) {
        let (peer, notification) = (Arc::clone(&self.session.peer), self.session.notification(update));
        let result = result.map_err(|message| RpcError::new(INVALID_PARAMS, message));
        // A task of its own, because the end of the turn drops the future that answers requests.
        drop(self.runtime.spawn(async move {
            let is_changed = result.is_ok();
            responder.respond(result).await;
            if is_changed {
                peer.notify(UPDATE, notification).await;
            }
        }));
    }

    fn set_mode(&mut self, id: &str) -> Result<(), String> {
        let mode = parse_mode(id)?;
        // With `--force`, the mode `agent` is that of the flag.
        let mode = match mode {
            PermissionMode::Default if self.session.options.force => PermissionMode::Force,
            other => other,
        };
        self.is_changed |= mode != self.settings.mode;
        self.settings.mode = mode;
        Ok(())
    }

    fn set_option(&mut self, app: &AppContext, request: SetSessionConfigOptionRequest) -> Result<(), String> {
        let option = &*request.config_id.0;
        let SessionConfigOptionValue::ValueId { value } = request.value else {
            return Err(format!("the value of the option `{option}` is one of its ids, not a boolean"));
        };
        let value = &*value.0;
        match option {
            MODE_OPTION => self.set_mode(value),
            EFFORT_OPTION => {
                let before = self.settings.effort.clone();
                self.settings.set_effort(value)?;
                self.is_changed |= self.settings.effort != before;
                Ok(())
            }
            MODEL_OPTION => {
                model::choose_model_named(app, value, MODEL_OPTION)
                    .map_err(|reason| app.base.catalogue.reason(&reason).message)?;
                add_model(&mut self.settings.models, value, value);
                self.is_changed |= self.settings.model != value;
                self.settings.model = value.to_owned();
                self.model = Some(value.to_owned());
                Ok(())
            }
            other => Err(format!("unknown option `{other}`; use one of: mode, model, effort")),
        }
    }

    /// Returns the context with the changed settings.
    fn reread_configuration(&self) -> Result<AppContext, Reason> {
        let app = changed_context(&self.session.options, &self.settings, self.model.as_ref())?;
        lock(&self.updates).set_options(self.session.update_options(&app)?);
        Ok(app)
    }

    /// Runs a prompt and responds to it.
    ///
    /// # Errors
    /// The failure of the run.
    fn run(
        &mut self,
        app: &AppContext,
        opened: &mut RunSession<'_>,
        request: PromptRequest,
    ) -> Result<(), RunError> {
        let PromptRequest { blocks, turn, responder } = request;
        let catalogue = &app.base.catalogue;
        let prompt = match user_prompt(blocks, opened) {
            Ok(prompt) => prompt,
            Err(message) => {
                self.finish_prompt(turn, responder, Err(RpcError::new(INVALID_PARAMS, message)));
                return Ok(());
            }
        };
        let outcome = opened.run_prompt(prompt, Some(turn.stop.clone()), self.answer_requests(app));
        let result = match &outcome {
            Ok(()) => stop_reason(&RunOutcome::Completed),
            Err(failed) => stop_reason(&RunOutcome::Failed(failed.failure.clone())),
        };
        let result = match (result, &outcome) {
            (Some(reason), _) => Ok(PromptResponse::new(reason)),
            (None, Err(failed)) => Err(rpc_error(catalogue, &failed.failure.reason)),
            (None, Ok(())) => Err(RpcError::new(INTERNAL_ERROR, "the turn has no outcome")),
        };
        self.finish_prompt(turn, responder, result);
        outcome
    }

    /// Responds to a prompt, and lets the next one begin.
    fn finish_prompt(&self, turn: Turn, responder: Responder, result: Result<PromptResponse, RpcError>) {
        let result = match turn.end() {
            true => Err(RpcError::new(REQUEST_CANCELLED, "the request was cancelled")),
            false => result,
        };
        self.session.control.end_turn();
        self.runtime.block_on(responder.respond(result));
    }
}

/// Returns the prompt of these blocks, with the files of the workspace that it links to.
///
/// # Errors
/// The message about a block that is not accepted.
fn user_prompt(blocks: Vec<ContentBlock>, opened: &mut RunSession<'_>) -> Result<UserPrompt, String> {
    let mut prompt = UserPrompt::default();
    for part in prompt_parts(blocks).map_err(|error| error.to_string())? {
        match part {
            PromptPart::Text(text) if text.trim().is_empty() => {}
            PromptPart::Text(text) => prompt.texts.push(text),
            PromptPart::AttachedText { name, text } => {
                prompt.attachments.push(Attachment::Text { name, text: text.into() });
            }
            PromptPart::AttachedMedia { name, media_type, data } => {
                let media = attachments::media_from_base64(name, &media_type, data)?;
                prompt.attachments.push(Attachment::Media(media));
            }
        }
    }
    if prompt == UserPrompt::default() {
        return Err("the prompt is empty; send at least one block of text".to_owned());
    }
    opened.attach_mentioned(&mut prompt).map_err(|failure| failure.reason.detail())?;
    opened.check_files(&prompt).map_err(|failure| failure.reason.detail())?;
    Ok(prompt)
}
