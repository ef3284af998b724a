//! `ibeam acp`: sessions of an editor, over the Agent Client Protocol on stdin and stdout.
//!
//! One process serves one connection with any number of sessions, whose prompts run at the same time. Each session is a
//! thread with a configuration of its own (`editor_session.rs`). This file receives the requests, answers those about
//! the connection and about stored sessions, and passes the others to their sessions.

mod editor_approver;
mod editor_file_system;
mod editor_front_end;
mod editor_questioner;
mod editor_session;
mod session_settings;
mod stored_past;
mod turn_control;

use std::collections::HashMap;
use std::fs::File;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use ibeam_acp::schema::{
    AuthenticateRequest, AuthenticateResponse, CancelNotification, CancelRequestNotification,
    CloseSessionRequest, CloseSessionResponse, DeleteSessionRequest, DeleteSessionResponse,
    ListSessionsRequest, ListSessionsResponse, LoadSessionRequest, LogoutResponse, McpServer,
    NewSessionRequest, PromptRequest, ResumeSessionRequest, SessionInfo, SetSessionConfigOptionRequest,
    SetSessionModeRequest,
};
use ibeam_acp::{
    AUTH_METHODS, ClientFeatures, RESOURCE_NOT_FOUND, TERMINAL_METHOD, initialize_response, parse_initialize,
    title_of,
};
use ibeam_config::Credentials;
use ibeam_core::Stop;
use ibeam_json_rpc::{
    CloseReason, Handler, INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, InvalidLine, MAX_QUOTED_CHARS,
    Notification, Peer, PeerOptions, Request, RequestId, Responder, RpcError,
};
use ibeam_protocol::{Failure, Reason, SessionId, Signal, elide_end};
use ibeam_session::Session;
use ibeam_tools::EditorLock;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot};

use self::editor_session::{EditorSession, SessionRequest, SessionStart};
use self::session_settings::{new_context, rpc_error};
use self::turn_control::{SessionControl, Turn, lock};
use super::message_stdio::{self, MessageInput};
use ibeam_agent::app::AppContext;
use ibeam_agent::pump::CurrentStop;
use ibeam_agent::run::session_opener::{session_error_reason, session_options, session_store_reason};
use ibeam_agent::run::{on_runtime, system_error, thread_error};
use ibeam_agent::run_options::RunOptions;
use ibeam_agent::{model, signals};

/// Maximum length of a line; a prompt may contain images.
const MAX_LINE_BYTES: usize = 64 << 20;
/// The number of messages that wait in each direction.
const QUEUE_MESSAGES: usize = 64;
/// The number of sessions in one page of the list.
const PAGE_SESSIONS: usize = 100;
/// The time that the end of the process may take beyond `timeouts.shutdown`.
const MARGIN: Duration = Duration::from_millis(300);

/// Serves the editor that started the process, until it closes stdin.
///
/// # Errors
/// The reason of a signal; `OutputClosed` if stdout was closed first; `System`.
pub fn serve_editor(app: &AppContext, stdout: File) -> Result<(), Failure> {
    on_runtime(|runtime| {
        let stop = Stop::default();
        let _context = runtime.enter();
        let _signals = signals::watch(&CurrentStop::new(stop.clone()))
            .map_err(|error| system_error("sigaction", &error))?;
        let (outgoing, lines) = mpsc::channel(QUEUE_MESSAGES);
        let output_stop = stop.clone();
        let mut written = message_stdio::write_stdout(stdout, lines, move |_| {
            output_stop.request(Reason::OutputClosed);
        })
        .map_err(thread_error)?;
        let input = MessageInput::start().map_err(thread_error)?;
        let (messages, mut incoming) = mpsc::channel(QUEUE_MESSAGES);
        let options = PeerOptions {
            max_line_bytes: MAX_LINE_BYTES,
            cancellation: |id| ("$/cancel_request", json!({ "requestId": id })),
        };
        let peer = Arc::new(Peer::new(options, outgoing, input, IncomingMessages(messages)));
        let mut server = Server {
            app,
            runtime,
            peer: Arc::clone(&peer),
            features: None,
            sessions: HashMap::new(),
            editor_lock: EditorLock::default(),
            turns: Arc::default(),
        };
        runtime.block_on(async {
            let reason = loop {
                let message = tokio::select! {
                    biased;
                    reason = stop.wait() => break Some(reason),
                    message = incoming.recv() => message,
                };
                match message {
                    Some(Message::Request(request, responder)) => server.handle(request, responder).await,
                    Some(Message::Notification(notification)) => server.notice(&notification),
                    // The editor closed stdin.
                    None => break None,
                }
            };
            let budget = app.base.settings.timeouts.shutdown.value + MARGIN;
            server.end_sessions(reason.clone().unwrap_or(Reason::Signalled(Signal::Hup)), budget).await;
            peer.close();
            // Completes when the last line is written.
            drop(tokio::time::timeout(MARGIN, written.recv()).await);
            reason.map_or(Ok(()), |reason| Err(reason.into()))
        })
    })
}

enum Message {
    Request(Request, Responder),
    Notification(Notification),
}

/// Passes the messages of the editor on. Ends with stdin.
struct IncomingMessages(mpsc::Sender<Message>);

impl Handler for IncomingMessages {
    async fn on_request(&mut self, request: Request, responder: Responder) {
        // The receiver is gone only at the end of the process.
        drop(self.0.send(Message::Request(request, responder)).await);
    }

    async fn on_notification(&mut self, notification: Notification) {
        drop(self.0.send(Message::Notification(notification)).await);
    }

    async fn on_invalid_line(
        &mut self,
        line: InvalidLine<'_>,
        responder: Responder,
    ) -> Result<(), CloseReason> {
        if let Some(error) = line.to_error() {
            responder.respond(Err::<(), _>(error)).await;
        }
        Ok(())
    }
}

/// The requests of prompts that have no response yet.
type OpenTurns = Arc<Mutex<HashMap<RequestId, Turn>>>;

/// The state of the connection.
struct Server<'a> {
    app: &'a AppContext,
    runtime: &'a Runtime,
    peer: Arc<Peer>,
    /// `None` before `initialize`.
    features: Option<ClientFeatures>,
    sessions: HashMap<String, OpenSession>,
    /// Keeps the files of the editor and the commands of the sessions apart.
    editor_lock: EditorLock,
    turns: OpenTurns,
}

/// A session that a thread serves.
struct OpenSession {
    control: SessionControl,
    requests: mpsc::Sender<SessionRequest>,
    /// Completes when the thread has ended.
    ended: oneshot::Receiver<()>,
}

impl Server<'_> {
    /// Answers a request, or passes it to its session.
    async fn handle(&mut self, request: Request, responder: Responder) {
        self.sessions.retain(|_, session| !session.requests.is_closed());
        if let Err((responder, error)) = self.dispatch(request, responder).await {
            responder.respond(Err::<(), _>(error)).await;
        }
    }

    /// Answers a request, or passes it to its session.
    ///
    /// # Errors
    /// The error with which the request has to be answered.
    async fn dispatch(
        &mut self,
        request: Request,
        responder: Responder,
    ) -> Result<(), (Responder, RpcError)> {
        macro_rules! attempt {
            ($result:expr) => {
                match $result {
                    Ok(value) => value,
                    Err(error) => return Err((responder, error)),
                }
            };
        }
        let method = request.method.as_str();
        if method == "initialize" {
            let invalid = |error: serde_json::Error| {
                let detail = elide_end(&error.to_string(), MAX_QUOTED_CHARS);
                RpcError::new(
                    INVALID_PARAMS,
                    format!("the parameters of `initialize` are not valid: {detail}"),
                )
            };
            let params = attempt!(parse_initialize(attempt!(request.parse_params())).map_err(invalid));
            let features = ClientFeatures::new(&params.client_capabilities);
            self.features = Some(features);
            let catalogue = &self.app.base.catalogue;
            let response = initialize_response(features, env!("CARGO_PKG_VERSION"), catalogue);
            responder.respond(Ok(response)).await;
            return Ok(());
        }
        let Some(features) = self.features else {
            let message = format!("`{method}` needs an initialized connection; send `initialize` first");
            return Err((responder, RpcError::new(INVALID_REQUEST, message)));
        };
        match method {
            "authenticate" => {
                attempt!(self.authenticate(&attempt!(request.parse_params())));
                responder.respond(Ok(AuthenticateResponse::new())).await;
            }
            "logout" => {
                attempt!(self.logout());
                responder.respond(Ok(LogoutResponse::new())).await;
            }
            "session/list" => {
                let page = attempt!(self.list(&attempt!(request.parse_params())));
                responder.respond(Ok(page)).await;
            }
            "session/delete" => {
                attempt!(self.delete(&attempt!(request.parse_params())).await);
                responder.respond(Ok(DeleteSessionResponse::new())).await;
            }
            "session/close" => {
                let params: CloseSessionRequest = attempt!(request.parse_params());
                let Some(session) = self.sessions.remove(&*params.session_id.0) else {
                    return Err((responder, not_open(&params.session_id.0)));
                };
                session.control.stop.request(Reason::Signalled(Signal::Hup));
                drop(session.requests);
                // The other sessions do not wait for the end of this one.
                drop(self.runtime.spawn(async move {
                    // An error means that the thread was lost, so the session has ended too.
                    let _ = session.ended.await;
                    responder.respond(Ok(CloseSessionResponse::new())).await;
                }));
            }
            "session/new" => {
                let params: NewSessionRequest = attempt!(request.parse_params());
                let NewSessionRequest { cwd, additional_directories, mcp_servers, .. } = params;
                let options = attempt!(self.run_options(cwd, additional_directories, mcp_servers));
                let begins = BeginsSession { start: SessionStart::New, id: SessionId::random(), features };
                return self.begin(begins, options, responder);
            }
            "session/load" => {
                let params: LoadSessionRequest = attempt!(request.parse_params());
                let LoadSessionRequest { cwd, additional_directories, mcp_servers, session_id, .. } = params;
                let options = attempt!(self.run_options(cwd, additional_directories, mcp_servers));
                let id = attempt!(self.unopened(&session_id.0));
                return self.begin(
                    BeginsSession { start: SessionStart::Load, id, features },
                    options,
                    responder,
                );
            }
            "session/resume" => {
                let params: ResumeSessionRequest = attempt!(request.parse_params());
                let ResumeSessionRequest { cwd, additional_directories, mcp_servers, session_id, .. } =
                    params;
                let options = attempt!(self.run_options(cwd, additional_directories, mcp_servers));
                let id = attempt!(self.unopened(&session_id.0));
                return self.begin(
                    BeginsSession { start: SessionStart::Resume, id, features },
                    options,
                    responder,
                );
            }
            "session/prompt" => {
                let params: PromptRequest = attempt!(request.parse_params());
                let session = attempt!(self.open_session(&params.session_id.0));
                let Some(turn) = session.control.begin_turn() else {
                    let message =
                        "a prompt of this session is still running; wait for its response or cancel it";
                    return Err((responder, RpcError::new(INVALID_REQUEST, message)));
                };
                let mut turns = lock(&self.turns);
                turns.retain(|_, turn| !turn.has_ended());
                turns.insert(request.id.clone(), turn.clone());
                drop(turns);
                return session.pass(SessionRequest::Prompt { blocks: params.prompt, turn, responder });
            }
            "session/set_mode" => {
                let params: SetSessionModeRequest = attempt!(request.parse_params());
                let session = attempt!(self.open_session(&params.session_id.0));
                let mode = params.mode_id.0.to_string();
                return session.pass(SessionRequest::SetMode { mode, responder });
            }
            "session/set_config_option" => {
                let request: SetSessionConfigOptionRequest = attempt!(request.parse_params());
                let session = attempt!(self.open_session(&request.session_id.0));
                return session.pass(SessionRequest::SetOption { request, responder });
            }
            other => return Err((responder, RpcError::method_not_found("agent", other))),
        }
        Ok(())
    }

    /// Acts on a notification. Those that are unknown or invalid are ignored, as the protocol requires.
    fn notice(&self, notification: &Notification) {
        match notification.method.as_str() {
            "session/cancel" => {
                let Ok(params) = notification.parse_params::<CancelNotification>() else { return };
                let session = self.sessions.get(&*params.session_id.0);
                session.iter().for_each(|session| session.control.cancel_turn());
            }
            "$/cancel_request" => {
                let Ok(params) = notification.parse_params::<CancelRequestNotification>() else { return };
                let id = serde_json::to_value(params.request_id).ok();
                let id: Option<RequestId> = id.and_then(|id| serde_json::from_value(id).ok());
                let turns = lock(&self.turns);
                id.and_then(|id| turns.get(&id)).iter().for_each(|turn| turn.cancel_request());
            }
            _ => {}
        }
    }

    /// Checks that a model can be used. The editor or its user has provided the key before.
    fn authenticate(&self, params: &AuthenticateRequest) -> Result<(), RpcError> {
        let method = &*params.method_id.0;
        if !AUTH_METHODS.contains(&method) && method != TERMINAL_METHOD {
            let message = format!("unknown method `{method}`; use one of: {}", AUTH_METHODS.join(", "));
            return Err(RpcError::new(INVALID_PARAMS, message));
        }
        // Keys may have been stored after the start of the process.
        let app = new_context(self.app.base.options.clone()).map_err(|reason| self.error(&reason))?;
        model::choose_model(&app).map(drop).map_err(|reason| self.error(&reason))
    }

    /// Deletes all stored keys.
    fn logout(&self) -> Result<(), RpcError> {
        let removed = Credentials::load(&self.app.dirs.credentials)
            .and_then(|mut credentials| credentials.remove(None));
        removed.map(drop).map_err(|error| self.error(&error.into()))
    }

    /// Returns a page of the stored sessions. The cursor is the number of sessions before the page.
    fn list(&self, params: &ListSessionsRequest) -> Result<ListSessionsResponse, RpcError> {
        let cwd = params.cwd.as_ref().map(|cwd| cwd.canonicalize().unwrap_or_else(|_| cwd.clone()));
        let invalid = |cursor: &String| {
            RpcError::new(INVALID_PARAMS, format!("the cursor `{cursor}` is not of this agent"))
        };
        let start: usize = match &params.cursor {
            Some(cursor) => cursor.parse().map_err(|_| invalid(cursor))?,
            None => 0,
        };
        let sessions = ibeam_session::list(&self.app.dirs.sessions(), cwd.as_deref())
            .map_err(|error| self.error(&session_store_reason(&error)))?;
        let end = start.saturating_add(PAGE_SESSIONS);
        let next = (end < sessions.len()).then(|| end.to_string());
        let page = sessions.into_iter().skip(start).take(PAGE_SESSIONS);
        let infos = page.map(|summary| {
            let updated = i64::try_from(summary.updated_ms).ok();
            let updated = updated.and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
            SessionInfo::new(summary.id.to_string(), summary.cwd)
                .title(summary.title.as_deref().and_then(title_of))
                .updated_at(updated.map(|at| at.to_string()))
        });
        Ok(ListSessionsResponse::new(infos.collect()).next_cursor(next))
    }

    /// Deletes a stored session, after it was closed. A session that does not exist is deleted already.
    async fn delete(&mut self, params: &DeleteSessionRequest) -> Result<(), RpcError> {
        let name = &*params.session_id.0;
        if let Some(session) = self.sessions.remove(name) {
            session.control.stop.request(Reason::Signalled(Signal::Hup));
            drop(session.requests);
            // An error means that the thread was lost, so the session has ended too.
            let _ = session.ended.await;
        }
        let (Ok(id), sessions) = (name.parse::<SessionId>(), self.app.dirs.sessions()) else {
            return Err(not_open(name));
        };
        if !ibeam_session::exists(&sessions, id) {
            return Ok(());
        }
        // The lease prevents that a session is deleted while another process uses it.
        let options = session_options(self.app).map_err(|reason| self.error(&reason))?;
        let lease = Session::open(&sessions, id, &options, &mut |_| {});
        if let Err(
            error @ (ibeam_session::SessionError::Busy { .. } | ibeam_session::SessionError::Leased { .. }),
        ) = &lease
        {
            return Err(self.error(&session_error_reason(error, id)));
        }
        let directory = sessions.join(id.to_string());
        std::fs::remove_dir_all(&directory).map_err(|error| {
            let what = directory.display().to_string();
            self.error(&Reason::Io { what, detail: error.to_string() })
        })
    }

    /// Returns the id of a stored session that is not open.
    fn unopened(&self, name: &str) -> Result<SessionId, RpcError> {
        if self.sessions.contains_key(name) {
            let message = format!("the session `{name}` is already open; close it first");
            return Err(RpcError::new(INVALID_REQUEST, message));
        }
        name.parse().map_err(|_| self.error(&Reason::UnknownSession { session: name.to_owned() }))
    }

    fn open_session(&self, name: &str) -> Result<&OpenSession, RpcError> {
        self.sessions.get(name).ok_or_else(|| not_open(name))
    }

    /// Returns the options of the process with the directories and the MCP servers of a session.
    fn run_options(
        &self,
        cwd: PathBuf,
        additional_directories: Vec<PathBuf>,
        servers: Vec<McpServer>,
    ) -> Result<RunOptions, RpcError> {
        let relative = std::iter::once(&cwd).chain(&additional_directories).find(|path| path.is_relative());
        if let Some(path) = relative {
            let message = format!("`{}` should be an absolute path", path.display());
            return Err(RpcError::new(INVALID_PARAMS, message));
        }
        let mut options = self.app.base.options.clone();
        options.workspace = Some(cwd);
        options.add_dir.extend(additional_directories);
        if let Some(config) = mcp_config(servers)? {
            options.mcp_config.push(config);
        }
        Ok(options)
    }

    /// Starts the thread of a session, which answers the request.
    fn begin(
        &mut self,
        begins: BeginsSession,
        options: RunOptions,
        responder: Responder,
    ) -> Result<(), (Responder, RpcError)> {
        let BeginsSession { start, id, features } = begins;
        let (requests, received) = mpsc::channel(QUEUE_MESSAGES);
        let (ending, ended) = oneshot::channel();
        let control = SessionControl::default();
        let session = EditorSession {
            peer: Arc::clone(&self.peer),
            id,
            start,
            options,
            catalogue: Arc::clone(&self.app.base.catalogue),
            features,
            control: control.clone(),
            editor_lock: self.editor_lock.clone(),
            requests: received,
        };
        let (give, take) = std::sync::mpsc::channel();
        let thread = thread::Builder::new().name("session".to_owned()).spawn(move || {
            // The receiver is gone only at the end of the process.
            if let Ok(responder) = take.recv() {
                session.serve(responder);
            }
            drop(ending);
        });
        match thread {
            Ok(_) => {
                // The thread waits for the responder.
                drop(give.send(responder));
                self.sessions.insert(id.to_string(), OpenSession { control, requests, ended });
                Ok(())
            }
            Err(error) => Err((responder, self.error(&system_error("thread", &error)))),
        }
    }

    /// Ends all sessions for `reason`, within `budget`.
    async fn end_sessions(&mut self, reason: Reason, budget: Duration) {
        let sessions: Vec<_> = self.sessions.drain().map(|(_, session)| session).collect();
        sessions.iter().for_each(|session| session.control.stop.request(reason.clone()));
        let ends = sessions.into_iter().map(|session| session.ended);
        drop(tokio::time::timeout(budget, futures_util::future::join_all(ends)).await);
    }

    fn error(&self, reason: &Reason) -> RpcError {
        rpc_error(&self.app.base.catalogue, reason)
    }
}

struct BeginsSession {
    start: SessionStart,
    id: SessionId,
    features: ClientFeatures,
}

impl OpenSession {
    /// Passes a request to the thread of the session.
    fn pass(&self, request: SessionRequest) -> Result<(), (Responder, RpcError)> {
        self.requests.try_send(request).map_err(|error| {
            let (request, error) = match error {
                mpsc::error::TrySendError::Full(request) => {
                    (request, RpcError::new(INTERNAL_ERROR, "too many requests wait for this session"))
                }
                mpsc::error::TrySendError::Closed(request) => {
                    (request, RpcError::new(RESOURCE_NOT_FOUND, "the session has ended; load it again"))
                }
            };
            (request.into_responder(), error)
        })
    }
}

fn not_open(name: &str) -> RpcError {
    let message = format!("the session `{name}` is not open; begin it with `session/new` or `session/load`");
    RpcError::new(RESOURCE_NOT_FOUND, message)
}

/// Returns the MCP servers of a session as the value of `--mcp-config`.
fn mcp_config(servers: Vec<McpServer>) -> Result<Option<String>, RpcError> {
    let mut declared = serde_json::Map::new();
    for server in servers {
        let (name, declaration) = match server {
            McpServer::Stdio(server) => {
                let variables = server.env.into_iter().map(|variable| (variable.name, variable.value.into()));
                let variables: serde_json::Map<String, Value> = variables.collect();
                (server.name, json!({ "command": server.command, "args": server.args, "env": variables }))
            }
            McpServer::Http(server) => {
                let headers = server.headers.into_iter().map(|header| (header.name, header.value.into()));
                let headers: serde_json::Map<String, Value> = headers.collect();
                (server.name, json!({ "url": server.url, "headers": headers }))
            }
            _ => {
                let message = "a transport of an MCP server is not supported; use stdio or HTTP";
                return Err(RpcError::new(INVALID_PARAMS, message));
            }
        };
        declared.insert(name, declaration);
    }
    Ok((!declared.is_empty()).then(|| json!({ "mcpServers": declared }).to_string()))
}
