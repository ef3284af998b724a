//! Hooks: commands that a user configured for the events of a run. They can deny, ask, and change arguments.
//!
//! The hooks of an event run one after the other, those of the strongest file first, each as a process with bounded
//! time and output and without a terminal. The first refusal counts. A hook that fails becomes a warning, or a refusal
//! if its file requests that. No hook can allow what the rules refuse. The format of the files: docs/hooks.md.

mod event_name;
mod hook_chain;
mod hooks_file;
mod payload;
mod process;
mod response;
mod runner;

pub use hook_chain::HookChain;
pub use hooks_file::{HookConfig, HooksFileError};
pub use runner::{HookRunner, RunnerOptions};
