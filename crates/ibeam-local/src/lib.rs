//! The embedded model: a small language model that runs in this process, on the CPU, without any service.
//!
//! Loads one GGUF file, drives it through a guided protocol in which an invalid tool call cannot happen, and
//! offers it as a [`Provider`](ibeam_core::Provider). Knows neither the network nor the tools that carry a call out.

mod action;
mod attention;
mod conversation;
mod copy_guard;
mod decode;
mod engine;
mod error;
mod fence;
mod guide;
mod hyper;
mod kv;
mod listing;
mod offer;
mod prefix;
mod prompt;
mod provider;
mod qwen2;
mod repeat;
pub mod setup;
mod task;
#[cfg(test)]
mod tiny;
mod utf8;
mod vocabulary;
mod weights;
mod workspace;

pub use engine::{Engine, LanguageModel};
pub use error::LocalError;
pub use provider::LocalProvider;
pub use vocabulary::Vocabulary;
pub use workspace::WorkspaceFiles;

/// The model's name as people see it.
pub const MODEL_NAME: &str = "Qwen2.5-Coder 1.5B (embedded)";
/// The model's id as people type it; `embedded` is short for it.
pub const MODEL_ID: &str = "embedded/qwen2.5-coder-1.5b";
