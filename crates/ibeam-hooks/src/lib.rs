//! Hooks: commands that a user configured for the events of a run. They can deny, ask, and change arguments.
//!
//! The hooks of an event run one after the other, those of the strongest file first, each as a process with bounded
//! time and output and without a terminal, or as a request to a model. The first refusal counts. A hook that fails
//! becomes a warning, or a refusal if its file requests that. No hook can allow what the rules refuse. The formats of
//! the files: docs/hooks.md.

mod claude_call;
mod claude_response;
mod claude_settings;
mod combined_response;
mod event_name;
mod hook_chain;
mod hook_config;
mod hook_trial;
mod hooks_file;
mod payload;
mod process;
mod prompt_hook;
mod readable_part;
mod response;
mod runner;

pub use claude_call::{ClaudeCall, ClaudeCalls};
pub use claude_settings::compile_claude_matcher;
pub use hook_chain::HookChain;
pub use hook_config::HookConfig;
pub use hook_trial::{HookListing, HookTrial, TrialDecision, TrialResult, UnknownEvent};
pub use hooks_file::HooksFileError;
pub use payload::GENERAL_SUBAGENT;
pub use prompt_hook::{ModelPrompt, PromptAnswer, PromptModel};
pub use runner::{HookRunner, RunnerOptions};
