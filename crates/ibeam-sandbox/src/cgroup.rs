//! A limit on the number of processes: a pids cgroup, where one can be created.
//!
//! `RLIMIT_NPROC` does not apply to root, and it counts all processes of the user. A cgroup limits root too. No cgroup
//! is created where this process is not allowed to, or where no pids controller is delegated.
//!
//! A process that writes itself to `cgroup.procs` waits for a grace period of the kernel, 12 to 29 ms. A single thread
//! that writes itself to `tasks` does not (version 1), nor does a process that is created in the cgroup (version 2).

use std::fs::{self, File, OpenOptions};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::path::{Path, PathBuf};

use rustix::process::Pid;

/// Start of the cgroup's name; the process id of its creator follows.
const PREFIX: &str = "ibeam-";

/// A pids cgroup, which is removed when this value is dropped. If it still has processes then, it is not removed.
#[derive(Debug)]
pub(crate) struct Cgroup {
    path: PathBuf,
    /// The file to which a process with one thread writes itself.
    members: File,
    /// The directory in which a process can be created; only in version 2.
    directory: Option<File>,
}

/// A version of the cgroup file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl Version {
    /// Returns the name of the file to which a process with one thread writes itself.
    fn members_file(self) -> &'static str {
        match self {
            Self::One => "tasks",
            Self::Two => "cgroup.procs",
        }
    }
}

impl Cgroup {
    /// Creates a cgroup of at most `processes` processes. Returns `None` if none can be created.
    pub(crate) fn new(processes: u32) -> Option<Self> {
        let own_groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        let (version, parent) =
            candidate_parents(&own_groups).into_iter().find(|(_, parent)| parent.is_dir())?;
        remove_stale_cgroups(&parent);
        let pid = std::process::id();
        let path = (0..64).map(|number| parent.join(format!("{PREFIX}{pid}-{number}"))).find(|path| {
            // An existing name belongs to another server of this process.
            fs::create_dir(path).is_ok()
        })?;
        let limited = fs::write(path.join("pids.max"), processes.to_string());
        let members = OpenOptions::new().write(true).open(path.join(version.members_file()));
        match (limited, members) {
            (Ok(()), Ok(members)) => {
                let directory = (version == Version::Two).then(|| File::open(&path).ok()).flatten();
                Some(Self { path, members, directory })
            }
            (_, _) => {
                drop(fs::remove_dir(&path));
                None
            }
        }
    }

    /// Whether the cgroup has exactly this process, with all its threads. The system may have refused it as a member.
    pub(crate) fn has_only(&self, pid: Pid) -> bool {
        let members = fs::read_to_string(self.path.join("cgroup.procs")).unwrap_or_default();
        members.trim_ascii_end() == pid.as_raw_pid().to_string()
    }

    /// Returns the file to which a process with one thread writes `0` to become a member. Everything that it forks
    /// afterwards is a member too.
    pub(crate) fn members_file(&self) -> BorrowedFd<'_> {
        self.members.as_fd()
    }

    /// Returns the directory, if a process can be created as a member.
    pub(crate) fn directory(&self) -> Option<BorrowedFd<'_>> {
        self.directory.as_ref().map(File::as_fd)
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // A command may itself have been an ibeam process that was killed.
        remove_stale_cgroups(&self.path);
        drop(fs::remove_dir(&self.path));
    }
}

/// Returns the candidate directories for a new cgroup, from the text of /proc/self/cgroup: cgroup version 1 first, then
/// version 2.
fn candidate_parents(own_groups: &str) -> Vec<(Version, PathBuf)> {
    let path_of = |line: &str| {
        let mut fields = line.splitn(3, ':');
        let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let path = path.trim_start_matches('/');
        if controllers.split(',').any(|name| name == "pids") {
            return Some((Version::One, Path::new("/sys/fs/cgroup/pids").join(path)));
        }
        (number == "0" && controllers.is_empty())
            .then(|| (Version::Two, Path::new("/sys/fs/cgroup").join(path)))
    };
    own_groups.lines().filter_map(path_of).collect()
}

/// Removes the cgroups of killed processes. The system refuses this while a cgroup has members.
fn remove_stale_cgroups(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let creator = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split('-').next());
        if creator.is_some_and(|pid| !pid.is_empty() && !Path::new("/proc").join(pid).exists()) {
            drop(fs::remove_dir(entry.path()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::fd::AsFd as _;
    use std::path::{Path, PathBuf};

    use rustix::process::{WaitOptions, waitpid};

    use super::{Cgroup, Version, candidate_parents};
    use crate::raw::{self, ForkMode};

    #[test]
    fn both_cgroup_versions_are_supported() {
        let both = "9:name=systemd:/\n8:cpu,pids:/a/b\n0::/c\n";
        assert_eq!(
            candidate_parents(both),
            [
                (Version::One, PathBuf::from("/sys/fs/cgroup/pids/a/b")),
                (Version::Two, PathBuf::from("/sys/fs/cgroup/c"))
            ]
        );
    }
    /// Returns a new cgroup of version 2, where this system and this user may have one.
    fn version_two() -> Option<PathBuf> {
        let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
        let fields = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let mount =
            mounts.lines().map(fields).find(|fields| fields.get(2).is_some_and(|kind| kind == "cgroup2"))?;
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        let own = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
        let path = Path::new(mount.get(1)?).join(own).join(format!("ibeam-{}-test", std::process::id()));
        fs::create_dir(&path).ok()?;
        path.join("cgroup.procs").exists().then_some(path)
    }

    #[test]
    fn a_child_is_created_as_a_member_of_version_two() {
        let Some(path) = version_two() else {
            return eprintln!("SKIP: no cgroup of version 2 can be created here");
        };
        let directory = fs::File::open(&path).unwrap();
        let members = fs::OpenOptions::new().write(true).open(path.join("cgroup.procs")).unwrap();
        let cgroup = Cgroup { path, members, directory: Some(directory) };
        let (hold, wait) = std::io::pipe().unwrap();
        let wait_for_end = || {
            let _ = rustix::io::read(&hold, &mut [0]);
            0
        };
        match raw::fork_into_cgroup(ForkMode::Plain, cgroup.directory().unwrap().as_fd(), wait_for_end) {
            Ok(child) => {
                assert!(cgroup.has_only(child));
                rustix::io::write(&wait, b"0").unwrap();
                waitpid(Some(child), WaitOptions::empty()).unwrap();
                assert!(!cgroup.has_only(child));
            }
            Err(error) => eprintln!("SKIP: this system does not create processes in a cgroup: {error}"),
        }
    }
}
