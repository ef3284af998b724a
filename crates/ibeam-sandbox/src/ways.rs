//! The ways to confine commands, from the best to the last, and which of them this system allows.
//!
//! Each is all or nothing: a server of which a part was refused ends, and the next way is tried. Commands are never
//! run with less than the last.

use std::fs::{self, DirBuilder};
use std::net::TcpListener;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::process::{getegid, geteuid, getpgrp, getpid};

use crate::confine::{Identity, Preparation};
use crate::confinement::{BackendFailure, Confinement, SandboxUnavailable, Tier};
use crate::connections::ConnectionRules;
use crate::plan::{Plan, Processes};
use crate::raw::Fork;
use crate::seccomp::Beside;
use crate::seccomp::processes::Client;
use crate::server::{Begun, Bound, ForkServer, begin};
use crate::step::Step;
use crate::{landlock, seccomp};

/// A way.
struct Way {
    name: &'static str,
    tier: Tier,
    user: bool,
    processes: Processes,
}

const WAYS: [Way; 5] = [
    Way { name: "namespaces", tier: Tier::Namespaces, user: true, processes: Processes::Own },
    // A /proc of its own is refused in containers, whose own is hidden in parts.
    Way {
        name: "namespaces with the /proc of the system",
        tier: Tier::Namespaces,
        user: true,
        processes: Processes::OwnNumbers,
    },
    Way { name: "namespaces made by root", tier: Tier::Namespaces, user: false, processes: Processes::Own },
    Way {
        name: "namespaces without process ids",
        tier: Tier::Namespaces,
        user: true,
        processes: Processes::Shared,
    },
    Way { name: "Landlock", tier: Tier::Landlock, user: false, processes: Processes::Shared },
];

/// Numbers of Landlock as names of layers.
const LANDLOCK: [&str; 10] = [
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
/// Where commands keep what is short-lived, in a view of their own.
const PRIVATE: &str = "/tmp";

/// A server whose commands are confined.
pub(crate) struct Confined {
    pub(crate) server: ForkServer,
    pub(crate) tier: Tier,
    pub(crate) listener: Option<TcpListener>,
}

/// What a later server takes over from the first of its launcher.
#[derive(Clone, Copy, Debug)]
pub(crate) struct First {
    pub(crate) tier: Tier,
    /// The port of the proxy, which commands were told.
    pub(crate) port: Option<u16>,
}

/// Starts a server in the best way that there is, or by the same means as the first.
pub(crate) fn confined(
    processes: u32,
    confinement: &Confinement,
    first: Option<First>,
) -> Result<Confined, SandboxUnavailable> {
    let confinement = confinement.resolved();
    let landlock = landlock::abi();
    let mut refusals = Vec::new();
    for way in WAYS.iter().filter(|way| first.is_none_or(|first| way.tier == first.tier)) {
        match way.start(processes, &confinement, landlock, first.and_then(|first| first.port)) {
            Ok(confined) => return Ok(confined),
            Err((step, errno)) => {
                refusals.push(BackendFailure { backend: way.name, step: step.name(), errno })
            }
        }
    }
    Err(SandboxUnavailable { failures: refusals })
}

impl Way {
    fn start(
        &self,
        processes: u32,
        confinement: &Confinement,
        landlock: Result<u32, Errno>,
        port: Option<u16>,
    ) -> Result<Confined, (Step, Errno)> {
        let namespaces = match self.tier {
            Tier::Namespaces => true,
            Tier::Supervision | Tier::Landlock => false,
        };
        let mut temporary = Temporary(None);
        let (rules, beside) = if namespaces {
            let rules = landlock.ok().map(|abi| landlock::Rules::beside_namespaces(abi, confinement));
            (rules, Beside::Namespaces)
        } else {
            let abi = landlock.map_err(|errno| (Step::Landlock, errno))?;
            temporary = Temporary::new().map_err(|errno| (Step::Cover, errno))?;
            // No proxy: Landlock grants a port wherever it is, and whoever listens at that number elsewhere would be
            // reached too.
            let rules = landlock::Rules::alone(abi, confinement, temporary.path());
            let beside = rules.beside();
            (Some(rules), beside)
        };
        let preparation = Preparation {
            identity: self.user.then(identity),
            plan: namespaces.then(|| Plan::new(confinement, self.processes)),
            listens: (namespaces && confinement.has_proxy).then_some(port.unwrap_or(0)),
            largest_file: confinement.max_file_size,
            rules,
            client: (!self.processes.are_own()).then(|| Client { pid: getpid(), group: getpgrp() }),
            filter: seccomp::program(beside).map_err(|_other_machine| (Step::Filter, Errno::NOSYS))?,
            connections: namespaces
                .then(|| ConnectionRules::new(&confinement.sockets))
                .transpose()
                .map_err(|errno| (Step::Sockets, errno))?,
        };
        let bound = Bound::new(processes);
        let Begun { pid, control, listener: inner } = begin(self.fork(), &bound, Some(&preparation))?;
        let names = self.names(landlock.ok().filter(|_| preparation.rules.is_some()));
        let mut server = ForkServer::new(pid, control, bound, names);
        server.confine(temporary);
        Ok(Confined { server, tier: self.tier, listener: inner.map(TcpListener::from) })
    }

    fn fork(&self) -> Fork {
        let with = |wanted: bool, flag| if wanted { flag } else { 0 };
        match self.tier {
            Tier::Namespaces => Fork::Into(
                libc::CLONE_NEWNS
                    | libc::CLONE_NEWNET
                    | libc::CLONE_NEWIPC
                    | libc::CLONE_NEWUTS
                    | with(self.user, libc::CLONE_NEWUSER)
                    | with(self.processes.are_own(), libc::CLONE_NEWPID),
            ),
            Tier::Supervision | Tier::Landlock => Fork::Plain,
        }
    }

    fn names(&self, landlock: Option<u32>) -> Vec<&'static str> {
        let spaces: &[_] = match self.tier {
            Tier::Namespaces => &["mount-namespace", "network-namespace", "ipc-namespace", "uts-namespace"],
            Tier::Supervision | Tier::Landlock => &[],
        };
        let landlock = landlock.and_then(|abi| LANDLOCK.get(usize::try_from(abi).ok()?.checked_sub(1)?));
        let user = self.user.then_some("user-namespace");
        let pid = match self.processes {
            Processes::Own => Some("pid-namespace"),
            // Processes outside can be seen in part.
            Processes::OwnNumbers => Some("pid-namespace-without-proc"),
            Processes::Shared => None,
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

/// The port at which a socket listens.
pub(crate) fn port_of(listener: &TcpListener) -> Option<u16> {
    Some(listener.local_addr().ok()?.port())
}

fn identity() -> Identity {
    let same = |number: u32| format!("{number} {number} 1\n");
    Identity { user: same(geteuid().as_raw()), group: same(getegid().as_raw()) }
}

/// Where commands keep what is short-lived: a directory of their own, which is removed with the server, or `/tmp`.
#[derive(Debug)]
pub(crate) struct Temporary(Option<PathBuf>);

impl Temporary {
    fn new() -> Result<Self, Errno> {
        let ours = std::process::id();
        for number in 0..64 {
            let path = Path::new(PRIVATE).join(format!("ibeam-{ours}-{number}"));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self(Some(path))),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Errno::from_io_error(&error).unwrap_or(Errno::IO)),
            }
        }
        Err(Errno::EXIST)
    }

    /// The directory.
    pub(crate) fn path(&self) -> &Path {
        self.0.as_deref().unwrap_or(Path::new(PRIVATE))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            drop(fs::remove_dir_all(path));
        }
    }
}
