//! The one driver of runs: opens a session, runs prompts in it, and shuts everything down.
//!
//! Print mode, interactive mode and the SDK dialects differ only in their [`FrontEnd`] and [`RunKind`]. The order of
//! the steps at start is observable and relevant for speed: the sandbox starts while the prompt is read, and it is
//! joined before the session is opened. A plain run sends its first request meanwhile.

mod end;
mod servers;
mod status;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join;
use ibeam_core::{Journal, Run, Stop, Tool, ToolContext};
use ibeam_hooks::HookRunner;
use ibeam_protocol::{Attachment, Failure, Notice, Reason, RunOutcome, SessionId, Signal, UserPrompt};
use ibeam_providers::batch_prices;
use tokio::sync::mpsc;

use self::end::{end_open_run, run_session_end_hooks};
pub use self::servers::ServerChange;
use super::answer_schema;
use super::attachments::{self, MentionReader, MentionedFiles, RunMedia};
use super::early_start::{self, StartConditions};
use super::event_tap::EventTap;
use super::front_end::FrontEnd;
use super::given_instructions::GivenInstructions;
use super::hook_model::HookModel;
use super::prepare::{self, PreparedRun};
use super::resources::{self, RunInputs, RunResources};
use super::run_process::{RunKind, RunProcess, new_shutdown};
use super::sandbox::PendingSandbox;
use super::session_opener::{SessionOpener, SessionTarget, is_ephemeral};
use super::shutdown::Shutdown;
use super::subagents::{SubagentHost, SubagentSettings};
use super::thread_error;
use super::trace_export::{self, TraceExport, TraceRequest};
use crate::app::AppContext;
use crate::hooks;
use crate::mcp::{self, McpServers};
use crate::model::{FallbackChain, ModelChoice, Parking, ParkingDir, current_model};
use crate::printer::Printer;
use crate::process_end;
use crate::prompt::Prompt;
use crate::pump::{MAX_WAITING_EVENTS, Pump, PumpThread, SCREEN_DELTA_INTERVAL};
use crate::run_error::RunError;
use crate::skills::Skills;
use crate::slash_commands::SlashCommand;
use crate::stderr_notices::NoticePrinter;
use crate::text_sources::TextSources;
use crate::{slash_commands, stderr};

/// An open session: everything that its runs share.
pub struct RunSession<'a> {
    process: RunProcess<'a>,
    run: Run,
    media: RunMedia,
    /// The files of the flags, which the first prompt gets.
    attachments: Vec<Attachment>,
    background: ibeam_tools::BackgroundProcesses,
    subagents: Option<Arc<SubagentHost>>,
    servers: McpServers,
    /// The places of slash commands.
    text_sources: TextSources,
    skills: Arc<Skills>,
    hooks: Arc<HookRunner>,
    journal: Journal,
    printer: Arc<Printer>,
    pump: PumpThread,
    /// The notices that the next run reports.
    notices: Vec<Notice>,
    /// The spans of all runs, where they are exported.
    trace_export: Option<TraceExport>,
    /// The directory of the parked requests, if requests are parked.
    parking_dir: Option<Arc<ParkingDir>>,
    /// Whether the session was created by this opening.
    is_new: bool,
    /// Whether a prompt was run in this opening of the session.
    has_run_prompt: bool,
    /// The time for the end of the last run, and of the session after it.
    shutdown: Shutdown,
}

impl<'a> RunSession<'a> {
    /// Opens the session `target`: joins the sandbox, opens the journal, starts the MCP servers and the pump.
    ///
    /// `first` is the prompt of the first run, empty where it is not known yet.
    ///
    /// # Errors
    /// Every failure before the first run. Where a stop ends the opening, the failure is on stdout too, as a run.
    pub fn open(
        process: RunProcess<'a>,
        target: &SessionTarget,
        model: ModelChoice,
        sandbox: PendingSandbox,
        first: &Prompt,
        front_end: &dyn FrontEnd,
    ) -> Result<Self, RunError> {
        let (app, runtime) = (&Arc::clone(&process.app), process.runtime);
        let answer_schema = answer_schema::load(&app.base.options)?;
        let chain = FallbackChain::choose(app, &model)?;
        let GivenInstructions { replacement, appended } = GivenInstructions::load(&app.base.options)?;
        let media = RunMedia::new(&model, &chain);
        let attachments = attachments::load(&app.base.options, &media)?;
        let opener = SessionOpener::new(app, target)?;
        if !first.blocks.is_empty()
            && let Some(head) = prepare::expected_head(app, &opener, &model)
        {
            process_end::set_expected_run(head, first.blocks.clone());
        }
        let mut declared = mcp::declared_servers(app)?;
        let configured_hooks = hooks::load(app)?;
        prepare::check_settings(app, &model, &chain)?;
        let trace_request = TraceRequest::new(app)?;
        let conditions = StartConditions {
            app,
            kind: process.kind,
            model: &model,
            prompt: first,
            attachments: &attachments,
            servers: &declared,
            hooks: &configured_hooks,
            is_traced: trace_request.is_some(),
        };
        let stop = process.new_stop();
        let open_session = |opener: SessionOpener| {
            let opened = runtime.block_on(process.with_limits(&stop, opener.open_cancellable(&stop)));
            opened.map_err(|failure| print_unstarted_run(&stop, failure))
        };
        let expected = opener.expected_session().filter(|_| conditions.allow_early_request());
        let (sandbox, opened, pending) = match early_start::join_unless_expected(app, sandbox, expected)? {
            (sandbox, None) => {
                let opened = open_session(opener)?;
                early_start::record_success(app, &sandbox);
                (sandbox, opened, None)
            }
            (sandbox, Some((setup, expected))) => (sandbox, expected, Some((setup, opener))),
        };
        let PreparedRun {
            mut head,
            provider,
            parking,
            fallbacks,
            default_model,
            mut session,
            past,
            past_file_access,
            mut notices,
        } = prepare::prepare(app, opened, model, chain)?;
        head.sandbox.clone_from(&sandbox.report);
        head.message_turn = front_end.has_message_turns().into();
        notices.extend(sandbox.notices.iter().cloned());
        notices.extend(first.notice.clone());
        let servers = runtime.block_on(async {
            let streams = front_end.mcp_streams(&mut declared.servers);
            let mut servers =
                McpServers::start_all(app, declared, front_end.questioner(), &process.stop).await?;
            if !streams.is_empty() {
                servers.attach(app, streams, &process.stop).await?;
            }
            Ok::<_, Reason>(servers)
        })?;
        app.log_step("MCP servers started");
        front_end.on_servers_started(&servers.statuses);
        notices.extend(servers.notices.iter().cloned());
        notices.extend(configured_hooks.notices.iter().cloned());
        notices.extend(app.worktree.iter().flat_map(|worktree| worktree.notices.iter().cloned()));
        notices.extend(front_end.notices());
        let prompt_model =
            HookModel::new(app, Some((Arc::clone(&provider), head.model.clone())), head.session_id);
        let is_single_run = process.kind == RunKind::Single;
        let hooks = hooks::runner(configured_hooks, app, &head, is_single_run, Arc::new(prompt_model));
        let trace_export = trace_request.map(|request| TraceExport::new(request, head.session_id));
        let (subagents, subagent_notices) =
            SubagentSettings::load(app, &head.model.provider, front_end.subagent_observer());
        notices.extend(subagent_notices);
        let agents = subagents.as_ref().map(SubagentSettings::agent_names).unwrap_or_default();
        let inputs = RunInputs {
            hooks: front_end.hooks(Arc::clone(&hooks) as _, &head),
            approver: front_end.approver(),
            steering: front_end.steering(),
            output_observer: front_end.output_observer(),
            has_person: matches!(process.kind, RunKind::Interactive | RunKind::Editor),
            replacement,
            extra_instructions: [appended, front_end.instructions()].concat(),
            answer_schema,
            head,
            provider,
            fallbacks,
            default_model,
            sandbox,
            past_file_access,
            accepted_media: media.accepted(),
            editor_files: front_end.editor_files(),
            subagents,
            host_tools: front_end.tools(),
            trace_variables: trace_export::command_variables(trace_export.as_ref()),
        };
        let RunResources {
            mut run,
            background,
            subagents,
            proxy,
            worktree_shell,
            text_sources,
            skills,
            notices: text_notices,
        } = resources::build(app, inputs, &servers, stop.clone())?;
        notices.extend(text_notices);
        if let Some((setup, opener)) = pending {
            let (report, request) = early_start::send_request(setup, &process, &run, first, &stop)?;
            session = open_session(opener)?.session;
            run.head.sandbox = report;
            if let Some(subagents) = &subagents {
                subagents.set_parent(&run);
            }
            if let Some(request) = request {
                run.provider = request.into_provider(run.provider);
            }
        }
        notices.splice(..0, prepare::session_notices(app, session.as_ref(), run.head.journal_gaps));
        let mut parking_dir = None;
        if let Some(Parking { provider, directory }) = parking {
            parking_dir = Some(directory);
            // Sub-agents and hooks have got the provider that sends their requests: they run within one tool call.
            run.provider = provider;
            let model = &run.head.model;
            let percent =
                current_model(app, &model.provider, &model.id).and_then(|known| known.batch_percent);
            run.prices = run.prices.map(|prices| batch_prices(percent, prices));
        }
        if let Some(observer) = app.observer.as_ref().filter(|observer| observer.wants_commands()) {
            let commands = slash_commands::available(&text_sources, &skills);
            let of_servers = slash_commands::server_prompt::available(servers.with_prompts());
            let of_servers = runtime.block_on(async {
                tokio::select! {
                    biased;
                    _ = process.stop.wait() => Vec::new(),
                    commands = of_servers => commands,
                }
            });
            observer.on_commands(commands.into_iter().chain(of_servers).collect(), &agents);
        }
        if let Some(proxy) = proxy {
            // The task ends with the runtime.
            drop(runtime.spawn(proxy));
        }
        if let Some(shell) = worktree_shell {
            let set_up = set_up_worktree(app, &run, shell.as_ref());
            let set_up = runtime.block_on(process.with_limits(&run.stop, set_up));
            notices.extend(set_up.map_err(|reason| print_unstarted_run(&run.stop, reason.into()))?);
        }
        match process.kind {
            // The watch starts only now, so that a run whose stdout is closed from the start still creates its session.
            RunKind::Single => process.watch_reader()?,
            // A terminal that is closed sends SIGHUP. In a hosted session, the watch started with the process.
            RunKind::Interactive | RunKind::Hosted | RunKind::Editor | RunKind::Served => {}
        }
        let (events, receiver) = mpsc::channel(MAX_WAITING_EVENTS);
        let mut writer = process.writer()?;
        if let Some(trace_export) = &trace_export {
            writer = trace_export.wrap(writer);
        }
        if let Some(log) = app.debug_log.clone() {
            log.write_step("session open");
            writer = EventTap::wrap(writer, move |event| log.write_event(event));
        }
        let notice_printer = NoticePrinter::new(Arc::clone(&app.base.catalogue), front_end.details());
        // A conversation shows each refusal with its call.
        let notice_printer = notice_printer.with_refusals(process.kind != RunKind::Interactive);
        let printer = Printer::new(session, writer, notice_printer, process.current_stop.clone());
        match process.kind {
            RunKind::Single | RunKind::Interactive | RunKind::Hosted => printer.register(),
            // One of several printers of the process, none of which writes to stdout.
            RunKind::Editor | RunKind::Served => {}
        }
        let delta_interval = match process.kind {
            RunKind::Interactive => SCREEN_DELTA_INTERVAL,
            RunKind::Single | RunKind::Hosted | RunKind::Editor | RunKind::Served => Duration::ZERO,
        };
        let pump = Pump { printer: Arc::clone(&printer), delta_interval };
        let pump = pump.start(receiver).map_err(thread_error)?;
        let journal =
            Journal::new(past, Arc::clone(&run.clock), events).with_redactor(app.redactor().clone());
        let notices = app.trust.merge_notices(notices);
        let shutdown = new_shutdown(app);
        Ok(Self {
            process,
            run,
            media,
            attachments,
            background,
            subagents,
            servers,
            text_sources,
            skills,
            hooks,
            journal,
            printer,
            pump,
            notices,
            trace_export,
            parking_dir,
            is_new: *target == SessionTarget::New,
            has_run_prompt: false,
            shutdown,
        })
    }

    /// Runs `prompt` to its end, and polls `meanwhile`, which never ends.
    ///
    /// The run ends when `stop` is requested; without one, a signal and the time limit end it.
    ///
    /// # Errors
    /// The failure of the run. If its field `run` is `None`, the end of the run was not recorded in order.
    pub fn run_prompt(
        &mut self,
        mut prompt: UserPrompt,
        stop: Option<Stop>,
        meanwhile: impl Future<Output = Infallible>,
    ) -> Result<(), RunError> {
        let stop = stop.unwrap_or_else(|| self.process.new_stop());
        self.run.stop = stop.clone();
        self.process.current_stop.set(stop.clone());
        self.shutdown = new_shutdown(&self.process.app);
        self.refresh_server_tools(&stop);
        let mut notices = std::mem::take(&mut self.notices);
        let redactor = self.process.app.redactor();
        let texts = prompt.texts.len();
        notices.extend(slash_commands::expand(&self.text_sources, &self.skills, redactor, &mut prompt));
        if prompt.texts.len() == texts {
            notices.extend(self.process.runtime.block_on(async {
                tokio::select! {
                    biased;
                    // The run ends at its start.
                    _ = stop.wait() => Vec::new(),
                    notices = slash_commands::server_prompt::expand(&self.servers, redactor, &mut prompt) => notices,
                }
            }));
        }
        prompt.attachments.splice(..0, std::mem::take(&mut self.attachments));
        let turn = run_to_completion(&self.shutdown, &self.run, &mut self.journal, prompt, notices);
        let outcome = self.process.runtime.block_on(self.process.with_limits(&stop, async {
            tokio::select! {
                outcome = turn => outcome,
                never = meanwhile => match never {},
            }
        }));
        self.run.head.resumed = true;
        if self.run.head.message_turn > 0 {
            self.run.head.message_turn += 1;
        }
        if let Some(directory) = &self.parking_dir {
            directory.finish_run(&outcome);
        }
        if let Some(reason) = stop.reason().filter(|reason| ends_process(reason)) {
            // From here on the watchdog bounds the end of the process.
            self.process.stop.request(reason.clone());
        }
        outcome
    }

    /// Attaches the files that the first text of `prompt` names as `@PATH`. Files that the policy does not let the model
    /// read are not attached.
    ///
    /// # Errors
    /// The errors of [`attachments::attach_mentioned`]; the reason of a stop.
    pub fn attach_mentioned(&mut self, prompt: &mut UserPrompt) -> Result<MentionedFiles, Failure> {
        if !prompt.texts.first().is_some_and(|text| text.contains('@')) {
            return Ok(MentionedFiles::default());
        }
        let stop = self.process.new_stop();
        let reader = MentionReader::from(&self.run);
        self.process.wait(attachments::attach_mentioned(&reader, &self.media, stop, prompt))
    }

    /// Returns the prompts of the MCP servers as commands; `None` if no server has prompts.
    pub fn server_commands(&self) -> Option<impl Future<Output = Vec<SlashCommand>> + Send + use<>> {
        let servers = self.servers.with_prompts();
        (!servers.is_empty()).then(|| slash_commands::server_prompt::available(servers))
    }

    pub fn id(&self) -> SessionId {
        self.run.head.session_id
    }

    pub fn skills(&self) -> &Skills {
        &self.skills
    }

    /// Returns the slash commands of files and skills.
    pub fn slash_commands(&self) -> Vec<SlashCommand> {
        slash_commands::available(&self.text_sources, &self.skills)
    }

    /// Checks the files of a prompt that a program sent.
    ///
    /// # Errors
    /// The errors of [`RunMedia::check_prompt`].
    pub fn check_files(&self, prompt: &UserPrompt) -> Result<(), Failure> {
        self.media.check_prompt(prompt).map_err(Failure::from)
    }

    /// Whether no run can follow one that failed like this.
    pub fn must_close(&self, failed: &RunError) -> bool {
        failed.run.is_none()
            || ends_process(&failed.failure.reason)
            || self.process.stop.reason().is_some()
            || self.printer.is_taken_over()
            || self.printer.unwritten().is_some()
    }

    /// Waits for `work` between runs, as [`RunProcess::wait`] does.
    ///
    /// # Errors
    /// The errors of [`RunProcess::wait`].
    pub fn wait<T>(&mut self, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        // The time that the end of the last run took does not count for the end of the session.
        self.shutdown = new_shutdown(&self.process.app);
        self.process.wait(work)
    }

    /// Waits for `work` between runs; an interrupt ends only the work, and `None` is returned.
    ///
    /// # Errors
    /// The errors of `work`; the reason of another signal.
    pub fn wait_interruptible<T>(
        &mut self,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<Option<T>, Failure> {
        self.shutdown = new_shutdown(&self.process.app);
        self.process.wait_interruptible(work)
    }

    /// Prints a failed run on stderr before the next one.
    pub fn report(&self, failed: &RunError) {
        let catalogue = &self.process.app.base.catalogue;
        let explanation = match self.process.kind {
            RunKind::Interactive => failed.explained_in_conversation(catalogue),
            RunKind::Single | RunKind::Hosted | RunKind::Editor | RunKind::Served => {
                failed.explained(catalogue)
            }
        };
        stderr::write_line(&explanation.to_string());
    }

    /// Lets the following runs use another model.
    ///
    /// # Errors
    /// The errors of [`resources::change_model`].
    pub fn set_model(&mut self, choice: ModelChoice) -> Result<(), Failure> {
        let mut media = self.media.clone();
        media.set_model(&choice);
        resources::change_model(&self.process.app, &mut self.run, choice)?;
        if let Some(subagents) = &self.subagents {
            subagents.set_parent(&self.run);
        }
        self.media = media;
        Ok(())
    }

    /// Ends everything that the session has started, and waits until its last event is written. `outcome` is that of
    /// the last run, or the failure that ended the wait for another prompt.
    ///
    /// # Errors
    /// The error of `outcome`; else the reason why some events were not written.
    pub fn close(self, outcome: Result<(), RunError>) -> Result<(), RunError> {
        let is_unused = self.process.kind == RunKind::Interactive && self.is_unused();
        let Self {
            process,
            run,
            background,
            servers,
            hooks,
            journal,
            printer,
            pump,
            trace_export,
            shutdown,
            ..
        } = self;
        process.runtime.block_on(async {
            if process.kind != RunKind::Single {
                run_session_end_hooks(&process.app, &hooks, &outcome).await;
            }
            // A run stops its background commands at its end, unless it did not end in order.
            let remaining = shutdown.remaining();
            drop(
                tokio::time::timeout(remaining, join(background.stop_all(), servers.shut_down(remaining)))
                    .await,
            );
        });
        drop(journal);
        let unwritten = shutdown.join(&pump, &printer, &run.stop);
        let outcome = outcome.map_err(|failed| end_open_run(failed, &printer, &shutdown));
        if is_unused && !is_ephemeral(&process.app) {
            // A session that stays is only a nuisance: no command takes it for the last one.
            drop(status::remove_session(&process.app, run.head.session_id));
        }
        if let Some(trace_export) = trace_export {
            trace_export.finish(&process.app, process.runtime, shutdown.remaining());
        }
        match (outcome, unwritten) {
            // If the end of a successful run could not be written, the failure is not reported yet.
            (Ok(()), Some(reason)) => Err(reason.into()),
            (outcome, _) => outcome,
        }
    }
}

/// Runs the turn. Once a stop is requested, waits a bounded time for the orderly end.
async fn run_to_completion(
    shutdown: &Shutdown,
    run: &Run,
    journal: &mut Journal,
    prompt: UserPrompt,
    notices: Vec<Notice>,
) -> Result<(), RunError> {
    match shutdown.limit(&run.stop, run.run_turn(journal, prompt, notices)).await? {
        Ok(finished) => match finished.outcome.clone() {
            RunOutcome::Completed => Ok(()),
            RunOutcome::Failed(failure) => Err(RunError { failure, run: Some(Box::new(finished)) }),
        },
        Err(_closed) => {
            let detail = "the event stream closed without a reason".to_owned();
            Err(run.stop.reason().cloned().unwrap_or(Reason::Internal { detail }).into())
        }
    }
}

/// Prints on stdout a run that a stop ended before it started.
fn print_unstarted_run(stop: &Stop, failure: Failure) -> RunError {
    if stop.reason().is_none() {
        return failure.into();
    }
    let run = process_end::print_unstarted_run(&failure);
    RunError { failure, run: run.map(Box::new) }
}

/// Runs the set-up commands of a new worktree with its shell tool. Returns the notices of the commands.
///
/// # Errors
/// `WorktreeSetup`, the reason of a stop.
async fn set_up_worktree(app: &AppContext, run: &Run, shell: &dyn Tool) -> Result<Vec<Notice>, Reason> {
    let context = ToolContext::new(run.stop.clone(), run.file_timeout);
    if let Some(setup) = app.worktree.as_ref().and_then(|worktree| worktree.setup.as_ref()) {
        setup.run(shell, &context, app.redactor()).await?;
    }
    Ok(context.notices.take())
}

/// Whether this failure of a run ends the process: an interrupt ends the run, other signals end the process.
fn ends_process(reason: &Reason) -> bool {
    match reason {
        Reason::Signalled(Signal::Int) => false,
        Reason::Signalled(Signal::Hup | Signal::Quit | Signal::Term) => true,
        reason => matches!(reason, Reason::OutputClosed | Reason::Io { .. }),
    }
}
