//! The backends that confine commands, from the strongest to the weakest, and the choice of one that this system
//! allows.
//!
//! A backend is all or nothing: if one step of a server is refused, the server ends and the next backend is tried.
//! Commands never run with less than the last backend.

use std::fs::{self, DirBuilder};
use std::net::TcpListener;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::process::{getegid, geteuid, getpgrp, getpid};

use crate::apply_confinement::{IdMaps, PreparedConfinement};
use crate::call_answers::CallRules;
use crate::change_record::ChangeRecord;
use crate::confinement::{BackendFailure, Confinement, SandboxUnavailable, Tier};
use crate::connections::ConnectionRules;
use crate::mount_plan::{MountPlan, ProcessVisibility};
use crate::raw::{self, ForkMode};
use crate::seccomp::FilterContext;
use crate::seccomp::process_filter::ProtectedClient;
use crate::server::{ForkServer, ProcessLimit, StartedServer, fork_server};
use crate::setup_step::SetupStep;
use crate::{landlock, seccomp};

/// One way to confine commands.
struct Backend {
    name: &'static str,
    tier: Tier,
    has_user_namespace: bool,
    visibility: ProcessVisibility,
}

const BACKENDS: [Backend; 5] = [
    Backend {
        name: "namespaces",
        tier: Tier::Namespaces,
        has_user_namespace: true,
        visibility: ProcessVisibility::OwnNamespace,
    },
    // Containers that mask parts of /proc do not allow a new mount of /proc.
    Backend {
        name: "namespaces with the /proc of the system",
        tier: Tier::Namespaces,
        has_user_namespace: true,
        visibility: ProcessVisibility::OwnNamespaceSharedProc,
    },
    Backend {
        name: "namespaces made by root",
        tier: Tier::Namespaces,
        has_user_namespace: false,
        visibility: ProcessVisibility::OwnNamespace,
    },
    Backend {
        name: "namespaces without process ids",
        tier: Tier::Namespaces,
        has_user_namespace: true,
        visibility: ProcessVisibility::All,
    },
    Backend {
        name: "Landlock",
        tier: Tier::Landlock,
        has_user_namespace: false,
        visibility: ProcessVisibility::All,
    },
];

/// Names of the Landlock layer by ABI version.
const LANDLOCK_LAYERS: [&str; 10] = [
    "landlock-abi-1",
    "landlock-abi-2",
    "landlock-abi-3",
    "landlock-abi-4",
    "landlock-abi-5",
    "landlock-abi-6",
    "landlock-abi-7",
    "landlock-abi-8",
    "landlock-abi-9",
    "landlock-abi-10",
];
/// The directory for temporary files where commands have their own view of the files.
const TMP_DIR: &str = "/tmp";

/// A fork server whose commands are confined.
pub(crate) struct ConfinedServer {
    pub(crate) server: ForkServer,
    pub(crate) tier: Tier,
    /// The socket for the proxy, in the network namespace of the commands.
    pub(crate) listener: Option<TcpListener>,
    /// Paths that are mounts which no command can change, or remove, or put something else at.
    pub(crate) fixed_paths: Vec<PathBuf>,
}

/// The values that a later server takes over from the first server of its launcher.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PreviousServer {
    pub(crate) tier: Tier,
    /// The port of the proxy, which is in the environment of commands.
    pub(crate) port: Option<u16>,
}

/// Starts a server with the strongest backend that works, or with the tier of `previous`. Its commands together may
/// have up to `processes` processes and threads.
pub(crate) fn start_confined(
    processes: u32,
    confinement: &Confinement,
    previous: Option<PreviousServer>,
    record: Option<ChangeRecord>,
) -> Result<ConfinedServer, SandboxUnavailable> {
    let confinement = confinement.with_canonical_paths();
    let landlock = landlock::abi();
    let mut failures = Vec::new();
    for backend in
        BACKENDS.iter().filter(|backend| previous.is_none_or(|previous| backend.tier == previous.tier))
    {
        let port = previous.and_then(|previous| previous.port);
        match backend.start(processes, &confinement, landlock, port, record) {
            Ok(confined) => return Ok(confined),
            Err((step, errno)) => {
                failures.push(BackendFailure { backend: backend.name, step: step.name(), errno })
            }
        }
    }
    Err(SandboxUnavailable { failures })
}

impl Backend {
    fn start(
        &self,
        processes: u32,
        confinement: &Confinement,
        landlock: Result<u32, Errno>,
        port: Option<u16>,
        record: Option<ChangeRecord>,
    ) -> Result<ConfinedServer, (SetupStep, Errno)> {
        let namespaces = match self.tier {
            Tier::Namespaces => true,
            Tier::Supervision | Tier::Landlock => false,
        };
        let mut private_tmp = PrivateTmp(None);
        let (rules, filter_context) = if namespaces {
            let rules = landlock.ok().map(|abi| landlock::LandlockRules::with_namespaces(abi, confinement));
            (rules, FilterContext::Namespaces)
        } else {
            let abi = landlock.map_err(|errno| (SetupStep::Landlock, errno))?;
            private_tmp = PrivateTmp::new().map_err(|errno| (SetupStep::Overmount, errno))?;
            // There is no proxy here: Landlock grants a port at every address, so that commands could also reach
            // another listener on the same port number.
            let rules = landlock::LandlockRules::without_namespaces(abi, confinement, private_tmp.path());
            let filter_context = rules.filter_context();
            (Some(rules), filter_context)
        };
        let prepared = PreparedConfinement {
            id_maps: self.has_user_namespace.then(id_maps),
            mount_plan: namespaces.then(|| MountPlan::new(confinement, self.visibility)),
            proxy_port: (namespaces && confinement.has_proxy).then_some(port.unwrap_or(0)),
            max_file_size: confinement.max_file_size,
            landlock: rules,
            client: (!self.visibility.has_pid_namespace())
                .then(|| ProtectedClient { pid: getpid(), group: getpgrp() }),
            filter: seccomp::server_filter(filter_context)
                .map_err(|_other_machine| (SetupStep::Filter, Errno::NOSYS))?,
            call_rules: namespaces
                .then(|| ConnectionRules::new(&confinement.sockets))
                .transpose()
                .and_then(|connections| CallRules::new(connections, record))
                .map_err(|errno| (SetupStep::Sockets, errno))?,
        };
        let limit = ProcessLimit::new(processes);
        let StartedServer { pid, control, listener } =
            fork_server(self.fork_mode(), &limit, Some(&prepared))?;
        let names = self.layer_names(landlock.ok().filter(|_| prepared.landlock.is_some()));
        let mut server = ForkServer::new(pid, control, limit, names);
        server.set_private_tmp(private_tmp);
        let fixed_paths = match self.tier {
            Tier::Namespaces => [confinement.read_only.as_slice(), &confinement.hidden].concat(),
            Tier::Supervision | Tier::Landlock => Vec::new(),
        };
        let listener = listener.map(TcpListener::from);
        Ok(ConfinedServer { server, tier: self.tier, listener, fixed_paths })
    }

    fn fork_mode(&self) -> ForkMode {
        let flag_if = |wanted: bool, flag| if wanted { flag } else { 0 };
        match self.tier {
            Tier::Namespaces => ForkMode::Namespaces(
                libc::CLONE_NEWNS
                    | libc::CLONE_NEWNET
                    | libc::CLONE_NEWIPC
                    | libc::CLONE_NEWUTS
                    | flag_if(self.has_user_namespace, libc::CLONE_NEWUSER)
                    | flag_if(self.visibility.has_pid_namespace(), libc::CLONE_NEWPID),
            ),
            Tier::Supervision | Tier::Landlock => ForkMode::Plain,
        }
    }

    fn layer_names(&self, landlock: Option<u32>) -> Vec<&'static str> {
        let spaces: &[_] = match self.tier {
            Tier::Namespaces => &["mount-namespace", "network-namespace", "ipc-namespace", "uts-namespace"],
            Tier::Supervision | Tier::Landlock => &[],
        };
        let landlock =
            landlock.and_then(|abi| LANDLOCK_LAYERS.get(usize::try_from(abi).ok()?.checked_sub(1)?));
        let user = self.has_user_namespace.then_some("user-namespace");
        let pid = match self.visibility {
            ProcessVisibility::OwnNamespace => Some("pid-namespace"),
            // Some processes outside are visible in /proc.
            ProcessVisibility::OwnNamespaceSharedProc => Some("pid-namespace-without-proc"),
            ProcessVisibility::All => None,
        };
        let always = ["seccomp", "no-new-privileges", "no-capabilities"];
        user.into_iter()
            .chain(pid)
            .chain(spaces.iter().copied())
            .chain(landlock.copied())
            .chain(always)
            .collect()
    }
}

/// Whether a supervisor can read the memory of its descendants, which it needs to record the calls of a command. A
/// filter around this process, or Yama in its strictest modes, may forbid that.
pub(crate) fn can_read_callers() -> bool {
    let own = 1_u8;
    let thread = rustix::thread::gettid().as_raw_pid().cast_unsigned();
    let is_read = raw::read_memory(thread, &raw const own as u64, &mut [0]) == Ok(1);
    let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
    is_read && matches!(scope.trim(), "" | "0" | "1")
}

/// Returns the port at which a socket listens.
pub(crate) fn local_port(listener: &TcpListener) -> Option<u16> {
    Some(listener.local_addr().ok()?.port())
}

fn id_maps() -> IdMaps {
    let same = |number: u32| format!("{number} {number} 1\n");
    IdMaps { user: same(geteuid().as_raw()), group: same(getegid().as_raw()) }
}

/// The directory for temporary files of commands: their own directory, which is removed when this value is dropped, or
/// `/tmp`.
#[derive(Debug)]
pub(crate) struct PrivateTmp(Option<PathBuf>);

impl PrivateTmp {
    fn new() -> Result<Self, Errno> {
        let pid = std::process::id();
        for number in 0..64 {
            let path = Path::new(TMP_DIR).join(format!("ibeam-{pid}-{number}"));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self(Some(path))),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Errno::from_io_error(&error).unwrap_or(Errno::IO)),
            }
        }
        Err(Errno::EXIST)
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.as_deref().unwrap_or(Path::new(TMP_DIR))
    }
}

impl Drop for PrivateTmp {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            drop(fs::remove_dir_all(path));
        }
    }
}
