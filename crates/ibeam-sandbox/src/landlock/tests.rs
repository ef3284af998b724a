//! Real files, opened in a child with the rules.

use std::ffi::CString;
use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use ibeam_testkit::Workspace;
use rustix::fs::{CWD, Mode, OFlags, linkat, mkdirat, openat, renameat};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrV4, SocketType};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use rustix::thread::set_no_new_privs;

use super::{LandlockRules, MAX_SIBLINGS, NEWEST_ABI, abi, restrict, right};
use crate::Confinement;
use crate::raw::{self, ForkMode};
use crate::seccomp::FilterContext;

/// An attempted operation. Paths are made before the fork.
#[derive(Clone, Debug)]
enum Try {
    Read(CString),
    List(CString),
    Write(CString),
    Create(CString),
    Directory(CString),
    Truncate(CString),
    Rename(CString, CString),
    Link(CString, CString),
    Connect(u16),
    Signal(Pid),
}

use Try::{Connect, Create, Directory, Link, List, Read, Rename, Truncate, Write};

impl Try {
    fn done(&self) -> Result<(), Errno> {
        let open = |path: &CString, flags| {
            openat(CWD, path, flags | OFlags::CLOEXEC, Mode::from_raw_mode(0o600)).map(drop)
        };
        match self {
            Read(path) => open(path, OFlags::RDONLY),
            List(path) => open(path, OFlags::RDONLY | OFlags::DIRECTORY),
            Write(path) => open(path, OFlags::WRONLY),
            Create(path) => open(path, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL),
            Directory(path) => mkdirat(CWD, path, Mode::RWXU),
            // Needs only the right to truncate.
            Truncate(path) => open(path, OFlags::RDONLY | OFlags::TRUNC),
            Rename(from, to) => renameat(CWD, from, CWD, to),
            Link(from, to) => linkat(CWD, from, CWD, to, rustix::fs::AtFlags::empty()),
            Connect(port) => {
                let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None)?;
                rustix::net::connect(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, *port))
            }
            Try::Signal(pid) => kill_process(*pid, Signal::CONT),
        }
    }
}

fn text(path: impl AsRef<Path>) -> CString {
    CString::new(path.as_ref().as_os_str().as_bytes()).unwrap()
}

/// Returns the result of each operation, made one after the other in a child.
fn outcomes_of(rules: &LandlockRules, tries: &[Try]) -> Vec<Result<(), Errno>> {
    tries
        .iter()
        .map(|one| {
            let child = raw::fork(ForkMode::Plain, || {
                if set_no_new_privs(true).and_then(|()| restrict(rules)).is_err() {
                    return 255;
                }
                one.done().map_or_else(Errno::raw_os_error, |()| 0)
            });
            let (_, status) = waitpid(Some(child.unwrap()), WaitOptions::empty()).unwrap().unwrap();
            match status.exit_status().unwrap() {
                0 => Ok(()),
                255 => panic!("there are no rules"),
                errno => Err(Errno::from_raw_os_error(errno)),
            }
        })
        .collect()
}

#[track_caller]
fn allows(rules: &LandlockRules, tries: &[Try]) {
    for (one, outcome) in tries.iter().zip(outcomes_of(rules, tries)) {
        assert_eq!(outcome, Ok(()), "{one:?}");
    }
}

/// Checks that the operations fail with the rules and succeed without them; those that change something are not tried
/// without.
#[track_caller]
fn refuses(rules: &LandlockRules, tries: &[Try]) {
    for (one, outcome) in tries.iter().zip(outcomes_of(rules, tries)) {
        assert!(matches!(outcome, Err(Errno::ACCESS | Errno::XDEV | Errno::PERM)), "{one:?}: {outcome:?}");
        if let Read(_) | List(_) | Write(_) | Connect(_) | Try::Signal(_) = one {
            assert_eq!(one.done(), Ok(()), "{one:?} is refused anyway");
        }
    }
}

/// A workspace with a directory outside it and a home with a secret.
struct World {
    workspace: Workspace,
    confinement: Confinement,
    abi: u32,
}

impl World {
    /// Returns `None`, and prints the reason, where the system does not have Landlock.
    fn new() -> Option<Self> {
        let abi = match abi() {
            Ok(abi) => abi,
            Err(errno) => {
                eprintln!("SKIP: there is no Landlock: {errno}");
                return None;
            }
        };
        // `TMPDIR` may lie below a directory of the system, such as `/var`.
        let workspace = Workspace::new_in(Path::new("/tmp"))
            .file("src/main.py", "1")
            .file("README.md", "2")
            .file(".env", "secret");
        fs::create_dir_all(workspace.home().join(".ssh")).unwrap();
        fs::write(workspace.home().join(".ssh/id_rsa"), "secret").unwrap();
        fs::create_dir_all(workspace.home().join("notes")).unwrap();
        fs::write(workspace.home().join("notes/todo"), "3").unwrap();
        fs::write(workspace.home().join(".profile"), "4").unwrap();
        fs::create_dir(workspace.outside().join("scratch")).unwrap();
        let confinement = Confinement {
            writable: vec![workspace.path().to_owned()],
            hidden: vec![workspace.home().join(".ssh")],
            ..Confinement::default()
        };
        Some(Self { workspace, confinement, abi })
    }

    fn alone(&self) -> LandlockRules {
        LandlockRules::without_namespaces(self.abi, &self.confinement, &self.scratch())
    }

    fn scratch(&self) -> PathBuf {
        self.workspace.outside().join("scratch")
    }

    fn ws(&self, path: &str) -> CString {
        text(self.workspace.path().join(path))
    }

    fn home(&self, path: &str) -> CString {
        text(self.workspace.home().join(path))
    }
}

#[test]
fn without_namespaces_only_the_workspace_and_the_private_directory_are_writable() {
    let Some(world) = World::new() else { return };
    let rules = world.alone();
    allows(
        &rules,
        &[
            Create(world.ws("new")),
            Directory(world.ws("directory")),
            Write(world.ws("README.md")),
            Rename(world.ws("new"), world.ws("directory/moved")),
            Truncate(world.ws("README.md")),
            Create(text(world.scratch().join("x"))),
            Write(text("/dev/null")),
        ],
    );
    refuses(
        &rules,
        &[
            Write(world.home(".profile")),
            Create(world.home(".bashrc")),
            Directory(world.home("directory")),
            Create(text(world.workspace.outside().join("x"))),
            Truncate(world.home(".profile")),
            Rename(world.home(".profile"), world.ws("taken")),
            Rename(world.ws("README.md"), world.home("given")),
            Link(world.home(".profile"), world.ws("link")),
            Write(text("/proc/self/oom_score_adj")),
        ],
    );
}

#[test]
fn without_namespaces_everything_but_hidden_paths_is_readable() {
    let Some(world) = World::new() else { return };
    let rules = world.alone();
    allows(
        &rules,
        &[
            Read(text("/etc/passwd")),
            Read(text("/proc/self/status")),
            List(text("/")),
            List(text("/usr")),
            List(text(world.workspace.home())),
            Read(world.home(".profile")),
            Read(world.home("notes/todo")),
            Read(world.ws("src/main.py")),
            Read(text("/dev/urandom")),
        ],
    );
    refuses(&rules, &[Read(world.home(".ssh/id_rsa"))]);
}

#[test]
fn without_namespaces_a_link_does_not_open_a_hidden_path() {
    let Some(world) = World::new() else { return };
    std::os::unix::fs::symlink(world.workspace.home().join(".ssh"), world.workspace.home().join("keys"))
        .unwrap();
    std::os::unix::fs::symlink(world.workspace.home().join(".ssh"), world.workspace.path().join("keys"))
        .unwrap();
    let rules = world.alone();
    refuses(&rules, &[Read(world.home("keys/id_rsa")), Read(world.ws("keys/id_rsa"))]);
}

#[test]
fn without_namespaces_a_path_that_became_a_link_is_not_granted() {
    let Some(mut world) = World::new() else { return };
    // Added after the confinement was resolved.
    world.confinement.hidden.push(world.workspace.path().join("keys/other"));
    std::os::unix::fs::symlink(world.workspace.home().join(".ssh"), world.workspace.path().join("keys"))
        .unwrap();
    refuses(&world.alone(), &[Read(world.home(".ssh/id_rsa"))]);
}

#[test]
fn without_namespaces_hidden_paths_in_the_workspace_are_unreadable() {
    let Some(mut world) = World::new() else { return };
    world.confinement.hidden.push(world.workspace.path().join(".env"));
    let rules = world.alone();
    refuses(
        &rules,
        &[
            Read(world.ws(".env")),
            // To a directory with more rights.
            Rename(world.ws(".env"), world.ws("src/env")),
            Link(world.ws(".env"), world.ws("src/env")),
        ],
    );
    allows(
        &rules,
        &[
            List(text(world.workspace.path())),
            Read(world.ws("README.md")),
            Create(world.ws("src/new")),
            Read(world.ws("src/new")),
            Create(world.ws("beside")),
            Write(world.ws("beside")),
            Rename(world.ws(".env"), world.ws("renamed")),
        ],
    );
    // Documented limitation; a renamed secret stays unreadable.
    refuses(&rules, &[Read(world.ws("beside")), Read(world.ws("renamed"))]);
}

#[test]
fn without_namespaces_only_stateless_devices_are_granted() {
    let Some(world) = World::new() else { return };
    let rules = world.alone();
    refuses(&rules, &[Read(text("/dev/ptmx"))]);
    for disk in ["/dev/vda", "/dev/sda", "/dev/nvme0n1", "/dev/kmsg"] {
        if Read(text(disk)).done().is_ok() {
            refuses(&rules, &[Read(text(disk))]);
        }
    }
}

#[test]
fn without_namespaces_the_number_of_granted_siblings_is_limited() {
    let Some(world) = World::new() else { return };
    let many = world.workspace.home().join("many");
    fs::create_dir(&many).unwrap();
    for number in 0..MAX_SIBLINGS + 100 {
        fs::write(many.join(number.to_string()), "").unwrap();
    }
    let hidden = Confinement { hidden: vec![many.join("secret")], ..world.confinement.clone() };
    let rules = LandlockRules::without_namespaces(world.abi, &hidden, &world.scratch());
    assert!(rules.grants.len() < MAX_SIBLINGS + 100, "{}", rules.grants.len());
    allows(&rules, &[Write(world.ws("README.md"))]);
}

#[test]
fn without_namespaces_a_workspace_at_the_root_does_not_include_system_directories() {
    let Some(mut world) = World::new() else { return };
    world.confinement.writable = vec![PathBuf::from("/")];
    let rules = world.alone();
    allows(&rules, &[Write(world.ws("README.md")), Create(world.home(".bashrc"))]);
    refuses(&rules, &[Read(world.home(".ssh/id_rsa")), Read(text("/dev/ptmx"))]);
    if rustix::process::geteuid().is_root() {
        refuses(&rules, &[Write(text("/etc/passwd")), Write(text("/proc/sys/kernel/core_pattern"))]);
    }
}

#[test]
fn a_path_that_has_disappeared_is_skipped() {
    let Some(world) = World::new() else { return };
    let rules = world.alone();
    fs::remove_dir_all(world.workspace.home().join("notes")).unwrap();
    fs::remove_file(world.workspace.home().join(".profile")).unwrap();
    std::os::unix::fs::symlink(".ssh/id_rsa", world.workspace.home().join(".profile")).unwrap();
    allows(&rules, &[Read(world.ws("README.md"))]);
    refuses(&rules, &[Read(world.home(".profile"))]);
}

#[test]
fn without_namespaces_no_tcp_connection_is_possible() {
    let Some(world) = World::new() else { return };
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    if world.abi < 4 {
        eprintln!("SKIP: Landlock knows no ports here");
        return;
    }
    refuses(&world.alone(), &[Connect(listener.local_addr().unwrap().port())]);
}

#[test]
fn processes_outside_cannot_be_signalled() {
    let Some(world) = World::new() else { return };
    if world.abi < 6 {
        return eprintln!("SKIP: Landlock knows no signals here");
    }
    let own_pid = rustix::process::getpid();
    refuses(&world.alone(), &[Try::Signal(own_pid)]);
    refuses(&LandlockRules::with_namespaces(world.abi, &world.confinement), &[Try::Signal(own_pid)]);
}

#[test]
fn with_namespaces_only_writing_is_restricted() {
    let Some(world) = World::new() else { return };
    let rules = LandlockRules::with_namespaces(world.abi, &world.confinement);
    allows(
        &rules,
        &[
            Read(text("/etc/passwd")),
            // The mount view masks it.
            Read(world.home(".ssh/id_rsa")),
            Create(world.ws("new")),
            Write(text("/dev/null")),
        ],
    );
    refuses(&rules, &[Write(text("/proc/self/oom_score_adj"))]);
    // Others may not write it without the rules either.
    if rustix::process::geteuid().is_root() {
        refuses(&rules, &[Write(text("/etc/passwd"))]);
    }
}

#[test]
fn every_older_abi_enforces_the_rights_it_has() {
    let Some(world) = World::new() else { return };
    for abi in 1..=world.abi {
        let rules = LandlockRules::without_namespaces(abi, &world.confinement, &world.scratch());
        let new = format!("new-{abi}");
        allows(
            &rules,
            &[
                Create(world.ws(&new)),
                Read(world.ws(&new)),
                Read(world.home(".profile")),
                Write(text("/dev/null")),
                Rename(world.ws(&new), world.ws("other")),
            ],
        );
        refuses(
            &rules,
            &[
                Read(world.home(".ssh/id_rsa")),
                Write(world.home(".profile")),
                Create(world.home(&new)),
                Rename(world.ws("other"), world.home(&new)),
                Link(world.home(".profile"), world.ws("link")),
            ],
        );
        // Before ABI 2 every such move is refused; the seccomp filter prevents truncation.
        let moves = Rename(world.ws("other"), world.ws("src/moved"));
        if abi >= 2 {
            allows(&rules, &[moves])
        } else {
            refuses(&rules, &[moves])
        }
        if abi >= 3 {
            refuses(&rules, &[Truncate(world.home(".profile"))]);
        }
    }
}

#[test]
fn only_rights_of_the_abi_are_requested() {
    let none = Confinement::default();
    for abi in 0..=NEWEST_ABI {
        let rules = LandlockRules::without_namespaces(abi, &none, Path::new("/dev/null/home"));
        let handled = rules.handled;
        let most = match abi {
            0 | 1 => right::REFER,
            2 => right::TRUNCATE,
            3 | 4 => right::IOCTL_DEV,
            _ => 1 << 16,
        };
        assert!(handled.files < most, "{abi}");
        assert_eq!(handled.network == 0, abi < 4, "{abi}");
        assert_eq!(rules.filter_context(), FilterContext::Landlock { handles_truncation: abi >= 3 }, "{abi}");
        assert_eq!(handled.scopes == 0, abi < 6, "{abi}");
        assert!(rules.grants.iter().all(|(_, rights)| rights & !handled.files == 0), "{abi}");
    }
}
