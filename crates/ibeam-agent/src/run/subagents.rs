//! Sub-agents: whether the model is offered the tool `task`, and what a sub-agent takes over from its parent.
//!
//! A sub-agent is a run of its own, with its own session, that a call of the parent starts and waits for. It has the
//! gate, the hooks, the sandbox and the stop of its parent, or narrower ones, so it can never do more. A run that no
//! definition and no setting gives sub-agents is not changed.

mod agent_definition;
mod child_recorder;
mod child_run;
mod task_tool;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use ibeam_core::{Run, Tool, ToolSet};
use ibeam_protocol::{AcceptedMedia, Event, Notice, SessionId, ToolSpec};
use ibeam_tools::{PastFileAccess, ToolSettings, Workspace};

pub use self::agent_definition::DIRECTORIES as AGENT_DIRECTORIES;
use self::agent_definition::{AgentDefinition, AgentDefinitions};
use self::task_tool::{TASK_NAME, TaskTool};
use crate::app::AppContext;
use crate::mcp::McpServers;
use crate::model::EMBEDDED_PROVIDER;

/// Receives the events of sub-agents while they run.
pub trait SubagentObserver: Send + Sync {
    /// Receives an event of the sub-agent with the session `session`.
    fn on_event(&self, session: SessionId, event: &Event);
}

/// The settings of sub-agents of a run that has some.
pub(super) struct SubagentSettings {
    agents: BTreeMap<String, AgentDefinition>,
    /// The number of levels of sub-agents; at least 1.
    max_depth: u64,
    observer: Option<Arc<dyn SubagentObserver>>,
}

impl SubagentSettings {
    /// Returns the settings, or `None` for a run whose model is not offered sub-agents, and the warnings about definitions.
    ///
    /// The tool is offered if there is a definition or if `subagents.mode` is `enabled`. The embedded model is too small
    /// for it.
    pub(super) fn load(
        app: &AppContext,
        model_provider: &str,
        observer: Option<Arc<dyn SubagentObserver>>,
    ) -> (Option<Self>, Vec<Notice>) {
        let settings = &app.base.settings.subagents;
        let (mode, max_depth) = (settings.mode.value.as_deref(), settings.max_depth.value);
        let is_excluded = app.base.options.without.iter().any(|tool| tool == TASK_NAME);
        if mode == Some("disabled") || max_depth == 0 || is_excluded || model_provider == EMBEDDED_PROVIDER {
            return (None, Vec::new());
        }
        let AgentDefinitions { agents, notices } = AgentDefinitions::load(app);
        let is_offered = mode == Some("enabled") || !agents.is_empty();
        (is_offered.then_some(Self { agents, max_depth, observer }), notices)
    }

    /// Returns the tool as it is offered to the model.
    pub(super) fn tool_spec(&self) -> ToolSpec {
        task_tool::spec(&self.agents)
    }

    /// Returns the names of the defined sub-agents.
    pub(super) fn agent_names(&self) -> Vec<String> {
        self.agents.keys().cloned().collect()
    }
}

/// Builds the tools of sub-agents. Each has its own record of the files that it read.
pub(super) struct ToolFactory {
    workspace: Workspace,
    settings: ToolSettings,
    /// The tools that all sub-agents share.
    shared: ToolSet,
    /// The shared tools of sub-agents that may only read.
    shared_read_only: ToolSet,
}

impl ToolFactory {
    /// Returns the factory of a run with these settings, whose tools of MCP servers and of the web are shared.
    pub(super) fn new(
        workspace: Workspace,
        settings: ToolSettings,
        servers: &McpServers,
        web: &ToolSet,
    ) -> Self {
        let with_web = |mut tools: ToolSet| {
            tools.extend(web.iter().map(|(name, tool)| (name.clone(), Arc::clone(tool))));
            tools
        };
        let shared = with_web(servers.tools());
        let shared_read_only = with_web(servers.read_only_tools());
        Self { workspace, settings, shared, shared_read_only }
    }

    /// Returns the tools of a sub-agent.
    fn build(
        &self,
        past_file_access: PastFileAccess,
        accepted_media: AcceptedMedia,
        read_only: bool,
    ) -> ToolSet {
        let settings = ToolSettings { past_file_access, accepted_media, ..self.settings.clone() };
        let mut tools = ibeam_tools::all(self.workspace.clone(), settings);
        if read_only {
            tools.retain(|name, _| !CHANGING_TOOLS.contains(&name.as_str()));
        }
        let shared = if read_only { &self.shared_read_only } else { &self.shared };
        tools.extend(shared.iter().map(|(name, tool)| (name.clone(), Arc::clone(tool))));
        tools
    }
}

/// The built-in tools that change something.
const CHANGING_TOOLS: [&str; 4] = ["delete", "edit", "shell", "write"];

/// Starts the sub-agents of a run.
pub(super) struct SubagentHost {
    app: Arc<AppContext>,
    agents: BTreeMap<String, AgentDefinition>,
    /// The number of levels of sub-agents that may follow.
    depth: u64,
    tools: Arc<ToolFactory>,
    /// The run of the parent, without the tool for sub-agents.
    parent: Mutex<Run>,
    /// Receives the events of the sub-agents; not of those that they start.
    observer: Option<Arc<dyn SubagentObserver>>,
}

impl SubagentHost {
    /// Offers sub-agents to the model of `run`.
    pub(super) fn offer(
        app: &Arc<AppContext>,
        run: &mut Run,
        settings: SubagentSettings,
        tools: ToolFactory,
    ) -> Arc<Self> {
        let SubagentSettings { agents, max_depth, observer } = settings;
        let host = Arc::new(Self {
            app: Arc::clone(app),
            agents,
            depth: max_depth,
            tools: Arc::new(tools),
            parent: Mutex::new(run.clone()),
            observer,
        });
        host.add_tool(run);
        host
    }

    /// Lets later sub-agents take over from `run`, whose model has changed.
    pub(super) fn set_parent(&self, run: &Run) {
        let mut run = run.clone();
        run.tools.remove(TASK_NAME);
        *self.parent.lock().unwrap_or_else(PoisonError::into_inner) = run;
    }

    fn parent(&self) -> Run {
        self.parent.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Lets the sub-agent `run` start sub-agents of its own, if the depth allows it.
    fn offer_nested(&self, run: &mut Run) {
        if self.depth < 2 {
            return;
        }
        let host = Arc::new(Self {
            app: Arc::clone(&self.app),
            agents: self.agents.clone(),
            depth: self.depth - 1,
            tools: Arc::clone(&self.tools),
            parent: Mutex::new(run.clone()),
            observer: None,
        });
        host.add_tool(run);
    }

    fn add_tool(self: &Arc<Self>, run: &mut Run) {
        let tool: Arc<dyn Tool> = Arc::new(TaskTool::new(Arc::clone(self)));
        run.tools.insert(TASK_NAME.to_owned(), tool);
        run.head.tools = run.tools.keys().cloned().collect();
    }
}
