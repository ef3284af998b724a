//! The embedded model: a small language model that runs in this process, on the CPU, without any service.
//!
//! Loads one GGUF file, guides it so that it cannot write an invalid tool call, and implements
//! [`Provider`](ibeam_core::Provider). Does not depend on the network or on the tools that execute the calls.

mod allowed_actions;
mod attention;
mod conversation;
mod engine;
mod guided_decoder;
mod guided_step;
mod hyperparameters;
mod incremental_text;
mod json_document;
mod kv_buffer;
mod line_numbers;
mod local_provider;
mod prefix_cache;
mod prompt;
mod qwen2;
mod repetition;
pub mod setup;
mod task;
#[cfg(test)]
mod tiny_model;
mod vocabulary;
mod weights;

pub use engine::{Engine, LanguageModel, LocalError};
pub use local_provider::{LoadObserver, LocalProvider};
pub use vocabulary::Vocabulary;

pub const MODEL_NAME: &str = "Qwen2.5-Coder 1.5B (embedded)";
/// The id of the model. `embedded` is an abbreviation of it.
pub const MODEL_ID: &str = "embedded/qwen2.5-coder-1.5b";

/// The files of the workspace that the embedded model may use.
pub trait WorkspaceFiles: Send + Sync {
    /// Returns the paths of the files, relative to the root, with `/`, in a stable order. Ignored files may be missing.
    fn files(&self) -> Vec<String>;
    /// Whether `path`, relative to the root, is a file. False for directories and for paths outside of the workspace.
    fn exists(&self, path: &str) -> bool;
}
