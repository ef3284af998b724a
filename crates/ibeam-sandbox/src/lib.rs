//! Process trees: a command, all it starts, and their certain end.
//!
//! A [`Launcher`] starts commands. Behind it stands a [`ForkServer`], one small process, made at the first command, from which all commands of a run are
//! forked. Each gets a supervisor, to which whatever leaves the command's tree falls, and which ends the whole
//! tree when its [`Tree`] is killed or dropped. All of them hang on sockets that this process holds: when it
//! dies, by whatever cause, the kernel closes the sockets and the trees go. No thread needs to live on for
//! that, unlike `PR_SET_PDEATHSIG`, which fires when the *thread* that forked ends.
//!
//! Where the kernel allows it (`CAP_SYS_ADMIN`) the server is the first process of a pid namespace of its own,
//! so that nothing escapes even by force; elsewhere it is a subreaper. [`ForkServer::layers`] tells which.
//!
//! # Confinement
//!
//! A launcher may be told what its commands may touch: a [`Confinement`]. Then the server goes into namespaces, creates
//! itself a view of the files, gives up every power it has and sets filters, all before its first request; supervisors
//! and commands inherit it, so that a confined command costs no more than another. What holds at every moment:
//!
//! - A confined launcher runs no command that is not confined, and none by weaker means than [`Launcher::begin`] told.
//! - Whatever was refused while a server was made ends that server: there are no halves.
//! - A server creates no exception for a command, and nobody inside can undo what was done: no capability is left in any of
//!   the five sets, root included, and calls that make namespaces or mounts are refused.
//! - What nobody inside can do, somebody outside may: put another file at a path that is kept or hidden. The launcher
//!   notices before the next command and creates a new server. What runs at that moment has seen it; that, new sockets with
//!   a path, and what the user creates readable later, are not promised.
//! - The processes between us and a command show it nothing of their memory, which began as a copy of ours.
//!
//! `ways.rs` has the means and their order, `plan.rs` the view, `confine.rs` the order in which powers go.
//!
//! Sync; knows nothing of shells, limits of time, or models. Its `unsafe` is in `raw.rs` and below.

mod apply_confinement;
mod backend;
mod cgroup;
mod command;
mod confinement;
mod connections;
mod descendants;
mod existing_paths;
mod frame;
mod landlock;
mod launch_request;
mod launcher;
mod memory;
mod mount_plan;
mod mount_view;
mod path_snapshot;
mod raw;
mod seccomp;
mod server;
mod server_process;
mod setup_step;
mod supervised_tree;
mod supervisor;

pub use confinement::{BackendFailure, Confinement, Layers, SandboxUnavailable, Tier};
pub use existing_paths::filter_existing;
pub use launch_request::LaunchSpec;
pub use launcher::{DEFAULT_PROCESS_LIMIT, Launcher};
pub use memory::redact_arguments;
pub use server::{ForkServer, SpawnError};
pub use supervised_tree::SupervisedTree;
