//! Sessions on disk: one append-only journal each, in a directory named by its id.
//!
//! `<sessions>/<uuid>/` holds the journal in segments (`layout`), one framed record per line (`record`), large payloads
//! in separate files (`blob`), and `lock`, the lease of the writing process. All files are readable by their owner
//! only, and no symbolic link is followed. Synchronous code; does not depend on the loop, on output formats, on the
//! environment or on files that sessions share.

mod archive;
mod blob;
mod check;
mod error;
mod fork;
mod layout;
mod lease;
mod lease_file;
mod listing;
mod open;
mod options;
mod private_files;
mod record;
mod removal;
mod repair;
mod segment;
mod session;
mod sync;
mod title;
mod walk;

pub use archive::{ImportError, export, import};
pub use check::{CheckReport, check};
pub use error::SessionError;
pub use listing::{SessionSummary, exists, find_by_prefix, list, newest_first, summarize};
pub use open::{OpenReport, ReadReport, read};
pub use options::{CancelFlag, Durability, SessionOptions};
pub use record::Header;
pub use removal::{remove, stored_bytes};
pub use repair::{RepairReport, repair};
pub use session::Session;
pub use title::{given_title, set_title};
pub use walk::Damage;
