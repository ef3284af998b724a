//! The parts of a run that come from the configuration: tools, the gate that decides about calls, limits, time.

use std::ffi::OsString;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use ibeam_config::{RetrySettings, Settings, TimeoutSettings};
use ibeam_core::{
    Approver, Checkpoints, FallbackModel, Gate, Hooks, JsonSchema, NoCheckpoints, NoScopedRules,
    OutputObserver, PreparedCall, Provider, ReplaceableDefault, RetryPolicy, Run, RunPrecondition,
    ScopedRules, Steering, Stop, Tool, ToolInputError, ToolOrigin, ToolSet,
};
use ibeam_policy::PathPolicy;
use ibeam_protocol::{
    AcceptedMedia, Failure, ModelInfo, Notice, PermissionMode, Reason, RunStarted, SessionId, ToolOutcome,
    ToolSpec,
};
use ibeam_tools::{
    BackgroundProcesses, CommandTimeouts, EditorFiles, PastFileAccess, ToolSettings, Workspace,
};

use super::sandbox::RunSandbox;
use super::subagents::{SubagentHost, SubagentSettings, ToolFactory};
use super::{answer_schema, home_workspace};
use crate::app::AppContext;
use crate::checkpoint::RunCheckpoints;
use crate::clock::SystemClock;
use crate::instructions::{Instructions, WorkspaceRules};
use crate::mcp::McpServers;
use crate::model::{ModelChoice, current_model, model_info};
use crate::session_observer::ModelLimits;
use crate::skills::{SKILL_TOOL_NAME, SkillTool, Skills};
use crate::system_prompt::{SystemPrompt, SystemPromptInputs};
use crate::text_sources::TextSources;

/// A run, and the resources that its turns share.
pub(super) struct RunResources {
    pub(super) run: Run,
    pub(super) background: BackgroundProcesses,
    /// Starts sub-agents, if the model is offered them.
    pub(super) subagents: Option<Arc<SubagentHost>>,
    /// The proxy through which confined commands reach granted hosts. It works while it is polled.
    pub(super) proxy: Option<BoxFuture<'static, ()>>,
    /// The tool for the set-up commands of a worktree; `None` if there are none, or the mode runs no commands.
    pub(super) worktree_shell: Option<Arc<dyn Tool>>,
    /// The places of rule files, skills and slash commands.
    pub(super) text_sources: TextSources,
    pub(super) skills: Arc<Skills>,
    /// Notices about rule files and skills.
    pub(super) notices: Vec<Notice>,
}

/// The inputs of a run other than the configuration.
pub(super) struct RunInputs {
    pub(super) head: RunStarted,
    pub(super) provider: Arc<dyn Provider>,
    pub(super) fallbacks: Vec<FallbackModel>,
    pub(super) default_model: Option<ReplaceableDefault>,
    pub(super) sandbox: RunSandbox,
    pub(super) approver: Arc<dyn Approver>,
    pub(super) hooks: Arc<dyn Hooks>,
    /// The messages that the user adds while a turn runs.
    pub(super) steering: Arc<dyn Steering>,
    pub(super) output_observer: Option<Arc<dyn OutputObserver>>,
    /// Whether a person is at the terminal and answers.
    pub(super) has_person: bool,
    /// Instructions instead of the built-in ones.
    pub(super) replacement: Option<String>,
    /// Instructions of the caller, after all others.
    pub(super) extra_instructions: Vec<String>,
    /// The schema of the final answer.
    pub(super) answer_schema: Option<Arc<JsonSchema>>,
    /// The file contents that earlier runs of the session read and wrote.
    pub(super) past_file_access: PastFileAccess,
    /// The images and documents that the model accepts.
    pub(super) accepted_media: AcceptedMedia,
    /// The editor that has files of the workspace open.
    pub(super) editor_files: Option<Arc<dyn EditorFiles>>,
    /// The settings of sub-agents; `None` if the model is not offered them.
    pub(super) subagents: Option<SubagentSettings>,
    /// The tools of the program around the run.
    pub(super) host_tools: Vec<Arc<dyn Tool>>,
    /// The variable of commands with the trace that they belong to, if there is one.
    pub(super) trace_variables: Vec<(OsString, OsString)>,
}

/// The rule files and skills of the workspace and the user.
pub(super) struct ProjectTexts {
    pub(super) sources: TextSources,
    pub(super) instructions: Instructions,
    pub(super) skills: Arc<Skills>,
}

impl ProjectTexts {
    /// Reads the rule files and the headers of the skills.
    pub(super) fn load(app: &AppContext, path_policy: PathPolicy) -> Self {
        let sources = TextSources::new(app, path_policy);
        let options = &app.base.options;
        if options.without_instructions {
            return Self { sources, instructions: Instructions::default(), skills: Arc::default() };
        }
        let mut skills = Skills::load(&sources);
        if options.without.iter().any(|name| name == SKILL_TOOL_NAME) {
            skills.offer_none();
        }
        Self { instructions: Instructions::load(&sources), sources, skills: Arc::new(skills) }
    }
}

/// Builds the run and the resources that its turns share.
///
/// # Errors
/// `BadConfig` for an invalid value.
pub(super) fn build(
    app: &Arc<AppContext>,
    inputs: RunInputs,
    servers: &McpServers,
    stop: Stop,
) -> Result<RunResources, Failure> {
    let RunInputs {
        mut head,
        provider,
        fallbacks,
        default_model,
        sandbox,
        approver,
        hooks,
        steering,
        output_observer,
        has_person,
        replacement,
        mut extra_instructions,
        answer_schema,
        past_file_access,
        accepted_media,
        editor_files,
        subagents,
        trace_variables,
        host_tools,
    } = inputs;
    let needs_instruction =
        |schema: &&Arc<JsonSchema>| !fallbacks.is_empty() || !provider.enforces_schema(schema);
    if let Some(schema) = answer_schema.as_ref().filter(needs_instruction) {
        extra_instructions.push(answer_schema::instruction(schema));
    }
    let RunSandbox { mut policy, workspace, path_policy, background, web, .. } = sandbox;
    policy.unapproved_mcp_tools.clone_from(&servers.unapproved);
    let web = Arc::new(web);
    // Without a proxy there is no wait for the sandbox here, which may not be set up yet.
    let listener = web.is_granted().then(|| background.launcher().take_proxy_listener()).flatten();
    let mut command_environment =
        listener.as_ref().map(|(_, port)| web.environment(*port)).unwrap_or_default();
    command_environment.extend(trace_variables);
    // In a replay no connection is opened, so commands find a proxy that does not answer.
    let listener = listener.filter(|_| !app.replays());
    let proxy = listener.map(|(listener, _)| Arc::clone(&web).serve(listener, background.clone()));
    let precondition = workspace_exists(workspace.clone());
    let settings = ToolSettings {
        environment: std::env::vars_os().collect(),
        secret_variables: crate::model::key_variable_names(app),
        log_directory: Some(app.dirs.background_logs()),
        extra_variables: extra_variables(app),
        command_environment,
        path_policy: path_policy.clone(),
        quarantine: Some(app.dirs.quarantine()),
        monitors_home: home_workspace::is_covered(app),
        background: background.clone(),
        past_file_access,
        accepted_media,
        editor_files,
    };
    let mut web_tools = web.tools(app, &policy);
    web_tools.extend(web.search_tool(&app.base.settings.web_search, servers, head.permission_mode)?);
    let web_tools = if app.replays() { offline_tools(web_tools) } else { web_tools };
    let subagents = subagents.map(|subagents| {
        let (workspace, settings) = (workspace.clone(), settings.clone());
        (subagents, ToolFactory::new(workspace, settings, servers, &web_tools))
    });
    let mut tools = ibeam_tools::all(workspace, settings);
    tools.extend(servers.tools());
    tools.extend(web_tools);
    let checkpoints: Arc<dyn Checkpoints> = match !head.ephemeral
        && app.base.settings.session.checkpoints.value
        && (home_workspace::is_covered(app) || !home_workspace::holds_home(app))
    {
        true => Arc::new(RunCheckpoints::new(app, head.session_id, path_policy.clone())),
        false => Arc::new(NoCheckpoints),
    };
    let ProjectTexts { sources: text_sources, instructions, skills } = ProjectTexts::load(app, path_policy);
    let mut notices: Vec<Notice> = instructions.notices().iter().chain(skills.notices()).cloned().collect();
    if skills.has_offered() {
        let tool = SkillTool::new(text_sources.clone(), Arc::clone(&skills));
        tools.insert(tool.spec().name.into_owned(), Arc::new(tool));
    }
    let needs_setup = app.worktree.as_ref().is_some_and(|worktree| worktree.setup.is_some());
    let runs_commands = match head.permission_mode {
        PermissionMode::Default | PermissionMode::Force => true,
        PermissionMode::Plan | PermissionMode::Ask => false,
    };
    let worktree_shell = tools.get("shell").filter(|_| needs_setup && runs_commands).cloned();
    tools.extend(host_tools.into_iter().map(|tool| (tool.spec().name.into_owned(), tool)));
    tools.retain(|name, _| !app.base.options.without.contains(name));
    head.tools = tools.keys().cloned().collect();
    head.mcp_servers.clone_from(&servers.statuses);
    let clock = Arc::new(SystemClock::since(app.started_at));
    let system_prompt = SystemPrompt::new(&SystemPromptInputs {
        workspace: &app.workspace,
        trusted: app.trust.is_trusted(),
        mode: head.permission_mode,
        sandbox: &head.sandbox,
        instructions: &instructions,
        skills: &skills,
        has_person,
        replacement: replacement.as_deref(),
        extra_instructions: &extra_instructions,
        environment: head.environment.take(),
        now_ms: ibeam_core::Clock::unix_ms(clock.as_ref()),
    });
    let prompt = system_prompt.prompt_parts();
    head.environment = Some(system_prompt.environment);
    let scoped_rules: Arc<dyn ScopedRules> = match app.base.options.without_instructions {
        true => Arc::new(NoScopedRules),
        false => Arc::new(WorkspaceRules::new(text_sources.clone(), &instructions)),
    };
    let head_model = head.model.clone();
    let prices = model_info::check_price(app, &head_model)?;
    if model_info::lacks_price(app, &head_model) {
        notices.push(Notice::BudgetNotEnforced { model: head_model.id.clone() });
    }
    report_limits(app, &head_model);
    let mut run = Run {
        head,
        provider,
        fallbacks,
        default_model,
        tools,
        gate: Gate::new(policy, approver),
        hooks,
        retry: retry_policy(&app.base.settings.retry),
        fail_on: app.base.options.fail_on,
        answer_schema,
        clock,
        prompt,
        max_output_tokens: model_info::configured_output_tokens(&app.base.settings.limits),
        context_window: model_info::economic_window(app, &head_model),
        binds_thinking: model_info::binds_thinking(app, &head_model),
        request_limits: model_info::request_limits(app, &head_model),
        prices,
        checkpoints,
        background: Arc::new(background.clone()),
        await_background: waits_for_background(&app.base.settings)?,
        precondition,
        file_timeout: app.base.settings.timeouts.files.value,
        steering,
        output_observer,
        scoped_rules,
        stop,
    };
    let subagents =
        subagents.map(|(settings, factory)| SubagentHost::offer(app, &mut run, settings, factory));
    Ok(RunResources { run, background, subagents, proxy, worktree_shell, text_sources, skills, notices })
}

/// Returns the tools without their effect, for a replay: they are offered to the model, and each call fails.
fn offline_tools(tools: ToolSet) -> ToolSet {
    tools.into_iter().map(|(name, tool)| (name, Arc::new(OfflineTool(tool)) as Arc<dyn Tool>)).collect()
}

/// A tool whose calls fail, for a replay.
struct OfflineTool(Arc<dyn Tool>);

impl Tool for OfflineTool {
    fn spec(&self) -> ToolSpec {
        self.0.spec()
    }

    fn origin(&self) -> Option<ToolOrigin<'_>> {
        self.0.origin()
    }

    fn prepare(&self, arguments: &serde_json::Value) -> Result<PreparedCall, ToolInputError> {
        let PreparedCall { arguments, access, run: _ } = self.0.prepare(arguments)?;
        let failed = || ToolOutcome::error("no connection is opened in a replay");
        Ok(PreparedCall::new(arguments, access, move |_| std::future::ready(failed())))
    }
}

/// Replaces the model of the following runs.
///
/// # Errors
/// The errors of [`ModelChoice::connect`]; `Usage` if the cost is limited and the price of the model is unknown.
pub(super) fn change_model(app: &AppContext, run: &mut Run, choice: ModelChoice) -> Result<(), Failure> {
    let prices = model_info::check_price(app, choice.info())?;
    let (provider, info, key_source) = choice.connect(app, run.head.session_id)?;
    run.prices = prices;
    run.context_window = model_info::economic_window(app, &info);
    run.binds_thinking = model_info::binds_thinking(app, &info);
    run.request_limits = model_info::request_limits(app, &info);
    report_limits(app, &info);
    run.provider = provider;
    run.default_model = None;
    (run.head.model, run.head.key_source) = (info, key_source);
    Ok(())
}

/// Connects a model that takes over while the models before it are unavailable.
///
/// # Errors
/// The errors of [`ModelChoice::connect`]; `Usage` if the cost is limited and the price of the model is unknown.
pub(super) fn connect_fallback(
    app: &AppContext,
    choice: ModelChoice,
    session: SessionId,
) -> Result<FallbackModel, Failure> {
    let prices = model_info::check_price(app, choice.info())?;
    let (provider, model, _) = choice.connect(app, session)?;
    let context_window = model_info::economic_window(app, &model);
    let binds_thinking = model_info::binds_thinking(app, &model);
    let request_limits = model_info::request_limits(app, &model);
    report_limits(app, &model);
    // The limit is set for the first model; a larger one than that of the next model would be an error there.
    let known = current_model(app, &model.provider, &model.id);
    let longest_answer = known.and_then(|known| known.max_output_tokens).unwrap_or(u32::MAX);
    let max_output_tokens = model_info::configured_output_tokens(&app.base.settings.limits)
        .map(|tokens| tokens.min(longest_answer));
    Ok(FallbackModel {
        model,
        provider,
        context_window,
        max_output_tokens,
        binds_thinking,
        request_limits,
        prices,
    })
}

/// Passes the limits of the model to the observer.
fn report_limits(app: &AppContext, model: &ModelInfo) {
    if let Some(observer) = &app.observer {
        let limits = ModelLimits {
            context_window: model_info::context_window(app, model),
            max_output_tokens: model_info::max_output_tokens(app, model),
            lacks_price: model_info::lacks_price(app, model),
        };
        observer.on_model(&model.id, limits);
    }
}

/// Returns the variables that the configuration passes to commands, in addition to the default ones.
pub fn extra_variables(app: &AppContext) -> Vec<String> {
    app.base.settings.sandbox.environment.iter().map(|name| name.value.clone()).collect()
}

/// Whether the run waits for background commands at its end.
pub(super) fn waits_for_background(settings: &Settings) -> Result<bool, Reason> {
    match settings.background.value.as_str() {
        "stop" => Ok(false),
        "wait" => Ok(true),
        other => Err(Reason::BadConfig {
            path: "background".to_owned(),
            line: None,
            column: None,
            detail: format!("`{other}` should be \"stop\" or \"wait\"").into(),
        }),
    }
}

/// Returns the precondition that the workspace still exists.
fn workspace_exists(workspace: Workspace) -> RunPrecondition {
    Arc::new(move || {
        let path = || workspace.root().display().to_string();
        workspace.is_root_gone().then(|| Reason::WorkspaceGone { path: path() })
    })
}

/// Returns the time limits of commands. The grace period of their end fits into that of the run.
pub(super) fn command_timeouts(timeouts: &TimeoutSettings) -> Result<CommandTimeouts, Reason> {
    let standard = CommandTimeouts::default();
    let (default, longest) = (timeouts.tool.value, timeouts.tool_longest.value);
    if default > longest {
        return Err(Reason::BadConfig {
            path: "timeouts.tool".to_owned(),
            line: None,
            column: None,
            detail: format!("{default:?} is longer than `timeouts.tool_longest`, {longest:?}").into(),
        });
    }
    let grace = standard.grace.min(timeouts.shutdown.value.mul_f32(0.6));
    Ok(CommandTimeouts { default, max: longest, grace, background: timeouts.background.value })
}

fn retry_policy(settings: &RetrySettings) -> RetryPolicy {
    let standard = RetryPolicy::default();
    let RetrySettings { attempts, first_pause, give_up_after } = settings;
    let attempts = u32::try_from(attempts.value).unwrap_or(u32::MAX);
    let base = first_pause.value;
    RetryPolicy {
        backoff_attempts: attempts,
        fast_attempts: attempts.min(standard.fast_attempts),
        backoff_base: base,
        fast_base: standard.fast_base.min(base),
        max_elapsed: give_up_after.value,
        ..standard
    }
}
