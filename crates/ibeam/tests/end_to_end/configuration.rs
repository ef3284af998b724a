//! What configuration and environment lead to: where keys go, which rules are read, what commands may not replace.

#[path = "configuration/faults.rs"]
mod faults;
#[path = "configuration/keys.rs"]
mod keys;
#[path = "configuration/own_directories.rs"]
mod own_directories;
#[path = "configuration/rewriting.rs"]
mod rewriting;
