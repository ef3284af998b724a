//! Fleets over many machines, from outside, with a real server of queues.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "clippy recognizes only functions with #[test] as tests, and these modules contain helpers"
)]

mod end_to_end {
    mod queues;
}
