//! The exports of recorded runs.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "clippy knows only functions marked #[test] as tests, and these modules have others"
)]

#[allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "these tests use files and processes")]
#[path = "trace/end_to_end"]
mod end_to_end {
    mod trace;
}
#[path = "trace/page.rs"]
mod page;
#[path = "trace/recorded.rs"]
mod recorded;
#[path = "trace/spans.rs"]
mod spans;
#[path = "trace/trajectory.rs"]
mod trajectory;
