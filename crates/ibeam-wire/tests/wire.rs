//! The reader and the checker on published samples, on the output of the writers, and on streams that break the contract.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "clippy knows only functions marked #[test] as tests, and these modules have others"
)]

#[path = "wire/bounds.rs"]
mod bounds;
#[path = "wire/properties.rs"]
mod properties;
#[path = "wire/reader.rs"]
mod reader;
#[path = "wire/run_events.rs"]
mod run_events;
#[path = "wire/samples.rs"]
mod samples;
#[path = "wire/segments.rs"]
mod segments;
#[path = "wire/turns.rs"]
mod turns;
#[path = "wire/violations.rs"]
mod violations;
