//! Effects of configuration and environment: destinations of keys, rules in force, files that commands cannot replace.

#[path = "configuration/invalid.rs"]
mod invalid;
#[path = "configuration/keys.rs"]
mod keys;
#[path = "configuration/own_directories.rs"]
mod own_directories;
#[path = "configuration/rewriting.rs"]
mod rewriting;
