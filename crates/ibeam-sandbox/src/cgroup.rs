//! A limit on the number of processes: a pids cgroup, where one can be created.
//!
//! `RLIMIT_NPROC` does not apply to root, and it counts all processes of the user. A cgroup limits root too. No cgroup
//! is created where this process is not allowed to, or where no pids controller is delegated.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};

/// Start of the cgroup's name; the process id of its creator follows.
const PREFIX: &str = "ibeam-";

/// A pids cgroup, which is removed when this value is dropped. If it still has processes then, it is not removed.
#[derive(Debug)]
pub(crate) struct Cgroup {
    path: PathBuf,
    /// The open file `cgroup.procs`.
    members: File,
}

impl Cgroup {
    /// Creates a cgroup of at most `processes` processes. Returns `None` if none can be created.
    pub(crate) fn new(processes: u32) -> Option<Self> {
        let own_groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        let parent = candidate_parents(&own_groups).into_iter().find(|parent| parent.is_dir())?;
        remove_stale_cgroups(&parent);
        let pid = std::process::id();
        let path = (0..64).map(|number| parent.join(format!("{PREFIX}{pid}-{number}"))).find(|path| {
            // An existing name belongs to another server of this process.
            fs::create_dir(path).is_ok()
        })?;
        let limited = fs::write(path.join("pids.max"), processes.to_string());
        let members = OpenOptions::new().write(true).open(path.join("cgroup.procs"));
        match (limited, members) {
            (Ok(()), Ok(members)) => Some(Self { path, members }),
            (_, _) => {
                drop(fs::remove_dir(&path));
                None
            }
        }
    }

    /// Whether the cgroup has a member. The system may have refused the server as a member.
    pub(crate) fn has_members(&self) -> bool {
        fs::read(self.path.join("cgroup.procs")).is_ok_and(|members| !members.is_empty())
    }

    /// Returns the file to which a process writes `0` to become a member. Everything that it forks afterwards is a
    /// member too.
    pub(crate) fn members_file(&self) -> &File {
        &self.members
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
fn candidate_parents(own_groups: &str) -> Vec<PathBuf> {
    let path_of = |line: &str| {
        let mut fields = line.splitn(3, ':');
        let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let path = path.trim_start_matches('/');
        if controllers.split(',').any(|name| name == "pids") {
            return Some(Path::new("/sys/fs/cgroup/pids").join(path));
        }
        (number == "0" && controllers.is_empty()).then(|| Path::new("/sys/fs/cgroup").join(path))
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
    use super::candidate_parents;
    use std::path::Path;

    #[test]
    fn both_cgroup_versions_are_supported() {
        let both = "9:name=systemd:/\n8:cpu,pids:/a/b\n0::/c\n";
        assert_eq!(
            candidate_parents(both),
            [Path::new("/sys/fs/cgroup/pids/a/b"), Path::new("/sys/fs/cgroup/c")]
        );
    }
}
