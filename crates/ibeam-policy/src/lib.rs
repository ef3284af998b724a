//! Decides what a call may do, from permission tokens, command analysis and path rules.
//!
//! Pure functions of (policy, access), defined for every input. No I/O, no async. Callers resolve paths before they
//! pass them.

mod explain;
mod fetch;
mod fold;
pub mod glob;
mod links;
mod mcp;
pub mod names;
mod path_policy;
mod pattern;
pub mod policy;
mod protected_paths;
pub mod rule;
mod shell;

pub use explain::{AccessPart, Redirection, RuleFinding, RuleList, VerdictExplanation};
pub use links::LinkReader;
pub use names::{
    credentials_from_environment, find_protected_name, is_read_only_name, is_read_only_path,
    read_only_git_entries, read_only_nested_paths,
};
pub use path_policy::PathPolicy;
pub use policy::{Access, ApprovalMode, Policy, Verdict};
pub use rule::{InvalidRule, Rule};
