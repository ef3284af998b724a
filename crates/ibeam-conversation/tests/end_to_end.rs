//! Interactive mode, from outside: on a terminal, in line mode, in tmux, and at the first start.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "clippy recognizes only functions with #[test] as tests, and these modules contain helpers"
)]

mod end_to_end {
    mod first_start;
    mod interactive;
    mod interactive_commands;
    mod interactive_views;
    mod login;
    mod manners;
    mod terminal;
    mod tmux;
}
