//! The queue under the tests of every queue, and on a cluster whose nodes are killed.

mod event_tests;
mod held_tests;
mod kill;
mod limit_tests;
mod outage_tests;
mod queue_tests;
mod refusal_tests;
mod secure;
mod server;
mod snapshot_tests;
