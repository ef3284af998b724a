//! The output of the writers, byte by byte.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "clippy knows only functions marked #[test] as tests, and these modules have others"
)]

#[path = "output/catalogue_texts.rs"]
mod catalogue_texts;
#[path = "output/contract_two.rs"]
mod contract_two;
#[path = "output/docs.rs"]
mod docs;
#[path = "output/failure.rs"]
mod failure;
#[path = "output/failure_table.rs"]
mod failure_table;
#[path = "output/golden.rs"]
mod golden;
#[path = "output/key_order.rs"]
mod key_order;
#[path = "output/line_writes.rs"]
mod line_writes;
#[path = "output/locales.rs"]
mod locales;
#[path = "output/progress.rs"]
mod progress;
#[path = "output/properties.rs"]
mod properties;
#[path = "output/run_events.rs"]
mod run_events;
#[path = "output/samples.rs"]
mod samples;
#[path = "output/schema.rs"]
mod schema;
#[path = "output/text.rs"]
mod text;
#[path = "output/tool_payloads.rs"]
mod tool_payloads;
