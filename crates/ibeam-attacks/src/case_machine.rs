//! A little machine for each case: processes, mounts and a network of its own, gone with it.
//!
//! A command that nothing holds back then hurts nobody: `/tmp` is a small file system in memory, every address that a
//! case connects to is ours, and what outlives the run is found, since nothing else runs. Where the system refuses
//! this, cases run one after the other on the machine itself, and those that need it are skipped.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::mount::{
    MountFlags, MountPropagationFlags, mount, mount_bind, mount_bind_recursive, mount_change,
};
use rustix::process::geteuid;

use crate::name_answers::PUBLIC;
use crate::name_server;
use crate::user::program;

/// Where clouds keep the keys of a machine.
const METADATA: std::net::Ipv4Addr = std::net::Ipv4Addr::new(169, 254, 169, 254);
/// What lies outside the ground and must be reachable in it.
const UNDER_TEST: &str = "under-test";
/// A command that fills the disk fills no more than this.
const TMPFS_OPTIONS: &str = "size=256m,mode=1777";

/// The words before a command line that give it a machine of its own; nothing where that is refused.
pub(crate) fn launcher() -> Option<Vec<OsString>> {
    let mut words: Vec<OsString> = vec![program("unshare")?.into()];
    if !geteuid().is_root() {
        words.extend(["--user", "--map-current-user", "--keep-caps"].map(OsString::from));
    }
    words.extend(
        ["--mount", "--net", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"].map(OsString::from),
    );
    let (unshare, args) = words.split_first()?;
    let works = Command::new(unshare).args(args).arg("true").output();
    works.is_ok_and(|ended| ended.status.success()).then_some(words)
}

/// What the little machine has that ours has not.
pub(crate) struct CaseMachine {
    pub(crate) program: PathBuf,
    pub(crate) test_programs: PathBuf,
    /// Addresses that look like those of others and lead to us.
    pub(crate) addresses: Vec<std::net::Ipv4Addr>,
}

/// Furnishes the machine in which this process is the first: `/tmp`, names, addresses.
///
/// `stage` is an empty directory; `program` and `programs_of_tests` may lie anywhere, below `/tmp` too.
pub(crate) fn set_up(mount_point: &Path, program: &Path, test_programs: &Path) -> io::Result<CaseMachine> {
    let addresses = vec![PUBLIC, METADATA];
    let up = Command::new(test_programs.join("loopback"))
        .args(addresses.iter().map(ToString::to_string))
        .output()?;
    if !up.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&up.stderr).trim().to_owned()));
    }
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    let size = std::ffi::CString::new(TMPFS_OPTIONS)?;
    mount("corpus", mount_point, "tmpfs", MountFlags::empty(), size.as_c_str())?;
    let under_test = mount_point.join(UNDER_TEST);
    fs::create_dir(&under_test)?;
    fs::write(under_test.join("ibeam"), "")?;
    mount_bind(program, under_test.join("ibeam"))?;
    fs::create_dir(under_test.join("programs"))?;
    mount_bind(test_programs, under_test.join("programs"))?;
    fs::write(
        under_test.join("resolv.conf"),
        format!("nameserver {}\noptions attempts:1\n", name_server::ADDRESS),
    )?;
    fs::set_permissions(&under_test, fs::Permissions::from_mode(0o755))?;
    mount_bind_recursive(mount_point, "/tmp")?;
    let under_test = Path::new("/tmp").join(UNDER_TEST);
    mount_bind(under_test.join("resolv.conf"), "/etc/resolv.conf")?;
    Ok(CaseMachine {
        program: under_test.join("ibeam"),
        test_programs: under_test.join("programs"),
        addresses,
    })
}
