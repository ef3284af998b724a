//! The Agent Client Protocol, version 1: what editors send, and what they receive of a session.
//!
//! Pure conversions between events of a session and messages of the protocol. Starts no run and opens no file. The types
//! of the messages are those of the crate `agent-client-protocol-schema`. Source: agentclientprotocol.com.

mod approval;
mod client;
mod config_options;
mod content;
mod diff;
mod form;
mod session_updates;
mod subagent_progress;
mod tool_call;

pub use agent_client_protocol_schema::v1 as schema;
pub use approval::{PermissionAnswer, QuestionView, permission_request};
pub use client::{
    AUTH_METHODS, ClientFeatures, TERMINAL_METHOD, initialize_response, parse_initialize, stop_reason,
};
pub use config_options::{
    EFFORT_OPTION, MODE_OPTION, MODEL_OPTION, ModelOption, SessionSettings, config_options, mode_name,
    mode_state, parse_mode,
};
pub use content::{ContentError, PromptPart, prompt_parts};
pub use form::{FORM_METHOD, form_answer, form_request};
pub use session_updates::{SessionUpdates, UpdateOptions, available_commands, title_of};

/// The error code for a request that needs authentication first.
pub const AUTH_REQUIRED: i64 = -32000;
/// The error code for a session or file that does not exist.
pub const RESOURCE_NOT_FOUND: i64 = -32002;
/// The error code for a request that `$/cancel_request` ended.
pub const REQUEST_CANCELLED: i64 = -32800;
