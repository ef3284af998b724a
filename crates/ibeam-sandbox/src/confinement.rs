//! The access of commands, and the layers that limit it.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use rustix::io::Errno;

use crate::existing_paths::paths_that_may_exist;

/// Directories whose files are interfaces of the kernel.
const KERNEL_DIRS: [&str; 3] = ["/dev", "/proc", "/sys"];
/// The directory for shared memory, which holds real files.
const SHARED_MEMORY: &str = "/dev/shm";

/// The access of commands. All paths are absolute and resolved. A path that does not exist has no effect until it
/// exists: before each command the launcher checks whether another file is at one of the paths, and if so, it starts a
/// new server.
///
/// Commands can read everything else that the user can read, and write nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Confinement {
    /// Directories that commands can write: the workspace, additional directories, the git directories of a linked work
    /// tree.
    pub writable: Vec<PathBuf>,
    /// Files and directories below writable ones that commands cannot change.
    pub read_only: Vec<PathBuf>,
    /// Files and directories that appear empty: credentials and denied reads.
    pub hidden: Vec<PathBuf>,
    /// Directories that appear empty except for the writable and visible paths in them.
    pub covered: Vec<PathBuf>,
    /// Paths that do not exist yet. When one is created, it is hidden from the next command on.
    pub hidden_when_created: Vec<PathBuf>,
    /// Paths that stay visible, but read-only, although commands have their own directory above them (`/tmp`, `/run`):
    /// the home directory, directories of programs.
    pub visible: Vec<PathBuf>,
    /// Unix sockets of the host that commands may connect to.
    pub sockets: Vec<PathBuf>,
    /// Whether commands get a listener for a proxy of this process. Otherwise they have no network except their own
    /// loopback.
    pub has_proxy: bool,
    /// Maximum size of a file in bytes; `None` for no limit.
    pub max_file_size: Option<u64>,
    /// Maximum size in bytes of the commands' `/tmp`, `/var/tmp` and `/dev/shm` together, where they are in memory;
    /// `None` for the default of the system, half of the memory.
    pub max_scratch_size: Option<u64>,
}

impl Confinement {
    /// Returns the confinement with canonical paths, without those that do not exist.
    ///
    /// A directory below another writable one is left out. Directories of the kernel are never writable.
    pub(crate) fn with_canonical_paths(&self) -> Self {
        let hidden = paths_that_may_exist(self.hidden.iter().chain(&self.hidden_when_created));
        let mut writable: Vec<PathBuf> = Vec::new();
        for path in resolve(&self.writable) {
            let is_of_system =
                KERNEL_DIRS.iter().any(|system| path.starts_with(system)) && !path.starts_with(SHARED_MEMORY);
            if !is_of_system && !writable.iter().any(|above| path.starts_with(above)) {
                writable.push(path);
            }
        }
        Self {
            writable,
            read_only: resolve(&self.read_only),
            hidden: resolve(hidden),
            covered: resolve(&self.covered),
            hidden_when_created: Vec::new(),
            visible: resolve(&self.visible),
            sockets: resolve(&self.sockets),
            ..*self
        }
    }
}

/// Returns the canonical paths of those that exist.
fn resolve<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Vec<PathBuf> {
    let found: BTreeSet<PathBuf> = paths.into_iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
    found.into_iter().collect()
}

/// The kind of confinement of commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    /// No confinement: process trees are only supervised.
    Supervision,
    /// Namespaces with their own view of the files, seccomp, and Landlock where the system has it.
    Namespaces,
    /// Landlock and seccomp without namespaces.
    Landlock,
}

/// The layers that confine the commands of a launcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layers {
    /// The tier that the layers belong to.
    pub tier: Tier,
    /// Names of the layers, such as `mount-namespace`, `landlock-abi-7` and `seccomp`.
    pub names: Vec<&'static str>,
}

/// Commands cannot be confined on this system, so no command runs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.failures.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct SandboxUnavailable {
    /// The failure of each backend that was tried.
    pub failures: Vec<BackendFailure>,
}

/// The reason why one backend does not work on this system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{backend}: {step}: {errno}")]
pub struct BackendFailure {
    pub backend: &'static str,
    /// Name of the step that failed.
    pub step: &'static str,
    /// Error of the system.
    pub errno: Errno,
}
