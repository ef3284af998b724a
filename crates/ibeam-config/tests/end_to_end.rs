//! Configuration, keys and trust, from outside.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "clippy recognizes only functions with #[test] as tests, and these modules contain helpers"
)]

mod end_to_end {
    mod config_file_faults;
    mod configuration;
    mod key_faults;
    mod trust;
}
