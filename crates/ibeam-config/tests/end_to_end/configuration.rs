//! Effects of configuration and environment: destinations of keys, rules in force, files that commands cannot replace.

mod invalid;
mod keys;
mod own_directories;
mod rewriting;
