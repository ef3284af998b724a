//! The first exchange with a client: what it can do, and what this agent can do.

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AgentAuthCapabilities, AgentCapabilities, AuthMethod, AuthMethodAgent, AuthMethodTerminal,
    ClientCapabilities, ElicitationCapabilities, Implementation, InitializeRequest, InitializeResponse,
    LogoutCapabilities, McpCapabilities, PromptCapabilities, SessionAdditionalDirectoriesCapabilities,
    SessionCapabilities, SessionCloseCapabilities, SessionDeleteCapabilities, SessionListCapabilities,
    SessionResumeCapabilities, StopReason,
};
use ibeam_output::{Catalogue, EditorLine};
use ibeam_protocol::{Reason, RunOutcome};
use serde_json::Value;

/// The ids of the methods of `authenticate`. The second is that of the Cursor CLI, whose clients expect it.
pub const AUTH_METHODS: [&str; 2] = ["ibeam_keys", "cursor_login"];
/// The method that the client runs in a terminal.
pub const TERMINAL_METHOD: &str = "ibeam_login";

/// The optional features of a client that change what this agent sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientFeatures {
    /// Whether the client shows notices.
    pub notices: bool,
    /// Whether the client shows compactions of the conversation.
    pub compaction: bool,
    /// Whether the client runs login commands in a terminal.
    pub terminal_login: bool,
    /// Whether the client reads files, so that unsaved text is seen.
    pub reads_files: bool,
    pub writes_files: bool,
    /// Whether the client shows forms, so that its user answers the questions of MCP servers.
    pub forms: bool,
    /// Whether the client shows the output of commands that this agent runs as that of a terminal.
    pub terminal_output: bool,
}

impl ClientFeatures {
    /// Returns the features that `capabilities` announce.
    pub fn new(capabilities: &ClientCapabilities) -> Self {
        let (session, meta) = (capabilities.session.as_ref(), capabilities.meta.as_ref());
        Self {
            notices: session.is_some_and(|session| session.notices.is_some()),
            compaction: session.is_some_and(|session| session.compaction.is_some()),
            terminal_login: capabilities.auth.terminal,
            reads_files: capabilities.fs.read_text_file,
            writes_files: capabilities.fs.write_text_file,
            forms: capabilities.elicitation.as_ref().is_some_and(ElicitationCapabilities::supports_form),
            terminal_output: meta.and_then(|meta| meta.get("terminal_output")) == Some(&Value::Bool(true)),
        }
    }

    /// Whether the client reads or writes files.
    pub fn has_files(self) -> bool {
        self.reads_files || self.writes_files
    }
}

/// Reads the parameters of `initialize`. Some clients write the version of the protocol as a string.
///
/// # Errors
/// The parameters are not valid.
pub fn parse_initialize(mut params: Value) -> Result<InitializeRequest, serde_json::Error> {
    if let Some(version @ Value::String(_)) = params.get_mut("protocolVersion") {
        *version = serde_json::to_value(ProtocolVersion::LATEST)?;
    }
    serde_json::from_value(params)
}

/// Returns the response to `initialize` for a client with these features; `version` is that of the program.
pub fn initialize_response(
    features: ClientFeatures,
    version: &str,
    catalogue: &Catalogue,
) -> InitializeResponse {
    let session = SessionCapabilities::new()
        .list(SessionListCapabilities::new())
        .delete(SessionDeleteCapabilities::new())
        .additional_directories(SessionAdditionalDirectoriesCapabilities::new())
        .resume(SessionResumeCapabilities::new())
        .close(SessionCloseCapabilities::new());
    let capabilities = AgentCapabilities::new()
        .load_session(true)
        .prompt_capabilities(PromptCapabilities::new().image(true).embedded_context(true))
        .mcp_capabilities(McpCapabilities::new().http(true))
        .session_capabilities(session)
        .auth(AgentAuthCapabilities::new().logout(LogoutCapabilities::new()));
    InitializeResponse::new(ProtocolVersion::V1)
        .agent_capabilities(capabilities)
        .auth_methods(auth_methods(features, catalogue))
        .agent_info(Implementation::new("ibeam", version).title("ibeam".to_owned()))
}

fn auth_methods(features: ClientFeatures, catalogue: &Catalogue) -> Vec<AuthMethod> {
    let name = catalogue.line(&EditorLine::StoredKeys);
    let description = catalogue.line(&EditorLine::StoredKeysAbout);
    let mut methods: Vec<AuthMethod> = AUTH_METHODS
        .iter()
        .map(|id| AuthMethod::Agent(AuthMethodAgent::new(*id, name.clone()).description(description.clone())))
        .collect();
    if features.terminal_login {
        let method = AuthMethodTerminal::new(TERMINAL_METHOD, "ibeam login")
            .args(vec!["login".to_owned()])
            .description(catalogue.line(&EditorLine::LoginAbout));
        methods.push(AuthMethod::Terminal(method));
    }
    methods
}

/// Returns why a turn stopped; `None` for a failure, which is the error of the request.
pub fn stop_reason(outcome: &RunOutcome) -> Option<StopReason> {
    let RunOutcome::Failed(failure) = outcome else { return Some(StopReason::EndTurn) };
    match &failure.reason {
        Reason::Signalled(_) => Some(StopReason::Cancelled),
        Reason::Refused | Reason::RefusedWithMessage { .. } | Reason::RefusedInCategory { .. } => {
            Some(StopReason::Refusal)
        }
        Reason::TurnLimit { .. } | Reason::ToolCallLimit { .. } => Some(StopReason::MaxTurnRequests),
        Reason::TokenLimit { .. } | Reason::OutputLimit => Some(StopReason::MaxTokens),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_version_of_a_client_is_a_number_or_a_string() {
        for version in [json!(1), json!("1"), json!("0.4.2")] {
            assert!(parse_initialize(json!({ "protocolVersion": version })).is_ok(), "{version}");
        }
        for params in [json!({}), json!({ "protocolVersion": [] }), json!([])] {
            assert!(parse_initialize(params.clone()).is_err(), "{params}");
        }
    }
}
