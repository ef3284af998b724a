//! The reader and the checker, against published samples, what our writers print, and what breaks it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "clippy knows only functions marked #[test] as tests, and these modules have others"
)]

#[path = "wire/bounds.rs"]
mod bounds;
#[path = "wire/golden.rs"]
mod golden;
#[path = "wire/properties.rs"]
mod properties;
#[path = "wire/reader.rs"]
mod reader;
#[path = "wire/samples.rs"]
mod samples;
#[path = "wire/segments.rs"]
mod segments;
#[path = "wire/story.rs"]
mod story;
#[path = "wire/violations.rs"]
mod violations;
