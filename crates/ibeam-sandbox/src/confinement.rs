//! What commands may touch, and what holds them to it.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use rustix::io::Errno;

use crate::existing_paths::filter_existing;

/// Files that are no files: what is written there is done by the system.
const KERNEL_DIRS: [&str; 3] = ["/dev", "/proc", "/sys"];
/// SharedRequest memory, which is of files.
const SHARED_MEMORY: &str = "/dev/shm";

/// What commands may touch. All paths are absolute and resolved; those that are not there are left out until they are:
/// before each command it is looked whether something else is at one of them, and if so the view is made anew.
///
/// Everything else that the user may read, commands may read; nothing else can be written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Confinement {
    /// Directories: the workspace, those added to it, git directories of a linked work tree.
    pub writable: Vec<PathBuf>,
    /// Files and directories below writable ones that are kept as they are.
    pub read_only: Vec<PathBuf>,
    /// Files and directories that read as empty: credentials, denied reads.
    pub hidden: Vec<PathBuf>,
    /// Paths that nothing is at yet. As soon as something is, the next command finds it hidden.
    pub hidden_when_created: Vec<PathBuf>,
    /// What stays visible, but not writable, though it lies where commands have a directory of their own (`/tmp`,
    /// `/run`): the home directory, directories of programs.
    pub visible: Vec<PathBuf>,
    /// Unix sockets of the host that commands may connect to.
    pub sockets: Vec<PathBuf>,
    /// Commands get a listener for a proxy of ours; else they have no network but their own loopback.
    pub has_proxy: bool,
    /// The most bytes a file may grow to, where that is bound.
    pub max_file_size: Option<u64>,
    /// The most bytes that `/tmp`, `/var/tmp` and `/dev/shm` of the commands may hold together, where they are in memory;
    /// `None` for the bound of the system, which is half of the memory.
    pub max_scratch_size: Option<u64>,
}

impl Confinement {
    /// The same, of what is there, by the paths that the system itself uses.
    ///
    /// A directory below a writable one is no second one. The files of devices and processes are never writable.
    pub(crate) fn resolved(&self) -> Self {
        let resolve = |paths: &[PathBuf]| -> Vec<PathBuf> {
            let found: BTreeSet<PathBuf> =
                paths.iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
            found.into_iter().collect()
        };
        let mut writable: Vec<PathBuf> = Vec::new();
        for path in resolve(&self.writable) {
            let of_system =
                KERNEL_DIRS.iter().any(|system| path.starts_with(system)) && !path.starts_with(SHARED_MEMORY);
            if !of_system && !writable.iter().any(|above| path.starts_with(above)) {
                writable.push(path);
            }
        }
        Self {
            writable,
            read_only: resolve(&self.read_only),
            hidden: resolve(&filter_existing(&[self.hidden.as_slice(), &self.hidden_when_created].concat())),
            hidden_when_created: Vec::new(),
            visible: resolve(&self.visible),
            sockets: resolve(&self.sockets),
            ..*self
        }
    }
}

/// By what means commands are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// They are not: their trees are supervised, and that is all.
    Supervision,
    /// Namespaces, a view of the files of their own, and with them Landlock where the system has it, and seccomp.
    Namespaces,
    /// Landlock and seccomp alone.
    Landlock,
}

/// What holds the commands of a launcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layers {
    /// By what means.
    pub tier: Tier,
    /// Each layer by its name, as `mount-namespace`, `landlock-abi-7`, `seccomp`.
    pub names: Vec<&'static str>,
}

/// Commands cannot be confined here, so none runs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.failures.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct SandboxUnavailable {
    /// What was tried, and what refused it.
    pub failures: Vec<BackendFailure>,
}

/// One way to confine commands, and why it does not exist here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{backend}: {step}: {errno}")]
pub struct BackendFailure {
    /// The way, in a few words.
    pub backend: &'static str,
    /// The step that was refused, in a few words.
    pub step: &'static str,
    /// What the system said.
    pub errno: Errno,
}
