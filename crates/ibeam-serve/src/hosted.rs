//! Prompts as messages on stdin, as SDKs write them: one session in one process, a run for each message.
//!
//! No session is created before the first message; until then requests are answered. A message that arrives during a
//! run waits for its end. The end of stdin ends the program after the last run.

use std::convert::Infallible;
use std::fs::File;
use std::sync::Arc;

use ibeam_core::{Approver, Hooks};
use ibeam_output::failure_event;
use ibeam_protocol::{Failure, McpServer, McpStatus, Notice, Reason, RunStarted, sentence};
use tokio::io::DuplexStream;

use super::host_model::HostModel;
use crate::dialect::{DialectWriter, Host, HostAdditions, HostHooks, SessionServers};
use ibeam_agent::app::AppContext;
use ibeam_agent::mcp::ServerDeclaration;
use ibeam_agent::message_queue::{MessageQueue, QueuedMessage, UnreadMessage};
use ibeam_agent::prompt::Prompt;
use ibeam_agent::run::front_end::FrontEnd;
use ibeam_agent::run::run_process::{NewWriter, RunKind, RunProcess};
use ibeam_agent::run::run_session::RunSession;
use ibeam_agent::run::sandbox::RunSandbox;
use ibeam_agent::run::session_opener::SessionTarget;
use ibeam_agent::run::turn_loop::{TurnSource, run_turns};
use ibeam_agent::run::watchdog::StartupWatchdog;
use ibeam_agent::run::{on_runtime, thread_error};
use ibeam_agent::run_error::RunError;
use ibeam_agent::stderr;

/// The front end of a host: the host, and what it added to its session before the first message.
struct HostFrontEnd<'a> {
    app: &'a AppContext,
    dialect_writer: &'a DialectWriter,
    host: Arc<Host>,
    additions: HostAdditions,
    /// The MCP servers that the host has set before its first message.
    servers: SessionServers,
}

impl FrontEnd for HostFrontEnd<'_> {
    fn approver(&self) -> Arc<dyn Approver> {
        Arc::clone(&self.host) as _
    }

    fn mcp_streams(&self, declared: &mut Vec<ServerDeclaration>) -> Vec<(String, DuplexStream)> {
        let names: Vec<&String> = self.additions.servers.iter().chain(&self.servers.of_host).collect();
        let is_replaced = |name: &String| names.contains(&name) || self.servers.contains(name);
        declared.retain(|server| server.status == McpStatus::Disabled || !is_replaced(&server.name));
        let is_disabled =
            |name: &str, declared: &[ServerDeclaration]| declared.iter().any(|server| server.name == name);
        let added = self.servers.declared.iter().filter(|server| !is_disabled(&server.name, declared));
        let added: Vec<ServerDeclaration> = added.cloned().collect();
        let names = names.into_iter().filter(|name| !is_disabled(name, declared));
        let streams = names.map(|name| (name.clone(), self.host.connect_server(name))).collect();
        declared.extend(added);
        streams
    }

    fn on_servers_started(&self, statuses: &[McpServer]) {
        self.host.set_server_statuses(statuses);
    }

    fn hooks(&self, configured: Arc<dyn Hooks>, head: &RunStarted) -> Arc<dyn Hooks> {
        let redactor = || self.app.redactor().clone();
        HostHooks::chain(configured, &self.host, self.additions.hooks.clone(), head, redactor)
    }

    fn instructions(&self) -> Vec<String> {
        self.additions.instructions.clone()
    }

    fn notices(&self) -> Vec<Notice> {
        let options = self.dialect_writer.options();
        let mut notices: Vec<Notice> = options.ignored_arguments_notice().into_iter().collect();
        let events = &self.additions.uncalled_hooks;
        if !events.is_empty() {
            let (dialect, arguments) = (options.dialect.to_string(), format!("hooks {}", events.join(", ")));
            notices.push(Notice::ArgumentsIgnored { dialect, arguments });
        }
        notices
    }
}

/// Runs each message of the host that started the program, and prints the runs in its dialect.
///
/// # Errors
/// A failure before the first run, or the failure of the last run.
pub fn run_hosted(
    app: &Arc<AppContext>,
    target: &SessionTarget,
    dialect_writer: &DialectWriter,
    stdout: File,
    startup: StartupWatchdog,
) -> Result<(), RunError> {
    let new_writer: NewWriter<'_> = Box::new(|stdout| {
        dialect_writer.set_output(stdout);
        dialect_writer.event_writer()
    });
    on_runtime(|runtime| {
        let process = RunProcess::start(runtime, app, RunKind::Hosted, startup, stdout, new_writer)?;
        let (host, requests) =
            Host::start(dialect_writer.clone(), HostModel::model_list(app)).map_err(thread_error)?;
        let queue = Arc::clone(host.queue());
        let model = HostModel::new(app, Arc::clone(&host), requests);
        let (servers, unread) = (SessionServers::default(), None);
        let host_source = Arc::clone(&host);
        let mut source = HostSource { app, host: host_source, queue, model, dialect_writer, servers, unread };
        let Some(first) = process.wait(source.next())? else { return Ok(()) };
        let front_end = HostFrontEnd {
            app,
            dialect_writer,
            host: Arc::clone(&host),
            additions: host.additions(),
            servers: host.session_servers(),
        };
        source.servers.clone_from(&front_end.servers);
        let first_model = source.model.choose_for_first_prompt()?;
        let prompt = Prompt { blocks: first.prompt.texts.clone(), notice: None };
        let sandbox = match dialect_writer.options().ask_host {
            true => RunSandbox::spawn_for_person(app)?,
            false => RunSandbox::spawn(app)?,
        };
        let mut session = RunSession::open(process, target, first_model, sandbox, &prompt, &front_end)?;
        let outcome = run_turns(&mut session, first, &mut source);
        session.close(outcome)
    })
}

/// The messages of a host, and its requests for another model.
struct HostSource<'a> {
    app: &'a AppContext,
    host: Arc<Host>,
    queue: Arc<MessageQueue>,
    model: HostModel<'a>,
    dialect_writer: &'a DialectWriter,
    /// The servers that the host has set, as far as the session has them.
    servers: SessionServers,
    /// The reason why the last message was skipped.
    unread: Option<Reason>,
}

impl HostSource<'_> {
    /// Reports a message that has no turn. A host that waits for the end of a turn gets it.
    fn report_unread(&mut self, UnreadMessage { reason, is_prompt }: UnreadMessage) {
        let message = self.app.base.catalogue.reason(&reason).message;
        let warning = sentence!("a message was skipped: {message}", message);
        stderr::write_line(&format!("warning: {}", self.app.base.catalogue.sentence(&warning)));
        if is_prompt {
            self.dialect_writer.start_run();
            let failure = Failure::from(reason.clone());
            self.dialect_writer.write_failure(failure_event(&failure, None), Some(&reason));
        }
        self.unread = Some(reason);
    }
}

impl TurnSource for HostSource<'_> {
    const LAST_TURN_DECIDES: bool = true;

    fn queue(&self) -> &MessageQueue {
        &self.queue
    }

    async fn next(&mut self) -> Result<Option<QueuedMessage>, Failure> {
        loop {
            let message = tokio::select! {
                biased;
                // A request that arrived before the prompt is answered before the prompt is run.
                never = self.model.answer_requests() => match never {},
                message = self.queue.next() => message?,
            };
            match message {
                Some(QueuedMessage { unread: Some(unread), .. }) => {
                    self.queue.finish_turn();
                    self.report_unread(unread);
                }
                Some(message) => {
                    self.unread = None;
                    return Ok(Some(message));
                }
                None => return self.unread.take().map_or(Ok(None), |reason| Err(reason.into())),
            }
        }
    }

    fn skip_message(&mut self, failure: &Failure) -> bool {
        self.report_unread(UnreadMessage { reason: failure.reason.clone(), is_prompt: true });
        true
    }

    fn work_during_turn(&mut self) -> impl Future<Output = Infallible> {
        self.model.answer_requests()
    }

    fn prepare_turn(&mut self, session: &mut RunSession<'_>) -> Result<(), Failure> {
        self.dialect_writer.start_run();
        let wanted = self.host.session_servers();
        if wanted != self.servers {
            let change = self.servers.change_to(&wanted);
            let statuses = session.change_servers(change, |name| self.host.connect_server(name))?;
            self.host.set_server_statuses(&statuses);
            self.servers = wanted;
        }
        match self.model.take_for_next_prompt() {
            Some(choice) => session.set_model(choice),
            None => Ok(()),
        }
    }
}
