//! The run of a sub-agent: from the task to the outcome of the call that started it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use ibeam_core::{
    FailOn, FinishedCall, HookEvent, HookOutput, Hooks, Journal, NoBackground, NoCheckpoints, NoSteering,
    Notices, Run, Stop, Subagent, ToolContext, subagent_mode,
};
use ibeam_hooks::GENERAL_SUBAGENT;
use ibeam_output::{Catalogue, Locale};
use ibeam_protocol::tool_output::TaskOutput;
use ibeam_protocol::{
    Elision, Failure, Notice, PromptOwner, PromptPart, Reason, RunFinished, RunOutcome, RunTotals,
    ToolFailure, ToolOutcome, ToolOutput, UserPrompt,
};

use super::SubagentHost;
use super::child_recorder::{ChildRecord, ChildRecorder};
use super::task_tool::Task;
use crate::model::{self, ModelChoice, model_info};
use crate::run::session_opener::{OpenedSession, SessionOpener};
use crate::run::thread_error;

/// The bytes of the final answer that the parent receives.
const MAX_RESULT_BYTES: usize = 48 * 1024;

/// The part of the system prompt that only sub-agents have.
const ROLE: &str = "\n# Your role\n\nYou are a sub-agent: another agent gave you one task and reads only your final \
                    answer. Put everything that it needs to know there.\n";
/// The start of the names of the parts that only sub-agents have.
const SUBAGENT_PART: &str = "subagent";
/// The instruction for a sub-agent that may only read.
const READ_ONLY: &str = "You may only read: change nothing and run no commands.\n";

/// Runs a sub-agent to its end.
///
/// When the stop of the context is requested, the run ends in order, with its calls. Dropping the future ends it too.
pub(super) async fn run(host: Arc<SubagentHost>, task: Task, context: ToolContext) -> ToolOutcome {
    if let Some(reason) = context.budget.exceeded() {
        return ToolOutcome::error(format!("the sub-agent was not started: {}", sentence(&reason)));
    }
    match start(&host, &task, &context).await {
        Ok(child) => child.finish(&task, &context).await,
        Err(failure) => {
            ToolOutcome::error(format!("the sub-agent was not started: {}", sentence(&failure.reason)))
        }
    }
}

/// A sub-agent that is ready to run.
struct Child {
    run: Run,
    journal: Journal,
    recorder: ChildRecorder,
}

/// Opens the session of the sub-agent and derives its run from that of the parent.
///
/// # Errors
/// The errors of the model and of the session; `UnknownSession` for the session of another run.
async fn start(host: &SubagentHost, task: &Task, context: &ToolContext) -> Result<Child, Failure> {
    let app = &host.app;
    let mut run = host.parent();
    let parent = run.head.session_id;
    let session_id = task.session;
    let choice = choose_model(host, task, context)?;
    let accepted_media = match &choice {
        Some(choice) => choice.accepted_media(),
        None => host.tools.settings.accepted_media,
    };
    let is_resumed = task.arguments.resume.is_some();
    let unknown = || Reason::UnknownSession { session: session_id.to_string() };
    if is_resumed && !ibeam_session::exists(&app.dirs.sessions(), session_id) {
        return Err(unknown().into());
    }
    let opened = SessionOpener::for_subagent(app, session_id)?.open_cancellable(&context.stop).await?;
    let OpenedSession { session, past, past_file_access, parent: recorded_parent, .. } = opened;
    // A model must not read the sessions of other runs.
    if is_resumed && recorded_parent != Some(parent) {
        return Err(unknown().into());
    }
    if let Some(choice) = choice {
        let prices = model_info::check_price(app, choice.info())?;
        let (provider, model, key_source) = choice.connect(app, session_id)?;
        run.context_window = model_info::economic_window(app, &model);
        run.binds_thinking = model_info::binds_thinking(app, &model);
        run.request_limits = model_info::request_limits(app, &model);
        (run.provider, run.prices) = (provider, prices);
        (run.head.model, run.head.key_source) = (model, key_source);
        run.fallbacks.clear();
        run.default_model = None;
    }
    run.head.session_id = session_id;
    run.head.parent = Some(parent);
    run.head.resumed = !past.is_empty();
    run.head.continues = false;
    run.head.journal_gaps = past.gaps();
    run.head.permission_mode = subagent_mode(run.head.permission_mode, task.read_only);
    run.head.limits = context.budget.remaining();
    run.tools = host.tools.build(past_file_access, accepted_media, task.read_only);
    run.tools.retain(|name, _| {
        let is_allowed = task.definition.as_ref().is_none_or(|definition| definition.allows_tool(name));
        is_allowed && !app.base.options.without.contains(name)
    });
    run.head.tools = run.tools.keys().cloned().collect();
    run.gate = run.gate.for_subagent(task.read_only);
    let subagent = Subagent {
        id: session_id,
        kind: match task.arguments.subagent_type.as_deref() {
            None | Some("") => GENERAL_SUBAGENT.to_owned(),
            Some(kind) => kind.to_owned(),
        },
        task: task.arguments.prompt.clone(),
        model: run.head.model.id.clone(),
    };
    run.hooks = Arc::new(ChildHooks {
        parent: Arc::clone(&run.hooks),
        subagent,
        parent_notices: context.notices.clone(),
    });
    let depth = run.prompt.iter().filter(|part| part.name.starts_with(SUBAGENT_PART)).count();
    run.prompt.extend(prompt_parts(task, depth));
    (run.fail_on, run.answer_schema) = (FailOn::default(), None);
    // Commands that a sub-agent leaves in the background belong to the parent, which ends them.
    (run.background, run.await_background) = (Arc::new(NoBackground), false);
    run.steering = Arc::new(NoSteering);
    run.output_observer = None;
    // The parent saves the files before a call that may change some.
    run.checkpoints = Arc::new(NoCheckpoints);
    // A task with a time limit has a stop of its own, which follows that of the parent.
    run.stop = if time_limit(task).is_some() { Stop::default() } else { context.stop.clone() };
    if task.definition.as_ref().is_none_or(|definition| definition.allows_tool(super::TASK_NAME)) {
        host.offer_nested(&mut run);
    }
    let observer = host.observer.clone().map(|observer| (observer, session_id));
    let (recorder, events) = ChildRecorder::start(session, observer).map_err(thread_error)?;
    let journal = Journal::new(past, Arc::clone(&run.clock), events)
        .with_redactor(app.redactor().clone())
        .with_outer_budget(context.budget.clone());
    Ok(Child { run, journal, recorder })
}

/// Returns the model that the call or the definition names; `None` for that of the parent.
///
/// A definition may have been written for another program, so a name that is unknown here is only a warning.
///
/// # Errors
/// The errors of [`model::choose_model_named`] for a name in the call.
fn choose_model(
    host: &SubagentHost,
    task: &Task,
    context: &ToolContext,
) -> Result<Option<ModelChoice>, Failure> {
    if let Some(name) =
        task.arguments.model.as_deref().filter(|name| !matches!(*name, "" | "inherit" | "auto"))
    {
        return Ok(Some(model::choose_model_named(&host.app, name, "the call")?));
    }
    let Some(definition) = &task.definition else { return Ok(None) };
    let Some(name) = &definition.model else { return Ok(None) };
    let path = definition.path.display().to_string();
    match model::choose_model_named(&host.app, name, &path) {
        Ok(choice) => Ok(Some(choice)),
        Err(reason) => {
            let detail = format!(
                "the model of the run is used: {}; `models.aliases.{name}` can give the name a meaning",
                sentence(&reason)
            );
            context.notices.add(Notice::SubagentDefinition { path, detail });
            Ok(None)
        }
    }
}

/// Returns the parts of the system prompt that the parent does not have: the role and the instructions of the sub-agent.
/// `depth` is the number of such parts that the parent has.
fn prompt_parts(task: &Task, depth: usize) -> impl Iterator<Item = PromptPart> {
    let role = if task.read_only { [ROLE, READ_ONLY].concat() } else { ROLE.to_owned() };
    let part =
        |name: &str, owner, text| PromptPart { name: format!("{SUBAGENT_PART}{name} {depth}"), owner, text };
    let role = part("", PromptOwner::User, role);
    let definition = task.definition.as_ref().map(|definition| {
        let text = format!("\n{}\n", definition.instructions);
        part("_definition", PromptOwner::Project, text)
    });
    std::iter::once(role).chain(definition)
}

impl Child {
    /// Runs the task and returns the outcome of its call.
    async fn finish(self, task: &Task, context: &ToolContext) -> ToolOutcome {
        let Self { run, mut journal, recorder } = self;
        let prompt = UserPrompt::from(vec![task.arguments.prompt.clone()]);
        let stop = run.stop.clone();
        let turn = run.run_turn(&mut journal, prompt, Vec::new());
        let finished = match time_limit(task) {
            None => turn.await,
            Some(limit) => within(limit, turn, &stop, &context.stop).await,
        };
        let totals = journal.tally().totals.clone();
        // The recorder ends with its sender.
        drop(journal);
        let record = recorder.finish().await;
        outcome(task, finished.ok(), totals, record)
    }
}

fn time_limit(task: &Task) -> Option<Duration> {
    task.definition.as_ref().and_then(|definition| definition.timeout)
}

/// Waits for a turn. Requests its stop when the time limit is reached, or when that of the parent is requested.
async fn within<T>(limit: Duration, turn: impl Future<Output = T>, stop: &Stop, parent: &Stop) -> T {
    let timeout_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
    let watch = async {
        let reason = tokio::select! {
            reason = parent.wait() => reason,
            () = tokio::time::sleep(limit) => Reason::TimedOut { timeout_ms },
        };
        stop.request(reason);
    };
    tokio::pin!(turn);
    tokio::select! {
        finished = &mut turn => finished,
        () = watch => turn.await,
    }
}

/// Returns the outcome of a call whose sub-agent has ended; `finished` is `None` if its journal could not be written.
fn outcome(
    task: &Task,
    finished: Option<RunFinished>,
    totals: RunTotals,
    record: ChildRecord,
) -> ToolOutcome {
    let session = task.session;
    let result = record.texts.last().map(|text| Elision::mostly_head(MAX_RESULT_BYTES).apply(text));
    let result = result.as_deref().unwrap_or_default();
    let (totals, failure) = match finished {
        Some(RunFinished { outcome: RunOutcome::Completed, duration_ms, totals, .. }) => {
            let for_model = format!("{result}\n\n(sub-agent {session}; `resume` with this id continues it)");
            let output =
                TaskOutput { steps: record.texts, session_id: session, duration_ms, totals: totals.into() };
            return ToolOutcome::Success { output: ToolOutput::Task(output), for_model: for_model.into() };
        }
        Some(RunFinished { outcome: RunOutcome::Failed(failure), totals, .. }) => (totals, failure.reason),
        None => {
            let lost = || Reason::Internal { detail: "its events were lost".to_owned() };
            (totals, record.unwritten.unwrap_or_else(lost))
        }
    };
    let message = format!("the sub-agent {session} failed: {}", sentence(&failure));
    let mut for_model = format!("{message}; `resume` with its id continues it");
    if !result.is_empty() {
        for_model.push_str(&format!("\nIts last answer:\n{result}"));
    }
    let failure = ToolFailure::TaskFailed { message: message.into(), totals: totals.into() };
    ToolOutcome::Failure { failure, for_model: for_model.into() }
}

/// Returns the English sentence of a reason.
fn sentence(reason: &Reason) -> String {
    Catalogue::new(Locale::En).reason(reason).message
}

/// The hooks of the parent for a sub-agent: those of calls, and those of the end of a sub-agent. The other events of the
/// parent's run are not those of a sub-agent.
struct ChildHooks {
    parent: Arc<dyn Hooks>,
    subagent: Subagent,
    /// The notices of the call that runs the sub-agent.
    parent_notices: Notices,
}

impl Hooks for ChildHooks {
    fn wants_tool_results(&self) -> bool {
        self.parent.wants_tool_results()
    }

    fn grace(&self) -> std::time::Duration {
        self.parent.grace()
    }

    fn run<'a>(&'a self, event: HookEvent<'a>) -> Option<BoxFuture<'a, HookOutput>> {
        let event = match event {
            HookEvent::BeforeToolCall { .. }
            | HookEvent::AfterToolCall(FinishedCall { .. })
            // A sub-agent of the sub-agent.
            | HookEvent::SubagentEnd { .. } => event,
            HookEvent::AnswerEnd(end) => HookEvent::SubagentEnd { subagent: &self.subagent, end },
            HookEvent::RunStart
            | HookEvent::PromptSubmit(_)
            | HookEvent::AnswerReceived(_)
            | HookEvent::Compaction(_)
            | HookEvent::RunEnd(_) => return None,
        };
        let hooks = self.parent.run(event)?;
        Some(Box::pin(async move {
            let output = hooks.await;
            // Each failure is reported once, so not again in the parent.
            output.notices.iter().for_each(|notice| self.parent_notices.add(notice.clone()));
            output
        }))
    }
}
