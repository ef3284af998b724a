//! The exports of recorded runs.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "clippy knows only functions marked #[test] as tests, and these modules have others"
)]

#[path = "trace/page.rs"]
mod page;
#[path = "trace/recorded.rs"]
mod recorded;
#[path = "trace/spans.rs"]
mod spans;
#[path = "trace/trajectory.rs"]
mod trajectory;
