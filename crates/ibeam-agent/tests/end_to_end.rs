//! Runs, from outside and embedded in programs: models, rules, skills, sub-agents, checkpoints and worktrees.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "clippy recognizes only functions with #[test] as tests, and these modules contain helpers"
)]

mod end_to_end {
    mod checkpoints;
    mod configured_models;
    mod documented_models;
    mod embedding;
    mod fallback;
    mod model_choice;
    mod model_settings;
    mod project_texts;
    mod subagents;
    mod worktree_setup;
}
