//! The store as its users see it, and what stands on the disk.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    reason = "clippy knows only functions marked #[test] as tests, and the others help them"
)]

mod session {
    mod blob;
    mod cancel;
    mod check;
    mod fork;
    mod journal;
    mod listing;
    mod place;
    mod prefix;
    mod read;
    mod room;
    mod store;
    mod tail;
}
