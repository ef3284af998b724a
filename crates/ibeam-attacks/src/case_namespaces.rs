//! The namespaces of a case: each case has its own processes, mounts and network.
//!
//! In the namespaces a command without protection does no harm. `/tmp` is a small file system in memory, every address
//! that a case connects to leads to the runner, and all surviving processes belong to the case. If the system refuses
//! namespaces, cases run one after the other on the host, and cases that need namespaces are skipped.

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

use crate::name_answers::PUBLIC_ADDRESS;
use crate::name_server;
use crate::user::find_system_program;

/// The address at which virtual machines of clouds get their keys.
const METADATA: std::net::Ipv4Addr = std::net::Ipv4Addr::new(169, 254, 169, 254);
/// The directory for files from outside the fixture that the case needs.
const UNDER_TEST: &str = "under-test";
/// Mount options of `/tmp`. The size limits how much a command can write.
const TMPFS_OPTIONS: &str = "size=256m,mode=1777";

/// Files and directories from which cron runs commands.
const CRON_TABLES: &[&str] = &[
    "/etc/crontab",
    "/etc/anacrontab",
    "/etc/cron.d",
    "/etc/cron.hourly",
    "/etc/cron.daily",
    "/etc/cron.weekly",
    "/etc/cron.monthly",
    "/var/spool/cron",
    "/var/spool/at",
];

/// Returns the command prefix that starts a program in new namespaces, or `None` if the system refuses them.
pub(crate) fn launcher() -> Option<Vec<OsString>> {
    let mut words: Vec<OsString> = vec![find_system_program("unshare")?.into()];
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

/// The paths and addresses inside the namespaces of a case.
pub(crate) struct CaseNamespaces {
    pub(crate) program: PathBuf,
    /// The directory of the compiled test programs.
    pub(crate) test_programs: PathBuf,
    /// Addresses that look public and lead to the runner.
    pub(crate) addresses: Vec<std::net::Ipv4Addr>,
}

/// Sets up the namespaces, in which this process is the first one: `/tmp`, name resolution, addresses.
///
/// `mount_point` is an empty directory. `program` and `test_programs` may be anywhere, also below `/tmp`.
pub(crate) fn set_up(mount_point: &Path, program: &Path, test_programs: &Path) -> io::Result<CaseNamespaces> {
    let addresses = vec![PUBLIC_ADDRESS, METADATA];
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
    Ok(CaseNamespaces {
        program: under_test.join("ibeam"),
        test_programs: under_test.join("programs"),
        addresses,
    })
}

/// Returns the paths of the tables, whether they exist or not.
pub(crate) fn cron_tables() -> impl Iterator<Item = PathBuf> {
    CRON_TABLES.iter().map(PathBuf::from)
}

/// Masks the existing tables by empty ones, which disappear with the mount namespace of this process. `mount_point` is
/// a directory in memory.
///
/// # Errors
/// A mount that the system refuses. The tables of the host are then not protected.
pub(crate) fn mask_cron_tables(mount_point: &Path) -> io::Result<()> {
    for table in cron_tables() {
        let Ok(metadata) = fs::metadata(&table) else { continue };
        if metadata.is_dir() {
            mount("cron", &table, "tmpfs", MountFlags::empty(), c"size=1m,mode=755")?;
        } else {
            let copy = mount_point.join(table.file_name().unwrap_or_default());
            fs::copy(&table, &copy)?;
            mount_bind(&copy, &table)?;
        }
    }
    // The setgid program `crontab` can write to this directory, but not as an unprivileged user of a namespace. So
    // everybody may write to the replacement.
    if Path::new("/var/spool/cron").is_dir() {
        let spool = Path::new("/var/spool/cron/crontabs");
        fs::create_dir(spool)?;
        fs::set_permissions(spool, std::os::unix::fs::PermissionsExt::from_mode(0o1777))?;
    }
    Ok(())
}
