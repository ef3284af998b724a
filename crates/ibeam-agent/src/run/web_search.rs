//! The tool `web_search` of a run: through a service, or through a tool of an MCP server.

use std::sync::Arc;

use ibeam_config::WebSearchSettings;
use ibeam_core::{PreparedCall, Tool, ToolContext, ToolInputError};
use ibeam_policy::{Access, Policy, Verdict};
use ibeam_protocol::{PermissionMode, Reason, ToolFailure, ToolOutcome, ToolOutput, ToolSpec};
use ibeam_web::{
    Dialer, TlsConfigFactory, WebSearch, search_arguments, search_outcome, search_spec, search_term,
};
use serde_json::Value;

use crate::app::AppContext;
use crate::mcp::McpServers;
use crate::search_config::{self, SearchSource};

/// Names that search tools of MCP servers give to the words to search for.
const TERM_PARAMETERS: [&str; 6] = ["query", "q", "search_query", "searchTerm", "search_term", "term"];

/// The search of a run, before its MCP servers have started.
pub(super) enum Search {
    Service(Arc<WebSearch>),
    /// A tool of an MCP server.
    Mcp {
        server: String,
        /// The name of the tool on the server.
        tool: String,
    },
}

impl Search {
    /// Returns the configured search, unless nobody can allow it: in print mode no person can.
    ///
    /// # Errors
    /// `BadConfig` for an invalid value.
    pub(super) fn load(
        app: &AppContext,
        policy: &Policy,
        is_print: bool,
        dialer: &Arc<Dialer>,
        tls: impl FnOnce() -> TlsConfigFactory,
    ) -> Result<Option<Self>, Reason> {
        let settings = &app.base.settings.web_search;
        Ok(match search_config::load(app)? {
            None => None,
            Some(SearchSource::Mcp { server, tool }) => Some(Self::Mcp { server, tool }),
            Some(SearchSource::Service(config)) => {
                let access = Access::Fetch { url: config.url.clone() };
                let is_allowed = matches!(policy.decide(&access), Verdict::Allow { .. });
                let tool = WebSearch::new(Arc::clone(dialer), tls(), config);
                let tool = tool.map_err(|error| {
                    search_config::invalid(settings, &format!("`web_search.url`: {error}"))
                })?;
                (is_allowed || !is_print).then(|| Self::Service(Arc::new(tool)))
            }
        })
    }

    /// Returns the tool; `None` if the MCP server does not run.
    ///
    /// # Errors
    /// `BadConfig` if the server has no such tool, or one without a parameter for words.
    pub(super) fn tool(
        &self,
        settings: &WebSearchSettings,
        servers: &McpServers,
        mode: PermissionMode,
    ) -> Result<Option<Arc<dyn Tool>>, Reason> {
        let (server, tool) = match self {
            Self::Service(tool) => return Ok(Some(Arc::clone(tool) as Arc<dyn Tool>)),
            Self::Mcp { server, tool } => (server, tool),
        };
        if !servers.is_running(server) {
            return Ok(None);
        }
        let Some(inner) = servers.find_tool(server, tool, mode) else {
            let is_known = servers.find_tool(server, tool, PermissionMode::Force).is_some();
            let detail = format!("the MCP server `{server}` has no tool `{tool}` (`web_search.tool`)");
            // Only a mode that reads hides a tool.
            return if is_known { Ok(None) } else { Err(search_config::invalid(settings, &detail)) };
        };
        let spec = inner.spec();
        let parameters = spec.parameters.get("properties");
        let parameter = TERM_PARAMETERS
            .into_iter()
            .find(|name| parameters.is_some_and(|parameters| parameters.get(name).is_some()));
        let Some(parameter) = parameter else {
            let detail = format!(
                "the tool `{tool}` of the MCP server `{server}` has no parameter `query` (`web_search.tool`)"
            );
            return Err(search_config::invalid(settings, &detail));
        };
        Ok(Some(Arc::new(McpSearch { inner, parameter })))
    }
}

/// The search through a tool of an MCP server.
struct McpSearch {
    inner: Arc<dyn Tool>,
    /// The parameter for the words to search for.
    parameter: &'static str,
}

impl Tool for McpSearch {
    fn spec(&self) -> ToolSpec {
        search_spec()
    }

    fn prepare(&self, arguments: &Value) -> Result<PreparedCall, ToolInputError> {
        let term = search_term(arguments)?;
        let inner_arguments = Value::from_iter([(self.parameter, term)]);
        let PreparedCall { arguments: _, access, run } = self.inner.prepare(&inner_arguments)?;
        Ok(PreparedCall::new(search_arguments(term), access, async move |context: ToolContext| {
            match run(context).await {
                ToolOutcome::Success { output: ToolOutput::Mcp(output), .. } => {
                    search_outcome(&output.content.join("\n"))
                }
                ToolOutcome::Failure { failure: ToolFailure::McpError(output), .. } => {
                    ToolOutcome::error(output.content.join("\n"))
                }
                outcome => outcome,
            }
        }))
    }
}
