//! Tests of the program from outside: with a scripted model server, in its own workspace and home directory.
//!
//! The statements of docs/output-format.md that can be observed from outside are tested here.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "clippy recognizes only functions with #[test] as tests, and these modules contain helpers"
)]

#[path = "end_to_end/acp.rs"]
mod acp;
#[path = "end_to_end/acp_features.rs"]
mod acp_features;
#[path = "end_to_end/acp_questions.rs"]
mod acp_questions;
#[path = "end_to_end/attachments.rs"]
mod attachments;
#[path = "end_to_end/batches.rs"]
mod batches;
#[path = "end_to_end/bound_thinking.rs"]
mod bound_thinking;
#[path = "end_to_end/bounds.rs"]
mod bounds;
#[path = "end_to_end/changed_instructions.rs"]
mod changed_instructions;
#[path = "end_to_end/check.rs"]
mod check;
#[path = "end_to_end/checkpoints.rs"]
mod checkpoints;
#[path = "end_to_end/claude.rs"]
mod claude;
#[path = "end_to_end/claude_hooks.rs"]
mod claude_hooks;
#[path = "end_to_end/claude_settings_hooks.rs"]
mod claude_settings_hooks;
#[path = "end_to_end/codex.rs"]
mod codex;
#[path = "end_to_end/commands.rs"]
mod commands;
#[path = "end_to_end/completions.rs"]
mod completions;
#[path = "end_to_end/configuration.rs"]
mod configuration;
#[path = "end_to_end/configured_models.rs"]
mod configured_models;
#[path = "end_to_end/connections.rs"]
mod connections;
#[path = "end_to_end/contract_two.rs"]
mod contract_two;
#[path = "end_to_end/convert.rs"]
mod convert;
#[path = "end_to_end/crash.rs"]
mod crash;
#[path = "end_to_end/debug_log.rs"]
mod debug_log;
#[path = "end_to_end/dialect.rs"]
mod dialect;
#[path = "end_to_end/documented_ci.rs"]
mod documented_ci;
#[path = "end_to_end/documented_fleet.rs"]
mod documented_fleet;
#[path = "end_to_end/documented_models.rs"]
mod documented_models;
#[path = "end_to_end/early_request.rs"]
mod early_request;
#[path = "end_to_end/embedded.rs"]
mod embedded;
#[path = "end_to_end/ending.rs"]
mod ending;
#[path = "end_to_end/ephemeral.rs"]
mod ephemeral;
#[path = "end_to_end/failures.rs"]
mod failures;
#[path = "end_to_end/fallback.rs"]
mod fallback;
#[path = "end_to_end/faults.rs"]
pub(crate) mod faults;
#[path = "end_to_end/file_tools.rs"]
mod file_tools;
#[path = "end_to_end/first_start.rs"]
mod first_start;
#[path = "end_to_end/fleet.rs"]
mod fleet;
#[path = "end_to_end/fleet_batch_kills.rs"]
mod fleet_batch_kills;
#[path = "end_to_end/fleet_batches.rs"]
mod fleet_batches;
#[cfg(feature = "nats")]
#[path = "end_to_end/fleet_commands.rs"]
mod fleet_commands;
#[path = "end_to_end/fleet_faults.rs"]
mod fleet_faults;
#[path = "end_to_end/fleet_limits.rs"]
mod fleet_limits;
#[path = "end_to_end/fleet_nats.rs"]
mod fleet_nats;
#[path = "end_to_end/fleet_verdicts.rs"]
mod fleet_verdicts;
#[path = "end_to_end/fleet_visibility.rs"]
mod fleet_visibility;
#[path = "end_to_end/formats.rs"]
mod formats;
#[path = "end_to_end/from_plan.rs"]
mod from_plan;
#[path = "end_to_end/hangs.rs"]
mod hangs;
#[path = "end_to_end/held_session.rs"]
mod held_session;
#[path = "end_to_end/help_pages.rs"]
mod help_pages;
#[path = "end_to_end/hook_follow_ups.rs"]
mod hook_follow_ups;
#[path = "end_to_end/hooks.rs"]
mod hooks;
#[path = "end_to_end/hygiene.rs"]
mod hygiene;
#[path = "end_to_end/input.rs"]
mod input;
#[path = "end_to_end/input_stream.rs"]
mod input_stream;
#[path = "end_to_end/input_stream_pipes.rs"]
mod input_stream_pipes;
#[path = "end_to_end/interactive.rs"]
mod interactive;
#[path = "end_to_end/interactive_commands.rs"]
mod interactive_commands;
#[path = "end_to_end/interactive_views.rs"]
mod interactive_views;
#[path = "end_to_end/journal_order.rs"]
mod journal_order;
#[path = "end_to_end/limits.rs"]
mod limits;
#[path = "end_to_end/login.rs"]
mod login;
#[path = "end_to_end/long_session.rs"]
mod long_session;
#[path = "end_to_end/mcp.rs"]
mod mcp;
#[path = "end_to_end/mcp_add.rs"]
mod mcp_add;
#[path = "end_to_end/mcp_changes.rs"]
mod mcp_changes;
#[path = "end_to_end/mcp_clients.rs"]
mod mcp_clients;
#[path = "end_to_end/mcp_http.rs"]
mod mcp_http;
#[path = "end_to_end/model_apis.rs"]
mod model_apis;
#[path = "end_to_end/model_choice.rs"]
mod model_choice;
#[path = "end_to_end/model_settings.rs"]
mod model_settings;
#[path = "end_to_end/models_of_today.rs"]
mod models_of_today;
#[path = "end_to_end/parking.rs"]
mod parking;
#[path = "end_to_end/permissions.rs"]
mod permissions;
#[path = "end_to_end/progress.rs"]
mod progress;
#[path = "end_to_end/project_texts.rs"]
mod project_texts;
#[path = "end_to_end/record_and_replay.rs"]
mod record_and_replay;
#[path = "end_to_end/refused_parts.rs"]
mod refused_parts;
#[path = "end_to_end/replaced_program.rs"]
mod replaced_program;
#[path = "end_to_end/replay.rs"]
mod replay;
#[path = "end_to_end/samples.rs"]
mod samples;
#[path = "end_to_end/scene.rs"]
mod scene;
#[path = "end_to_end/schema.rs"]
mod schema;
#[path = "end_to_end/session_commands.rs"]
mod session_commands;
#[path = "end_to_end/sessions.rs"]
mod sessions;
#[path = "end_to_end/shim.rs"]
mod shim;
#[path = "end_to_end/signals.rs"]
mod signals;
#[path = "end_to_end/stable_prefix.rs"]
mod stable_prefix;
#[path = "end_to_end/structured_answers.rs"]
mod structured_answers;
#[path = "end_to_end/subagents.rs"]
mod subagents;
#[path = "end_to_end/terminal.rs"]
mod terminal;
#[path = "end_to_end/tmux.rs"]
mod tmux;
#[path = "end_to_end/tools.rs"]
mod tools;
#[path = "end_to_end/trace.rs"]
mod trace;
#[path = "end_to_end/translated_texts.rs"]
mod translated_texts;
#[path = "end_to_end/trust.rs"]
mod trust;
#[path = "end_to_end/unused_flags.rs"]
mod unused_flags;
#[path = "end_to_end/web.rs"]
mod web;
#[path = "end_to_end/web_search.rs"]
mod web_search;
#[path = "end_to_end/websocket_transport.rs"]
mod websocket_transport;
#[path = "end_to_end/wires.rs"]
mod wires;
#[path = "end_to_end/worktree_setup.rs"]
mod worktree_setup;
