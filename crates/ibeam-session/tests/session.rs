//! The session store through its public functions, and its files on the disk.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    reason = "clippy knows only functions marked #[test] as tests, and the others help them"
)]

mod session {
    mod archive;
    mod blob;
    mod check;
    mod corruption;
    mod disk_space;
    #[allow(clippy::disallowed_methods, reason = "a variable selects the part of the sweep")]
    mod end_to_end {
        mod crash;
        mod ephemeral;
        mod journal_order;
        mod parking;
        mod replay;
        mod session_commands;
        mod sessions;
    }
    mod file_access;
    mod fork;
    mod journal;
    mod read;
    mod store;
    mod torn_and_damaged;
}
