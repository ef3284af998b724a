//! Test support, never shipped: a scripted model server on a real socket, a workspace with a home of its own, the
//! program under a guard of time, and the laws that every printed stream keeps.
//!
//! Knows the vocabulary only: what the program does is seen from outside, as its users see it.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test that cannot be set up, or a law that does not hold, must fail where it stands"
)]

mod anthropic;
mod finished;
mod frame;
mod held;
mod instant;
mod lifeline;
mod openai;
mod program;
mod request;
mod script;
mod server;
mod stream;
mod trace;
mod workspace;

pub use finished::Finished;
pub use instant::left_behind;
pub use lifeline::Lifeline;
pub use program::{Ibeam, Running, Stdin};
pub use request::{Request, Wire};
pub use script::Answer;
pub use server::{ModelServer, refusing_url};
pub use stream::Stream;
pub use trace::{Act, Call, Disk, Errno, Lost, Point, Traced, Untraceable};
pub use workspace::Workspace;
