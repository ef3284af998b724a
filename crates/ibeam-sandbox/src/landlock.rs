//! Limits the files that commands may open, by Landlock, with the mount view or without it.
//!
//! Landlock only grants: a right on a directory applies to everything that is or will be below it. With namespaces this
//! is enough, because mounts hide and protect the rest. Without them, hidden paths are left out: everything else is
//! granted, sibling by sibling, on the path down to them. Limits of this approach:
//!
//! - A protected path below a writable directory stays writable, because the right to create files in a directory also
//!   covers this path. The caller compares such paths after each command and restores them.
//! - A file that is created later next to a hidden path can be written, but not read or executed. Directories next to a
//!   hidden path are not affected. So a hidden path in the workspace costs convenience, not secrecy.
//! - Names are visible, and `stat` works for every file. Mode, owner and times of the user's own files can be changed
//!   anywhere, because none of these operations opens a file. The seccomp filter covers other attributes, sockets,
//!   and, before ABI 3, truncation: see [`LandlockRules::filter_context`].
//! - Terminals are not available. Named shared memory is available only where no other process uses it.
//! - The network is not granted: a rule would name a port, and so grant it at every address.
//! - Before ABI 6, signals can be sent to processes of the same user.
//!
//! The parent creates the rules, because that allocates. The child opens the paths and passes them to the system. A
//! path that does not exist by then is not granted.

use std::collections::HashSet;
use std::ffi::CString;
use std::fs;
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use rustix::io::Errno;

use crate::Confinement;
use crate::mount_plan::SYSTEM_DIRS;
use crate::raw::{self, HandledRights};
use crate::seccomp::FilterContext;

/// Rights on files and directories, with the numbers of the kernel.
mod right {
    pub(super) const EXECUTE: u64 = 1 << 0;
    pub(super) const WRITE_FILE: u64 = 1 << 1;
    pub(super) const READ_FILE: u64 = 1 << 2;
    pub(super) const READ_DIR: u64 = 1 << 3;
    /// All rights of ABI 1, up to `MAKE_SYM`.
    pub(super) const FIRST: u64 = (1 << 13) - 1;
    pub(super) const REFER: u64 = 1 << 13;
    pub(super) const TRUNCATE: u64 = 1 << 14;
    pub(super) const IOCTL_DEV: u64 = 1 << 15;
    /// Rights that a rule may have on anything but a directory.
    pub(super) const OF_FILES: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;
    pub(super) const READ: u64 = EXECUTE | READ_FILE | READ_DIR;
    pub(super) const ALL: u64 = FIRST | REFER | TRUNCATE | IOCTL_DEV;
    /// Rights to write in a directory without reading files that do not have their own rule.
    pub(super) const WITHOUT_READING: u64 = ALL & !(READ_FILE | EXECUTE);
    /// Rights to use a device.
    pub(super) const DEVICE: u64 = READ_FILE | WRITE_FILE | IOCTL_DEV;

    pub(super) const BIND_TCP: u64 = 1 << 0;
    pub(super) const CONNECT_TCP: u64 = 1 << 1;

    pub(super) const ABSTRACT_UNIX_SOCKET: u64 = 1 << 0;
    pub(super) const SIGNAL: u64 = 1 << 1;
}

/// The newest supported ABI. Version 7 has no new rights.
const NEWEST_ABI: u32 = 7;
/// Maximum number of siblings that are granted one by one on the path to hidden paths. Further siblings are not
/// granted, so that a directory with a million files does not delay the start.
const MAX_SIBLINGS: usize = 8192;
/// Directories for temporary files, which are private to the commands in a mount view.
const SCRATCH_DIRS: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];
/// The directory for named shared memory, which Python's locks need. Without a mount view commands share it with other
/// processes, so they get it only where it is empty, as in a container.
const SHARED_MEMORY: &str = "/dev/shm";
/// The directory of devices.
const DEV: &str = "/dev";
/// Devices without state. Terminals are not included: without a mount view they are the user's own.
const DEVICES: [&str; 6] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// The rights of commands, ready for [`restrict`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LandlockRules {
    /// The rights that are refused unless they are granted.
    handled: HandledRights,
    /// Paths, and the rights granted at each path and below.
    grants: Vec<(CString, u64)>,
}

/// Returns the supported ABI version of Landlock.
///
/// # Errors
/// `NOSYS`: the system does not have Landlock; `OPNOTSUPP`: it was disabled at boot.
pub(crate) fn abi() -> Result<u32, Errno> {
    Ok(raw::landlock_abi()?.min(NEWEST_ABI))
}

/// Applies the rules to this process and everything that it starts. Needs no_new_privs or CAP_SYS_ADMIN.
///
/// Uses only system calls. A path that does not exist or cannot be reached is skipped.
///
/// # Errors
/// Errors of the system calls.
pub(crate) fn restrict(rules: &LandlockRules) -> Result<(), Errno> {
    let ruleset = raw::landlock_ruleset(&rules.handled)?;
    for (path, rights) in &rules.grants {
        let path = match openat(CWD, path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty()) {
            Ok(path) => path,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP) => continue,
            Err(errno) => return Err(errno),
        };
        let rights = match FileType::from_raw_mode(fstat(&path)?.st_mode) {
            FileType::Directory => *rights,
            FileType::Symlink => 0,
            FileType::RegularFile
            | FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => rights & right::OF_FILES,
        };
        if rights != 0 {
            raw::landlock_grant(ruleset.as_fd(), path.as_fd(), rights)?;
        }
    }
    raw::landlock_restrict(ruleset.as_fd())
}

impl LandlockRules {
    /// Creates the rules for commands in namespaces. Mounts limit what can be read; mounts and these rules limit what
    /// can be written.
    pub(crate) fn with_namespaces(abi: u32, confinement: &Confinement) -> Self {
        let mut rules = Self::new(abi);
        rules.grant(Path::new("/"), right::READ);
        rules.grant(Path::new(DEV), right::DEVICE);
        for path in SCRATCH_DIRS.map(Path::new) {
            rules.grant(path, right::ALL);
        }
        for path in &confinement.writable {
            rules.grant(path, right::ALL);
        }
        rules
    }

    /// Creates the rules for commands without namespaces. `private` is the commands' own directory for temporary files.
    pub(crate) fn without_namespaces(abi: u32, confinement: &Confinement, private: &Path) -> Self {
        let mut rules = Self::new(abi);
        if abi >= 4 {
            rules.handled.network = right::BIND_TCP | right::CONNECT_TCP;
        }
        // The writable directories in a covered one are granted below.
        let hidden = confinement.hidden.iter().chain(&confinement.covered);
        let hidden: HashSet<&Path> = hidden.map(PathBuf::as_path).collect();
        let ancestors = ancestors_of(&hidden);
        for path in confinement.writable.iter().flat_map(|path| writable_parts(path)) {
            let leads_to_hidden = hidden.contains(&*path) || ancestors.contains(&*path);
            rules.grant(&path, if leads_to_hidden { right::WITHOUT_READING } else { right::ALL });
        }
        rules.grant_siblings(&ancestors, &hidden);
        rules.grant(Path::new(DEV), right::READ_DIR);
        for path in DEVICES {
            rules.grant(Path::new(path), right::DEVICE);
        }
        if is_empty(Path::new(SHARED_MEMORY)) {
            rules.grant(Path::new(SHARED_MEMORY), right::ALL & !right::EXECUTE);
        }
        rules.grant(private, right::ALL);
        rules
    }

    /// Returns what the seccomp filter must cover where these rules are the only other layer.
    pub(crate) fn filter_context(&self) -> FilterContext {
        let handles_truncation = self.handled.files & right::TRUNCATE != 0;
        FilterContext::Landlock { handles_truncation }
    }

    fn new(abi: u32) -> Self {
        let files = match abi {
            0 | 1 => right::FIRST,
            2 => right::FIRST | right::REFER,
            3 | 4 => right::FIRST | right::REFER | right::TRUNCATE,
            5.. => right::ALL,
        };
        let scopes = if abi < 6 { 0 } else { right::ABSTRACT_UNIX_SOCKET | right::SIGNAL };
        Self { handled: HandledRights { files, network: 0, scopes }, grants: Vec::new() }
    }

    /// Adds a rule for `path`. A path with a NUL byte does not exist, so it is skipped.
    fn grant(&mut self, path: &Path, rights: u64) {
        if let Ok(name) = CString::new(path.as_os_str().as_bytes()) {
            self.grants.push((name, rights & self.handled.files));
        }
    }

    /// Grants reading of everything that is not hidden: all siblings on the paths from the root to hidden paths.
    ///
    /// Devices are granted one by one, because a disk device contains hidden files too.
    fn grant_siblings(&mut self, ancestors: &HashSet<&Path>, hidden: &HashSet<&Path>) {
        let mut pending = vec![PathBuf::from("/")];
        let mut left = MAX_SIBLINGS;
        while let Some(directory) = pending.pop() {
            self.grant(&directory, right::READ_DIR);
            for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
                let path = entry.path();
                // The target of a link is granted or hidden at its own path.
                let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
                if is_link || hidden.contains(&*path) || path == Path::new(DEV) {
                    continue;
                }
                if ancestors.contains(&*path) {
                    pending.push(path);
                } else if left > 0 {
                    left -= 1;
                    self.grant(&path, right::READ);
                }
            }
        }
    }
}

/// Returns every directory above a hidden path.
fn ancestors_of<'a>(hidden: &HashSet<&'a Path>) -> HashSet<&'a Path> {
    hidden.iter().flat_map(|path| path.ancestors().skip(1)).collect()
}

/// Returns a writable directory. For `/`, returns its entries without system directories, because devices and disks are
/// below it.
fn writable_parts(writable: &Path) -> Vec<PathBuf> {
    if writable != Path::new("/") {
        return vec![writable.to_owned()];
    }
    let entries = fs::read_dir(writable).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| SYSTEM_DIRS.iter().all(|system| path != Path::new(system))).collect()
}

fn is_empty(directory: &Path) -> bool {
    fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_none())
}

#[cfg(test)]
mod tests;
