//! The loop of ibeam: request an answer from the model, execute its tool calls, record every fact.
//!
//! Reaches everything outside through the traits of `ports`. Refuses files, sockets, processes, the terminal, the
//! environment and every output format.
#![warn(missing_docs, reason = "other crates implement its ports")]

mod budget;
mod early_request;
pub mod gate;
pub mod history;
mod image_check;
pub mod journal;
pub mod json_schema;
mod limits;
mod omitted_parts;
pub mod ports;
mod prefix;
mod prices;
mod progress;
pub mod redact;
pub mod retry;
mod session_prompt;
pub mod stop;
pub mod tally;
mod thinking;
mod token_estimator;
pub mod turn;

pub use budget::Budget;
pub use early_request::EarlyRequest;
pub use gate::{Gate, subagent_mode};
pub use history::History;
pub use ibeam_policy::Access;
pub use journal::{Envelope, Journal, JournalClosed, ResumedState};
pub use json_schema::{InvalidSchema, JsonSchema, Violation};
pub use ports::{
    AddedRules, AnswerEnd, Approval, ApprovalRequest, Approver, Background, CallPreview, CallRunner,
    Checkpoints, Clock, CompactionStart, DefaultModels, FinishedCall, HookBlock, HookDecision, HookEvent,
    HookOutput, Hooks, ModelEvent, ModelRequest, ModelStream, NoApprover, NoBackground, NoCheckpoints,
    NoHooks, NoScopedRules, NoSteering, Notices, OutputObserver, PreparedCall, Provider, ProviderError,
    RefusedPart, RequestLimits, Retry, SavedFiles, ScopedRules, Steering, Subagent, Tool, ToolContext,
    ToolInputError, ToolOrigin, ToolSet,
};
pub use prefix::media_fingerprint;
pub use prices::{PriceStep, Prices, TokenPrices};
pub use redact::Redactor;
pub use retry::RetryPolicy;
pub use session_prompt::{CurrentPrompt, SessionPrompt};
pub use stop::Stop;
pub use tally::Tally;
pub use token_estimator::{estimated_tokens, size_bytes};
pub use turn::{FailOn, FallbackModel, ReplaceableDefault, Run, RunPrecondition};
