//! Conversions of recorded and generated streams into each dialect and back.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "clippy knows only functions marked #[test] as tests, and these modules have others"
)]

#[path = "dialects/convert.rs"]
mod convert;
#[path = "dialects/facts.rs"]
mod facts;
#[path = "dialects/golden.rs"]
mod golden;
#[path = "dialects/lines.rs"]
mod lines;
#[path = "dialects/peers.rs"]
mod peers;
#[path = "dialects/properties.rs"]
mod properties;
#[path = "dialects/shapes.rs"]
mod shapes;
