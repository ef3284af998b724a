//! Test support, which is not part of the program: a scripted model server on a real socket, a workspace with its own
//! home, the program with a timeout, and the checks of every printed stream.
//!
//! Of the workspace, depends only on `ibeam-protocol` and `ibeam-wire`: tests observe the program from outside, as its
//! users do.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
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
mod file_access;
mod gemini;
mod gemini_interactions;
mod image;
mod liveness_pipe;
mod ollama;
mod openai;
mod program;
mod program_output;
mod proxy_server;
mod request;
mod responses;
mod responses_socket;
mod script;
mod server;
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
    build_program_with, build_workspace_program, cargo_command, without_package_variables,
};
pub use file_access::without_root_access;
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
