//! Hooks, from outside: files, payloads, effects and faults.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "clippy recognizes only functions with #[test] as tests, and these modules contain helpers"
)]

mod end_to_end {
    mod claude_settings_hooks;
    mod faults;
    mod hook_follow_ups;
    mod hooks;
}
