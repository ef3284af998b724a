//! Sessions on disk: one append-only journal each, in a directory named by its id.
//!
//! `<sessions>/<uuid>/` holds the journal in segments (`layout`), one framed record a line (`record`), large
//! payloads beside it (`blob`), and `lock`, the lease of whoever writes. Everything is for the owner's eyes
//! only, and nothing is followed through a planted link. Sync; refuses the loop, output formats, the
//! environment and any file that sessions share.

mod blob;
mod check;
mod error;
mod fork;
mod journal;
mod layout;
mod lease;
mod lease_file;
mod listing;
mod open;
mod options;
mod private_files;
mod record;
mod repair;
mod segment;
mod sync;
mod walk;

pub use check::{CheckReport, check};
pub use error::SessionError;
pub use journal::Session;
pub use listing::{SessionSummary, exists, list};
pub use open::{LoadReport, ReadReport, read};
pub use options::{CancelFlag, Durability, SessionOptions};
pub use record::Header;
pub use repair::{RepairReport, repair};
pub use walk::Damage;
