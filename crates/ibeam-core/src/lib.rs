//! The loop of ibeam: ask the model, act on its tool calls, record every fact.
//!
//! Speaks to the world through ports only (`Provider`, `Tool`, `Hooks`, `Approver`, `Clock`); refuses files, sockets,
//! processes, the terminal, the environment and every output format.

pub mod approver;
pub mod background;
pub mod clock;
pub mod gate;
pub mod history;
pub mod hook;
pub mod journal;
mod limits;
pub mod price;
pub mod provider;
pub mod redact;
pub mod retry;
pub mod stop;
pub mod tally;
mod token_estimator;
pub mod tool;
pub mod turn;

pub use approver::{ApprovalRequest, Approver, NoApprover};
pub use background::{Background, NoBackground};
pub use clock::Clock;
pub use gate::Gate;
pub use history::History;
pub use hook::{FinishedCall, HookBlock, HookDecision, HookEvent, HookOutput, Hooks, NoHooks};
pub use ibeam_policy::Access;
pub use journal::{Envelope, Journal, JournalClosed, ResumedState};
pub use price::Prices;
pub use provider::{ModelEvent, ModelRequest, ModelStream, Provider, ProviderError, Retry};
pub use redact::Redactor;
pub use retry::RetryPolicy;
pub use stop::Stop;
pub use tally::Tally;
pub use tool::{Notices, PreparedCall, RunCall, Tool, ToolContext, ToolInputError, ToolSet};
pub use turn::{FailOn, Run, RunPrecondition};
