//! What commands may open, held by Landlock: beside the mount view, and without one.
//!
//! Landlock grants and never takes back: what holds for a directory holds for all that is and will be below it.
//! FilterContext namespaces that is enough, since mounts hide and protect what must be. Alone, what must be hidden
//! is left out: everything else is granted, sibling by sibling, on the way down to it. What this cannot do:
//!
//! - A protected path below a writable directory stays writable: whoever may make files beside it has the right
//!   of that directory, and so this one. The caller looks after each command and puts back what changed.
//! - FilterContext a hidden path, files that are made later can be written but not read or executed. In directories beside it
//!   all is as usual. So what is hidden below the workspace costs comfort there, not secrecy.
//! - Names can be seen, and `stat` tells of every file. The mode, owner and times of the user's own files can be changed
//!   anywhere, since none of that is an opening. Other attributes, sockets, and before ABI 3 cutting files
//!   off are held by the filter of system calls: [`LandlockRules::beside`] tells it.
//! - There is no terminal to be had, and memory is shared by name only where nobody else does so.
//! - Nothing of the network is granted: a rule would name a port, and so reach it at every address.
//! - Before ABI 6 processes of the same user can be sent signals.
//!
//! LandlockRules are made by the parent, since that allocates; the child opens what they name and hands it to the
//! system. What is not there by then is granted nothing.

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

/// Rights on files and directories, as the system numbers them.
mod right {
    pub(super) const EXECUTE: u64 = 1 << 0;
    pub(super) const WRITE_FILE: u64 = 1 << 1;
    pub(super) const READ_FILE: u64 = 1 << 2;
    pub(super) const READ_DIR: u64 = 1 << 3;
    /// The rights of ABI 1, from the first to `MAKE_SYM`.
    pub(super) const FIRST: u64 = (1 << 13) - 1;
    pub(super) const REFER: u64 = 1 << 13;
    pub(super) const TRUNCATE: u64 = 1 << 14;
    pub(super) const IOCTL_DEV: u64 = 1 << 15;
    /// Those that a rule on something else than a directory may have.
    pub(super) const OF_FILES: u64 = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV;
    pub(super) const READ: u64 = EXECUTE | READ_FILE | READ_DIR;
    pub(super) const ALL: u64 = FIRST | REFER | TRUNCATE | IOCTL_DEV;
    /// To write in a directory, but to read nothing that is not granted by itself.
    pub(super) const WITHOUT_READING: u64 = ALL & !(READ_FILE | EXECUTE);
    /// To use a device.
    pub(super) const DEVICE: u64 = READ_FILE | WRITE_FILE | IOCTL_DEV;

    pub(super) const BIND_TCP: u64 = 1 << 0;
    pub(super) const CONNECT_TCP: u64 = 1 << 1;

    pub(super) const ABSTRACT_UNIX_SOCKET: u64 = 1 << 0;
    pub(super) const SIGNAL: u64 = 1 << 1;
}

/// The newest ABI whose rights are known here. Version 7 has none that 6 has not.
const NEWEST_ABI: u32 = 7;
/// The most entries that are granted one by one on the way to hidden paths. Beyond it nothing is, so that a directory of
/// a million files costs no time.
const MAX_SIBLINGS: usize = 8192;
/// Where programs keep what is short-lived; private to the commands in a mount view.
const SCRATCH_DIRS: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];
/// Where processes share memory by name; locks of Python need it. There is no second one without a mount view, so
/// commands get it only where nobody else has anything in it, as in a container.
const SHARED_MEMORY: &str = "/dev/shm";
/// Where devices are.
const DEV: &str = "/dev";
/// Those that are nobody's. Terminals are not among them: without a mount view they are the user's own.
const DEVICES: [&str; 6] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// What commands may do, ready for [`restrict`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LandlockRules {
    handled: HandledRights,
    grants: Vec<(CString, u64)>,
}

/// The version of Landlock that can be used here.
///
/// # Errors
/// `NOSYS`: the system has none; `OPNOTSUPP`: it was turned off when the system was started.
pub(crate) fn abi() -> Result<u32, Errno> {
    Ok(raw::landlock_abi()?.min(NEWEST_ABI))
}

/// The rules hold from here on, for this process and all it starts. Needs no_new_privs or CAP_SYS_ADMIN.
///
/// Uses system calls only.
///
/// # Errors
/// What the system says. A place that is not there or cannot be reached is none: nothing is granted at it.
pub(crate) fn restrict(rules: &LandlockRules) -> Result<(), Errno> {
    let ruleset = raw::landlock_ruleset(&rules.handled)?;
    for (place, rights) in &rules.grants {
        let place = match openat(CWD, place, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
        {
            Ok(place) => place,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP) => continue,
            Err(errno) => return Err(errno),
        };
        let rights = match FileType::from_raw_mode(fstat(&place)?.st_mode) {
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
            raw::landlock_grant(ruleset.as_fd(), place.as_fd(), rights)?;
        }
    }
    raw::landlock_restrict(ruleset.as_fd())
}

impl LandlockRules {
    /// FilterContext namespaces: what is read is bounded by what is mounted; what is written, here as well.
    pub(crate) fn with_namespaces(abi: u32, confinement: &Confinement) -> Self {
        let mut rules = Self::new(abi);
        rules.grant(Path::new("/"), right::READ);
        rules.grant(Path::new(DEV), right::DEVICE);
        for place in SCRATCH_DIRS.map(Path::new) {
            rules.grant(place, right::ALL);
        }
        for place in &confinement.writable {
            rules.grant(place, right::ALL);
        }
        rules
    }

    /// Without namespaces. `private` is the commands' own directory for what is short-lived.
    pub(crate) fn without_namespaces(abi: u32, confinement: &Confinement, private: &Path) -> Self {
        let mut rules = Self::new(abi);
        if abi >= 4 {
            rules.handled.network = right::BIND_TCP | right::CONNECT_TCP;
        }
        let hidden: HashSet<&Path> = confinement.hidden.iter().map(PathBuf::as_path).collect();
        let ways = ancestors_of(&hidden);
        for place in confinement.writable.iter().flat_map(|place| writable_parts(place)) {
            let leads_to_hidden = hidden.contains(&*place) || ways.contains(&*place);
            rules.grant(&place, if leads_to_hidden { right::WITHOUT_READING } else { right::ALL });
        }
        rules.grant_siblings(&ways, &hidden);
        rules.grant(Path::new(DEV), right::READ_DIR);
        for place in DEVICES {
            rules.grant(Path::new(place), right::DEVICE);
        }
        if is_empty(Path::new(SHARED_MEMORY)) {
            rules.grant(Path::new(SHARED_MEMORY), right::ALL & !right::EXECUTE);
        }
        rules.grant(private, right::ALL);
        rules
    }

    /// What the filter of system calls must know where these rules hold alone.
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

    /// A path with a NUL byte is no path, and there is nothing to grant.
    fn grant(&mut self, place: &Path, rights: u64) {
        if let Ok(name) = CString::new(place.as_os_str().as_bytes()) {
            self.grants.push((name, rights & self.handled.files));
        }
    }

    /// Lets everything be read that is not hidden: whatever lies beside the ways from the root to what is.
    ///
    /// Devices are granted one by one: what is hidden lies on a disk too.
    fn grant_siblings(&mut self, ways: &HashSet<&Path>, hidden: &HashSet<&Path>) {
        let mut ahead = vec![PathBuf::from("/")];
        let mut left = MAX_SIBLINGS;
        while let Some(way) = ahead.pop() {
            self.grant(&way, right::READ_DIR);
            for entry in fs::read_dir(&way).into_iter().flatten().flatten() {
                let path = entry.path();
                // What a link leads to is granted at its own place, or hidden there.
                let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
                if is_link || hidden.contains(&*path) || path == Path::new(DEV) {
                    continue;
                }
                if ways.contains(&*path) {
                    ahead.push(path);
                } else if left > 0 {
                    left -= 1;
                    self.grant(&path, right::READ);
                }
            }
        }
    }
}

/// Every directory that something hidden lies below.
fn ancestors_of<'a>(hidden: &HashSet<&'a Path>) -> HashSet<&'a Path> {
    hidden.iter().flat_map(|path| path.ancestors().skip(1)).collect()
}

/// A writable directory, or where that is `/`, what in it is not the system's: devices and disks are below it.
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
