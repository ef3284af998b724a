//! Sessions on disk: one append-only journal each, in a directory named by its id.
//!
//! `<sessions>/<uuid>/events.jsonl` holds one framed record a line (`record`), `lock` the lease of whoever
//! writes. Everything is for the owner's eyes only, and nothing is followed through a planted link. Sync;
//! refuses the loop, output formats, the environment and any shared file.

mod error;
mod journal;
mod listing;
mod load;
mod private;
mod record;

pub use error::SessionError;
pub use journal::Session;
pub use listing::{Summary, exists, list};
pub use load::Loaded;
pub use record::Header;
