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
    mod file_access;
    mod fork;
    mod journal;
    mod read;
    mod store;
    mod torn_and_damaged;
}
