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

mod end_to_end {
    mod attachments;
    mod bounds;
    mod check;
    mod commands;
    mod completions;
    mod contract_two;
    mod convert;
    mod debug_log;
    mod documented_ci;
    mod embedded;
    mod ending;
    mod failures;
    mod faults;
    mod formats;
    mod from_plan;
    mod help_pages;
    mod hygiene;
    mod input;
    mod long_session;
    mod progress;
    mod samples;
    mod schema;
    mod shim;
    mod signals;
    mod structured_answers;
    mod tools;
    mod translated_texts;
    mod unused_flags;
}
