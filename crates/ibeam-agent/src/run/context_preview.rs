//! The context of a first request, without starting a run: for `ibeam context`. Needs no key, and no network unless MCP
//! servers are started.
//!
//! Not part of it is what only a run finds out: the texts that hooks add, and the rules for files that the model uses
//! later. The tools of MCP servers are part of it only if the servers are started.

use std::ffi::OsString;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use ibeam_core::{Clock, Gate, JsonSchema, NoApprover, Stop, Tool};
use ibeam_protocol::{
    Environment, Failure, McpServer, McpStatus, ModelInfo, Notice, Reason, Sandbox, SandboxMode, ToolSpec,
    UserPrompt,
};
use ibeam_tools::{ToolSettings, Workspace};

use super::attachments::{self, MentionReader, RunMedia};
use super::given_instructions::GivenInstructions;
use super::resources::ProjectTexts;
use super::subagents::SubagentSettings;
use super::web::Web;
use super::{answer_schema, on_runtime, permission_mode, policy_rules, sandbox};
use crate::app::AppContext;
use crate::clock::SystemClock;
use crate::mcp::{self, McpServers};
use crate::model::{self, FallbackChain, model_info};
use crate::prompt::{self, StdinTimeouts, StdinUse};
use crate::pump::CurrentStop;
use crate::signals;
use crate::skills::SkillTool;
use crate::slash_commands::{self, SlashCommand};
use crate::system_prompt::{SystemPrompt, SystemPromptInputs};

/// The context of the first request of a run.
pub struct ContextPreview {
    pub system_prompt: SystemPrompt,
    /// The tools, without those of MCP servers.
    pub tools: Vec<ToolSpec>,
    /// The tools of each MCP server that was started.
    pub server_tools: Vec<(String, Vec<ToolSpec>)>,
    pub servers: Vec<McpServer>,
    /// Whether the MCP servers were started that a run would start.
    pub has_started_servers: bool,
    /// The prompt with its attachments and the text of its command.
    pub prompt: UserPrompt,
    /// The commands that a prompt can name.
    pub commands: Vec<SlashCommand>,
    /// The model, if one can be chosen.
    pub model: Option<ModelInfo>,
    /// The largest number of tokens of prompt and answer together, if it is known.
    pub context_window: Option<u64>,
    /// Notices about files that are not used, or only in part.
    pub notices: Vec<Notice>,
}

impl ContextPreview {
    /// Returns the context of a run with the flags of `app` and the prompt `words`: of a conversation if `has_person`,
    /// else in print mode. With `start_servers`, starts the MCP servers, and ends them again. `environment` is that of the
    /// session that the run resumes.
    ///
    /// # Errors
    /// The errors with which such a run would not start, except those about the model and the sandbox.
    pub fn new(
        app: &AppContext,
        words: &[OsString],
        start_servers: bool,
        has_person: bool,
        environment: Option<Environment>,
    ) -> Result<Self, Failure> {
        let choice = model::choose_model(app).ok();
        let chain = choice.as_ref().and_then(|choice| FallbackChain::choose(app, choice).ok());
        let chain = chain.unwrap_or_default();
        let media = match &choice {
            Some(choice) => RunMedia::new(choice, &chain),
            None => RunMedia::unknown(),
        };
        let mode = permission_mode(app);
        let mut policy = policy_rules::build_policy(app, mode)?;
        policy.sandboxed = sandbox::is_sandbox_enabled(app);
        let workspace = Workspace::new(&app.workspace, &policy.extra_dirs).map_err(|error| {
            Reason::NoInput { path: app.workspace.display().to_string(), detail: error.to_string() }
        })?;
        let web = Web::new(app, &policy, !has_person)?;
        let path_policy = policy.path_policy();
        let settings = ToolSettings {
            path_policy: path_policy.clone(),
            accepted_media: media.accepted(),
            ..ToolSettings::default()
        };
        let mut tools = ibeam_tools::all(workspace, settings);
        tools.extend(web.tools(app, &policy));
        let (servers, server_commands) = match start_servers {
            true => started_servers(app)?,
            false => (declared_only(app)?, Vec::new()),
        };
        tools.extend(servers.resource_tools());
        tools.extend(web.search_tool(&app.base.settings.web_search, &servers, mode)?);
        let ProjectTexts { sources, instructions, skills } = ProjectTexts::load(app, path_policy);
        if skills.has_offered() {
            let tool = SkillTool::new(sources.clone(), Arc::clone(&skills));
            tools.insert(tool.spec().name.into_owned(), Arc::new(tool));
        }
        tools.retain(|name, _| !app.base.options.without.contains(name));
        let mut server_tools = servers.tools_by_server();
        for (_, tools) in &mut server_tools {
            tools.retain(|tool| !app.base.options.without.iter().any(|name| **name == *tool.name));
        }
        let GivenInstructions { replacement, mut appended } = GivenInstructions::load(&app.base.options)?;
        let is_enforced = |schema: &JsonSchema| {
            chain.choices.is_empty()
                && choice.as_ref().is_some_and(|choice| choice.enforces_schema(app, schema))
        };
        let schema = answer_schema::load(&app.base.options)?.filter(|schema| !is_enforced(schema));
        appended.extend(schema.map(|schema| answer_schema::instruction(&schema)));
        // The layers of the sandbox do not change the prompt.
        let sandbox_mode = if policy.sandboxed { SandboxMode::Namespaces } else { SandboxMode::Off };
        let sandbox = Sandbox { mode: sandbox_mode, network: web.is_granted(), ..Sandbox::default() };
        let system_prompt = SystemPrompt::new(&SystemPromptInputs {
            workspace: &app.workspace,
            trusted: app.trust.is_trusted(),
            mode,
            sandbox: &sandbox,
            instructions: &instructions,
            skills: &skills,
            has_person,
            replacement: replacement.as_deref(),
            extra_instructions: &appended,
            environment,
            now_ms: SystemClock::since(app.started_at).unix_ms(),
        });
        let mut prompt = read_words(words)?;
        prompt.attachments = attachments::load(&app.base.options, &media)?;
        let gate = Gate::new(policy, Arc::new(NoApprover));
        let file_timeout = app.base.settings.timeouts.files.value;
        let reader = MentionReader { tools: &tools, gate: &gate, workspace: &app.workspace, file_timeout };
        on_runtime(|runtime| {
            runtime.block_on(attachments::attach_mentioned(&reader, &media, Stop::default(), &mut prompt))
        })?;
        let mut notices: Vec<Notice> =
            servers.notices.iter().chain(instructions.notices()).chain(skills.notices()).cloned().collect();
        notices.extend(slash_commands::expand(&sources, &skills, app.redactor(), &mut prompt));
        let model = choice.map(|choice| choice.info().clone());
        let provider = model.as_ref().map_or("", |model| &model.provider);
        let (subagents, subagent_notices) = SubagentSettings::load(app, provider, None);
        notices.extend(subagent_notices);
        let mut tools: Vec<ToolSpec> = tools.values().map(|tool| tool.spec()).collect();
        if let Some(subagents) = subagents {
            tools.push(subagents.tool_spec());
            tools.sort_by(|one, other| one.name.cmp(&other.name));
        }
        Ok(Self {
            system_prompt,
            tools,
            server_tools,
            servers: servers.statuses,
            has_started_servers: start_servers,
            commands: slash_commands::available(&sources, &skills)
                .into_iter()
                .chain(server_commands)
                .collect(),
            context_window: model.as_ref().and_then(|model| model_info::context_window(app, model)),
            model,
            prompt,
            notices,
        })
    }
}

/// Returns the declared servers, of which none is started.
fn declared_only(app: &AppContext) -> Result<McpServers, Failure> {
    let statuses = mcp::declared_servers(app)?.servers.into_iter().map(|server| McpServer {
        name: server.name,
        status: match server.status {
            // A server that a run would start.
            McpStatus::Connected | McpStatus::Failed => McpStatus::Connected,
            other => other,
        },
    });
    Ok(McpServers::with_statuses(statuses.collect()))
}

/// Starts the servers that a run would start, and ends them again. Returns the servers, whose tools remain known, and
/// their prompts.
fn started_servers(app: &AppContext) -> Result<(McpServers, Vec<SlashCommand>), Failure> {
    let declared = mcp::declared_servers(app)?;
    let stop = Stop::default();
    let work = async {
        let system =
            |error: io::Error| Reason::System { what: "sigaction".to_owned(), detail: error.to_string() };
        let _watch = signals::watch(&CurrentStop::new(stop.clone())).map_err(system)?;
        let servers = McpServers::start_all(app, declared, None, &stop).await?;
        let commands = tokio::select! {
            biased;
            reason = stop.wait() => return Err(reason),
            commands = slash_commands::server_prompt::available(servers.with_prompts()) => commands,
        };
        servers.shut_down(mcp::GRACE * 3).await;
        Ok::<_, Reason>((servers, commands))
    };
    on_runtime(|runtime| runtime.block_on(work).map_err(Failure::from))
}

/// Returns the prompt of the command line; it may be missing.
fn read_words(words: &[OsString]) -> Result<UserPrompt, Reason> {
    if !prompt::has_text(words) {
        return Ok(UserPrompt::default());
    }
    let timeouts = StdinTimeouts { silence: Duration::ZERO, context: Duration::ZERO };
    Ok(UserPrompt::from(prompt::read_prompt(words, StdinUse::Ignore, timeouts)?.blocks))
}
