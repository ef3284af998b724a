//! Asynchronous process trees: starting a process with pipes, reading a bounded part of its output, and ending it with
//! everything that it started.
//!
//! Used by the shell tool, MCP servers, hooks and git. Depends on neither models nor configuration. Callers decide what is
//! started, how long it may run and how its end is reported.

mod bounded_buffer;
mod piped_process;
mod process_tree;

pub use bounded_buffer::{BoundedBuffer, incomplete_char_length};
pub use ibeam_sandbox::{Launcher, SpawnError};
pub use piped_process::{CommandSpec, PipeReader, PipedProcess, StartProcessError, bash_arguments};
pub use process_tree::{ProcessTree, signal_name};
