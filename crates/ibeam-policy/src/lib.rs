//! What a call may do: permission tokens, command analysis and path rules.
//!
//! Pure and total functions of (policy, access); refuses I/O, async and the loop. Paths arrive resolved.

pub mod access;
mod explain;
mod fetch;
mod fold;
pub mod glob;
mod mcp;
pub mod names;
mod pattern;
mod place;
pub mod policy;
pub mod rule;
mod shell;
mod shield;

pub use access::Access;
pub use explain::{Explanation, Finding, List, Part, Redirection};
pub use names::{
    credentials_named_by, is_kept, is_kept_at_root, kept_in_git, kept_in_stores, protected_entry,
};
pub use policy::{Approval, Policy, Verdict};
pub use rule::{BadRule, Rule};
pub use shield::Shield;
