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
//! Sync; knows nothing of shells, limits of time, or models. Its `unsafe` is in `raw.rs`.

mod arguments;
mod cgroup;
mod command;
mod confine;
mod confinement;
mod descendants;
mod frame;
mod init;
mod landlock;
mod launcher;
mod memory;
mod plan;
mod raw;
mod request;
mod seccomp;
mod seen;
mod server;
mod step;
mod supervisor;
mod tree;
mod view;
mod ways;

pub use arguments::hide_arguments;
pub use confinement::{Confinement, Layers, Refusal, Tier, Unavailable};
pub use launcher::{Launcher, PROCESSES};
pub use request::Launch;
pub use server::{ForkServer, SpawnError};
pub use tree::Tree;
