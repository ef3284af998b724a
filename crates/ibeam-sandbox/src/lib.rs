//! Process trees: a command, every process that it starts, and their guaranteed end.
//!
//! A [`Launcher`] starts commands. It forks them from a [`ForkServer`], a small process that the launcher creates with
//! the first command. Each command gets a supervisor. Processes that leave the command's tree are reparented to the
//! supervisor, which ends the whole tree when its [`SupervisedTree`] is killed or dropped. Server and supervisors
//! depend on sockets that this process holds. If this process dies, for any reason, the kernel closes the sockets and
//! the trees end. This does not depend on a living thread, unlike `PR_SET_PDEATHSIG`, which fires when the *thread*
//! that forked ends.
//!
//! Where the kernel allows it (`CAP_SYS_ADMIN`), the server is the first process of its own pid namespace, so that no
//! process can escape. Elsewhere the server is a subreaper. [`ForkServer::layers`] returns which of the two applies.
//!
//! # Confinement
//!
//! A launcher can take a [`Confinement`], which limits what its commands may touch. The server then enters namespaces,
//! mounts its own view of the files, drops all privileges and installs filters, before it accepts the first request.
//! Supervisors and commands inherit this, so a confined command costs no more than an unconfined one. Guarantees:
//!
//! - A confined launcher runs no unconfined command, and none with a weaker backend than [`Launcher::start`] returned.
//! - If any step is refused while a server starts, that server ends. There is no partial confinement.
//! - A server makes no exception for a command, and no process inside can undo the confinement: all five capability
//!   sets are empty, also for root, and calls that create namespaces or mounts are refused.
//! - A process outside can put another file at a read-only or hidden path. The launcher detects that before the next
//!   command and starts a new server. Commands that run at that moment have access to the new file. The same holds for
//!   new sockets with a path and for files that the user makes readable later.
//! - What commands change is recorded: a [`ChangeRecord`] has every name that they create, remove, rename or open for
//!   writing, where the system lets a supervisor see these calls.
//! - The processes between this process and a command do not expose their memory, which began as a copy of the memory
//!   of this process.
//!
//! `backend.rs` has the backends in their order, `mount_plan.rs` the view of the files, and `apply_confinement.rs` the
//! order in which privileges are dropped.
//!
//! Synchronous. Does not depend on shells, time limits or models. All `unsafe` is in `raw.rs` and `raw/`.

mod apply_confinement;
mod backend;
mod call_answers;
mod caller;
mod cgroup;
mod change_record;
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

pub use change_record::{ChangeRecord, FileId};
pub use confinement::{BackendFailure, Confinement, Layers, SandboxUnavailable, Tier};
pub use existing_paths::paths_that_may_exist;
pub use launch_request::LaunchSpec;
pub use launcher::{DEFAULT_PROCESS_LIMIT, Launcher};
pub use memory::redact_arguments;
pub use raw::ReportingAllocator;
pub use server::{ForkServer, SpawnError};
pub use supervised_tree::SupervisedTree;

/// Whether stdout was closed when the process started. The standard library opens `/dev/null` in its place.
pub fn was_stdout_closed() -> bool {
    raw::was_stdout_closed()
}

/// Sets what reports refused memory and ends the process, for a process whose allocator is [`ReportingAllocator`].
pub fn report_refused_memory(report: fn()) {
    raw::set_report(report);
}
