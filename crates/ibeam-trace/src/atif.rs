//! `atif`: the runs of a session as one trajectory of the Agent Trajectory Interchange Format, version 1.8, and back.

mod export;
mod import;

pub use self::export::AtifWriter;
pub use self::import::{AtifError, AtifHistory};

/// The version that exports have.
const VERSION: &str = "ATIF-v1.8";
