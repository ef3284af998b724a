//! Test support, which is not part of the program: a scripted model server on a real socket, a workspace with its own
//! home, the program with a timeout, and the checks of every printed stream. The public modules are what end-to-end tests of several crates share.
//!
//! Of the workspace, depends only on `ibeam-protocol`, `ibeam-wire` and `ibeam-governor`: tests observe the program from outside, as its
//! users do.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test that cannot be set up, or a check that fails, must fail at its call"
)]

mod anthropic;
mod api;
mod api_table;
mod batch_server;
mod bedrock;
mod build;
mod claude_on_clouds;
mod cohere;
mod contract_check;
pub mod fault_injection;
mod file_access;
pub mod fleet_tasks;
mod gemini;
mod gemini_interactions;
pub mod hook_files;
pub mod http_mcp_server;
mod image;
mod liveness_pipe;
pub mod managed_file;
pub mod message_stream;
mod ollama;
mod openai;
mod program;
mod program_output;
mod proxy_server;
pub mod repository;
mod request;
mod responses;
mod responses_socket;
pub mod scene;
mod script;
mod server;
pub mod stdio_mcp_server;
mod stream;
mod strict;
mod surviving_processes;
mod sweep;
mod trace;
mod wire;
mod workspace;

pub use batch_server::{AcceptedBatch, BatchServer, PartAnswer, answer_document};
pub use build::{
    BuildError, PROGRAM_VARIABLE, PROGRAMS_VARIABLE, TEST_FEATURES, build_program, build_program_linked_by,
    build_program_with, build_workspace_program, cargo_command, program_path, without_package_variables,
};
pub use file_access::{descriptor_target, without_root_access};
pub use image::{PNG, PNG_BASE64};
pub use liveness_pipe::LivenessPipe;
pub use program::{Ibeam, RunningProgram, Stdin};
pub use program_output::ProgramOutput;
pub use proxy_server::ProxyServer;
pub use request::Request;
pub use script::Answer;
pub use server::{ModelServer, unreachable_url};
pub use stream::Stream;
pub use strict::{ServiceModel, StrictService};
pub use surviving_processes::kill_surviving_processes;
pub use sweep::{InvalidSweep, SWEEP_VARIABLE, SweepPart};
pub use trace::{Disk, Errno, PowerLoss, StepKind, TraceAction, TraceError, TracePoint, TraceResult};
pub use wire::Wire;
pub use workspace::Workspace;
