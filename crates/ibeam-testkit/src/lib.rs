//! Test support: a scripted model server over real HTTP, temporary workspaces, and the program under guard.
//!
//! For tests only, so it fails by panicking. Every wait has a bound and nothing sleeps; refuses anything beyond
//! the loopback interface.
#![allow(clippy::panic, clippy::expect_used, reason = "support of tests fails as tests do")]

mod program;
mod script;
mod server;
mod wire;
mod workspace;

pub use program::{Finished, Ibeam, Running, Stdin};
pub use script::{Step, call, cut, delay, html, raw, stall, status, stop, text, thinking, usage};
pub use server::{ModelServer, Request};
pub use wire::Wire;
pub use workspace::Workspace;
