//! Connections to model services, from outside: each API, its faults, and recordings of its traffic.

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
    mod connections;
    mod faults;
    mod model_apis;
    mod models_of_today;
    mod record_and_replay;
    mod refused_parts;
    mod websocket_transport;
    mod wires;
}
